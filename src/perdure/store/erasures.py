"""Takes everything of a user out of every table, and counts what is there of one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Table,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    true,
    update,
)

from perdure.store.columns import owned, whose
from perdure.store.dialects import bunches, spoken
from perdure.store.schema import audit_log, erasures, jobs, metadata, texts, users
from perdure.store.users import LET_GO, SAYS
from perdure.types import Erasure, JobType, Operation, Scope

_KEEPS: Mapping[Table, ColumnElement[bool]] = {
    jobs: jobs.c.type != JobType.ERASE.value,  # what goes on with it
    # Who looked, and who asked for the erasure; neither holds a text.
    audit_log: audit_log.c.operation.not_in((Operation.READ.value, Operation.ERASE.value)),
    users: SAYS,  # a row that only stands there to be held goes uncounted
}
"""What goes of these tables; of all others that name an owner everything does."""
_PLACES: Mapping[str, tuple[Table, ColumnElement[bool]]] = {
    one.name.removeprefix("perdure_"): (one, and_(*owned(one), _KEEPS.get(one, true())))
    for one in metadata.sorted_tables
    if "user_id" in one.c and one is not erasures
}
_THEIR_TEXTS = select(texts.c.id).where(*owned(texts))

_ADD = insert(erasures)
_PUT = update(erasures).where(erasures.c.id == bindparam("of_id"))
_LAST = (
    select(erasures)
    .where(*owned(erasures))
    .order_by(erasures.c.asked_at.desc(), erasures.c.id.desc())
    .limit(1)
)


class SqlErasures:
    """`ports.ErasureStore` on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, erasure: Erasure) -> None:
        """Note that a user is to be erased."""
        self._connection.execute(_ADD, _row(erasure))

    def put(self, erasure: Erasure) -> None:
        """Note how far it has come."""
        values = {"done_at": erasure.done_at, "removed": dict(erasure.removed)}
        self._connection.execute(_PUT, {"of_id": erasure.id, **values})

    def last(self, scope: Scope) -> Erasure | None:
        """The last erasure of this user; None: there was none."""
        row = self._connection.execute(_LAST, whose(scope)).one_or_none()
        return None if row is None else _erasure(row)

    def since(self, scope: Scope, at: datetime) -> bool:
        """Was the user erased, or is being erased, since then?"""
        last = self.last(scope)
        return last is not None and (last.done_at is None or last.done_at >= at)

    def wipe(self, scope: Scope) -> Mapping[str, int]:
        """Remove every row of the user, in whatever table; how many went, by place."""
        owner = whose(scope)
        # The terms first: they know their owner through the table of texts alone.
        lists = spoken(self._connection).lists
        for some in bunches(self._connection.execute(_THEIR_TEXTS, owner).scalars().all()):
            lists.forget(self._connection, some)
        gone = {
            place: self._connection.execute(delete(rows).where(theirs), owner).rowcount
            for place, (rows, theirs) in _PLACES.items()
        }
        self._connection.execute(LET_GO, owner)
        return gone

    def held(self, scope: Scope) -> Mapping[str, int]:
        """How many rows of the user there are, by place."""
        owner = whose(scope)
        return {
            place: self._connection.execute(
                select(func.count()).select_from(rows).where(theirs), owner
            ).scalar_one()
            for place, (rows, theirs) in _PLACES.items()
        }


def _row(erasure: Erasure) -> dict[str, Any]:
    return {
        "id": erasure.id,
        "namespace": erasure.namespace,
        "user_id": erasure.user,
        "by": erasure.by,
        "asked_at": erasure.asked_at,
        "done_at": erasure.done_at,
        "removed": dict(erasure.removed),
    }


def _erasure(row: Row[Any]) -> Erasure:
    return Erasure(
        id=row.id,
        namespace=row.namespace,
        user=row.user_id,
        by=row.by,
        asked_at=row.asked_at,
        done_at=row.done_at,
        removed=row.removed,
    )
