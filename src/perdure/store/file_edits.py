"""What a person or another program did to the desktop file since it was written. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from perdure.store.file_format import Entry, millis
from perdure.text import Normalisation, normalise
from perdure.types import (
    Level,
    MemoryItem,
    Origin,
    Scope,
    Source,
    Status,
    content_hash,
    just_after,
    new_id,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    """The rows as the file wants them, where they differ."""

    written: tuple[tuple[MemoryItem | None, MemoryItem], ...]
    """Each row before, None if it is new, and after."""
    removed: tuple[MemoryItem, ...]
    more: Mapping[str, Mapping[str, Any]]
    """Fields of other programs, by id, of every entry."""


def shown(rows: Iterable[MemoryItem]) -> list[MemoryItem]:
    """The rows that stand in the file: active, and not kept out of prompts.

    Other programs put what they find there into prompts of their own.
    """
    return [row for row in rows if row.status is Status.ACTIVE and not row.suspicious]


def read_edits(
    entries: Sequence[Entry],
    rows: Sequence[MemoryItem],
    person: Scope,
    how: Normalisation,
    at: datetime,
) -> Edits:
    """Compare the file with what is known.

    A row that says what an entry says is that entry's row, whatever their ids; otherwise the row
    of its id was reworded; otherwise it is new. A statement that stands there twice is kept once.

    Args:
        entries: of the file.
        rows: of the person, whatever their status.
        person: namespace and user whose file it is.
        how: what makes two statements the same.
        at: now; entries without a time come after each other from here on.
    """
    by_id = {row.id: row for row in rows}
    by_hash = {row.content_hash: row for row in rows}
    after: dict[str, MemoryItem] = {}
    more: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        at += datetime.resolution
        old = by_id.get(entry.id or "")
        if old is not None and old.id in after:
            old = None
        row = _row(entry, old, person, how, at)
        same = by_hash.get(row.content_hash)
        if same is not None and same.id in after:
            if after[same.id].content_hash == row.content_hash:
                continue
            same = None  # it says something else now
        if same is not None and same is not old:
            old = same
            row = _accepted(entry, same, at)
        if old is None and (row.id in by_id or row.id in after):
            row = replace(row, id=new_id(at))
        after[row.id] = by_hash[row.content_hash] = row
        more[row.id] = entry.more
    return Edits(
        written=tuple(
            (by_id.get(row.id), row) for row in after.values() if by_id.get(row.id) != row
        ),
        removed=tuple(row for row in shown(rows) if row.id not in after),
        more=more,
    )


def _row(
    entry: Entry, old: MemoryItem | None, person: Scope, how: Normalisation, at: datetime
) -> MemoryItem:
    """The row of an entry, made from the row of its id if there is one."""
    if old is None:
        return MemoryItem(
            id=entry.id or new_id(at),
            namespace=person.namespace,
            user=person.user,
            content=entry.content,
            content_hash=content_hash(person, Level.USER, entry.content, how),
            normalized_content=normalise(entry.content, how),
            source=Source.IMPORTED,
            origin=Origin(conversation=entry.conversation),
            created_at=entry.created_at or at,
            updated_at=at,
        )
    row = _accepted(entry, old, at)
    if entry.content == old.content:
        return row
    return replace(
        row,
        content=entry.content,
        content_hash=content_hash(old.bound, old.level, entry.content, how),
        normalized_content=normalise(entry.content, how),
        edited_by_user=True,
        updated_at=_later(old, at),
    )


def _accepted(entry: Entry, old: MemoryItem, at: datetime) -> MemoryItem:
    """The row as an entry says it is: active, with the time and the source that stand there."""
    row = old
    if entry.id == old.id:
        if entry.created_at is not None and millis(entry.created_at) != millis(old.created_at):
            row = replace(row, created_at=entry.created_at)
        if entry.conversation != old.origin.conversation:
            row = replace(row, origin=replace(row.origin, conversation=entry.conversation))
    if row.status is Status.ACTIVE and not row.suspicious:
        return row
    return replace(row, status=Status.ACTIVE, suspicious=False, updated_at=_later(old, at))


def _later(old: MemoryItem, at: datetime) -> datetime:
    return just_after(at, old.updated_at)
