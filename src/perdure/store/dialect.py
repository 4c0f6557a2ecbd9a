"""What the stores ask of a database beyond plain SQL, and what most databases answer alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol, TypeAlias

from sqlalchemy import URL, ColumnElement, Connection, Engine, Table, create_engine, event
from sqlalchemy.exc import DBAPIError, InvalidatePoolError, OperationalError
from sqlalchemy.pool import QueuePool
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.dml import Insert
from sqlalchemy.sql.elements import KeyedColumnElement

from perdure.details import foreign
from perdure.errors import (
    Contended,
    DatabaseUnavailable,
    MissingExtra,
    PerdureError,
    Rejected,
)
from perdure.policy import DatabasePolicy
from perdure.store.lists import Lists

Incoming: TypeAlias = ReadOnlyColumnCollection[str, KeyedColumnElement[Any]]
"""The columns of the row that was to be inserted."""
Change: TypeAlias = Callable[[Incoming], Mapping[str, ColumnElement[Any]]]
"""What happens to a row that is there already, by column."""


class Listening(Protocol):
    """A driver's connection that gives up a server that has fallen silent, see ``silence``."""

    Error: type[Exception]
    """What the driver raises."""
    silent_s: float | None
    """After so many seconds; None: never."""

    def look(self, seconds: float) -> None:
        """The server answers within so many seconds, or that error is raised."""
        ...


@contextmanager
def unhurried(connection: Connection) -> Iterator[None]:
    """Within, the server may be silent for as long as it likes: it makes an index, say."""
    driver: Any = connection.connection.dbapi_connection
    before, driver.silent_s = driver.silent_s, None
    try:
        yield
    finally:
        driver.silent_s = before


class Dialect(ABC):
    """One kind of database. It holds no connection; there is one of each kind."""

    names: ClassVar[tuple[str, ...]]
    """How SQLAlchemy calls it."""
    driver: ClassVar[str]
    """Who talks to it."""
    extra: ClassVar[str | None]
    """The part of Perdure to be installed with it."""
    writes_alone: ClassVar[bool]
    """A unit of work that writes shuts out every other from its beginning."""
    undoes_tables: ClassVar[bool]
    """A transaction that made tables can be rolled back."""
    lists: ClassVar[Lists]
    """Where its search terms lie."""

    # ── opening ──────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def engines(self, url: URL, policy: DatabasePolicy) -> tuple[Engine, Engine]:
        """One engine for units of work that write, one for those that only read.

        Args:
            url: with the driver in it.
            policy: how long others, and a silent server, are waited for.
        """

    def place(self, url: URL) -> str:
        """Where the database is, for a person; nothing secret."""
        port = f":{url.port}" if url.port else ""
        return f"{url.host}{port}/{url.database}"

    def _engine(self, url: URL, policy: DatabasePolicy, **about: Any) -> Engine:
        """An engine that never shows a value, and waits in turn for one of its connections."""
        try:
            return create_engine(
                url,
                hide_parameters=True,
                poolclass=QueuePool,
                max_overflow=0,
                pool_timeout=policy.busy_s,
                **about,
            )
        except ModuleNotFoundError:
            if self.extra is None:
                raise
            raise MissingExtra(self.extra) from None

    def _listening(
        self,
        engine: Engine,
        policy: DatabasePolicy,
        opened: Callable[..., Listening],
    ) -> None:
        """Let connections of an engine give up a server that has fallen silent.

        Args:
            engine: of a server.
            policy: after how long.
            opened: makes such a connection, of what the driver wants to know.
        """

        @event.listens_for(engine, "do_connect")
        def connect(_: Any, __: Any, args: Sequence[Any], given: Mapping[str, Any]) -> Listening:
            return opened(*args, **given)

        @event.listens_for(engine, "checkout")
        def look(connection: Listening, _: Any, __: Any) -> None:
            try:  # the server may have been away since
                connection.look(policy.look_s)
            except connection.Error:
                raise InvalidatePoolError from None

    # ── units of work ────────────────────────────────────────────────────────────────────────────

    @contextmanager
    @abstractmethod
    def alone(self, connection: Connection) -> Iterator[None]:
        """Of all processes only this one makes tables."""
        yield

    def join(self, connection: Connection) -> None:
        """See that a host's connection is in a transaction that ours can be part of.

        Raises:
            Rejected: it has none, or one that would not see what others have committed.
        """
        if connection.get_isolation_level() != "READ COMMITTED":
            raise Rejected("Its isolation level must be READ COMMITTED.", field="connection")

    def purge(self, engine: Engine) -> None:  # noqa: B027 - most have nothing to do
        """Overwrite what was removed and still stands beside the tables.

        A server sees to that by itself, in its own time.
        """

    # ── statements ───────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def insert(self, table: Table) -> Any:
        """The dialect's own INSERT."""

    def upsert(self, table: Table, key: Sequence[str], change: Change) -> Insert:
        """An INSERT that changes the row that has its key already."""
        statement = self.insert(table)
        changes = dict(change(statement.excluded))
        upsert: Insert = statement.on_conflict_do_update(index_elements=key, set_=changes)
        return upsert

    def cautious(self, table: Table, key: Sequence[str]) -> Insert:
        """An INSERT for `add`."""
        statement = self.insert(table).on_conflict_do_nothing(index_elements=key)
        cautious: Insert = statement.returning(table.c.id)
        return cautious

    def add(self, connection: Connection, cautious: Insert, row: Mapping[str, Any]) -> int | None:
        """The number that the new row was given; None if another has its key."""
        number: int | None = connection.execute(cautious, row).scalar_one_or_none()
        return number

    # ── errors ───────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def told(self, error: DBAPIError) -> str:
        """What the driver said, without any value of a row."""

    @abstractmethod
    def contended(self, error: DBAPIError) -> bool:
        """It lost to others who write; the whole transaction may be done again."""

    def meaning(self, url: URL, error: DBAPIError) -> PerdureError | None:
        """What an error means for whoever asked; None: the statement was at fault."""
        if self.contended(error):
            return Contended(
                "{place}: {why}.", place=self.place(url), why=foreign(self.told(error))
            )
        if isinstance(error, OperationalError) or error.connection_invalidated:
            return DatabaseUnavailable(
                "{place}: {why}.", place=self.place(url), why=foreign(self.told(error))
            )
        return None
