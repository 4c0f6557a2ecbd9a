"""What was believed at an earlier time: today's rows, taken back through their history. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from perdure import text
from perdure.ports import Posting, Postings
from perdure.text import Normalisation
from perdure.types import (
    IMPORTED,
    Actor,
    AuditEntry,
    ItemId,
    MemoryItem,
    Operation,
    Status,
    VectorStatus,
    content_hash,
)

_BECOMES: Mapping[Operation, Status] = {
    Operation.CREATE: Status.ACTIVE,
    Operation.RESTORE: Status.ACTIVE,
    Operation.DISMISS: Status.DISMISSED,
    Operation.ARCHIVE: Status.ARCHIVED,
    Operation.DELETE: Status.DELETED,
}
"""What an operation makes of a memory; the others leave its status as it is."""
_CONFIRMS = frozenset({Operation.CREATE, Operation.UPDATE, Operation.TOUCH, Operation.RESTORE})
"""Operations that move ``updated_at``."""


@dataclass(frozen=True, slots=True)
class Past:
    """The active memories of one user at an earlier time."""

    rows: tuple[MemoryItem, ...]
    """Newest ``updated_at`` first."""
    anew: frozenset[ItemId]
    """Those whose words no index has now."""


def believed(
    rows: Iterable[MemoryItem], history: Iterable[AuditEntry], at: datetime, how: Normalisation
) -> Past:
    """The memories as they were believed at a time.

    What a person has deleted or dismissed since is not believed at any time, nor is what is gone
    for good: its binding is not known any more, and scrubbed text stays gone. What the machine
    set aside, replaced or merged is, as long as what it became is not taken back. The history knows
    contents; the other fields are today's.

    Args:
        rows: all of the user, whatever their status.
        history: of the user; of one moment, in the order in which it was written.
        at: the time.
        how: what makes two statements the same.
    """
    by_item: defaultdict[ItemId, list[AuditEntry]] = defaultdict(list)
    known = {row.id: row for row in rows}
    merged: dict[ItemId, ItemId] = {}
    for entry in sorted(history, key=lambda entry: entry.at):
        by_item[entry.item].append(entry)
        if entry.was is not None and entry.was.id not in known:
            merged[entry.was.id] = entry.item
    gone = {e.was.id: e.was for es in by_item.values() for e in es if e.was is not None}
    then, anew = [], set()
    for row in (gone | known).values():
        entries = [one for one in by_item.get(row.id, []) if not _came_in(one)]
        if _taken_back(_speaker(row.id, known, merged), by_item):
            continue
        content = _content(row, entries, at)
        if content is None or _status(row, entries, at) is not Status.ACTIVE:
            continue
        then.append(_as_then(row, entries, content, at, how))
        if content != row.content or row.vector_status is not VectorStatus.SYNCED:
            anew.add(row.id)
    then.sort(key=lambda item: (item.updated_at, item.id), reverse=True)
    return Past(tuple(then), frozenset(anew))


def postings(texts: Mapping[str, str], terms: Collection[str]) -> Postings:
    """What an index of these texts would say about some terms."""
    counted = {ref: Counter(text.terms(said)) for ref, said in texts.items()}
    lengths = {ref: counts.total() for ref, counts in counted.items()}
    return Postings(
        texts=len(counted),
        average_length=sum(lengths.values()) / len(lengths) if lengths else 0.0,
        found=tuple(
            Posting(ref=ref, length=lengths[ref], counts=held)
            for ref, counts in sorted(counted.items())
            if (held := {term: counts[term] for term in terms if counts[term]})
        ),
    )


def _came_in(entry: AuditEntry) -> bool:
    """It says when a memory came in from elsewhere, which was believed there before."""
    return entry.operation is Operation.CREATE and entry.reason == IMPORTED


def _speaker(
    item: ItemId, known: Mapping[ItemId, MemoryItem], merged: Mapping[ItemId, ItemId]
) -> MemoryItem | None:
    """The row that says it today: itself, or what it was merged into; None: there is none."""
    seen = {item}
    while item not in known and item in merged:
        item = merged[item]
        if item in seen:
            return None
        seen.add(item)
    return known.get(item)


def _taken_back(row: MemoryItem | None, by_item: Mapping[ItemId, list[AuditEntry]]) -> bool:
    """A person does not want it said: dismissed, or deleted by hand; or it is gone for good."""
    if row is None or row.status is Status.DISMISSED:
        return True
    entries = by_item.get(row.id, [])
    last = [entry.actor for entry in entries if entry.operation is Operation.DELETE]
    return row.status is Status.DELETED and last[-1:] != [Actor.SYSTEM]


def _content(row: MemoryItem, entries: list[AuditEntry], at: datetime) -> str | None:
    """Its words at that time; None: there were none, or they were scrubbed."""
    before = [entry for entry in entries if entry.at <= at]
    if before:
        return before[-1].after
    if any(entry.operation is Operation.CREATE for entry in entries) or row.created_at > at:
        return None
    if not entries:
        return row.content
    first = entries[0]
    return first.before if first.was is None else first.after  # another one came into it


def _status(row: MemoryItem, entries: list[AuditEntry], at: datetime) -> Status:
    became = [(entry.at <= at, entry.operation) for entry in entries if entry.operation in _BECOMES]
    earlier = [operation for past, operation in became if past]
    if earlier:
        return _BECOMES[earlier[-1]]
    if became:  # the first change of status came later: before a restore it was not active
        return Status.ARCHIVED if became[0][1] is Operation.RESTORE else Status.ACTIVE
    return row.status


def _as_then(
    row: MemoryItem, entries: Iterable[AuditEntry], content: str, at: datetime, how: Normalisation
) -> MemoryItem:
    confirmed = [entry.at for entry in entries if entry.at <= at and entry.operation in _CONFIRMS]
    if content != row.content:
        row = replace(
            row,
            content=content,
            normalized_content=text.normalise(content, how),
            content_hash=content_hash(row.bound, row.level, content, how),
        )
    first = row.updated_at if row.updated_at <= at else min(row.created_at, at)
    return replace(row, status=Status.ACTIVE, updated_at=confirmed[-1] if confirmed else first)
