"""Opens the database, and a unit of work on it; what a driver says becomes an error of ours."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from random import random
from typing import Any

from sqlalchemy import URL, Connection, Engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from perdure.errors import Contended, DatabaseUnavailable, Rejected
from perdure.policy import DatabasePolicy
from perdure.ports import Clock, Result
from perdure.store import migrations
from perdure.store.audit import SqlAudit
from perdure.store.dialect import Dialect
from perdure.store.dialects import parsed
from perdure.store.erasures import SqlErasures
from perdure.store.feedback import SqlFeedback
from perdure.store.fulltext import SqlFullText
from perdure.store.items import SqlItems
from perdure.store.jobs import SqlJobs
from perdure.store.keys import SqlKeys
from perdure.store.messages import SqlMessages
from perdure.store.outbox import SqlOutbox
from perdure.store.owners import SqlOwners
from perdure.store.requests import SqlRequests
from perdure.store.runtime import SqlRuntime
from perdure.store.spend import SqlSpend
from perdure.store.users import SqlUsers
from perdure.store.vectors import SqlVectors
from perdure.types import JobType, Scope

WAITING = DatabasePolicy()
_MIGRATING = WAITING.but(busy_s=60.0)


class SqlTransaction:
    """`ports.Transaction` on one connection: every store sees the same unit of work."""

    def __init__(
        self, connection: Connection, clock: Clock, leaving: Collection[JobType] = ()
    ) -> None:
        self.connection = connection
        self.users = SqlUsers(connection, clock)
        self.vectors = SqlVectors(connection, self.users)
        self.fulltext = SqlFullText(connection, self.users)
        self.items = SqlItems(connection, self.users, self.vectors, self.fulltext)
        self.messages = SqlMessages(connection, self.users, self.vectors, self.fulltext)
        self.outbox = SqlOutbox(connection)
        self.jobs = SqlJobs(connection, self.outbox, leaving)
        self.audit = SqlAudit(connection)
        self.runtime = SqlRuntime(connection)
        self.feedback = SqlFeedback(connection)
        self.owners = SqlOwners(connection)
        self.keys = SqlKeys(connection)
        self.requests = SqlRequests(connection)
        self.erasures = SqlErasures(connection)
        self.spend = SqlSpend(connection)


class SqlDatabase:
    """`ports.Database` over SQLAlchemy; share it between threads."""

    def __init__(
        self,
        dialect: Dialect,
        url: URL,
        clock: Clock,
        policy: DatabasePolicy,
        leaving: Collection[JobType],
    ) -> None:
        self._dialect = dialect
        self._url = url
        self._clock = clock
        self._policy = policy
        self._leaving = leaving
        self._writers, self._readers = dialect.engines(url, policy)
        self._newest = False

    @classmethod
    def open(
        cls,
        url: str,
        *,
        clock: Clock,
        policy: DatabasePolicy = WAITING,
        patient: bool = False,
        leaving: Collection[JobType] = (),
    ) -> SqlDatabase:
        """Open a database, creating or upgrading its tables where they are missing or old.

        Args:
            url: ``sqlite:///perdure.db`` beside us, ``sqlite:////var/lib/perdure.db`` by its full
                path, ``sqlite://`` in memory (one unit of work at a time);
                ``mariadb://user:password@host/name``, ``mysql://…``, ``postgresql://…``.
            clock: now.
            policy: how long others, and a silent server, are waited for.
            patient: a server that does not answer is opened all the same; units of work fail
                until it does, and the first one after that finds or makes the tables.
            leaving: types of promises that go to the outbox first, since there is a bus.

        Raises:
            Misconfigured: the URL cannot be meant, the driver is missing, we are allowed too
                little, or a newer Perdure wrote the tables.
            Corrupt: the file is no database; it was left alone.
            DatabaseUnavailable: the database does not answer.
        """
        dialect, address = parsed(url)
        database = cls(dialect, address, clock, policy, leaving)
        try:
            database._see_to_tables()
        except DatabaseUnavailable:
            if not patient or dialect.writes_alone:
                database.close()
                raise
        except BaseException:
            database.close()
            raise
        return database

    @contextmanager
    def begin(self, scope: Scope | None = None) -> Iterator[SqlTransaction]:
        """A unit of work that may write; commits at the end, rolls back on any exception.

        Args:
            scope: whose rows it reads and changes: such units of one owner follow one another.

        Raises:
            Contended: it lost to another unit of work; nothing was written. `run` does it again.
            DatabaseUnavailable: the database does not answer.
        """
        with self._unit(self._writers) as tx:
            if scope is not None:
                tx.users.hold(scope)
            yield tx

    def run(self, work: Callable[[SqlTransaction], Result], scope: Scope | None = None) -> Result:
        """Do a unit of work as `begin` does; done again where it lost to another one.

        What lost is taken back as a whole before: MariaDB takes back only the last statement where
        a lock was waited for too long. A connection that broke is another matter: nobody knows
        then what was committed.

        Args:
            work: reads and writes; has no other effect, since it may be done more than once.
            scope: as in `begin`.

        Raises:
            Contended: it lost every time; nothing was written.
            DatabaseUnavailable: the database does not answer.
        """
        until = time.monotonic() + self._policy.busy_s
        lost = 0
        while True:
            try:
                with self.begin(scope) as tx:
                    return work(tx)
            except Contended:
                lost += 1
                if lost >= self._policy.tries or time.monotonic() >= until:
                    raise
            time.sleep(pause(lost, self._policy, random()))  # noqa: S311 - jitter, not cryptography

    @contextmanager
    def read(self) -> Iterator[SqlTransaction]:
        """A unit of work that only reads, and sees one moment; it never waits for writers.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        with self._unit(self._readers) as tx:
            yield tx

    @contextmanager
    def _unit(self, engine: Engine) -> Iterator[SqlTransaction]:
        if not self._newest:
            self._see_to_tables()
        with _translated(self._dialect, self._url), engine.begin() as connection:
            yield SqlTransaction(connection, self._clock, self._leaving)

    def _see_to_tables(self) -> None:
        """Make or upgrade the tables; an ordinary start finds them and waits for nobody."""
        with _translated(self._dialect, self._url):
            if not migrations.newest(self._readers):
                migrations.upgrade(self._writers, self._dialect)
        self._newest = True

    @property
    def engine(self) -> Engine:
        """The engine that writes, for a host's own tables; closed with the database.

        It has our driver and our settings: on SQLite transactions begin with ``BEGIN IMMEDIATE``,
        elsewhere they are READ COMMITTED.
        """
        return self._writers

    @contextmanager
    def joined(
        self,
        connection: Any,
        committed: Callable[[], None] | None = None,
        scope: Scope | None = None,
    ) -> Iterator[SqlTransaction]:
        """The stores on a host's open connection, inside the transaction that the host began.

        The tables must be in that database (`migrate`). The host commits or rolls back; what its
        driver raises comes out as it is, but for what the host may do again.

        Args:
            connection: the host's, of SQLAlchemy.
            committed: called once when the host commits through SQLAlchemy, just before the
                database does it; whoever looks then waits for its lock, or looks again.
            scope: as in `begin`; the owner is held until the host's transaction ends.

        Raises:
            Rejected: it is no such connection, each of its statements commits by itself, or it
                goes through another copy of SQLite than ours: two in one process take each other's
                locks away, which damages the file.
            Contended: within, it lost to another transaction; only the host can do its own again.
        """
        if not isinstance(connection, Connection):
            raise Rejected("Expected a Connection of SQLAlchemy.", field="connection")
        if connection.dialect.name not in self._dialect.names:
            raise Rejected("It leads to another kind of database.", field="connection")
        self._dialect.join(connection)
        if committed is not None:
            event.listen(connection, "commit", lambda _: committed(), once=True)
        tx = SqlTransaction(connection, self._clock, self._leaving)
        try:
            if scope is not None:
                tx.users.hold(scope)
            yield tx
        except DBAPIError as error:
            if self._dialect.contended(error):
                raise Contended(
                    "The transaction is your own: roll it back, and do all of it again."
                ) from error
            raise

    def purge(self) -> None:
        """Overwrite what was removed and still stands beside the tables, as far as we can.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        self.run(lambda tx: tx.fulltext.compact())
        with _translated(self._dialect, self._url):
            self._dialect.purge(self._writers)

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
    url = where.url.render_as_string(hide_password=False) if isinstance(where, Engine) else where
    dialect, address = parsed(url)
    engine, _ = dialect.engines(address, _MIGRATING)
    try:
        with _translated(dialect, address):
            return migrations.upgrade(engine, dialect)
    finally:
        engine.dispose()


def pause(lost: int, policy: DatabasePolicy, luck: float) -> float:
    """Seconds before a unit of work that lost so many times is done again; luck is 0..1.

    Two that lost to each other and went on together would only meet again.
    """
    return policy.again_s * 2.0 ** (lost - 1) * (1.0 + luck)


@contextmanager
def _translated(dialect: Dialect, url: URL) -> Iterator[None]:
    """Driver errors become ours; none of them carries a value of a statement."""
    try:
        yield
    except PoolTimeout:
        raise DatabaseUnavailable("Too many units of work at once.") from None
    except DBAPIError as error:
        meant = dialect.meaning(url, error)
        if meant is not None:
            raise meant from None
        told = RuntimeError(dialect.told(error))
        raise type(error)(error.statement, None, told, hide_parameters=True) from None
