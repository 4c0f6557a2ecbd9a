"""Erases a user from every place at once, and proves it by searching again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias

from perdure.errors import NotFound, Rejected
from perdure.jobs.job import Effect
from perdure.observe import Meter
from perdure.policy import JobsPolicy
from perdure.ports import Clock, Corpus, Database, Outside, Transaction, VectorIndex
from perdure.types import (
    MAX_USER,
    Actor,
    AuditEntry,
    Erasure,
    Job,
    JobType,
    Operation,
    Promise,
    Scope,
    identifier,
    new_id,
)

_ERASURE = "erasure"
_INDEXED = "indexed_"  # in a place's name: found by meaning, with vectors in the database
_OUTSIDE = "outside_"  # the same, with vectors elsewhere

_Ghosts: TypeAlias = list[tuple[Outside, Corpus, set[str]]]
"""Vectors outside of the database whose rows are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eraser:
    """Erases users, and handles the ``erase`` jobs that go on where a process ended in between.

    The first commit writes the receipt and the promise to go on, and takes the user's jobs away,
    so that whoever runs one may write nothing any more. The second removes every row. The last one
    removes what came in meanwhile, and says in the same commit that it is done: whatever is found
    later was written after that.
    """

    database: Database
    indexes: Sequence[VectorIndex]
    """Where vectors are, and where they were until those are complete."""
    policy: JobsPolicy
    clock: Clock
    meter: Meter
    unsearched: tuple[str, ...] = ()
    """Places that keep what was said for a time of their own, and cannot be searched."""

    def erase(self, scope: Scope, by: str) -> Erasure:
        """Erase all of a user; an erasure that was cut short is brought to its end.

        Raises:
            Rejected: the scope names more than a user; that is never erased in part.
            DatabaseUnavailable: the database does not answer. What was begun goes on by itself.
        """
        _whole(scope)
        who = identifier(by, "by", MAX_USER)
        erasure = self.database.run(lambda tx: self._begun(tx, scope, who), scope)
        self._carry_out(erasure)

        def drop(tx: Transaction) -> int:
            promised = [job for job in tx.jobs.of(scope, erasure.id) if job.key == _key(erasure.id)]
            return tx.jobs.drop([job.id for job in promised])

        self.database.run(drop, scope)
        return self.look(scope)

    def look(self, scope: Scope) -> Erasure:
        """The receipt of the user's last erasure, with what a search of every place finds now.

        Vectors outside of the database that a process left there as it died are told, and removed.

        Raises:
            NotFound: this user was never erased.
            Rejected: the scope names more than a user.
        """
        _whole(scope)
        with self.database.read() as tx:
            last = tx.erasures.last(scope)
            if last is None:
                raise NotFound(field="user")
            found = self._found(tx, scope)
        if last.done_at is not None:
            self._clear(scope)
        return replace(last, found=found, unsearched=self.unsearched)

    def __call__(self, job: Job) -> Effect:
        """Remove what is left, in commits of its own; that does no harm if it was done already.

        Raises:
            Rejected: the payload is none of ours.
        """
        with self.database.read() as tx:
            last = tx.erasures.last(job.scope)
        if last is None or not isinstance(job.payload.get(_ERASURE), str):
            raise Rejected("There is no such erasure.", field="payload")
        if last.done_at is None:
            self._carry_out(last)
        else:
            self._clear(job.scope)
            self.database.purge()
        return lambda _: {_ERASURE: last.id}

    # ── the steps ────────────────────────────────────────────────────────────────────────────────

    def _begun(self, tx: Transaction, scope: Scope, by: str) -> Erasure:
        """A new erasure, or the one that has not come to its end."""
        last = tx.erasures.last(scope)
        if last is not None and last.done_at is None:
            return last
        at = self.clock()
        erasure = Erasure(
            id=new_id(at), namespace=scope.namespace, user=scope.user, by=by, asked_at=at,
            removed=tx.jobs.take_away(scope),
        )  # fmt: skip
        tx.erasures.add(erasure)
        tx.audit.add([_asked(erasure)])
        tx.jobs.promise(self._promise(erasure, _key(erasure.id)), at)
        return erasure

    def _carry_out(self, erasure: Erasure) -> None:
        """Every row goes, and what rows leave behind elsewhere and on a disk; then it is done.

        Raises:
            VectorsUnavailable: an index outside of the database does not answer; the rows are gone.
        """
        self._remove(erasure)
        self._discard(erasure)
        self.database.purge()
        if self._remove(erasure, ends=True):
            self._discard(erasure)
            self.database.purge()

    def _remove(self, erasure: Erasure, *, ends: bool = False) -> bool:
        """Remove every row in one commit, which may be the one that ends it. Was there any?"""
        scope = _owner(erasure)

        def wipe(tx: Transaction) -> Mapping[str, int] | None:
            now = self._open(tx, erasure)
            if now is None:
                return None
            gone = {**tx.erasures.wipe(scope), **self._unindex(tx, scope)}
            at = self.clock() if ends else None
            tx.erasures.put(replace(now, removed=_together(now.removed, gone), done_at=at))
            if at is not None and any(isinstance(index, Outside) for index in self.indexes):
                later = at + timedelta(seconds=self.policy.erase_again_s)
                tx.jobs.promise(self._promise(now, f"{_key(now.id)} again", later), at)
            return gone

        gone = self.database.run(wipe, scope)
        if gone is None:
            return False
        if ends:
            self.meter.count("memory_erased")
        return any(gone.values())

    def _open(self, tx: Transaction, erasure: Erasure) -> Erasure | None:
        """As far as it has come, if it is still the one that goes on."""
        now = tx.erasures.last(_owner(erasure))
        return now if now is not None and now.id == erasure.id and now.done_at is None else None

    def _unindex(self, tx: Transaction, scope: Scope) -> Mapping[str, int]:
        """Vectors of an index in the database that lie elsewhere than in our tables."""
        gone: dict[str, int] = {}
        for index in self.indexes:
            if isinstance(index, Outside):
                continue
            for corpus in Corpus:
                refs = index.refs(tx, scope, corpus)
                index.remove(tx, scope, corpus, refs)
                gone = _together(gone, {_INDEXED + corpus.value: len(refs)})
        return gone

    # ── outside of the database ──────────────────────────────────────────────────────────────────

    def _discard(self, erasure: Erasure) -> None:
        """Vectors outside of the database go. Before that they are counted, by whoever is first."""
        scope = _owner(erasure)
        with self.database.read() as tx:
            ghosts = self._ghosts(tx, scope)
        if not ghosts:
            return
        counted: dict[str, int] = {}
        for _, corpus, refs in ghosts:
            counted = _together(counted, {_OUTSIDE + corpus.value: len(refs)})

        def note(tx: Transaction) -> None:
            now = self._open(tx, erasure)
            if now is not None:
                tx.erasures.put(replace(now, removed={**counted, **now.removed}))

        self.database.run(note, scope)
        for index, corpus, refs in ghosts:
            index.discard(scope, corpus, refs)

    def _clear(self, scope: Scope) -> None:
        """Remove what was sent outside by a process that died before it could take it back."""
        with self.database.read() as tx:
            ghosts = self._ghosts(tx, scope)
        for index, corpus, refs in ghosts:
            index.discard(scope, corpus, refs)
            self.meter.count("memory_reconciled", len(refs), what="orphans")

    def _ghosts(self, tx: Transaction, scope: Scope) -> _Ghosts:
        return [
            (index, corpus, refs - set(_rows(tx, scope, corpus, refs)))
            for index in self.indexes
            if isinstance(index, Outside)
            for corpus in Corpus
            for refs in [set(index.refs(tx, scope, corpus))]
        ]

    def _found(self, tx: Transaction, scope: Scope) -> Mapping[str, int]:
        found = dict(tx.erasures.held(scope))
        for index in self.indexes:
            place = _OUTSIDE if isinstance(index, Outside) else _INDEXED
            for corpus in Corpus:
                refs = index.refs(tx, scope, corpus)
                found = _together(found, {place + corpus.value: len(refs)})
        return found

    def _promise(self, erasure: Erasure, key: str, later: datetime | None = None) -> Promise:
        """The promise to go on with it, or to look once more."""
        return Promise(
            type=JobType.ERASE,
            namespace=erasure.namespace,
            user=erasure.user,
            key=key,
            payload={_ERASURE: erasure.id},
            trace=erasure.id,
            max_retry=self.policy.max_retry,
            ordered=False,  # it waits for nobody
            run_at=later,
        )


def _rows(tx: Transaction, scope: Scope, corpus: Corpus, refs: set[str]) -> Iterator[str]:
    """What of these has a row."""
    if corpus is Corpus.MEMORIES:
        yield from (item.id for item in tx.items.get(scope, refs))
    elif refs:
        yield from (str(seq) for seq, *_ in tx.messages.outline(scope))


def _whole(scope: Scope) -> None:
    for name in ("project", "assistant", "run", "conversation"):
        if getattr(scope, name) is not None:
            raise Rejected("A user is erased as a whole; name no more than the user.", field=name)


def _owner(erasure: Erasure) -> Scope:
    return Scope(namespace=erasure.namespace, user=erasure.user)


def _asked(erasure: Erasure) -> AuditEntry:
    """That somebody asked for it; it stays, and holds no word of the user."""
    return AuditEntry(
        id=new_id(erasure.asked_at), item=erasure.id, namespace=erasure.namespace,
        user=erasure.user, operation=Operation.ERASE, actor=Actor.USER, reason="by hand",
        before=None, after=None, at=erasure.asked_at, trace=erasure.id, by=erasure.by,
    )  # fmt: skip


def _key(erasure: str) -> str:
    return f"erase {erasure}"


def _together(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {place: one.get(place, 0) + other.get(place, 0) for place in {**one, **other}}
