"""Makes rows, search terms and vectors agree again, and makes them anew where that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias, TypeVar

from perdure import text
from perdure.jobs.job import Effect
from perdure.observe import Meter
from perdure.policy import Policy
from perdure.ports import (
    Clock,
    Corpus,
    Database,
    Embedder,
    ItemFilter,
    Outside,
    Transaction,
    VectorIndex,
)
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
from perdure.vectors.fill import findable, stamp

_LIVING = ItemFilter(statuses=frozenset(Status) - {Status.DELETED})
"""What has terms and vectors: a dismissed or archived memory may come back, and others are
compared with it. Only what is deleted has none."""
_ALL = "all"

_There: TypeAlias = Mapping[Corpus, Mapping[str, str]]
"""What an index has of the owner: refs with their stamps, by corpus."""

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
        """One promise for each owner who needs it; the same in one period, for one embedder.

        What an index outside SQL lost or kept SQL cannot see, so each owner's turn comes there.
        """
        model = self.index.model if self.index is not None else None
        with self.database.read() as tx:
            namespaces = tx.owners.namespaces()
        policies = {name: self.policy_of(name) for name in namespaces}
        key = text.fingerprint("reconcile", str(period), model or "")
        outside = isinstance(self.index, Outside)
        with self.database.read() as tx:
            return [
                _promise(owner, key, {}, at, policy)
                for name, policy in policies.items()
                for owner in {
                    **dict.fromkeys(
                        tx.owners.unfindable(name, model=model, episodes=_quotable(policy))
                    ),
                    **dict.fromkeys(
                        one
                        for one in (tx.owners.every(name) if outside else ())
                        if _its_turn(one, period, policy)
                    ),
                }
            ]

    def rebuild(self, at: datetime) -> int:
        """Promise to make everything anew, for everybody. Returns for how many that is.

        Until then the old vectors answer, unless the embedder's have another length by now.
        """
        with self.database.read() as tx:
            namespaces = tx.owners.namespaces()
        self._forget_other_lengths()
        policies = {name: self.policy_of(name) for name in namespaces}
        key = new_id(at)

        def promise(tx: Transaction) -> int:
            owners = [(one, policies[name]) for name in policies for one in tx.owners.every(name)]
            for owner, policy in owners:
                tx.jobs.promise(_promise(owner, key, {_ALL: True}, at, policy), at)
            return len(owners)

        return self.database.run(promise)

    def _forget_other_lengths(self) -> None:
        if self.index is None or self.embedder is None:
            return
        model, dimension = self.index.model, self.embedder.dimension

        def forget(tx: Transaction) -> bool:
            stored = tx.vectors.dimension(model)
            if stored is None or stored == dimension:
                return False
            tx.vectors.forget(model)
            return True

        if self.database.run(forget) and isinstance(self.index, Outside):
            self.index.clear()

    def __call__(self, job: Job) -> Effect:
        """Rows are read and written in the transaction that finishes the job.

        What the index has is read before: it may lie outside. What comes in meanwhile is promised
        once more at worst, and what has no row then never gets one.

        Raises:
            VectorsUnavailable: the index does not answer.
        """
        there: _There = {}
        ghosts = 0
        if self.index is not None:
            with self.database.read() as tx:
                there = {corpus: self.index.refs(tx, job.scope, corpus) for corpus in Corpus}
            if isinstance(self.index, Outside):
                ghosts = self._discard(self.index, job.scope, there)
        return partial(self._reconcile, job, self.policy_of(job.namespace), there, ghosts)

    def _discard(self, index: Outside, scope: Scope, there: _There) -> int:
        """Delete from an index outside what has no row."""
        with self.database.read() as tx:
            rows: dict[Corpus, set[str]] = {
                Corpus.MEMORIES: {item.id for item in tx.items.every(scope, _LIVING)},
                Corpus.EPISODES: {str(seq) for seq, *_ in tx.messages.outline(scope)},
            }
        ghosts = {corpus: refs.keys() - rows[corpus] for corpus, refs in there.items()}
        for corpus, refs in ghosts.items():
            index.discard(scope, corpus, refs)
        return sum(map(len, ghosts.values()))

    def _reconcile(
        self, job: Job, policy: Policy, there: _There, ghosts: int, tx: Transaction
    ) -> Mapping[str, Any]:
        anew = job.payload.get(_ALL) is True
        items = tx.items.every(job.scope, _LIVING)
        said = {str(seq): seq for seq, *_ in tx.messages.outline(job.scope)}
        done = {
            "orphans": ghosts
            + self._drop(tx, job.scope, Corpus.MEMORIES, {item.id for item in items})
            + self._drop(tx, job.scope, Corpus.EPISODES, said.keys()),
            "terms": _index(tx, job.scope, items, anew=anew),
            "vectors": self._unembedded(tx, job, items, there, policy, anew=anew),
            "messages": self._unheard(tx, job, said, there, policy, anew=anew)
            if _quotable(policy)
            else 0,
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
        return len(terms | vectors)

    def _unembedded(
        self,
        tx: Transaction,
        job: Job,
        items: Sequence[MemoryItem],
        there: _There,
        policy: Policy,
        *,
        anew: bool,
    ) -> int:
        """Promise a vector to each memory that has none, or not that of what it says now."""
        if self.index is None:
            return 0
        noted = tx.vectors.refs(job.scope, Corpus.MEMORIES, self.index.model)
        good = {
            item.id
            for item in items
            if item.vector_status is VectorStatus.SYNCED
            and item.id in noted
            and there[Corpus.MEMORIES].get(item.id) in ("", stamp(item))
        }
        wanted = [item.id for item in items if anew or item.id not in good]
        tx.items.mark_vectors(job.scope, wanted, VectorStatus.PENDING)
        self._promise(tx, job, "items", wanted, policy)
        return len(wanted)

    def _unheard(
        self,
        tx: Transaction,
        job: Job,
        said: Mapping[str, int],
        there: _There,
        policy: Policy,
        *,
        anew: bool,
    ) -> int:
        """Promise terms and vectors to each message that lacks one of them."""
        found = tx.fulltext.refs(job.scope, Corpus.EPISODES)
        if self.index is not None:
            found &= there[Corpus.EPISODES].keys()
            found &= tx.vectors.refs(job.scope, Corpus.EPISODES, self.index.model)
        lacking = [seq for ref, seq in said.items() if anew or ref not in found]
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


def _its_turn(owner: Scope, period: int, policy: Policy) -> bool:
    """Each owner's turn comes in one of the periods of a sweep, whoever else there is."""
    if not policy.jobs.sweep_s:
        return False
    turns = max(1, round(policy.jobs.sweep_s / max(policy.jobs.reconcile_s, 1.0)))
    return int(text.fingerprint(*owner.owner)[:8], 16) % turns == period % turns


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
