"""Opens the database, and a unit of work on it; what a driver says becomes an error of ours."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from perdure.errors import Corrupt, DatabaseUnavailable, Misconfigured, Rejected
from perdure.ports import Clock
from perdure.store import migrations
from perdure.store.audit import SqlAudit
from perdure.store.feedback import SqlFeedback
from perdure.store.fulltext import SqlFullText
from perdure.store.items import SqlItems
from perdure.store.jobs import SqlJobs
from perdure.store.messages import SqlMessages
from perdure.store.owners import SqlOwners
from perdure.store.runtime import SqlRuntime
from perdure.store.users import SqlUsers
from perdure.store.vectors import SqlVectors

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


class SqlTransaction:
    """`ports.Transaction` on one connection: every store sees the same unit of work."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self.connection = connection
        self.users = SqlUsers(connection, clock)
        self.vectors = SqlVectors(connection, self.users)
        self.fulltext = SqlFullText(connection, self.users)
        self.items = SqlItems(connection, self.users, self.vectors, self.fulltext)
        self.messages = SqlMessages(connection, self.users, self.vectors, self.fulltext)
        self.jobs = SqlJobs(connection)
        self.audit = SqlAudit(connection)
        self.runtime = SqlRuntime(connection)
        self.feedback = SqlFeedback(connection)
        self.owners = SqlOwners(connection)


class SqlDatabase:
    """`ports.Database` over SQLAlchemy; share it between threads."""

    def __init__(self, writers: Engine, readers: Engine, clock: Clock) -> None:
        self._writers = writers
        self._readers = readers
        self._clock = clock

    @classmethod
    def open(cls, url: str, *, clock: Clock, busy_s: float = 30.0) -> SqlDatabase:
        """Open a database, creating or upgrading its tables where they are missing or old.

        Args:
            url: ``sqlite:///perdure.db`` beside us, ``sqlite:////var/lib/perdure.db`` by its full
                path, ``sqlite://`` in memory (one unit of work at a time).
            clock: now.
            busy_s: seconds to wait for another writer.

        Raises:
            Misconfigured: the URL cannot be meant, or a newer Perdure wrote the tables.
            Corrupt: the file is no database; it was left alone.
            DatabaseUnavailable: the database does not answer.
        """
        where = _parsed(url)
        writers = _engine(where, "BEGIN IMMEDIATE", busy_s)
        readers = writers if _in_memory(where) else _engine(where, "BEGIN", busy_s, reads=True)
        database = cls(writers, readers, clock)
        try:
            with _translated(where):
                if not migrations.newest(readers):  # so an ordinary start waits for nobody
                    migrations.upgrade(writers)
        except BaseException:
            database.close()
            raise
        return database

    @contextmanager
    def begin(self) -> Iterator[SqlTransaction]:
        """A unit of work that may write; commits at the end, rolls back on any exception.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        with _translated(self._writers.url), self._writers.begin() as connection:
            yield SqlTransaction(connection, self._clock)

    @contextmanager
    def read(self) -> Iterator[SqlTransaction]:
        """A unit of work that only reads; in a file it never waits for writers.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        with _translated(self._readers.url), self._readers.begin() as connection:
            yield SqlTransaction(connection, self._clock)

    @property
    def engine(self) -> Engine:
        """The engine that writes, for a host's own tables; closed with the database.

        It has our driver, and transactions that begin with ``BEGIN IMMEDIATE``.
        """
        return self._writers

    def joined(
        self, connection: Any, committed: Callable[[], None] | None = None
    ) -> SqlTransaction:
        """The stores on a host's open connection, inside the transaction that the host began.

        The tables must be in that database (`migrate`). The host commits or rolls back; what its
        driver raises comes out as it is.

        Args:
            connection: the host's, of SQLAlchemy.
            committed: called once when the host commits through SQLAlchemy, just before the
                database does it; whoever looks then waits for its lock, or looks again.

        Raises:
            Rejected: it is no such connection, each of its statements commits by itself, or it
                goes through another copy of SQLite than ours: two in one process take each other's
                locks away, which damages the file.
        """
        if not isinstance(connection, Connection):
            raise Rejected("Expected a Connection of SQLAlchemy.", field="connection")
        driver: Any = connection.connection.dbapi_connection
        if not isinstance(driver, _sqlite().Connection):
            raise Rejected(
                f"Its driver is not {_sqlite().__name__}; take the engine of the memory.",
                field="connection",
            )
        connection.exec_driver_sql("SELECT 1")  # where the host has not begun yet, this begins
        if driver.isolation_level is None and not driver.in_transaction:
            raise Rejected("It has no transaction to join: send BEGIN.", field="connection")
        if committed is not None:
            event.listen(connection, "commit", lambda _: committed(), once=True)
        return SqlTransaction(connection, self._clock)

    def close(self) -> None:
        """Give back every connection."""
        self._writers.dispose()
        self._readers.dispose()


def migrate(where: str | Engine) -> bool:
    """Bring the tables of a database up to date; any number of processes may try at once.

    Args:
        where: the URL of the database, or an engine on it.

    Returns:
        True if there was something to do.

    Raises:
        Misconfigured: the URL cannot be meant, or a newer Perdure wrote the tables.
        Corrupt: the file is no database; it was left alone.
        DatabaseUnavailable: the database does not answer.
    """
    url = where.url if isinstance(where, Engine) else _parsed(where)
    engine = _engine(url, "BEGIN IMMEDIATE", busy_s=60.0)
    try:
        with _translated(url):
            return migrations.upgrade(engine)
    finally:
        engine.dispose()


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise Misconfigured(
            "Expected a URL such as sqlite:///perdure.db.", field="database_url"
        ) from None
    if parsed.get_backend_name() != "sqlite":
        raise Misconfigured("Only sqlite is supported so far.", field="database_url")
    return parsed


def _sqlite() -> ModuleType:
    """The driver; one copy of SQLite for everybody in this process."""
    return sqlite3 if _newer_sqlite is None else _newer_sqlite


def _in_memory(url: URL) -> bool:
    return url.database in (None, "", ":memory:")


def _engine(url: URL, begin: str, busy_s: float, *, reads: bool = False) -> Engine:
    """An engine whose transactions begin as told, with our settings on every connection.

    A database in memory lives in its only connection, for which units of work wait in turn.
    """
    engine = create_engine(
        url,
        module=_sqlite(),
        hide_parameters=True,
        connect_args={"isolation_level": None, "timeout": busy_s, "check_same_thread": False},
        poolclass=QueuePool,
        pool_size=1 if _in_memory(url) else _CONNECTIONS,
        max_overflow=0,
        pool_timeout=busy_s,
    )

    @event.listens_for(engine, "connect")
    def settle(connection: Any, _record: Any) -> None:
        _with_wal(connection, busy_s)
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        if reads:
            connection.execute("PRAGMA query_only = ON")

    @event.listens_for(engine, "begin")
    def really_begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


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
        except _sqlite().OperationalError as error:
            if error.sqlite_errorname not in _TAKEN or time.monotonic() > until:
                raise
            time.sleep(_LOOK_AGAIN_S)
        else:
            return


@contextmanager
def _translated(url: URL) -> Iterator[None]:
    """Driver errors become ours; none of them carries a value of a statement."""
    try:
        yield
    except PoolTimeout:
        raise DatabaseUnavailable("Too many units of work at once.") from None
    except DBAPIError as error:
        name = getattr(error.orig, "sqlite_errorname", "")
        if name in _BROKEN:
            raise Corrupt(f"{url.database}: {error.orig}.") from None
        if isinstance(error, OperationalError):
            raise DatabaseUnavailable(f"{url.database}: {error.orig}.") from error
        raise
