"""What lies beside the desktop file: every row that a reader of the file does not need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy import (
    ColumnElement,
    Connection,
    column,
    create_engine,
    delete,
    insert,
    literal_column,
    select,
)
from sqlalchemy import table as named

from perdure.errors import Corrupt, Misconfigured
from perdure.store import migrations
from perdure.store.schema import metadata

_VERSION = 1
_EVERYTHING: ColumnElement[Any] = literal_column("*")
_DERIVED = ("perdure_vectors", "perdure_texts", "perdure_terms")  # made again from the rows
_COUNTERS = "sqlite_sequence"  # SQLite's own table: which numbers were given out
_TABLES = (*(t.name for t in metadata.sorted_tables if t.name not in _DERIVED), _COUNTERS)


class Rows(BaseModel):
    """The rows of one table, as SQLite keeps them."""

    model_config = ConfigDict(frozen=True)

    columns: list[str]
    rows: list[list[Any]]


class State(BaseModel):
    """Everything that is known, what the file shows included: a commit is one rename of this."""

    model_config = ConfigDict(frozen=True)

    version: int = _VERSION
    tables: str = migrations.HEAD
    """Revision of the tables that the rows come from."""
    person: tuple[str, str] | None = None
    """Namespace and user whose file it is; None while nobody has used it."""
    file: str | None = None
    """Digest of the file that goes with these rows."""
    before: str | None = None
    """Digest of the file that was there until then."""
    more: dict[str, dict[str, Any]] = {}
    """Fields of other programs, by id of the memory."""
    rows: dict[str, Rows] = {}


def read_state(data: bytes) -> State:
    """The state as it was written, with its rows brought up to date.

    Raises:
        Corrupt: it is none.
        Misconfigured: a newer Perdure wrote it.
    """
    try:
        state = State.model_validate(json.loads(data))
    except (ValidationError, ValueError, RecursionError):
        raise Corrupt("Not a state that was written here.") from None
    if state.version != _VERSION:
        raise _newer(state.version)
    if state.tables == migrations.HEAD:
        return state
    return state.model_copy(update={"rows": _upgraded(state)})


def write_state(state: State) -> bytes:
    """The bytes of the state."""
    value = state.model_dump()
    return f"{json.dumps(value, ensure_ascii=False, separators=(',', ':'))}\n".encode()


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────


def draw(connection: Connection) -> dict[str, Rows]:
    """Every row of every table but the derived ones."""
    drawn = {}
    for name in _TABLES:
        found = connection.execute(select(_EVERYTHING).select_from(named(name)))
        drawn[name] = Rows(columns=list(found.keys()), rows=[list(row) for row in found])
    return drawn


def clear(connection: Connection) -> None:
    """Take every row out."""
    for name in (*_DERIVED, *_TABLES):
        connection.execute(delete(named(name)))


def pour(connection: Connection, rows: Mapping[str, Rows]) -> None:
    """Put these rows into empty tables."""
    for name in _TABLES:
        given = rows.get(name)
        if given is None or not given.rows:
            continue
        if name == _COUNTERS:
            connection.execute(delete(named(name)))  # what the rows themselves counted
        target = named(name, *(column(one) for one in given.columns))
        values = [dict(zip(given.columns, row, strict=True)) for row in given.rows]
        connection.execute(insert(target), values)


def _upgraded(state: State) -> dict[str, Rows]:
    """Rows of older tables as the newest ones have them: the migrations run in memory."""
    from alembic import command  # noqa: PLC0415 - slow to load, and needed once
    from alembic.util import CommandError  # noqa: PLC0415 - the same

    engine = create_engine("sqlite://", hide_parameters=True)
    try:
        with engine.begin() as connection:
            settings = migrations.config(connection)
            command.upgrade(settings, state.tables)
            pour(connection, state.rows)
            command.upgrade(settings, "head")
            return draw(connection)
    except CommandError:
        raise _newer(state.tables) from None
    finally:
        engine.dispose()


def _newer(version: int | str) -> Misconfigured:
    return Misconfigured(
        "A newer Perdure wrote the state ({version}).", field="database_url", version=version
    )
