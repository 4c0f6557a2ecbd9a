"""How our values lie in a column, alike on every database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Dialect,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    bindparam,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from perdure.types import MAX_BINDING, MAX_NAMESPACE, MAX_USER, Scope

ID = 64  # characters of ids, hashes and traces that we make ourselves
WORD = 16  # characters of an enumeration's value
NAME = 255  # characters of a model, a prompt version, an event id
MYSQL = ("mariadb", "mysql")
_LONGEST = 2**32 - 1
LONG = Text().with_variant(Text(_LONGEST), *MYSQL)
"""A text of any length: of MySQL LONGTEXT, since its TEXT ends at 65,535 bytes."""
BYTES = LargeBinary().with_variant(LargeBinary(_LONGEST), *MYSQL)
"""Bytes of any length; the same."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Moment(TypeDecorator[datetime]):
    """A moment in UTC as whole microseconds since 1970: exact and sortable on every database."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:  # noqa: ARG002 - the library's signature
        """From an aware datetime."""
        return None if value is None else micros(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - the library's signature
        """To an aware datetime."""
        return None if value is None else moment(value)


class Document(TypeDecorator[Any]):
    """JSON that is read and written whole, readable in any script."""

    impl = LONG
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:  # noqa: ARG002 - the library's signature
        """To JSON text."""
        return _json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002 - the library's signature
        """From JSON text."""
        return None if value is None else json.loads(value)


class Pairs(TypeDecorator[Mapping[str, str]]):
    """A flat map of texts as lines of JSON, so that one pair can be found as a literal text."""

    impl = LONG
    cache_ok = True

    def process_bind_param(self, value: Mapping[str, str] | None, dialect: Dialect) -> str:  # noqa: ARG002 - the library's signature
        """To one line a pair, sorted by key."""
        return "\n".join(["", *(_json([k, v]) for k, v in sorted((value or {}).items())), ""])

    def process_result_value(self, value: str | None, dialect: Dialect) -> dict[str, str]:  # noqa: ARG002 - the library's signature
        """From lines."""
        return dict(json.loads(line) for line in (value or "").split("\n") if line)


def pair(key: str, value: str) -> str:
    """The text that stands in a `Pairs` column exactly if it holds this pair."""
    return f"\n{_json([key, value])}\n"


def micros(value: datetime) -> int:
    """Microseconds since 1970."""
    return (value - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """The moment so many microseconds after 1970; what no calendar has is its first or last."""
    return _EPOCH + timedelta(microseconds=min(max(value, _FIRST), _LAST))


_FIRST = micros(datetime.min.replace(tzinfo=UTC))
_LAST = micros(datetime.max.replace(tzinfo=UTC))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def line(chars: int) -> TypeEngine[str]:
    """A text of at most so many characters, compared and sorted sign by sign.

    MySQL is told so once a table. PostgreSQL would sort by the rules of a language, which change
    with the system's version and leave wrong indexes behind.
    """
    return String(chars).with_variant(String(chars, collation="C"), "postgresql")


def owner() -> tuple[Column[str], Column[str]]:
    """Namespace and user: whose row it is."""
    return (
        Column("namespace", line(MAX_NAMESPACE), nullable=False),
        Column("user_id", line(MAX_USER), nullable=False),
    )


def number() -> Column[int]:
    """A key that rises and is never given out twice, also after rows were deleted."""
    kind = BigInteger().with_variant(Integer, "sqlite")
    return Column("id", kind, primary_key=True, autoincrement=True)


def binding(name: str, *, nullable: bool = True) -> Column[str]:
    """A project, an assistant, a run, a conversation or a message, as the host names it."""
    return Column(name, line(MAX_BINDING), nullable=nullable)


# ── the wall: every statement about an owner's rows names the owner ──────────────────────────────


def owned(rows: Table) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """The condition that a row belongs to the owner that `whose` names."""
    return (
        rows.c.namespace == bindparam("of_namespace"),
        rows.c.user_id == bindparam("of_user"),
    )


def whose(scope: Scope) -> dict[str, Any]:
    """The values of `owned`, to be put beside a statement's other values."""
    return {"of_namespace": scope.namespace, "of_user": scope.user}
