"""Makes rows, search terms and vectors agree again, and makes them anew where that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from perdure import text
from perdure.jobs.job import Effect
from perdure.observe import Meter
from perdure.policy import Policy
from perdure.ports import Clock, Corpus, Database, Embedder, ItemFilter, Transaction, VectorIndex
from perdure.types import (
    Job,
    JobType,
    MemoryItem,
    Promise,
    Scope,
    Status,
    VectorStatus,
    new_id,
)
from perdure.vectors.fill import findable

_LIVING = ItemFilter(statuses=frozenset(Status) - {Status.DELETED})
"""What has terms and vectors: a dismissed or archived memory may come back, and others are
compared with it. Only what is deleted has none."""
_ALL = "all"

_One = TypeVar("_One")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciler:
    """Finds out whose indexes disagree with SQL, and handles their ``reconcile`` jobs.

    SQL is the truth: terms are written at once, vectors are promised, what has no row goes. The
    payload ``{"all": true}`` makes everything of the owner anew.
    """

    database: Database
    embedder: Embedder | None
    index: VectorIndex | None
    policy_of: Callable[[str], Policy]
    clock: Clock
    meter: Meter

    def due(self, at: datetime, period: int) -> Sequence[Promise]:
        """One promise for each owner who needs it; the same in one period, for one embedder."""
        model = self.embedder.model if self.embedder is not None else None
        with self.database.read() as tx:
            namespaces = tx.owners.namespaces()
        policies = {name: self.policy_of(name) for name in namespaces}
        key = text.fingerprint("reconcile", str(period), model or "")
        with self.database.read() as tx:
            return [
                _promise(owner, key, {}, at, policy)
                for name, policy in policies.items()
                for owner in tx.owners.unfindable(name, model=model, episodes=_quotable(policy))
            ]

    def rebuild(self, at: datetime) -> int:
        """Promise to make everything anew, for everybody. Returns for how many that is."""
        with self.database.read() as tx:
            namespaces = tx.owners.namespaces()
        policies = {name: self.policy_of(name) for name in namespaces}
        key = new_id(at)
        with self.database.begin() as tx:
            owners = [(one, policies[name]) for name in policies for one in tx.owners.every(name)]
            for owner, policy in owners:
                tx.jobs.promise(_promise(owner, key, {_ALL: True}, at, policy), at)
        return len(owners)

    def __call__(self, job: Job) -> Effect:
        """Everything is read and written in the transaction that finishes the job."""
        return partial(self._reconcile, job, self.policy_of(job.namespace))

    def _reconcile(self, job: Job, policy: Policy, tx: Transaction) -> Mapping[str, Any]:
        anew = job.payload.get(_ALL) is True
        items = tx.items.every(job.scope, _LIVING)
        said = {str(seq): seq for seq, *_ in tx.messages.outline(job.scope)}
        done = {
            "orphans": self._drop(tx, job.scope, Corpus.MEMORIES, {item.id for item in items})
            + self._drop(tx, job.scope, Corpus.EPISODES, said.keys()),
            "terms": _index(tx, job.scope, items, anew=anew),
            "vectors": self._unembedded(tx, job, items, policy, anew=anew),
            "messages": self._unheard(tx, job, said, policy, anew=anew) if _quotable(policy) else 0,
        }
        for what, times in done.items():
            self.meter.count("memory_reconciled", times, what=what)
        return done

    def _drop(self, tx: Transaction, scope: Scope, corpus: Corpus, rows: Collection[str]) -> int:
        """Remove what is found and has no row."""
        terms = tx.fulltext.refs(scope, corpus) - set(rows)
        vectors = tx.vectors.refs(scope, corpus) - set(rows)
        tx.fulltext.remove(scope, corpus, terms)
        tx.vectors.remove(scope, corpus, vectors)
        if self.index is not None:
            ghosts = self.index.refs(tx, scope, corpus) - set(rows)
            self.index.remove(tx, scope, corpus, ghosts)
            vectors |= ghosts
        return len(terms | vectors)

    def _unembedded(
        self,
        tx: Transaction,
        job: Job,
        items: Sequence[MemoryItem],
        policy: Policy,
        *,
        anew: bool,
    ) -> int:
        """Promise a vector to each memory that has none, or not that of what it says now."""
        if self.index is None:
            return 0
        there = self.index.refs(tx, job.scope, Corpus.MEMORIES)
        wanted = [
            item.id
            for item in items
            if anew or item.id not in there or item.vector_status is not VectorStatus.SYNCED
        ]
        tx.items.mark_vectors(job.scope, wanted, VectorStatus.PENDING)
        self._promise(tx, job, "items", wanted, policy)
        return len(wanted)

    def _unheard(
        self,
        tx: Transaction,
        job: Job,
        said: Mapping[str, int],
        policy: Policy,
        *,
        anew: bool,
    ) -> int:
        """Promise terms and vectors to each message that lacks one of them."""
        there = tx.fulltext.refs(job.scope, Corpus.EPISODES)
        if self.index is not None:
            there &= self.index.refs(tx, job.scope, Corpus.EPISODES)
        lacking = [seq for ref, seq in said.items() if anew or ref not in there]
        wanted = [one.seq for one in tx.messages.by_seq(job.scope, lacking) if findable(one)]
        self._promise(tx, job, "messages", wanted, policy)
        return len(wanted)

    def _promise(
        self, tx: Transaction, job: Job, field: str, wanted: Sequence[Any], policy: Policy
    ) -> None:
        at = self.clock()
        for some in _batches(wanted, policy.jobs.repair_batch):
            tx.jobs.promise(
                Promise(
                    type=JobType.EMBED,
                    namespace=job.namespace,
                    user=job.user,
                    key=text.fingerprint("repair", job.key, field, str(some[0])),
                    payload={field: list(some)},
                    trace=job.trace,
                    max_retry=policy.jobs.max_retry,
                    ordered=False,
                ),
                at,
            )


def _index(tx: Transaction, scope: Scope, items: Sequence[MemoryItem], *, anew: bool) -> int:
    """Write the terms of each memory that has none."""
    there = set() if anew else tx.fulltext.refs(scope, Corpus.MEMORIES)
    lacking = {item.id: text.terms(item.content) for item in items if item.id not in there}
    tx.fulltext.index(scope, Corpus.MEMORIES, lacking)
    return len(lacking)


def _quotable(policy: Policy) -> bool:
    """What was said is kept, and can be found."""
    return policy.capture.episodes and policy.capture.keep_messages_s > 0


def _batches(wanted: Sequence[_One], size: int) -> Iterator[Sequence[_One]]:
    for start in range(0, len(wanted), max(1, size)):
        yield wanted[start : start + max(1, size)]


def _promise(
    owner: Scope, key: str, payload: Mapping[str, Any], at: datetime, policy: Policy
) -> Promise:
    return Promise(
        type=JobType.RECONCILE,
        namespace=owner.namespace,
        user=owner.user,
        key=key,
        payload=payload,
        trace=new_id(at),
        max_retry=policy.jobs.max_retry,
        ordered=False,
    )
