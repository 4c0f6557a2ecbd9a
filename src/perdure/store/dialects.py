"""What databases say differently, said once; full text has a room of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Column, ColumnElement, Connection, Table
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.dml import Insert
from sqlalchemy.sql.elements import KeyedColumnElement

from perdure.errors import Misconfigured

T = TypeVar("T")

Incoming: TypeAlias = ReadOnlyColumnCollection[str, KeyedColumnElement[Any]]
"""The columns of the row that was to be inserted."""

_IN_LIST = 500  # values in one IN list; every database takes as many


class Upsert:
    """An INSERT that meets a row with the same key.

    Made once per module, so that its compiled form is found again.

    Args:
        table: where to.
        key: the columns of the unique key that may be taken.
        change: what happens to the row that is there, by column; None leaves it alone.
        returning: columns of the rows that were written; a row left alone gives none.
    """

    def __init__(
        self,
        table: Table,
        key: Sequence[str],
        change: Callable[[Incoming], Mapping[str, ColumnElement[Any]]] | None = None,
        returning: Sequence[Column[Any]] = (),
    ) -> None:
        self._table = table
        self._key = tuple(key)
        self._change = change
        self._returning = tuple(returning)
        self._by_dialect: dict[str, Insert] = {}

    def on(self, connection: Connection) -> Insert:
        """The statement in the connection's dialect."""
        name = connection.dialect.name
        found = self._by_dialect.get(name)
        if found is None:
            found = self._by_dialect[name] = self._build(name)
        return found

    def _build(self, name: str) -> Insert:
        if name != "sqlite":
            raise Misconfigured(f"{name} is not supported.", field="database_url")
        statement = sqlite.insert(self._table)
        if self._change is None:
            statement = statement.on_conflict_do_nothing(index_elements=self._key)
        else:
            changes = self._change(statement.excluded)
            statement = statement.on_conflict_do_update(
                index_elements=self._key, set_=dict(changes)
            )
        return statement.returning(*self._returning) if self._returning else statement


def bunches(values: Iterable[T]) -> Iterator[list[T]]:
    """The values without repetitions, in portions that fit into one IN list."""
    each = list(dict.fromkeys(values))
    for start in range(0, len(each), _IN_LIST):
        yield each[start : start + _IN_LIST]
