"""MariaDB, and MySQL 8 by the same words: rows are locked, tables are made at once and for good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from typing import Any

from sqlalchemy import URL, Connection, Engine, Table, event, insert, text
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.sql.dml import Insert

from perdure.errors import DatabaseUnavailable, Misconfigured, PerdureError, Rejected
from perdure.policy import DatabasePolicy
from perdure.store.dialect import Change, Dialect, unhurried
from perdure.store.lists import Words

_CONNECTIONS = 16  # of one process, kept at most, for writing and for reading each
_MIGRATING = "perdure.migrating."
_MIGRATING_S = 600  # another process may be making indexes of large tables

_DUPLICATE = 1062
_CONTENDED = (1020, 1205, 1213)
_FORBIDDEN = (1044, 1142, 1143, 1227)
_PLAIN = (1040, 1045, 1049, 1050, 1054, 1146, 1203, 1226, 1290, 1792, *_CONTENDED, *_FORBIDDEN)
"""Errors of the server whose text holds no value of a row."""
_CLIENT = range(2000, 3000)
"""Errors that the driver itself reports; none holds a value of a row."""


class MySql(Dialect):
    """Speaks through PyMySQL."""

    names = ("mariadb", "mysql")
    driver = "pymysql"
    extra = "mysql"
    writes_alone = False
    undoes_tables = False
    lists = Words()

    def engines(self, url: URL, policy: DatabasePolicy) -> tuple[Engine, Engine]:
        """Writers see what is committed now, readers one moment."""
        return (
            self._opened(url, policy, "ISOLATION LEVEL READ COMMITTED"),
            self._opened(url, policy, "ISOLATION LEVEL REPEATABLE READ, READ ONLY"),
        )

    def _opened(self, url: URL, policy: DatabasePolicy, how: str) -> Engine:
        engine = self._engine(
            url,
            policy,
            pool_size=_CONNECTIONS,
            connect_args={"charset": "utf8mb4", "connect_timeout": ceil(policy.connect_s)},
        )
        lock_s = min(policy.lock_s, policy.busy_s)
        silent_s = lock_s + policy.answer_s

        def opened(*args: Any, **given: Any) -> Any:
            from perdure.silence.mysql import Listening  # noqa: PLC0415 - an extra

            return Listening.opened(policy.connect_s, silent_s, *args, **given)

        self._listening(engine, policy, opened)

        @event.listens_for(engine, "connect")
        def settle(connection: Any, _record: Any) -> None:
            mariadb = "MariaDB" in connection.get_server_info()
            with connection.cursor() as cursor:
                cursor.execute(f"SET NAMES utf8mb4 COLLATE {exact(mariadb=mariadb)}")
                cursor.execute(
                    "SET SESSION sql_mode = 'TRADITIONAL', "  # refuses what it would cut short
                    f"SESSION innodb_lock_wait_timeout = {max(1, round(lock_s))}"
                )
                cursor.execute(f"SET SESSION TRANSACTION {how}")

        return engine

    @contextmanager
    def alone(self, connection: Connection) -> Iterator[None]:
        """By a named lock, which ends with its connection whatever happens."""
        named = {"name": f"{_MIGRATING}{connection.engine.url.database}"[:64]}
        wait = text("SELECT GET_LOCK(:name, :s)")
        with unhurried(connection):
            if not connection.execute(wait, {**named, "s": _MIGRATING_S}).scalar():
                raise DatabaseUnavailable("Another process is still migrating.")
            try:
                yield
                connection.exec_driver_sql("COMMIT")  # the next to get it must see what was made
            finally:
                if not connection.invalidated:
                    connection.execute(text("SELECT RELEASE_LOCK(:name)"), named)

    def join(self, connection: Connection) -> None:
        """See that a host's connection is in a transaction that ours can be part of."""
        super().join(connection)
        driver: Any = connection.connection.dbapi_connection
        if driver.get_autocommit():
            raise Rejected("It has no transaction to join.", field="connection")

    def insert(self, table: Table) -> Any:
        """INSERT with ON DUPLICATE KEY."""
        from sqlalchemy.dialects import mysql  # noqa: PLC0415 - slow to load, and seldom needed

        return mysql.insert(table)

    def upsert(self, table: Table, key: Sequence[str], change: Change) -> Insert:  # noqa: ARG002 - it knows the keys itself
        """An INSERT that changes the row that has its key already."""
        statement = self.insert(table)
        upsert: Insert = statement.on_duplicate_key_update(dict(change(statement.inserted)))
        return upsert

    def cautious(self, table: Table, key: Sequence[str]) -> Insert:  # noqa: ARG002 - the same
        """A plain INSERT."""
        return insert(table)

    def add(self, connection: Connection, cautious: Insert, row: Mapping[str, Any]) -> int | None:
        """The number that the new row was given; None if another has its key.

        A statement that fails takes only itself back. INSERT IGNORE would also ignore what is too
        long.
        """
        try:
            number: int = connection.execute(cautious, row).lastrowid
        except IntegrityError as error:
            if _number(error) != _DUPLICATE:
                raise
            return None
        return number

    def told(self, error: DBAPIError) -> str:
        """The number, and the text where it can hold no value of a row."""
        number = _number(error)
        if number in _PLAIN or number in _CLIENT:
            return f"{number} {error.orig.args[1]}" if error.orig is not None else str(number)
        return f"error {number}"

    def contended(self, error: DBAPIError) -> bool:
        """Two waited for each other, one for too long, or it read what was changed since.

        Where one waited too long only its statement is taken back, so we take back the rest.
        """
        return _number(error) in _CONTENDED

    def meaning(self, url: URL, error: DBAPIError) -> PerdureError | None:
        """Whoever we are may be allowed too little."""
        if _number(error) in _FORBIDDEN:
            return Misconfigured(
                "The server says: {why}.", field="database_url", why=self.told(error)
            )
        return super().meaning(url, error)


def exact(*, mariadb: bool) -> str:
    """The collation that tells every two texts apart."""
    return "utf8mb4_nopad_bin" if mariadb else "utf8mb4_0900_bin"


def _number(error: DBAPIError) -> int:
    """The driver's number of an error; 0 if it has none."""
    said = error.orig.args if error.orig is not None else ()
    return said[0] if said and isinstance(said[0], int) else 0
