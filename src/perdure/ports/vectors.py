"""Where the vectors of memories and messages are kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from perdure.ports.models import Vectors
from perdure.types import Scope


class Corpus(StrEnum):
    """What is searched: memories, or what was said."""

    MEMORIES = "memories"
    EPISODES = "episodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorEntry:
    """The vectors of one text: one row, or one a part where the text is long."""

    ref: str
    """Id of the memory, or ``seq`` of the message as a text."""
    vectors: Vectors
    """None at all: they are kept elsewhere, and this notes that they are."""
    stamp: str = ""
    """Fingerprint of the text they were made of; empty where that never changes."""


@dataclass(frozen=True, slots=True)
class VectorRows:
    """All vectors of one owner and corpus, as they stand in the table."""

    refs: tuple[str, ...]
    matrix: Vectors
    """Shape (len(refs), dimension); a ref stands once for each of its parts."""


class VectorTable(Protocol):
    """Vectors as plain rows of the same database, in the row's own commit."""

    def write(
        self, scope: Scope, corpus: Corpus, model: str, entries: Sequence[VectorEntry]
    ) -> None:
        """Replace the vectors of these refs."""
        ...

    def read(self, scope: Scope, corpus: Corpus, model: str) -> VectorRows:
        """All of one owner, ordered by ref."""
        ...

    def refs(self, scope: Scope, corpus: Corpus, model: str | None = None) -> set[str]:
        """What has vectors of this model; None: of any."""
        ...

    def remove(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> int:
        """Delete, whatever the model."""
        ...

    def forget(self, model: str) -> None:
        """Delete all vectors of a model, whoever's."""
        ...

    def dimension(self, model: str) -> int | None:
        """Numbers in a vector of this model, whoever's; None where there is none."""
        ...

    def lacking(self, model: str, than: str) -> bool:
        """Has anybody a text with vectors of ``than`` and none of ``model``?"""
        ...
