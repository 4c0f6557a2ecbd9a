"""Promises on their way out, written with their cause; each goes when its job comes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, or_, select, update

from perdure import text
from perdure.store import rows
from perdure.store.columns import owned, whose
from perdure.store.dialects import Addition, bunches
from perdure.store.schema import leads, outbox
from perdure.types import Job, Outgoing, Promise, Scope, Trace

_RELAY = "relay"

_PUT = Addition(outbox, ("idempotency_key",))
_BY_KEY = select(outbox).where(*owned(outbox), outbox.c.idempotency_key == bindparam("of_key"))
_OF = (
    select(outbox)
    .where(*owned(outbox), outbox.c.trace == bindparam("of_trace"))
    .order_by(outbox.c.id)
)
_UPTO = select(outbox).where(*owned(outbox), outbox.c.id <= bindparam("upto")).order_by(outbox.c.id)
_IDS = outbox.c.id.in_(bindparam("ids", expanding=True))
_DUE = (
    select(outbox)
    .where(or_(outbox.c.sent_at.is_(None), outbox.c.sent_at < bindparam("resent_before")))
    .order_by(outbox.c.id)
    .limit(bindparam("at_most"))
)
_SENT = update(outbox).where(_IDS)
_GONE = delete(outbox).where(_IDS)
_REMOVE = delete(outbox).where(*owned(outbox))
_WAITING = select(func.count(), func.min(outbox.c.created_at))
_FIRST = Addition(leads, ("name",))
_LEAD = update(leads).where(
    leads.c.name == _RELAY,
    or_(leads.c.token == bindparam("by"), leads.c.lease_until < bindparam("now")),
)


class SqlOutbox:
    """`ports.OutboxStore` on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, promise: Promise, row: Mapping[str, Any], at: datetime) -> tuple[Job, bool]:
        """Write a promise down, or find the one that has its key. The flag says that it is new."""
        number = _PUT.write(self._connection, {**row, "run_at": promise.run_at})
        if number is not None:
            return rows.waiting(0, promise, at), True
        found = self.find(Scope(namespace=promise.namespace, user=promise.user), promise.key)
        known = promise if found is None else found.promise
        return rows.waiting(0, known, at if found is None else found.at), False

    def find(self, scope: Scope, key: str) -> Outgoing | None:
        """The promise with this key, while it is here."""
        wanted = {**whose(scope), "of_key": text.fingerprint(scope.namespace, scope.user, key)}
        row = self._connection.execute(_BY_KEY, wanted).one_or_none()
        return None if row is None else rows.outgoing(row)

    def of(self, scope: Scope, trace: Trace) -> list[Outgoing]:
        """The promises of one trace, in their order."""
        found = self._connection.execute(_OF, {**whose(scope), "of_trace": trace})
        return [rows.outgoing(row) for row in found]

    # ── publishing ───────────────────────────────────────────────────────────────────────────────

    def lead(self, token: str, at: datetime, until: datetime) -> bool:
        """Be the one that publishes until then. False: another process is."""
        mine = {"token": token, "lease_until": until}
        if self._connection.execute(_LEAD, {**mine, "by": token, "now": at}).rowcount == 1:
            return True
        return _FIRST.write(self._connection, {"name": _RELAY, **mine}) is not None

    def due(self, resent_before: datetime, limit: int) -> list[Outgoing]:
        """What was not published yet, or last before that time; oldest first."""
        wanted = {"resent_before": resent_before, "at_most": limit}
        return [rows.outgoing(row) for row in self._connection.execute(_DUE, wanted)]

    def sent(self, ids: Collection[int], at: datetime) -> None:
        """The bus has these."""
        for some in bunches(ids):
            self._connection.execute(_SENT, {"ids": some, "sent_at": at})

    # ── coming back ──────────────────────────────────────────────────────────────────────────────

    def take(self, scope: Scope, key: str) -> list[Outgoing]:
        """Take out the owner's promises up to the one with this key, in their order.

        None if that one is no longer here: it was taken out before, or erased. What was published
        after another that the bus lost can so never overtake it.
        """
        named = self.find(scope, key)
        if named is None:
            return []
        found = self._connection.execute(_UPTO, {**whose(scope), "upto": named.id})
        taken = [rows.outgoing(row) for row in found]
        for some in bunches([one.id for one in taken]):
            self._connection.execute(_GONE, {"ids": some})
        return taken

    def remove(self, scope: Scope) -> int:
        """Take back every promise of an owner that is still here; its event then has no effect."""
        return self._connection.execute(_REMOVE, whose(scope)).rowcount

    def waiting(self) -> tuple[int, datetime | None]:
        """How many there are, and when the oldest was made."""
        count, oldest = self._connection.execute(_WAITING).one()
        return count, oldest
