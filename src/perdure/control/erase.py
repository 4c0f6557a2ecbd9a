"""Erases a user from every place at once, and proves it by searching again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from perdure.errors import NotFound, Rejected
from perdure.jobs.job import Effect
from perdure.observe import Meter
from perdure.policy import JobsPolicy
from perdure.ports import Clock, Corpus, Database, Outside, Transaction, VectorIndex
from perdure.types import (
    MAX_USER,
    Erasure,
    Job,
    JobType,
    Promise,
    Scope,
    identifier,
    new_id,
)

_ERASURE = "erasure"
_INDEXED = "indexed_"  # in a place's name: found by meaning, wherever the vectors are


@dataclass(frozen=True, slots=True, kw_only=True)
class Eraser:
    """Erases users, and handles the ``erase`` jobs that go on where a process ended in between.

    Two commits. The first writes the receipt and the promise to go on, and takes the user's jobs
    away, so that whoever runs one may write nothing any more. The second removes every row.
    """

    database: Database
    index: VectorIndex | None
    policy: JobsPolicy
    clock: Clock
    meter: Meter

    def erase(self, scope: Scope, by: str) -> Erasure:
        """Erase all of a user; an erasure that was cut short is brought to its end.

        Raises:
            Rejected: the scope names more than a user; that is never erased in part.
            DatabaseUnavailable: the database does not answer. What was begun goes on by itself.
        """
        _whole(scope)
        with self.database.begin(scope) as tx:
            erasure = self._begun(tx, scope, identifier(by, "by", MAX_USER))
        self._carry_out(erasure)
        with self.database.begin(scope) as tx:
            self._end(tx, erasure)
            done = [job.id for job in tx.jobs.of(scope, erasure.id)]
            tx.jobs.drop(done)
        return self.look(scope)

    def look(self, scope: Scope) -> Erasure:
        """The receipt of the user's last erasure, with what a search of every place finds now.

        Raises:
            NotFound: this user was never erased.
            Rejected: the scope names more than a user.
        """
        _whole(scope)
        with self.database.read() as tx:
            last = tx.erasures.last(scope)
            if last is None:
                raise NotFound(field="user")
            return replace(last, found=self._found(tx, scope))

    def __call__(self, job: Job) -> Effect:
        """Remove what is left, in commits of its own; that does no harm if it was done already.

        Raises:
            Rejected: the payload is none of ours.
        """
        with self.database.read() as tx:
            last = tx.erasures.last(job.scope)
        if last is None or job.payload.get(_ERASURE) != last.id:
            raise Rejected("There is no such erasure.", field="payload")
        self._carry_out(last)
        return partial(self._ended, last)

    # ── the steps ────────────────────────────────────────────────────────────────────────────────

    def _begun(self, tx: Transaction, scope: Scope, by: str) -> Erasure:
        """A new erasure, or the one that has not come to its end."""
        last = tx.erasures.last(scope)
        if last is not None and last.done_at is None:
            return last
        at = self.clock()
        made = new_id(at)
        erasure = Erasure(
            id=made, namespace=scope.namespace, user=scope.user, by=by, asked_at=at,
            removed=tx.jobs.take_away(scope),
        )  # fmt: skip
        tx.erasures.add(erasure)
        tx.jobs.promise(
            Promise(
                type=JobType.ERASE,
                namespace=scope.namespace,
                user=scope.user,
                key=f"erase {made}",
                payload={_ERASURE: made},
                trace=made,
                max_retry=self.policy.max_retry,
                ordered=False,  # it waits for nobody
            ),
            at,
        )
        return erasure

    def _carry_out(self, erasure: Erasure) -> None:
        """Every row goes in one commit, and then what rows leave behind elsewhere and on a disk.

        Raises:
            VectorsUnavailable: an index outside of the database does not answer; the rows are gone.
        """
        scope = _owner(erasure)
        with self.database.begin(scope) as tx:
            if not self._open(tx, erasure):
                return
            self._note(tx, erasure, {**tx.erasures.wipe(scope), **self._unindex(tx, scope)})
        gone = self._discard(scope)
        with self.database.begin(scope) as tx:
            if gone and self._open(tx, erasure):
                self._note(tx, erasure, gone)
        self.database.purge()

    def _open(self, tx: Transaction, erasure: Erasure) -> bool:
        """Is this still the one that goes on?"""
        now = tx.erasures.last(_owner(erasure))
        return now is not None and now.id == erasure.id and now.done_at is None

    def _note(self, tx: Transaction, erasure: Erasure, gone: Mapping[str, int]) -> None:
        now = tx.erasures.last(_owner(erasure))
        if now is not None:
            tx.erasures.put(replace(now, removed=_together(now.removed, gone)))

    def _unindex(self, tx: Transaction, scope: Scope) -> Mapping[str, int]:
        """Vectors of an index in the database that lie elsewhere than in our tables."""
        if self.index is None or isinstance(self.index, Outside):
            return {}
        gone = {}
        for corpus in Corpus:
            refs = self.index.refs(tx, scope, corpus)
            self.index.remove(tx, scope, corpus, refs)
            gone[_INDEXED + corpus.value] = len(refs)
        return gone

    def _discard(self, scope: Scope) -> Mapping[str, int]:
        """Vectors outside of the database."""
        index = self.index
        if index is None or not isinstance(index, Outside):
            return {}
        gone = {}
        for corpus in Corpus:
            with self.database.read() as tx:
                refs = index.refs(tx, scope, corpus)
            index.discard(scope, corpus, refs)
            gone[_INDEXED + corpus.value] = len(refs)
        return gone

    def _end(self, tx: Transaction, erasure: Erasure) -> None:
        """Note that it is done; once."""
        now = tx.erasures.last(_owner(erasure))
        if now is not None and now.id == erasure.id and now.done_at is None:
            tx.erasures.put(replace(now, done_at=self.clock()))
            self.meter.count("memory_erased")

    def _ended(self, erasure: Erasure, tx: Transaction) -> Mapping[str, Any]:
        self._end(tx, erasure)
        return {_ERASURE: erasure.id}

    def _found(self, tx: Transaction, scope: Scope) -> Mapping[str, int]:
        found = dict(tx.erasures.held(scope))
        if self.index is not None:
            for corpus in Corpus:
                found[_INDEXED + corpus.value] = len(self.index.refs(tx, scope, corpus))
        return found


def _whole(scope: Scope) -> None:
    for name in ("project", "assistant", "run", "conversation"):
        if getattr(scope, name) is not None:
            raise Rejected("A user is erased as a whole; name no more than the user.", field=name)


def _owner(erasure: Erasure) -> Scope:
    return Scope(namespace=erasure.namespace, user=erasure.user)


def _together(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {place: one.get(place, 0) + other.get(place, 0) for place in {**one, **other}}
