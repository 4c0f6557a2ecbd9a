"""Search by meaning, in the database or beside it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from perdure.ports.database import Transaction
from perdure.ports.models import Embedder, Vector, Vectors
from perdure.ports.vectors import Corpus, VectorEntry
from perdure.types import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One text that a search arm found."""

    ref: str
    similarity: float
    """0..1, whatever the index."""


class VectorIndex(Protocol):
    """Finds an owner's texts by meaning. A projection of SQL that can be rebuilt."""

    model: str
    """What stands at its vectors in SQL; the same embedder's elsewhere have another name."""

    def upsert(
        self, tx: Transaction, scope: Scope, corpus: Corpus, entries: Sequence[VectorEntry]
    ) -> None:
        """Replace the vectors of these refs; of an `Outside` index, note that it has them."""
        ...

    def search(
        self, tx: Transaction, scope: Scope, corpus: Corpus, query: Vector, limit: int
    ) -> list[Hit]:
        """The nearest texts by cosine, best first, one hit a ref; unbound by visibility.

        Raises:
            VectorsUnavailable: it does not answer now.
            Misconfigured: the query has another length than the stored vectors.
        """
        ...

    def get(
        self, tx: Transaction, scope: Scope, corpus: Corpus, refs: Collection[str]
    ) -> dict[str, Vectors]:
        """The stored vectors of these refs."""
        ...

    def refs(self, tx: Transaction, scope: Scope, corpus: Corpus) -> dict[str, str]:
        """What of the owner it can find, each with the stamp of its text as far as it is known."""
        ...

    def remove(self, tx: Transaction, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Delete; from an `Outside` index that is done soon after the commit."""
        ...


@runtime_checkable
class Outside(Protocol):
    """A vector index that is no part of the transaction.

    Jobs write to it, and then note in SQL that they did; until then rows say that they wait.
    """

    def ping(self) -> None:
        """Do nothing, if it answers. It is not asked if it did not answer a moment ago.

        Raises:
            VectorsUnavailable: it does not; ``retry_after`` says when it is asked again.
        """
        ...

    def send(self, scope: Scope, corpus: Corpus, entries: Sequence[VectorEntry]) -> None:
        """Replace the vectors of these refs there.

        Raises:
            VectorsUnavailable: it does not answer now.
        """
        ...

    def discard(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Delete there, now.

        Raises:
            VectorsUnavailable: it does not answer now.
        """
        ...

    def sweep(self, tx: Transaction, scope: Scope) -> None:
        """Promise that what has no row is soon gone from there."""
        ...

    def clear(self) -> None:
        """Delete everything there, whoever's.

        Raises:
            VectorsUnavailable: it does not answer now.
        """
        ...


class VectorHost(Protocol):
    """Keeps vectors of one model outside SQL, each behind its owner's wall."""

    name: str
    """For example ``milvus``."""

    def ping(self) -> None:
        """Do nothing, if it answers.

        Raises:
            VectorsUnavailable: it does not; so say all that follow.
        """
        ...

    def write(self, scope: Scope, corpus: Corpus, entries: Sequence[VectorEntry]) -> None:
        """Replace the vectors of these refs."""
        ...

    def search(self, scope: Scope, corpus: Corpus, query: Vector, limit: int) -> list[Hit]:
        """The nearest texts by cosine, best first, one hit a ref; the best part speaks."""
        ...

    def get(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> dict[str, Vectors]:
        """The stored vectors of these refs."""
        ...

    def refs(self, scope: Scope, corpus: Corpus) -> dict[str, str]:
        """Everything of the owner, each with its stamp."""
        ...

    def remove(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Delete."""
        ...

    def clear(self) -> None:
        """Delete everything of the model, whoever's."""
        ...

    def close(self) -> None:
        """Give the connections back."""
        ...


class Handover(Protocol):
    """Vectors that still answer while those of another embedder are being made."""

    embedder: Embedder
    index: VectorIndex

    def done(self) -> bool:
        """Can all that these find be found by the others? Never goes back to False."""
        ...
