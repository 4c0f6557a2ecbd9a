"""Who changed what, why, before and after; written with the change itself."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, insert, or_, select, update

from perdure.errors import Rejected
from perdure.ports import AuditFilter
from perdure.store import rows
from perdure.store.columns import owned, whose
from perdure.store.dialects import bunches
from perdure.store.schema import audit_log
from perdure.types import Actor, AuditEntry, AuditPage, Moved, Operation, Scope

_ADD = insert(audit_log)
_EVERY = select(audit_log).where(*owned(audit_log)).order_by(audit_log.c.id)
_OF = _EVERY.where(audit_log.c.item_id == bindparam("item"))
_MERGES = select(
    audit_log.c.item_id, audit_log.c.trace, audit_log.c.before, audit_log.c.after
).where(
    *owned(audit_log),
    audit_log.c.operation == Operation.MERGE.value,
    audit_log.c.before.is_not(None),
    audit_log.c.trace.is_not(None),
)
_MERGED_INTO = _MERGES.where(
    audit_log.c.item_id.in_(bindparam("items", expanding=True)), audit_log.c.after.is_not(None)
)
_MERGED_BY = _MERGES.where(
    audit_log.c.trace.in_(bindparam("runs", expanding=True)), audit_log.c.after.is_(None)
)
_SCRUB = (
    update(audit_log)
    .where(*owned(audit_log), audit_log.c.item_id.in_(bindparam("items", expanding=True)))
    .values(before=None, after=None, moved=None, was=None, was_at=None)
)
_BLANK = (
    update(audit_log)
    .where(*owned(audit_log), audit_log.c.entry_id.in_(bindparam("entries", expanding=True)))
    .values(before=None, after=None, moved=None, was=None, was_at=None)
)
_FORGET = (
    update(audit_log)
    .where(
        *owned(audit_log), audit_log.c.was.is_not(None), audit_log.c.at <= bindparam("before_at")
    )
    .values(was=None, was_at=None)
)

_CURSOR = re.compile(r"[0-9]{1,18}")


class SqlAudit:
    """`ports.AuditStore` on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, entries: Sequence[AuditEntry]) -> None:
        """Write entries, in the transaction of the change itself."""
        if entries:
            self._connection.execute(
                _ADD,
                [
                    {
                        "namespace": entry.namespace,
                        "user_id": entry.user,
                        "entry_id": entry.id,
                        "item_id": entry.item,
                        "operation": entry.operation.value,
                        "actor": entry.actor.value,
                        "reason": entry.reason,
                        "before": entry.before,
                        "after": entry.after,
                        "at": entry.at,
                        "trace": entry.trace,
                        "was": None if entry.was is None else rows.packed(entry.was),
                        "by": entry.by,
                        "was_at": None if entry.was is None else entry.at,
                        "moved": _written(entry.moved),
                        "imported_by": entry.imported_by,
                    }
                    for entry in entries
                ],
            )

    def of(self, scope: Scope, item: str) -> list[AuditEntry]:
        """The history of one memory, oldest first."""
        return _entries(self._connection.execute(_OF, {**whose(scope), "item": item}))

    def every(self, scope: Scope) -> list[AuditEntry]:
        """The history of all memories of the owner, gone ones included, oldest first."""
        return _entries(self._connection.execute(_EVERY, whose(scope)))

    def page(
        self, namespace: str, which: AuditFilter, limit: int = 50, after: str | None = None
    ) -> AuditPage:
        """Newest first, across the users of a namespace unless the filter names one.

        Raises:
            Rejected: ``after`` is no cursor.
        """
        wanted = [audit_log.c.namespace == namespace, *_matches(which)]
        if after is not None:
            wanted.append(audit_log.c.id < _place(after))
        newest = select(audit_log).where(*wanted).order_by(audit_log.c.id.desc())
        found = self._connection.execute(newest.limit(limit + 1)).all()
        shown = found[:limit]
        return AuditPage(
            entries=tuple(_entries(shown)),
            next=str(shown[-1].id) if shown and len(found) > limit else None,
        )

    def after(self, scope: Scope, place: int, limit: int) -> list[tuple[int, AuditEntry]]:
        """The owner's entries behind a place, oldest first, each with its own place."""
        found = self._connection.execute(
            _EVERY.where(audit_log.c.id > place).limit(limit), whose(scope)
        ).all()
        return [(row.id, entry) for row, entry in zip(found, _entries(found), strict=True)]

    def scrub(self, scope: Scope, items: Collection[str]) -> None:
        """Take the text out of the history of these memories; what happened to them stays.

        So it goes with the memories that were merged into them: they said the same.
        """
        doomed = set(items)
        while doomed:
            merged = self._merged_into(doomed, scope)
            for some in bunches(sorted(doomed)):
                self._connection.execute(_SCRUB, {**whose(scope), "items": some})
            doomed = merged - doomed

    def blank(self, scope: Scope, entries: Collection[str]) -> None:
        """Take the text out of these entries; that they happened stays."""
        for some in bunches(entries):
            self._connection.execute(_BLANK, {**whose(scope), "entries": some})

    def forget(self, scope: Scope, before: datetime) -> int:
        """Let go of the rows that left the table up to then. Returns how many there were."""
        return self._connection.execute(_FORGET, {**whose(scope), "before_at": before}).rowcount

    def _merged_into(self, items: Collection[str], scope: Scope) -> set[str]:
        """Ids of the memories that these took in, by the run and the words of both sides."""
        taken = {
            (row.trace, row.before)
            for some in bunches(sorted(items))
            for row in self._connection.execute(_MERGED_INTO, {**whose(scope), "items": some})
        }
        return {
            row.item_id
            for some in bunches({run for run, _ in taken})
            for row in self._connection.execute(_MERGED_BY, {**whose(scope), "runs": some})
            if (row.trace, row.before) in taken
        }


def _matches(which: AuditFilter) -> Iterator[ColumnElement[bool]]:
    """The entry is one of those that the filter means."""
    here = audit_log.c.imported_by.is_(None)
    for column, value in (
        (audit_log.c.user_id, which.user),
        (audit_log.c.item_id, which.item),
    ):
        if value is not None:
            yield column == value
    if which.by is not None:
        yield or_(and_(audit_log.c.by == which.by, here), audit_log.c.imported_by == which.by)
    if which.actors is not None:
        yield and_(audit_log.c.actor.in_([word.value for word in which.actors]), here)
    if which.operations is not None:
        yield audit_log.c.operation.in_([word.value for word in which.operations])
    if which.since is not None:
        yield audit_log.c.at >= which.since
    if which.until is not None:
        yield audit_log.c.at < which.until


def _place(after: str) -> int:
    if _CURSOR.fullmatch(after) is None:
        raise Rejected("Expected the cursor of the page before.", field="after")
    return int(after)


def _entries(found: Iterable[Row[Any]]) -> list[AuditEntry]:
    return [
        AuditEntry(
            id=row.entry_id,
            item=row.item_id,
            namespace=row.namespace,
            user=row.user_id,
            operation=Operation(row.operation),
            actor=Actor(row.actor),
            reason=row.reason,
            before=row.before,
            after=row.after,
            at=row.at,
            trace=row.trace,
            was=None if row.was is None else rows.unpacked(row.was),
            by=row.by,
            moved=_read(row.moved),
            imported_by=row.imported_by,
        )
        for row in found
    ]


def _written(moved: Mapping[str, Moved]) -> str | None:
    """The fields that a change moved, as JSON; None where there are none."""
    pairs = {name: [one.before, one.after] for name, one in moved.items()}
    return json.dumps(pairs, ensure_ascii=False) if pairs else None


def _read(moved: str | None) -> dict[str, Moved]:
    """The same back."""
    return {} if moved is None else {name: Moved(*one) for name, one in json.loads(moved).items()}
