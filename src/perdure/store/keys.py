"""Keys in a table, found by the hash of their secret."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from perdure.store.schema import keys
from perdure.types import Key, KeyRole, Permission

_ADD = insert(keys)
_BY_HASH = select(keys).where(keys.c.hashed == bindparam("sought"))
_OF = select(keys).where(keys.c.namespace == bindparam("in_namespace")).order_by(keys.c.id)
_ONE = _OF.where(keys.c.id == bindparam("ident"))
_ANY = select(keys.c.id).where(keys.c.role == bindparam("of_role")).limit(1)
_USED = update(keys).where(keys.c.id == bindparam("ident"))
_REVOKE = update(keys).where(
    keys.c.namespace == bindparam("in_namespace"),
    keys.c.id == bindparam("ident"),
    keys.c.revoked_at.is_(None),
)


class SqlKeys:
    """`ports.KeyStore` on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, key: Key) -> None:
        """Keep a new key."""
        self._connection.execute(
            _ADD,
            {
                "id": key.id,
                "namespace": key.namespace,
                "name": key.name,
                "role": key.role.value,
                "permissions": sorted(key.permissions),
                "hashed": key.hashed,
                "created_at": key.created_at,
                "last_used_at": key.last_used_at,
                "revoked_at": key.revoked_at,
            },
        )

    def by_hash(self, hashed: str) -> Key | None:
        """The key of this secret, revoked or not."""
        row = self._connection.execute(_BY_HASH, {"sought": hashed}).one_or_none()
        return None if row is None else _key(row)

    def of(self, namespace: str) -> list[Key]:
        """Every key of a namespace, revoked ones included, oldest first."""
        return [_key(row) for row in self._connection.execute(_OF, {"in_namespace": namespace})]

    def any_of(self, role: KeyRole) -> bool:
        """Was there ever a key of this role, in whatever namespace?"""
        return self._connection.execute(_ANY, {"of_role": role.value}).first() is not None

    def used(self, key: Key, at: datetime) -> None:
        """Note when it was last used."""
        self._connection.execute(_USED, {"ident": key.id, "last_used_at": at})

    def revoke(self, namespace: str, ident: str, at: datetime) -> Key | None:
        """Let it open nothing any more. None: there is no such key here."""
        place = {"in_namespace": namespace, "ident": ident}
        self._connection.execute(_REVOKE, {**place, "revoked_at": at})
        row = self._connection.execute(_ONE, place).one_or_none()
        return None if row is None else _key(row)


def _key(row: Row[Any]) -> Key:
    return Key(
        id=row.id,
        namespace=row.namespace,
        name=row.name,
        role=KeyRole(row.role),
        permissions=frozenset(Permission(one) for one in row.permissions),
        hashed=row.hashed,
        created_at=row.created_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
    )
