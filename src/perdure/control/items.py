"""What people do with their memories one by one: list, add, edit, dismiss, restore, delete."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias, Unpack

import numpy as np

from perdure import text
from perdure.control.fields import Fields, checked_content, checked_fields
from perdure.errors import (
    Duplicate,
    LimitReached,
    NotFound,
    ProjectKeyRequired,
    Rejected,
    Stale,
    Unavailable,
)
from perdure.policy import Policy
from perdure.ports import (
    Clock,
    Corpus,
    Database,
    Embedder,
    ItemFilter,
    Page,
    Transaction,
    Vector,
    VectorEntry,
    VectorIndex,
)
from perdure.types import (
    Actor,
    AuditEntry,
    JobType,
    Level,
    MemoryItem,
    Operation,
    Promise,
    Scope,
    Status,
    VectorStatus,
    aware,
    content_hash,
    new_id,
    one_of,
)

ACTIVE = ItemFilter(statuses=frozenset({Status.ACTIVE}))
"""What a list shows when nothing else is asked for."""

LONGEST_PAGE = 1_000  # memories

History: TypeAlias = list[AuditEntry]
"""What happened to one memory, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """A person's own hand on the memories: what is written here no machine changes."""

    database: Database
    embedder: Embedder | None
    index: VectorIndex | None
    policy_of: Callable[[str], Policy]
    clock: Clock

    def list(
        self, scope: Scope, which: ItemFilter = ACTIVE, limit: int = 50, after: str | None = None
    ) -> Page:
        """One page of memories, newest first; active ones unless the filter says otherwise.

        Raises:
            Rejected: the limit or the cursor cannot be meant.
        """
        if not 1 <= limit <= LONGEST_PAGE:
            raise Rejected(f"Expected 1 to {LONGEST_PAGE:,}.", field="limit")
        with self.database.read() as tx:
            return tx.items.page(scope, which, limit, after)

    def get(self, scope: Scope, item: str) -> MemoryItem:
        """One memory, whatever its status but deleted.

        Raises:
            NotFound: this user has no such memory.
        """
        with self.database.read() as tx:
            return _known(tx, scope, item)

    def history(self, scope: Scope, item: str) -> History:
        """What happened to one memory, oldest first; also after it was deleted.

        Raises:
            NotFound: this user never had such a memory.
        """
        with self.database.read() as tx:
            entries = tx.audit.of(scope, item)
        if not entries:
            raise NotFound(field="id")
        return entries

    def projects(self, scope: Scope) -> tuple[str, ...]:
        """Project keys seen so far, sorted; channels that only pose as projects are left out."""
        policy = self.policy_of(scope.namespace).item
        with self.database.read() as tx:
            seen = tx.items.projects(scope)
        return tuple(key for key in seen if policy.project(key) is not None)

    def add(
        self,
        scope: Scope,
        content: str,
        *,
        level: Level | str = Level.USER,
        **about: Unpack[Fields],
    ) -> MemoryItem:
        """Write a memory by hand. Bindings of the scope become bindings of the memory.

        What was archived or deleted comes back; what is active or dismissed is a duplicate.

        Raises:
            Rejected: a field cannot be meant; its subclasses tell what is wrong: ContentTooLong,
                ProjectKeyRequired, Duplicate (names the row), LimitReached.
        """
        policy = self.policy_of(scope.namespace)
        content = checked_content(content, policy.item)
        level = one_of(Level, level, "level")
        if level is Level.USER:
            scope = scope.within(project=None)
        elif policy.item.project(scope.project) is None:
            raise ProjectKeyRequired(field="project")
        at = self.clock()
        hashed = content_hash(scope, level, content, policy.item.normalisation)
        item = MemoryItem(
            id=new_id(at),
            namespace=scope.namespace,
            user=scope.user,
            content=content,
            content_hash=hashed,
            normalized_content=text.normalise(content, policy.item.normalisation),
            level=level,
            project=scope.project,
            assistant=scope.assistant,
            run=scope.run,
            conversation=scope.conversation,
            confidence=1.0,
            explicit=True,
            created_at=at,
            updated_at=at,
            **checked_fields(about, policy.item),
        )
        vector = self._vector(content)
        with self.database.begin() as tx:
            old = tx.items.by_hash(scope, hashed)
            if old is not None and old.status in (Status.ACTIVE, Status.DISMISSED):
                raise Duplicate(item=old.id, restorable=old.status is Status.DISMISSED)
            _room(tx, scope, policy)
            tx.items.unbury(scope, hashed)
            if old is not None:
                item = replace(item, id=old.id, created_at=old.created_at, origin=old.origin)
            self._write(tx, item, old, vector, Operation.RESTORE if old else Operation.CREATE)
        return item

    def edit(
        self,
        scope: Scope,
        item: str,
        *,
        content: str | None = None,
        shown: datetime | None = None,
        **about: Unpack[Fields],
    ) -> MemoryItem:
        """Change a memory; its status stays. All of it happens or nothing.

        Args:
            scope: whose memory it is.
            item: its id.
            content: a new statement, if it changes.
            shown: ``updated_at`` of the row as the person saw it; a newer row is not overwritten.
            about: other fields that change.

        Raises:
            NotFound: this user has no such memory.
            Stale: it was changed since ``shown``.
            Duplicate: another memory says that already.
        """
        policy = self.policy_of(scope.namespace)
        changes: dict[str, Any] = checked_fields(about, policy.item)
        if content is not None:
            changes["content"] = checked_content(content, policy.item)
        if not changes:
            raise Rejected("Nothing to change.", field="content")
        vector = self._vector(changes["content"]) if content is not None else None
        with self.database.begin() as tx:
            old = _known(tx, scope, item)
            if shown is not None and aware(shown, "shown") != old.updated_at:
                raise Stale(field="id")
            new = replace(
                old, **changes, edited_by_user=True, suspicious=False, updated_at=self._after(old)
            )
            if content is not None:
                how = policy.item.normalisation
                new = replace(
                    new,
                    content_hash=content_hash(new.bound, new.level, new.content, how),
                    normalized_content=text.normalise(new.content, how),
                )
                other = tx.items.by_hash(scope, new.content_hash)
                if other is not None and other.id != old.id:
                    if other.status is not Status.DELETED:
                        restorable = other.status is not Status.ACTIVE
                        raise Duplicate(item=other.id, restorable=restorable)
                    tx.items.remove(scope, [other.id])
            self._write(tx, new, old, vector, Operation.UPDATE)
        return new

    def dismiss(self, scope: Scope, item: str) -> MemoryItem:
        """Refuse a memory: it is not said again, and never learnt again by itself.

        Raises:
            NotFound: this user has no such memory.
        """
        with self.database.begin() as tx:
            old = _known(tx, scope, item)
            if old.status is Status.DISMISSED:
                return old
            new = replace(old, status=Status.DISMISSED, updated_at=self._after(old))
            self._write(tx, new, old, None, Operation.DISMISS)
        return new

    def restore(self, scope: Scope, item: str) -> MemoryItem:
        """Make a dismissed or archived memory active again, or take a delete back in time.

        Raises:
            NotFound: this user has no such memory.
            LimitReached: no further active memory fits.
        """
        policy = self.policy_of(scope.namespace)
        with self.database.begin() as tx:
            old = _found(tx, scope, item)
            if old.status is Status.ACTIVE:
                return old
            _room(tx, scope, policy)
            tx.items.unbury(scope, old.content_hash)
            new = replace(old, status=Status.ACTIVE, suspicious=False, updated_at=self._after(old))
            self._write(tx, new, old, None, Operation.RESTORE)
        return new

    def delete(self, scope: Scope, item: str) -> None:
        """Delete a memory. Older material cannot bring it back.

        Raises:
            NotFound: this user has no such memory.
        """
        with self.database.begin() as tx:
            self._delete(tx, scope, _known(tx, scope, item))

    def clear(self, scope: Scope, which: ItemFilter | None = None) -> int:
        """Delete every memory the scope lists, whatever its status. Returns how many."""
        which = which or ItemFilter(statuses=frozenset(Status) - {Status.DELETED})
        with self.database.begin() as tx:
            doomed = tx.items.every(scope, which)
            for item in doomed:
                self._delete(tx, scope, item)
        return len(doomed)

    # ── shared steps ─────────────────────────────────────────────────────────────────────────────

    def _after(self, old: MemoryItem) -> datetime:
        """Now, and in any case after the row's last change, so that a change is always seen."""
        return max(self.clock(), old.updated_at + datetime.resolution)

    def _vector(self, content: str) -> Vector | None:
        """The vector of a new content, made before any transaction; None if that must wait."""
        if self.embedder is None:
            return None
        try:
            vectors = self.embedder.embed([content], "add")
        except Unavailable:
            return None
        return np.asarray(vectors[0], dtype=np.float32)

    def _delete(self, tx: Transaction, scope: Scope, old: MemoryItem) -> None:
        at = self._after(old)
        tx.items.bury(scope, old, at)
        if self.policy_of(scope.namespace).item.soft_delete:
            tx.items.put(replace(old, status=Status.DELETED, updated_at=at))
        else:
            tx.items.remove(scope, [old.id])
        _forget_projections(tx, self.index, scope, [old.id])
        tx.audit.add([entry(Operation.DELETE, old, None, at)])

    def _write(
        self,
        tx: Transaction,
        new: MemoryItem,
        old: MemoryItem | None,
        vector: Vector | None,
        operation: Operation,
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
            scope = Scope(namespace=new.namespace, user=new.user)
            tx.fulltext.index(scope, Corpus.MEMORIES, {new.id: text.terms(new.content)})
            if vector is not None and self.index is not None:
                vectors = vector[np.newaxis, :]
                self.index.upsert(
                    tx, scope, Corpus.MEMORIES, [VectorEntry(ref=new.id, vectors=vectors)]
                )
                tx.items.mark_vectors(scope, [new.id], VectorStatus.SYNCED)
            elif self.embedder is not None:
                tx.jobs.promise(embed_later(new), new.updated_at)
        tx.audit.add([entry(operation, old, new, new.updated_at)])


def entry(
    operation: Operation, old: MemoryItem | None, new: MemoryItem | None, at: datetime
) -> AuditEntry:
    """The audit entry of what a person did."""
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
        reason="by hand",
        before=old.content if old is not None else None,
        after=new.content if new is not None else None,
        at=at,
    )


def _found(tx: Transaction, scope: Scope, item: str) -> MemoryItem:
    for found in tx.items.get(scope, [item]):
        return found
    raise NotFound(field="id")


def _known(tx: Transaction, scope: Scope, item: str) -> MemoryItem:
    found = _found(tx, scope, item)
    if found.status is Status.DELETED:
        raise NotFound(field="id")
    return found


def _room(tx: Transaction, scope: Scope, policy: Policy) -> None:
    owner = Scope(namespace=scope.namespace, user=scope.user)
    if tx.items.count(owner, ACTIVE) >= policy.capacity.active_limit:
        raise LimitReached(f"The limit is {policy.capacity.active_limit}.")


def _forget_projections(
    tx: Transaction, index: VectorIndex | None, scope: Scope, ids: Collection[str]
) -> None:
    tx.fulltext.remove(scope, Corpus.MEMORIES, ids)
    if index is not None:
        index.remove(tx, scope, Corpus.MEMORIES, ids)


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
