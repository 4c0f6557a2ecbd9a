"""Who changed what, why, before and after; written with the change itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from perdure.store import rows
from perdure.store.columns import owned, whose
from perdure.store.dialects import bunches
from perdure.store.schema import audit_log
from perdure.types import Actor, AuditEntry, Operation, Scope

_ADD = insert(audit_log)
_EVERY = select(audit_log).where(*owned(audit_log)).order_by(audit_log.c.id)
_OF = _EVERY.where(audit_log.c.item_id == bindparam("item"))
_MERGED = select(audit_log.c.was).where(
    *owned(audit_log),
    audit_log.c.item_id.in_(bindparam("items", expanding=True)),
    audit_log.c.was.is_not(None),
)
_SCRUB = (
    update(audit_log)
    .where(*owned(audit_log), audit_log.c.item_id.in_(bindparam("items", expanding=True)))
    .values(before=None, after=None, was=None)
)


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

    def scrub(self, scope: Scope, items: Collection[str]) -> None:
        """Take the text out of the history of these memories; what happened to them stays.

        So it goes with the memories that were merged into them: they said the same.
        """
        doomed = set(items)
        while doomed:
            merged = {
                rows.unpacked(was).id
                for some in bunches(sorted(doomed))
                for was in self._connection.execute(
                    _MERGED, {**whose(scope), "items": some}
                ).scalars()
            }
            for some in bunches(sorted(doomed)):
                self._connection.execute(_SCRUB, {**whose(scope), "items": some})
            doomed = merged - doomed


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
        )
        for row in found
    ]
