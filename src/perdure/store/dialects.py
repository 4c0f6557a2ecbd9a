"""Finds the dialect of a URL or a connection, and keeps statements that each says its own way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Table, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.sql.dml import Insert

from perdure.errors import Misconfigured
from perdure.store.dialect import Change, Dialect
from perdure.store.mysql import MySql
from perdure.store.postgres import Postgres
from perdure.store.sqlite import Sqlite

T = TypeVar("T")

_IN_LIST = 500  # values in one IN list; every database takes as many
_BY_NAME: Mapping[str, Dialect] = {
    name: dialect for dialect in (Sqlite(), MySql(), Postgres()) for name in dialect.names
}


def parsed(url: str) -> tuple[Dialect, URL]:
    """Which dialect a URL speaks, and the URL with our driver where it names none.

    Raises:
        Misconfigured: it is no URL, or of a database or driver that we do not know.
    """
    try:
        address = make_url(url)
    except ArgumentError:
        raise Misconfigured(
            "Expected a URL such as sqlite:///perdure.db.", field="database_url"
        ) from None
    name, _, driver = address.drivername.partition("+")
    dialect = _BY_NAME.get(name)
    if dialect is None or driver not in ("", dialect.driver):
        known = [f"{each}+{_BY_NAME[each].driver}" for each in _BY_NAME]
        raise Misconfigured("Known are {known}.", field="database_url", known=known)
    return dialect, address.set(drivername=f"{name}+{dialect.driver}")


def spoken(connection: Connection) -> Dialect:
    """The dialect of a connection.

    Raises:
        Misconfigured: it is none of ours.
    """
    name = connection.dialect.name
    if name not in _BY_NAME:
        raise Misconfigured("{name} is not supported.", field="database_url", name=name)
    return _BY_NAME[name]


class Upsert:
    """An INSERT that changes the row that has its key already.

    Made once per module, so that its compiled form is found again.

    Args:
        table: where to.
        key: the columns of the unique key that may be taken.
        change: what happens to the row that is there.
    """

    def __init__(self, table: Table, key: Sequence[str], change: Change) -> None:
        self._table = table
        self._key = tuple(key)
        self._change = change
        self._by_dialect: dict[str, Insert] = {}

    def write(self, connection: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
        """Insert or change these rows, ordered by key, so that two who do so take turns."""
        name = connection.dialect.name
        if name not in self._by_dialect:
            dialect = spoken(connection)
            self._by_dialect[name] = dialect.upsert(self._table, self._key, self._change)
        connection.execute(self._by_dialect[name], sorted(rows, key=itemgetter(*self._key)))


class Addition:
    """An INSERT into a numbered table that gives way to a row with the same key."""

    def __init__(self, table: Table, key: Sequence[str]) -> None:
        self._table = table
        self._key = tuple(key)
        self._by_dialect: dict[str, Insert] = {}

    def write(self, connection: Connection, row: Mapping[str, Any]) -> int | None:
        """The number of the new row; None if its key is taken."""
        dialect = spoken(connection)
        name = connection.dialect.name
        if name not in self._by_dialect:
            self._by_dialect[name] = dialect.cautious(self._table, self._key)
        return dialect.add(connection, self._by_dialect[name], row)


def bunches(values: Iterable[T]) -> Iterator[list[T]]:
    """The values without repetitions, in portions that fit into one IN list."""
    each = list(dict.fromkeys(values))
    for start in range(0, len(each), _IN_LIST):
        yield each[start : start + _IN_LIST]
