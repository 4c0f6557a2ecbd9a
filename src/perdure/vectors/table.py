"""Finds by meaning with plain rows and exact arithmetic; one owner's vectors stay in memory."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from perdure.errors import Misconfigured
from perdure.observe import Meter
from perdure.ports import Corpus, Hit, Transaction, Vector, VectorEntry, VectorRows, Vectors
from perdure.types import Scope

_Key: TypeAlias = tuple[str, str, Corpus]

_ENTRY_BYTES = 1_024
_REF_BYTES = 128


@dataclass(frozen=True, slots=True)
class _Loaded:
    """An owner's vectors as they stood at one revision."""

    revision: int
    refs: tuple[str, ...]
    """Each ref once, sorted."""
    starts: NDArray[np.intp]
    """Where each ref's parts begin in the matrix, and its end."""
    matrix: Vectors

    @classmethod
    def of(cls, revision: int, rows: VectorRows) -> _Loaded:
        firsts = [i for i, ref in enumerate(rows.refs) if i == 0 or ref != rows.refs[i - 1]]
        return cls(
            revision=revision,
            refs=tuple(rows.refs[i] for i in firsts),
            starts=np.array([*firsts, len(rows.refs)], dtype=np.intp),
            matrix=rows.matrix,
        )

    def parts(self, number: int) -> Vectors:
        return self.matrix[self.starts[number] : self.starts[number + 1]]

    @property
    def size(self) -> int:
        """Bytes, about; never 0, so that owners without vectors are bounded too."""
        return _ENTRY_BYTES + _REF_BYTES * len(self.refs) + self.matrix.nbytes


class TableIndex:
    """`ports.VectorIndex` over the vectors' own table: the same commit, no second truth.

    Args:
        model: the embedder's name; vectors of other models are never compared with its own.
        cache_bytes: vectors kept in memory, of all owners together. Whose were not asked for
            longest leave first.
        meter: counts looks into that memory.
    """

    def __init__(
        self, model: str, *, cache_bytes: int = 128 * 1024 * 1024, meter: Meter | None = None
    ) -> None:
        self.model = model
        self._meter = meter or Meter()
        self._cache_bytes = cache_bytes
        self._cache: OrderedDict[_Key, _Loaded] = OrderedDict()
        self._held = 0
        self._lock = threading.Lock()

    def upsert(
        self, tx: Transaction, scope: Scope, corpus: Corpus, entries: Sequence[VectorEntry]
    ) -> None:
        """Replace the vectors of these refs."""
        tx.vectors.write(scope, corpus, self.model, entries)

    def search(
        self, tx: Transaction, scope: Scope, corpus: Corpus, query: Vector, limit: int
    ) -> list[Hit]:
        """The nearest texts by cosine, best first, one hit a ref; unbound by visibility.

        The best part of a text speaks for it; a cosine below 0 counts as 0. Ties by ref.

        Raises:
            Misconfigured: the query has another length than the stored vectors.
        """
        loaded = self._load(tx, scope, corpus)
        if not loaded.refs or limit <= 0:
            return []
        if loaded.matrix.shape[1:] != query.shape:
            raise Misconfigured(
                "The embedder {model} gives {given} numbers; stored are {stored}. "
                "Make the vectors anew: perdure reindex.",
                field="embedder",
                model=self.model,
                given=query.shape[0],
                stored=loaded.matrix.shape[1],
            )
        best = np.maximum.reduceat(loaded.matrix @ query, loaded.starts[:-1])
        nearest = _largest(best, limit)
        cosines = np.clip(best[nearest], 0.0, 1.0)
        return [
            Hit(ref=loaded.refs[number], similarity=float(cosine))
            for number, cosine in zip(nearest, cosines, strict=True)
        ]

    def get(
        self, tx: Transaction, scope: Scope, corpus: Corpus, refs: Collection[str]
    ) -> dict[str, Vectors]:
        """The stored vectors of these refs."""
        loaded = self._load(tx, scope, corpus)
        places = ((ref, bisect_left(loaded.refs, ref)) for ref in refs)
        return {
            ref: loaded.parts(number)
            for ref, number in places
            if number < len(loaded.refs) and loaded.refs[number] == ref
        }

    def refs(self, tx: Transaction, scope: Scope, corpus: Corpus) -> dict[str, str]:
        """What of the owner it can find. It is never older than the row, so there are no stamps."""
        return dict.fromkeys(self._load(tx, scope, corpus).refs, "")

    def remove(self, tx: Transaction, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Delete."""
        tx.vectors.remove(scope, corpus, refs)

    def _load(self, tx: Transaction, scope: Scope, corpus: Corpus) -> _Loaded:
        """The owner's vectors as this transaction sees them.

        The revision is read first: what is read after it can only be newer, and is then read
        again by whoever sees the newer revision.
        """
        key = (*scope.owner, corpus)
        revision = tx.users.revision(scope, corpus)
        with self._lock:
            found = self._cache.get(key)
            hit = found is not None and found.revision == revision
            if hit:
                self._cache.move_to_end(key)
        self._meter.count("cache", of="vectors", hit=str(hit).lower())
        if hit and found is not None:
            return found
        loaded = _Loaded.of(revision, tx.vectors.read(scope, corpus, self.model))
        self._keep(key, loaded)
        return loaded

    def _keep(self, key: _Key, loaded: _Loaded) -> None:
        with self._lock:
            old = self._cache.pop(key, None)
            self._held += loaded.size - (old.size if old is not None else 0)
            self._cache[key] = loaded
            while self._held > self._cache_bytes:
                self._held -= self._cache.popitem(last=False)[1].size


def _largest(values: NDArray[np.float32], limit: int) -> NDArray[np.intp]:
    """Places of the largest values, largest first, ties by place."""
    if limit < len(values):
        least = np.partition(values, -limit)[-limit]
        candidates = np.flatnonzero(values >= least)
    else:
        candidates = np.arange(len(values))
    order = np.argsort(-values[candidates], kind="stable")
    return candidates[order][:limit]
