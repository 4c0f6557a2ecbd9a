"""The steps of a revision: each looks first whether it was taken before.

Where tables cannot be rolled back, an interrupted revision leaves some of its steps behind, and is
run again. Revisions that are out rest on what stands here: it may grow, and never change.
"""

from __future__ import annotations

from typing import Any

from alembic import op
from sqlalchemy import Column, inspect
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import BigInteger, Integer, LargeBinary, String, Text, TypeEngine

_MYSQL = ("mariadb", "mysql")

_LONGEST = 2**32 - 1  # makes LONGTEXT and LONGBLOB of MySQL

LONG = Text().with_variant(Text(_LONGEST), *_MYSQL)
BYTES = LargeBinary().with_variant(LargeBinary(_LONGEST), *_MYSQL)
NUMBER = BigInteger().with_variant(Integer(), "sqlite")
MOMENT = BigInteger()  # microseconds since 1970


def line(chars: int) -> TypeEngine[str]:
    """A text of at most so many characters, compared and sorted sign by sign."""
    return String(chars).with_variant(String(chars, collation="C"), "postgresql")


def must(name: str, kind: TypeEngine[Any]) -> Column[Any]:
    """A column that always has a value."""
    return Column(name, kind, nullable=False)


def may(name: str, kind: TypeEngine[Any]) -> Column[Any]:
    """A column that may be empty."""
    return Column(name, kind, nullable=True)


def owner() -> tuple[Column[Any], Column[Any]]:
    """Namespace and user."""
    return must("namespace", line(64)), must("user_id", line(255))


def sqlite() -> bool:
    """Is it SQLite?"""
    return op.get_bind().dialect.name == "sqlite"


def create_table(name: str, *columns: SchemaItem, **about: Any) -> None:
    """Make a table, unless it is there.

    On MySQL texts are compared exactly, whatever the database does by itself.
    """
    if inspect(op.get_bind()).has_table(name):
        return
    mariadb = getattr(op.get_bind().dialect, "is_mariadb", False)
    exact = "utf8mb4_nopad_bin" if mariadb else "utf8mb4_0900_bin"
    for kind in _MYSQL:
        about |= {f"{kind}_engine": "InnoDB", f"{kind}_charset": "utf8mb4"}
        about |= {f"{kind}_collate": exact}
    op.create_table(name, *columns, **about)


def add_column(table: str, column: Column[Any]) -> None:
    """Add a column, unless it is there."""
    if column.name not in {one["name"] for one in inspect(op.get_bind()).get_columns(table)}:
        op.add_column(table, column)


def create_index(name: str, table: str, columns: list[str]) -> None:
    """Make an index, unless it is there."""
    if name not in {one["name"] for one in inspect(op.get_bind()).get_indexes(table)}:
        op.create_index(name, table, columns)
