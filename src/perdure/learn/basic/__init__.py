"""The extractor that needs no model: finds a person's own statements by rules."""

from perdure.learn.basic.reading import extract_basic

__all__ = ["extract_basic"]
