"""The extractor that needs no model: finds a person's own statements by rules."""

from perdure.learn.basic.reading import dated, end_of, extract_basic, grammar_of

__all__ = ["dated", "end_of", "extract_basic", "grammar_of"]
