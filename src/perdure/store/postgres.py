"""PostgreSQL: rows are locked, everything can be rolled back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, event, text
from sqlalchemy.exc import DBAPIError

from perdure.errors import Misconfigured, PerdureError, Rejected
from perdure.policy import DatabasePolicy
from perdure.store.dialect import Dialect, unhurried
from perdure.store.lists import Words

_CONNECTIONS = 16  # of one process, kept at most, for writing and for reading each
_MIGRATING = 0x7065726475726500  # "perdure"

_FORBIDDEN = "42501"
_CONTENDED = ("40001", "40P01", "55P03")
_PLAIN = ("08", "25", "28", "3D", "40", "42", "53", "55", "57", "58")
"""Classes of errors whose first line holds no value of a row."""


class Postgres(Dialect):
    """Speaks through psycopg 3."""

    names = ("postgresql",)
    driver = "psycopg"
    extra = "postgres"
    writes_alone = False
    undoes_tables = True
    lists = Words()

    def engines(self, url: URL, policy: DatabasePolicy) -> tuple[Engine, Engine]:
        """Writers see what is committed now, readers one moment."""
        return (
            self._opened(url, policy, "ISOLATION LEVEL READ COMMITTED"),
            self._opened(url, policy, "ISOLATION LEVEL REPEATABLE READ READ ONLY"),
        )

    def _opened(self, url: URL, policy: DatabasePolicy, how: str) -> Engine:
        engine = self._engine(
            url,
            policy,
            pool_size=_CONNECTIONS,
            connect_args={"connect_timeout": ceil(policy.connect_s), "client_encoding": "utf8"},
        )
        lock_s = min(policy.lock_s, policy.busy_s)
        silent_s = lock_s + policy.answer_s

        def opened(*args: Any, **given: Any) -> Any:
            from perdure.silence.postgres import Listening  # noqa: PLC0415 - an extra

            return Listening.opened(silent_s, *args, **given)

        self._listening(engine, policy, opened)

        @event.listens_for(engine, "connect")
        def settle(connection: Any, _record: Any) -> None:
            connection.autocommit = True  # or a rollback would take these settings back
            connection.execute(f"SET SESSION CHARACTERISTICS AS TRANSACTION {how}")
            connection.execute(f"SET lock_timeout = {round(lock_s * 1000)}")
            connection.autocommit = False

        return engine

    @contextmanager
    def alone(self, connection: Connection) -> Iterator[None]:
        """By a lock that ends with the transaction."""
        with unhurried(connection):
            connection.execute(text("SET LOCAL lock_timeout = 0"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
            yield

    def join(self, connection: Connection) -> None:
        """See that a host's connection is in a transaction that ours can be part of."""
        super().join(connection)
        driver: Any = connection.connection.dbapi_connection
        if driver.autocommit:
            raise Rejected("It has no transaction to join.", field="connection")

    def insert(self, table: Table) -> Any:
        """INSERT with ON CONFLICT."""
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - slow to load, and seldom needed

        return postgresql.insert(table)

    def told(self, error: DBAPIError) -> str:
        """The first line, where it can hold no value of a row; else what kind of error it was."""
        code = getattr(error.orig, "sqlstate", None)
        if code is None:  # there was no server to say anything
            return " ".join(str(error.orig).split())
        said = getattr(error.orig, "diag", None)
        first = said.message_primary if said is not None and code[:2] in _PLAIN else None
        return f"{code} {first or type(error.orig).__name__}"

    def contended(self, error: DBAPIError) -> bool:
        """Two waited for each other, one for too long, or they cannot be put in an order."""
        return getattr(error.orig, "sqlstate", None) in _CONTENDED

    def meaning(self, url: URL, error: DBAPIError) -> PerdureError | None:
        """Whoever we are may be allowed too little."""
        if getattr(error.orig, "sqlstate", None) == _FORBIDDEN:
            return Misconfigured(
                "The server says: {why}.", field="database_url", why=self.told(error)
            )
        return super().meaning(url, error)
