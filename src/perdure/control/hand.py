"""What every change by a person's hand shares: the row, what finds it, and its history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from queue import Empty, Queue
from threading import Thread
from typing import TypeVar

import numpy as np

from perdure import text
from perdure.control.cleanup import past, scrub
from perdure.errors import (
    Duplicate,
    Erased,
    LimitReached,
    NotFound,
    Rejected,
    Stale,
    Unavailable,
)
from perdure.learn.capacity import oldest_first
from perdure.policy import Policy
from perdure.ports import (
    Also,
    Clock,
    Corpus,
    Database,
    EmbedAction,
    Embedder,
    ItemFilter,
    Ledger,
    Outside,
    Transaction,
    Vector,
    VectorEntry,
    VectorIndex,
    on_account,
)
from perdure.types import (
    Actor,
    AuditEntry,
    JobType,
    MemoryItem,
    Operation,
    Promise,
    Scope,
    Status,
    Trace,
    VectorStatus,
    aware,
    content_hash,
    just_after,
    meant,
    moved,
    new_id,
    sought,
)

Found = TypeVar("Found")

ACTIVE = ItemFilter(statuses=frozenset({Status.ACTIVE}))
"""What a list shows when nothing else is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """A person's own hand on the memories: what is written here no machine changes."""

    database: Database
    embedder: Embedder | None
    index: VectorIndex | None
    policy_of: Callable[[str], Policy]
    clock: Clock
    ledger: Ledger | None = None
    """None: nobody pays."""
    also: Also | None = None
    """What else is written in the commit of each change."""
    by: str | None = None
    """Whose hand it is, as the audit keeps it: a key, a user, a command."""
    trace: Trace | None = None
    """Of the request that it serves."""

    def _done(self, tx: Transaction, done: Found) -> Found:
        """What the change came to, as its unit of work ends."""
        if self.also is not None:
            self.also(tx, done)
        return done

    def _entry(
        self,
        operation: Operation,
        old: MemoryItem | None,
        new: MemoryItem | None,
        at: datetime,
        *,
        reason: str = "by hand",
        trace: Trace | None = None,
    ) -> AuditEntry:
        """The audit entry of what this hand did."""
        note = entry(operation, old, new, at, reason=reason)
        return replace(note, by=self.by, trace=trace or self.trace)

    def _after(self, old: MemoryItem) -> datetime:
        """Now, and in any case after the row's last change, so that a change is always seen."""
        return just_after(self.clock(), old.updated_at)

    def _vector(
        self, scope: Scope, content: str, policy: Policy, action: EmbedAction = "add"
    ) -> Vector | None:
        """The vector of a new content, made before any transaction; None if a job makes it.

        Nobody waits long for an embedder, nor for an index outside of the transaction.
        """
        if self.embedder is None or self.index is None or isinstance(self.index, Outside):
            return None
        embedder = on_account(self.embedder, self.ledger, scope)
        vectors = in_time(lambda: embedder.embed([content], action), policy.item.vector_wait_s)
        return None if vectors is None else np.asarray(vectors[0], dtype=np.float32)

    def _delete(
        self,
        tx: Transaction,
        old: MemoryItem,
        policy: Policy,
        reason: str = "by hand",
        trace: Trace | None = None,
    ) -> None:
        """Nothing finds it any more; its text stays for as long as this can be undone."""
        at = self._after(old)
        scope = owner(old)
        tx.items.bury(scope, old, at)
        was = None
        if policy.item.soft_delete:
            tx.items.put(replace(old, status=Status.DELETED, updated_at=at))
        else:
            tx.items.remove(scope, [old.id])
            was = old
        tx.fulltext.remove(scope, Corpus.MEMORIES, [old.id])
        if self.index is not None:
            self.index.remove(tx, scope, Corpus.MEMORIES, [old.id])
        note = self._entry(Operation.DELETE, old, None, at, reason=reason, trace=trace)
        tx.audit.add([replace(note, was=was)])
        if policy.item.scrub_after_s == 0:
            scrub(tx, self.index, scope, [old.id])

    def _write(
        self,
        tx: Transaction,
        new: MemoryItem,
        old: MemoryItem | None,
        vector: Vector | None,
        note: AuditEntry,
    ) -> None:
        """The row, its search terms, its vector or the promise of one, and the audit entry."""
        said_anew = old is None or old.content != new.content or old.status is Status.DELETED
        if said_anew:
            new = replace(new, vector_status=VectorStatus.PENDING)
        if old is None:
            tx.items.add(new)
        else:
            tx.items.put(new)
        if said_anew:
            self._project(tx, new, vector)
        tx.audit.add([note])

    def _project(self, tx: Transaction, new: MemoryItem, vector: Vector | None) -> None:
        scope = owner(new)
        tx.fulltext.index(scope, Corpus.MEMORIES, {new.id: text.terms(new.content)})
        tx.vectors.remove(scope, Corpus.MEMORIES, [new.id])  # of what it said before, of any model
        if vector is not None and self.index is not None:
            vectors = vector[np.newaxis, :]
            self.index.upsert(
                tx, scope, Corpus.MEMORIES, [VectorEntry(ref=new.id, vectors=vectors)]
            )
            tx.items.mark_vectors(scope, [new.id], VectorStatus.SYNCED)
            return
        if self.embedder is not None:
            tx.jobs.promise(embed_later(new), new.updated_at)


def in_time(ask: Callable[[], Found], seconds: float) -> Found | None:
    """What an embedder answers within so long; None if it is late or away. It may end by itself."""
    answered: Queue[Found | Exception] = Queue()

    def run() -> None:
        try:
            answered.put(ask())
        except Exception as error:  # noqa: BLE001 - raised by who waits; nobody may any more
            answered.put(error)

    Thread(target=run, name="perdure-hand", daemon=True).start()
    try:
        answer = answered.get(timeout=seconds)
    except Empty:
        return None
    if isinstance(answer, Unavailable):
        return None
    if isinstance(answer, Exception):
        raise answer
    return answer


def unerased(tx: Transaction, scope: Scope, began: datetime) -> None:
    """What began before the user was erased may not write any more.

    Raises:
        Erased: that was meanwhile, or goes on now.
    """
    if tx.erasures.since(scope, began):
        raise Erased(field="user")


def owner(item: MemoryItem) -> Scope:
    """Whose memory it is, wherever it is bound to."""
    return Scope(namespace=item.namespace, user=item.user)


def reworded(item: MemoryItem, content: str, policy: Policy) -> MemoryItem:
    """The same memory with another statement, and the hash of that."""
    how = policy.item.normalisation
    return replace(
        item,
        content=content,
        content_hash=content_hash(item.bound, item.level, content, how),
        normalized_content=text.normalise(content, how),
    )


def entry(
    operation: Operation,
    old: MemoryItem | None,
    new: MemoryItem | None,
    at: datetime,
    *,
    reason: str = "by hand",
) -> AuditEntry:
    """The audit entry of what a person did, whoever that was."""
    item = new or old
    if item is None:
        raise Rejected(field="item")
    return AuditEntry(
        id=new_id(at),
        item=item.id,
        namespace=item.namespace,
        user=item.user,
        operation=operation,
        actor=Actor.USER,
        reason=reason,
        before=old.content if old is not None else None,
        after=new.content if new is not None else None,
        at=at,
        moved=moved(old, new),
    )


def found(tx: Transaction, scope: Scope, item: str) -> MemoryItem:
    """The memory, whatever its status.

    Raises:
        NotFound: this user has no such memory.
    """
    for one in tx.items.get(meant(scope), [sought(item, "id")]):
        return one
    raise NotFound(field="id")


def known(tx: Transaction, scope: Scope, item: str) -> MemoryItem:
    """The memory, whatever its status but deleted.

    Raises:
        NotFound: this user has no such memory.
    """
    one = found(tx, scope, item)
    if one.status is Status.DELETED:
        raise NotFound(field="id")
    return one


def taken_out(tx: Transaction, scope: Scope, item: str, policy: Policy, at: datetime) -> MemoryItem:
    """The deleted memory whose row left the table, as it was, while that can be undone.

    Raises:
        NotFound: this user never had it, or nothing of it is kept.
        Duplicate: its statement was stored again since.
    """
    entries = tx.audit.of(Scope(namespace=scope.namespace, user=scope.user), item)
    if not entries or entries[-1].operation is not Operation.DELETE:
        raise NotFound(field="id")
    was = entries[-1].was
    if was is None or entries[-1].at <= past(at, policy.item.scrub_after_s):
        raise NotFound("It was deleted, and nothing of it is kept any more.", field="id")
    if not was.visible_in(scope):
        raise NotFound(field="id")
    same = tx.items.by_hash(was.bound, was.content_hash)
    if same is not None:
        raise Duplicate(item=same.id, restorable=same.status is not Status.ACTIVE)
    return was


def as_shown(item: MemoryItem, shown: datetime | None) -> MemoryItem:
    """The memory, if it still is as a person saw it; None: whatever it is now.

    Raises:
        Stale: it was changed since.
    """
    if shown is not None and aware(shown, "shown") != item.updated_at:
        raise Stale(field="id")
    return item


def gone_for_good(item: MemoryItem, policy: Policy, at: datetime) -> bool:
    """It was deleted so long ago that this cannot be undone, scrubbed already or not."""
    deleted = item.status is Status.DELETED
    return deleted and item.updated_at <= past(at, policy.item.scrub_after_s)


def room(tx: Transaction, scope: Scope, policy: Policy, at: datetime, rehearsed: int = 0) -> None:
    """One more active memory fits; where the policy trims, the oldest are set aside for it.

    Args:
        tx: where they are counted.
        scope: whose they are.
        policy: how many fit.
        at: now.
        rehearsed: how many more there would be, had they not been taken back.

    Raises:
        LimitReached: none does; it says how many there are.
    """
    limit = policy.capacity.active_limit
    who = Scope(namespace=scope.namespace, user=scope.user)
    used = tx.items.count(who, ACTIVE) + rehearsed
    if used < limit:
        return
    trims = policy.capacity.trims
    crowded = oldest_first(tx.items.every(who, ACTIVE), policy.capacity) if trims else []
    if len(crowded) <= used - limit:
        raise LimitReached("There are {used}; the limit is {limit}.", used=used, limit=limit)
    for old in crowded[: used - limit + 1]:
        new = replace(old, status=Status.ARCHIVED)
        tx.items.put(new)
        note = entry(Operation.ARCHIVE, old, new, at, reason="crowded out")
        tx.audit.add([replace(note, actor=Actor.SYSTEM)])


def embed_later(item: MemoryItem) -> Promise:
    """The promise of a memory's vector."""
    return Promise(
        type=JobType.EMBED,
        namespace=item.namespace,
        user=item.user,
        key=text.fingerprint("embed", item.id, item.content_hash, item.updated_at.isoformat()),
        payload={"items": [item.id]},
        trace=item.id,
        ordered=False,
    )
