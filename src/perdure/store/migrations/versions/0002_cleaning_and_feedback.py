"""What cleaning needs to know, and what users say about memories."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, PrimaryKeyConstraint, String, UniqueConstraint
from sqlalchemy import text as sql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ID = String(64)
_MOMENT = BigInteger()  # microseconds since 1970


def upgrade() -> None:
    """Add two tables, a column and four indexes; nothing that is there changes its meaning."""
    _deletions()
    _feedback()
    op.add_column("perdure_messages", Column("kept_at", _MOMENT, nullable=True))
    # When the older messages came in is not known; counted from today none goes too early.
    today = (datetime.now(UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    op.execute(sql("UPDATE perdure_messages SET kept_at = :at").bindparams(at=int(today) * 10**6))
    for table, name, columns in (
        ("messages", "kept_at", ["namespace", "kept_at"]),
        ("memories", "expiry", ["namespace", "status", "expires_at"]),
        ("deletions", "at", ["namespace", "at"]),
        ("feedback", "at", ["namespace", "at", "verdict"]),
    ):
        op.create_index(f"ix_perdure_{table}_{name}", f"perdure_{table}", columns)


def _must(name: str, kind: Any) -> Column[Any]:
    return Column(name, kind, nullable=False)


def _owner() -> tuple[Column[Any], Column[Any]]:
    return _must("namespace", _ID), _must("user_id", String(255))


def _deletions() -> None:
    op.create_table(
        "perdure_deletions",
        *_owner(),
        _must("item_id", _ID),
        _must("at", _MOMENT),
        PrimaryKeyConstraint("namespace", "user_id", "item_id", name=op.f("pk_perdure_deletions")),
    )
    op.execute(
        "INSERT INTO perdure_deletions (namespace, user_id, item_id, at)"
        " SELECT namespace, user_id, item_id, MAX(at) FROM perdure_audit_log"
        " WHERE operation = 'delete' GROUP BY namespace, user_id, item_id"
    )


def _feedback() -> None:
    op.create_table(
        "perdure_feedback",
        _must("id", BigInteger().with_variant(Integer(), "sqlite")),
        *_owner(),
        _must("trace", _ID),
        _must("item_id", _ID),
        _must("verdict", String(16)),
        _must("at", _MOMENT),
        PrimaryKeyConstraint("id", name=op.f("pk_perdure_feedback")),
        UniqueConstraint(
            "namespace",
            "user_id",
            "item_id",
            "trace",
            "verdict",
            name="uq_perdure_feedback_verdict",
        ),
        sqlite_autoincrement=True,
    )
