"""What the desktop file does to rows: edits written with their history, indexes, forgetting."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from sqlalchemy import exists, select, update

from perdure import text
from perdure.ports import Corpus
from perdure.store.database import SqlTransaction
from perdure.store.file_edits import Edits
from perdure.store.schema import conversations, memories, messages
from perdure.types import (
    Actor,
    AuditEntry,
    MemoryItem,
    Operation,
    Scope,
    Status,
    just_after,
    moved,
    new_id,
)

_TEXTS = select(memories.c.namespace, memories.c.user_id, memories.c.id, memories.c.content)
_FORGET_LEARNT = (
    update(messages)
    .where(
        messages.c.content != "",
        exists().where(
            conversations.c.namespace == messages.c.namespace,
            conversations.c.user_id == messages.c.user_id,
            conversations.c.conversation_id == messages.c.conversation_id,
            conversations.c.watermark >= messages.c.id,
        ),
    )
    .values(content="", chars=0)
)


def write_edits(tx: SqlTransaction, edits: Edits, at: datetime) -> None:
    """Do to the rows what was done to the file."""
    for item in edits.removed:
        gone = just_after(at, item.updated_at)
        tx.items.bury(_owner(item), item, gone)
        tx.items.remove(_owner(item), [item.id])
        _note(tx, Operation.DELETE, item, None, gone)
    for old, new in edits.written:
        tx.items.unbury(_owner(new), new.content_hash)
        if old is None:
            tx.items.add(new)
        else:
            tx.items.put(new)
        if old is None or old.content != new.content:
            index(tx, [new])
            operation = Operation.CREATE if old is None else Operation.UPDATE
            _note(tx, operation, old, new, new.updated_at)
        elif old.updated_at != new.updated_at:
            _note(tx, Operation.RESTORE, old, new, new.updated_at)


def set_aside(tx: SqlTransaction, items: Iterable[MemoryItem], at: datetime) -> None:
    """Archive what stood in a file that cannot be read; each can be restored."""
    for item in items:
        new = replace(item, status=Status.ARCHIVED)
        tx.items.put(new)
        _note(tx, Operation.ARCHIVE, item, new, at, reason="file unreadable", actor=Actor.SYSTEM)


def index(tx: SqlTransaction, items: Iterable[MemoryItem]) -> None:
    """Make these findable by their words."""
    for item in items:
        tx.fulltext.index(_owner(item), Corpus.MEMORIES, {item.id: text.terms(item.content)})


def index_all(tx: SqlTransaction) -> None:
    """Make every memory findable by its words."""
    by_owner: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(dict)
    for namespace, user, item, content in tx.connection.execute(_TEXTS):
        by_owner[namespace, user][item] = text.terms(content)
    for (namespace, user), texts in by_owner.items():
        tx.fulltext.index(Scope(namespace=namespace, user=user), Corpus.MEMORIES, texts)


def forget_learnt(tx: SqlTransaction) -> None:
    """Of a message that was learnt from its id stays, so that a redelivery is known."""
    tx.connection.execute(_FORGET_LEARNT)


def _owner(item: MemoryItem) -> Scope:
    return Scope(namespace=item.namespace, user=item.user)


def _note(
    tx: SqlTransaction,
    operation: Operation,
    old: MemoryItem | None,
    new: MemoryItem | None,
    at: datetime,
    *,
    reason: str = "in the file",
    actor: Actor = Actor.USER,
) -> None:
    item = new or old
    assert item is not None  # noqa: S101 - a change is of something
    tx.audit.add(
        [
            AuditEntry(
                id=new_id(at),
                item=item.id,
                namespace=item.namespace,
                user=item.user,
                operation=operation,
                actor=actor,
                reason=reason,
                before=old.content if old is not None else None,
                after=new.content if new is not None else None,
                at=at,
                moved=moved(old, new),
            )
        ]
    )
