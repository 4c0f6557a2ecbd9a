"""Requests with a key of their own, in a table: what they made, never what they said."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, bindparam, delete, select, update

from perdure import text
from perdure.store.columns import owned, whose
from perdure.store.dialects import Addition
from perdure.store.schema import requests
from perdure.types import Claimed, Scope

_KEY = requests.c.key == bindparam("of_key")
_CLAIM = Addition(requests, ("namespace", "user_id", "key"))
_FOUND = select(requests).where(*owned(requests), _KEY)
_MINE = (*owned(requests), _KEY, requests.c.ref.is_(None), requests.c.at == bindparam("of_at"))
_ANSWERED = update(requests).where(*_MINE)
_RELEASE = delete(requests).where(*_MINE)
_GIVEN_UP = delete(requests).where(
    *owned(requests), _KEY, requests.c.ref.is_(None), requests.c.at < bindparam("before")
)
_FORGET = delete(requests).where(requests.c.at < bindparam("before"))


class SqlRequests:
    """`ports.RequestStore` on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def claim(
        self, scope: Scope, key: str, fingerprint: str, at: datetime, fresh_s: float
    ) -> Claimed | None:
        """Take a key for a request. None: it is taken now; else the request that has it."""
        place = _place(scope, key)
        before = at - timedelta(seconds=fresh_s)
        self._connection.execute(_GIVEN_UP, {**place, "before": before})
        mine = {
            "namespace": scope.namespace,
            "user_id": scope.user,
            "key": place["of_key"],
            "fingerprint": fingerprint,
            "at": at,
        }
        while _CLAIM.write(self._connection, mine) is None:
            row = self._connection.execute(_FOUND, place).one_or_none()
            if row is not None:
                return Claimed(fingerprint=row.fingerprint, ref=row.ref, at=row.at)
            # Whoever had it has just given it back.
        return None

    def answered(self, scope: Scope, key: str, at: datetime, ref: str) -> bool:
        """It was served, and this is what it made. False: it is not the one of ``at`` any more."""
        mine = {**_place(scope, key), "of_at": at}
        return self._connection.execute(_ANSWERED, {**mine, "ref": ref}).rowcount == 1

    def release(self, scope: Scope, key: str, at: datetime) -> None:
        """It came to nothing; the key is free, if it still is that of ``at``."""
        self._connection.execute(_RELEASE, {**_place(scope, key), "of_at": at})

    def forget(self, before: datetime) -> int:
        """Remove what was asked before, whoever asked."""
        return self._connection.execute(_FORGET, {"before": before}).rowcount


def _place(scope: Scope, key: str) -> dict[str, str]:
    return {**whose(scope), "of_key": text.fingerprint("request", key)}
