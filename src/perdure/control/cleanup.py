"""Keeps the memories of an owner clean: sets aside what expired, scrubs what was deleted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from perdure.jobs.job import Effect
from perdure.observe import Meter
from perdure.policy import Policy
from perdure.ports import (
    Clock,
    Corpus,
    Database,
    Due,
    ItemFilter,
    Outside,
    Transaction,
    VectorIndex,
)
from perdure.types import (
    Actor,
    AuditEntry,
    Job,
    JobType,
    MemoryItem,
    Operation,
    Promise,
    Scope,
    Status,
    just_after,
    moved,
    new_id,
)

WORDS = frozenset({"source_text"})
"""Fields of payloads in which somebody speaks. Nobody reads them once the job is over: a retry by
hand takes what was said from the messages, where it obeys their own retention."""

_COMPACT = "compact"
_ACTIVE = ItemFilter(statuses=frozenset({Status.ACTIVE}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaner:
    """Finds out who needs cleaning, and handles their ``cleanup`` jobs: one owner, one commit."""

    database: Database
    index: VectorIndex | None
    policy_of: Callable[[str], Policy]
    clock: Clock
    meter: Meter

    def due(self, at: datetime, period: int) -> Sequence[Promise]:
        """One promise for each owner of something that is overdue; the same in one period."""
        with self.database.read() as tx:
            namespaces = tx.owners.namespaces()
        policies = {name: self.policy_of(name) for name in namespaces}
        with self.database.read() as tx:
            owners = [
                (owner, policy)
                for name, policy in policies.items()
                for owner in tx.owners.overdue(name, overdue(policy, at))
            ]
        # The index of terms is everybody's: it is compacted once, by the last of them.
        last = len(owners) - 1
        return [
            _promise(owner, {_COMPACT: number == last}, at, period, policy)
            for number, (owner, policy) in enumerate(owners)
        ]

    def __call__(self, job: Job) -> Effect:
        """Everything is read and written in the transaction that finishes the job."""
        return partial(self._clean, job, self.policy_of(job.namespace))

    def _clean(self, job: Job, policy: Policy, tx: Transaction) -> Mapping[str, Any]:
        scope, at = job.scope, self.clock()
        due = overdue(policy, at)
        done = {
            "archived": _set_aside(tx, scope, at) if due.expired is not None else 0,
            "scrubbed": self._scrub(tx, scope, due.deleted),
            "messages": tx.messages.remove(scope, kept_before=due.kept) if due.kept else 0,
            "jobs": tx.jobs.strip(scope, WORDS),
            "merged": tx.audit.forget(scope, due.merged),
        }
        index: object = self.index
        if done["messages"] and isinstance(index, Outside):
            index.sweep(tx, scope)
        if job.payload.get(_COMPACT) is True:
            tx.fulltext.compact()
        for what, times in done.items():
            self.meter.count("memory_cleaned", times, what=what)
        return done

    def _scrub(self, tx: Transaction, scope: Scope, before: datetime) -> int:
        """Scrub what was deleted up to then. What was brought back since is none of it."""
        noted = tx.items.unscrubbed(scope, before)
        living = {
            item.id for item in tx.items.get(scope, noted) if item.status is not Status.DELETED
        }
        doomed = [item for item in noted if item not in living]
        scrub(tx, self.index, scope, doomed)
        tx.items.scrubbed(scope, noted)
        return len(doomed)


def scrub(tx: Transaction, index: VectorIndex | None, scope: Scope, items: Collection[str]) -> None:
    """Take the text of deleted memories out of everything.

    Row, vectors and terms go; their history stays without its words. What is left of each is the
    tombstone: hash, source messages, time.
    """
    if not items:
        return
    tx.items.remove(scope, items)
    if index is not None:
        index.remove(tx, scope, Corpus.MEMORIES, items)
    tx.audit.scrub(scope, items)


def overdue(policy: Policy, at: datetime) -> Due:
    """What a namespace with these numbers no longer keeps."""
    keep = policy.capture.keep_messages_s
    return Due(
        expired=at if policy.item.expires else None,
        deleted=past(at, policy.item.scrub_after_s),
        kept=past(at, keep) if keep else None,  # 0: gone once learnt from, which learning does
        merged=past(at, policy.consolidate.undo_s),
    )


def past(at: datetime, seconds: float) -> datetime:
    """So long ago; the beginning of time for what is never over."""
    try:
        return at - timedelta(seconds=seconds)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _set_aside(tx: Transaction, scope: Scope, at: datetime) -> int:
    """Archive what expired.

    Its ``updated_at`` moves, so that nobody writes back what he read before.
    """
    expired = [item for item in tx.items.every(scope, _ACTIVE) if item.expired(at)]
    for old in expired:
        moment = just_after(at, old.updated_at)
        new = replace(old, status=Status.ARCHIVED, updated_at=moment)
        tx.items.put(new)
        tx.audit.add([_entry(old, new, moment)])
    return len(expired)


def _entry(old: MemoryItem, new: MemoryItem, at: datetime) -> AuditEntry:
    return AuditEntry(
        id=new_id(at),
        item=old.id,
        namespace=old.namespace,
        user=old.user,
        operation=Operation.ARCHIVE,
        actor=Actor.SYSTEM,
        reason="expired",
        before=old.content,
        after=new.content,
        at=at,
        moved=moved(old, new),
    )


def _promise(
    owner: Scope, payload: Mapping[str, Any], at: datetime, period: int, policy: Policy
) -> Promise:
    return Promise(
        type=JobType.CLEANUP,
        namespace=owner.namespace,
        user=owner.user,
        key=f"cleanup {period}",
        payload=payload,
        trace=new_id(at),
        max_retry=policy.jobs.max_retry,
        ordered=False,  # what a user wants gone does not wait for a model that is away
    )
