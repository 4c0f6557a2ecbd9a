"""What people do with their memories one by one: list, add, edit, dismiss, restore, delete."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias, Unpack

from perdure import text
from perdure.control.cleanup import scrub
from perdure.control.fields import Fields, checked_content, checked_fields
from perdure.control.hand import (
    ACTIVE,
    Hand,
    as_shown,
    gone_for_good,
    known,
    reworded,
    room,
    taken_out,
    unerased,
)
from perdure.errors import Duplicate, NotFound, ProjectKeyRequired, Rejected
from perdure.ports import ItemFilter, Page, Transaction
from perdure.types import (
    OF_MEMORIES,
    AuditEntry,
    Level,
    MemoryItem,
    Operation,
    Scope,
    Status,
    content_hash,
    meant,
    new_id,
    one_of,
    sought,
    whole_number,
)

LONGEST_PAGE = 1_000  # memories

History: TypeAlias = list[AuditEntry]
"""What happened to one memory, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Items(Hand):
    """Memories one by one, as their owner looks after them."""

    def list(
        self, scope: Scope, which: ItemFilter = ACTIVE, limit: int = 50, after: str | None = None
    ) -> Page:
        """One page of memories, newest first; active ones unless the filter says otherwise.

        Raises:
            Rejected: the limit or the cursor cannot be meant.
        """
        whole_number(limit, "limit", 1, LONGEST_PAGE)
        if after is not None and not isinstance(after, str):
            raise Rejected("Expected the cursor of the page before.", field="after")
        which = filtered(which)
        with self.database.read() as tx:
            return tx.items.page(meant(scope), which, limit, after)

    def get(self, scope: Scope, item: str) -> MemoryItem:
        """One memory, whatever its status but deleted.

        Raises:
            NotFound: this user has no such memory.
        """
        with self.database.read() as tx:
            return known(tx, scope, item)

    def history(self, scope: Scope, item: str) -> History:
        """What happened to one memory, oldest first; also after it was deleted.

        Nothing is told of one that was there before there was an audit of it.

        Raises:
            NotFound: this user never had such a memory, or it is bound elsewhere.
        """
        owner = Scope(namespace=meant(scope).namespace, user=scope.user)
        item = sought(item, "id")
        with self.database.read() as tx:
            there = tx.items.get(scope, [item])
            elsewhere = not there and tx.items.get(owner, [item])
            entries = [] if elsewhere else tx.audit.of(scope, item)
        told = [entry for entry in entries if entry.operation in OF_MEMORIES]
        if not told and not there:
            raise NotFound(field="id")
        return told

    def projects(self, scope: Scope) -> tuple[str, ...]:
        """Project keys seen so far, sorted; channels that only pose as projects are left out."""
        policy = self.policy_of(meant(scope).namespace).item
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

        What was archived, deleted or expired comes back; what is active or dismissed is a
        duplicate.

        Raises:
            Rejected: a field cannot be meant; its subclasses tell what is wrong: ContentTooLong,
                ProjectKeyRequired, Duplicate (names the row), LimitReached, Erased.
        """
        policy = self.policy_of(meant(scope).namespace)
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
        vector = self._vector(scope, content, policy)

        def write(tx: Transaction) -> MemoryItem:
            unerased(tx, scope, at)
            new, old = item, tx.items.by_hash(scope, hashed)
            if old is not None and gone_for_good(old, policy, at):
                scrub(tx, self.index, scope, [old.id])
                old = None
            if old is None or old.status is not Status.ACTIVE:
                room(tx, scope, policy, at)
            if old is not None:
                if old.status is Status.DISMISSED or (
                    old.status is Status.ACTIVE and not old.expired(at)
                ):
                    raise Duplicate(item=old.id, restorable=old.status is Status.DISMISSED)
                moment = self._after(old)
                new = replace(
                    item, id=old.id, created_at=old.created_at, origin=old.origin, updated_at=moment
                )
            tx.items.unbury(scope, hashed)
            operation = Operation.RESTORE if old else Operation.CREATE
            self._write(tx, new, old, vector, self._entry(operation, old, new, new.updated_at))
            return self._done(tx, new)

        return self.database.run(write, scope)

    def edit(
        self,
        scope: Scope,
        item: str,
        *,
        content: str | None = None,
        shown: datetime | None = None,
        **about: Unpack[Fields],
    ) -> MemoryItem:
        """Change a memory. All of it happens or nothing.

        Its status stays, except that of a memory whose time was up and now is not: it is active
        again. What is not named stays, also in the metadata; None takes a key out of them.

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
            LimitReached: it would be active again, and no further active memory fits.
        """
        policy = self.policy_of(meant(scope).namespace)
        if content is None and not about:
            raise Rejected("Nothing to change.", field="content")
        statement = None if content is None else checked_content(content, policy.item)
        vector = self._vector(scope, statement, policy, "update") if statement is not None else None

        def write(tx: Transaction) -> MemoryItem:
            old = as_shown(known(tx, scope, item), shown)
            at = self._after(old)
            changes = checked_fields(about, policy.item, old.metadata)
            new = replace(old, **changes, edited_by_user=True, suspicious=False, updated_at=at)
            if statement is not None:
                new = reworded(new, statement, policy)
                self._claim(tx, scope, new)
                if new.content_hash != old.content_hash:  # older turns cannot bring it back
                    tx.items.bury(scope, old, at)
                    tx.items.unbury(scope, new.content_hash)
            if old.status is Status.ARCHIVED and old.expired(at) and not new.expired(at):
                room(tx, scope, policy, at)
                new = replace(new, status=Status.ACTIVE)
            self._write(tx, new, old, vector, self._entry(Operation.UPDATE, old, new, at))
            return self._done(tx, new)

        return self.database.run(write, scope)

    def dismiss(self, scope: Scope, item: str, *, shown: datetime | None = None) -> MemoryItem:
        """Refuse a memory: it is not said again, and never learnt again by itself.

        Raises:
            NotFound: this user has no such memory.
            Stale: it was changed since ``shown``.
        """

        def write(tx: Transaction) -> MemoryItem:
            old = as_shown(known(tx, scope, item), shown)
            if old.status is Status.DISMISSED:
                return self._done(tx, old)
            at = self._after(old)
            new = replace(old, status=Status.DISMISSED, updated_at=at)
            self._write(tx, new, old, None, self._entry(Operation.DISMISS, old, new, at))
            return self._done(tx, new)

        return self.database.run(write, scope)

    def accept(self, scope: Scope, item: str, *, shown: datetime | None = None) -> MemoryItem:
        """Let a memory be said that reads like an order; to refuse it, dismiss it.

        Raises:
            NotFound: this user has no such memory.
            Stale: it was changed since ``shown``.
        """

        def write(tx: Transaction) -> MemoryItem:
            old = as_shown(known(tx, scope, item), shown)
            if not old.suspicious:
                return self._done(tx, old)
            at = self._after(old)
            new = replace(old, suspicious=False, updated_at=at)
            self._write(tx, new, old, None, self._entry(Operation.ACCEPT, old, new, at))
            return self._done(tx, new)

        return self.database.run(write, scope)

    def restore(self, scope: Scope, item: str, *, shown: datetime | None = None) -> MemoryItem:
        """Make a dismissed or archived memory active again, or take a delete back in time.

        If its time was up, it no longer expires.

        Raises:
            NotFound: this user has no such memory, or it was deleted too long ago, or is bound
                elsewhere. A file keeps nothing of what was deleted.
            Duplicate: its row was gone, and the statement was stored again since.
            Stale: it was changed since ``shown``.
            LimitReached: no further active memory fits.
        """
        policy = self.policy_of(meant(scope).namespace)

        def write(tx: Transaction) -> MemoryItem:
            stored = next(iter(tx.items.get(scope, [sought(item, "id")])), None)
            old = as_shown(stored or taken_out(tx, scope, item, policy, self.clock()), shown)
            if stored is not None and old.status is Status.ACTIVE:
                return self._done(tx, old)
            at = self._after(old)
            if gone_for_good(old, policy, at):
                raise NotFound(field="id")
            room(tx, scope, policy, at)
            tx.items.unbury(scope, old.content_hash)
            until = None if old.expired(at) else old.expires_at
            new = replace(
                old, status=Status.ACTIVE, suspicious=False, expires_at=until, updated_at=at
            )
            self._write(tx, new, stored, None, self._entry(Operation.RESTORE, stored, new, at))
            return self._done(tx, new)

        return self.database.run(write, scope)

    def delete(self, scope: Scope, item: str, *, shown: datetime | None = None) -> None:
        """Delete a memory. Older material cannot bring it back.

        Raises:
            NotFound: this user has no such memory.
            Stale: it was changed since ``shown``.
        """
        policy = self.policy_of(meant(scope).namespace)

        def write(tx: Transaction) -> None:
            old = as_shown(known(tx, scope, item), shown)
            self._delete(tx, old, policy)
            self._done(tx, old)

        self.database.run(write, scope)

    def clear(self, scope: Scope, which: ItemFilter | None = None) -> int:
        """Delete every memory the scope lists, whatever its status. Returns how many.

        Raises:
            Rejected: what is to go cannot be meant.
        """
        policy = self.policy_of(meant(scope).namespace)
        if which is None:
            which = ItemFilter(statuses=frozenset(Status) - {Status.DELETED})
        doomed_ones = filtered(which)

        def write(tx: Transaction) -> int:
            doomed = tx.items.every(scope, doomed_ones)
            for item in doomed:
                self._delete(tx, item, policy)
            return self._done(tx, len(doomed))

        return self.database.run(write, scope)

    def _claim(self, tx: Transaction, scope: Scope, new: MemoryItem) -> None:
        """The statement is free for this memory; a deleted one that said it makes way."""
        other = tx.items.by_hash(scope, new.content_hash)
        if other is not None and other.id != new.id:
            if other.status is not Status.DELETED:
                raise Duplicate(item=other.id, restorable=other.status is not Status.ACTIVE)
            tx.items.remove(scope, [other.id])


def filtered(which: Any) -> ItemFilter:
    """Which memories a caller means.

    Raises:
        Rejected: it is no filter; nothing is no answer to what is to be listed, or to go.
    """
    if not isinstance(which, ItemFilter):
        raise Rejected("Expected an ItemFilter.", field="which")
    return which
