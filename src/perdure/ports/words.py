"""Search by words: which texts have a term, and how often."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from perdure.ports.vectors import Corpus
from perdure.types import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """One text that contains a searched term."""

    ref: str
    length: int
    """Terms in the text."""
    counts: Mapping[str, int]
    """How often each searched term stands in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """What one owner's index says about some terms; strangers do not count."""

    texts: int
    """Texts of the owner in the corpus."""
    average_length: float
    found: tuple[Posting, ...]


class FullText(Protocol):
    """An inverted index over our own terms, one owner at a time."""

    def index(self, scope: Scope, corpus: Corpus, texts: Mapping[str, Sequence[str]]) -> None:
        """Replace the terms of these refs."""
        ...

    def postings(self, scope: Scope, corpus: Corpus, terms: Collection[str]) -> Postings:
        """Every text of the owner that contains one of the terms."""
        ...

    def refs(self, scope: Scope, corpus: Corpus) -> set[str]:
        """What has terms, be it none at all."""
        ...

    def compact(self) -> None:
        """Leave nothing in the index of what was removed from it, whoever's it was. Not quick."""
        ...

    def remove(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Delete."""
        ...
