"""SQLite: one file, many readers beside one writer."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, event
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError

from perdure.details import foreign
from perdure.errors import Corrupt, PerdureError, Rejected
from perdure.policy import DatabasePolicy
from perdure.store.dialect import Dialect
from perdure.store.lists import Fts5

try:  # newer than what many systems bring along
    from pysqlite3 import dbapi2 as _newer_sqlite
except ImportError:
    _newer_sqlite = None

_PRAGMAS = (
    "synchronous = NORMAL",
    "foreign_keys = ON",
    "secure_delete = ON",  # what is gone is overwritten, not only let go
)
_CONNECTIONS = 32  # of one process, kept at most, for writing and for reading each
_TAKEN = ("SQLITE_BUSY", "SQLITE_BUSY_RECOVERY", "SQLITE_LOCKED")
_LOOK_AGAIN_S = 0.005
_BROKEN = ("SQLITE_NOTADB", "SQLITE_CORRUPT")
_NO_SAVEPOINT = "no such savepoint"


def library() -> ModuleType:
    """The driver; one copy of SQLite for everybody in this process."""
    return sqlite3 if _newer_sqlite is None else _newer_sqlite


class Sqlite(Dialect):
    """Transactions that write begin with ``BEGIN IMMEDIATE``, so there is one at a time."""

    names = ("sqlite",)
    driver = "pysqlite"
    extra = None
    writes_alone = True
    undoes_tables = True
    lists = Fts5()

    def engines(self, url: URL, policy: DatabasePolicy) -> tuple[Engine, Engine]:
        """A database in memory lives in its only connection, for which all wait in turn."""
        if url.database in (None, "", ":memory:"):
            only = self._opened(url, policy, "BEGIN IMMEDIATE", connections=1)
            return only, only
        return (
            self._opened(url, policy, "BEGIN IMMEDIATE"),
            self._opened(url, policy, "BEGIN", reads=True),
        )

    def _opened(
        self,
        url: URL,
        policy: DatabasePolicy,
        begin: str,
        *,
        reads: bool = False,
        connections: int = _CONNECTIONS,
    ) -> Engine:
        engine = self._engine(
            url,
            policy,
            module=library(),
            pool_size=connections,
            connect_args={
                "isolation_level": None,
                "timeout": policy.busy_s,
                "check_same_thread": False,
            },
        )

        @event.listens_for(engine, "connect")
        def settle(connection: Any, _record: Any) -> None:
            _with_wal(connection, policy.busy_s)
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
            if reads:
                connection.execute("PRAGMA query_only = ON")

        @event.listens_for(engine, "begin")
        def really_begin(connection: Connection) -> None:
            connection.exec_driver_sql(begin)

        return engine

    def place(self, url: URL) -> str:
        """The file."""
        return str(url.database)

    @contextmanager
    def alone(self, connection: Connection) -> Iterator[None]:  # noqa: ARG002 - others need it
        """As everybody who writes."""
        yield

    def purge(self, engine: Engine) -> None:
        """Empty the write-ahead log.

        Whoever reads meanwhile keeps a part of it alive; that goes with the next purge, or when
        the last connection is closed.
        """
        raw: Any = engine.raw_connection()
        try:
            raw.driver_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            raw.close()

    def join(self, connection: Connection) -> None:
        """See that a host's connection is in a transaction, and goes through our copy of SQLite."""
        driver: Any = connection.connection.dbapi_connection
        if not isinstance(driver, library().Connection):
            raise Rejected(
                "Its driver is not {driver}; take the engine of the memory.",
                field="connection",
                driver=library().__name__,
            )
        connection.exec_driver_sql("SELECT 1")  # where the host has not begun yet, this begins
        if driver.isolation_level is None and not driver.in_transaction:
            raise Rejected("It has no transaction to join: send BEGIN.", field="connection")

    def insert(self, table: Table) -> Any:
        """INSERT with ON CONFLICT."""
        return sqlite.insert(table)

    def told(self, error: DBAPIError) -> str:
        """SQLite names tables and columns, never values.

        A full disk takes a whole transaction back, so that its savepoint is missed next: what was
        wrong first is told.
        """
        said: BaseException | None = error.orig
        while said is not None and str(said).startswith(_NO_SAVEPOINT):
            said = said.__context__
        return str(getattr(said, "orig", said))

    def contended(self, error: DBAPIError) -> bool:
        """Another writer was waited for all the time there is."""
        return getattr(error.orig, "sqlite_errorname", "") in _TAKEN

    def meaning(self, url: URL, error: DBAPIError) -> PerdureError | None:
        """A file may also be none of SQLite's, or damaged."""
        if getattr(error.orig, "sqlite_errorname", "") in _BROKEN:
            return Corrupt("{place}: {why}.", place=self.place(url), why=foreign(self.told(error)))
        return super().meaning(url, error)


def _with_wal(connection: Any, busy_s: float) -> None:
    """Readers beside a writer, for good: the file remembers it.

    To become so a file must be nobody else's for a moment, and SQLite does not wait for that
    (https://sqlite.org/wal.html, "Sometimes Queries Return SQLITE_BUSY In WAL Mode"): of several
    processes that make a new file at once some would fail, so we wait ourselves.
    """
    until = time.monotonic() + busy_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except library().OperationalError as error:
            if error.sqlite_errorname not in _TAKEN or time.monotonic() > until:
                raise
            time.sleep(_LOOK_AGAIN_S)
        else:
            return
