"""An index outside SQL: jobs write it, SQL notes what it has, and a dead host is left in peace."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from threading import Lock

from perdure.errors import VectorsUnavailable
from perdure.ports import (
    Clock,
    Corpus,
    Hit,
    Transaction,
    Vector,
    VectorEntry,
    VectorHost,
    Vectors,
)
from perdure.types import JobType, Promise, Scope, new_id

_log = logging.getLogger(__name__)

_REST_S = 1.0  # after a first failure; doubles with each further one
_REST_MAX_S = 30.0  # a host that is back is noticed after so long at the latest
_ORPHANS_S = 60  # what was deleted within so long is removed from the host together
_SETTLE_S = 5  # and so long after that, so that slow commits are over


class OutsideIndex:
    """`ports.VectorIndex` and `ports.Outside` over a host.

    In SQL each text that the host has is noted by a row without vectors, in the transaction that
    says so of the memory: what is missing, of another model or left over is found there, as with
    vectors that lie in SQL themselves.

    Args:
        host: keeps the vectors.
        model: the embedder's name.
        clock: now.
        ticks: seconds that only pass, for the time a host is left in peace.
    """

    def __init__(
        self,
        host: VectorHost,
        model: str,
        *,
        clock: Clock,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = f"{host.name}: {model}"
        self._host = host
        self._clock = clock
        self._fuse = Fuse(ticks)

    # ── outside of any transaction ───────────────────────────────────────────────────────────────

    def ping(self) -> None:
        """Do nothing, if it answers. It is not asked if it did not answer a moment ago.

        Raises:
            VectorsUnavailable: it does not; ``retry_after`` says when it is asked again.
        """
        with self._fuse.asking():
            self._host.ping()

    def send(self, scope: Scope, corpus: Corpus, entries: Sequence[VectorEntry]) -> None:
        """Replace the vectors of these refs there.

        Raises:
            VectorsUnavailable: it does not answer now.
        """
        if entries:
            with self._fuse.asking():
                self._host.write(scope, corpus, entries)

    def discard(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Delete there, now.

        Raises:
            VectorsUnavailable: it does not answer now.
        """
        if refs:
            with self._fuse.asking():
                self._host.remove(scope, corpus, refs)

    def clear(self) -> None:
        """Delete everything there, whoever's.

        Raises:
            VectorsUnavailable: it does not answer now.
        """
        with self._fuse.asking():
            self._host.clear()

    def close(self) -> None:
        """Give the connections back."""
        self._host.close()

    # ── beside one ───────────────────────────────────────────────────────────────────────────────

    def upsert(
        self, tx: Transaction, scope: Scope, corpus: Corpus, entries: Sequence[VectorEntry]
    ) -> None:
        """Note that the host has them, which `send` saw to."""
        notes = [replace(entry, vectors=entry.vectors[:0]) for entry in entries]
        tx.vectors.write(scope, corpus, self.model, notes)

    def search(
        self,
        tx: Transaction,  # noqa: ARG002 - the port's; the host knows nothing of it
        scope: Scope,
        corpus: Corpus,
        query: Vector,
        limit: int,
    ) -> list[Hit]:
        """The nearest texts by cosine, best first, one hit a ref; unbound by visibility.

        Raises:
            VectorsUnavailable: it does not answer now.
            Misconfigured: the query has another length than the stored vectors.
        """
        if limit <= 0:
            return []
        with self._fuse.asking():
            return self._host.search(scope, corpus, query, limit)

    def get(
        self,
        tx: Transaction,  # noqa: ARG002 - the same
        scope: Scope,
        corpus: Corpus,
        refs: Collection[str],
    ) -> dict[str, Vectors]:
        """The stored vectors of these refs."""
        if not refs:
            return {}
        with self._fuse.asking():
            return self._host.get(scope, corpus, refs)

    def refs(self, tx: Transaction, scope: Scope, corpus: Corpus) -> dict[str, str]:  # noqa: ARG002 - the same
        """What of the owner the host has, each with the stamp of its text."""
        with self._fuse.asking():
            return self._host.refs(scope, corpus)

    def remove(self, tx: Transaction, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Forget in SQL that the host has them, and promise that it soon has them no more."""
        if refs:
            tx.vectors.remove(scope, corpus, refs)
            self.sweep(tx, scope)

    def sweep(self, tx: Transaction, scope: Scope) -> None:
        """Promise that what has no row is soon gone from there; once for what comes together."""
        at = self._clock()
        period = int(at.timestamp()) // _ORPHANS_S
        left = (period + 1) * _ORPHANS_S + _SETTLE_S - at.timestamp()
        promise = Promise(
            type=JobType.RECONCILE,
            namespace=scope.namespace,
            user=scope.user,
            key=f"orphans {period}",
            payload={},
            trace=new_id(at),
            ordered=False,
            run_at=at + timedelta(seconds=left),
        )
        tx.jobs.promise(promise, at)


class Fuse:
    """Leaves a host in peace that does not answer: for a while nobody asks it, then one does."""

    def __init__(self, ticks: Callable[[], float]) -> None:
        self._ticks = ticks
        self._lock = Lock()
        self._rest = 0.0  # the last pause; 0: it answered
        self._until = 0.0
        self._failures = 0

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Ask the host within.

        Raises:
            VectorsUnavailable: it does not answer, or did not a moment ago.
        """
        before = self._began()
        try:
            yield
        except VectorsUnavailable as error:
            error.retry_after = self._failed(before)
            raise
        with self._lock:
            if before == self._failures:
                if self._rest:
                    _log.warning("the vector index answers again")
                self._rest = self._until = 0.0

    def _began(self) -> int:
        """How often it has failed by now."""
        with self._lock:
            now = self._ticks()
            if now < self._until:
                raise VectorsUnavailable(
                    "It did not answer a moment ago.", retry_after=self._until - now
                )
            if self._rest:  # others wait for what this one finds out
                self._until = now + self._rest
            return self._failures

    def _failed(self, before: int) -> float:
        """How long to wait; questions that were on their way together count as one failure."""
        with self._lock:
            if before == self._failures:
                self._failures += 1
                self._rest = min(max(_REST_S, 2 * self._rest), _REST_MAX_S)
                self._until = self._ticks() + self._rest
                _log.warning("the vector index does not answer; %.0f s of rest", self._rest)
            return self._rest
