"""What cleaning needs to know, and what users say about memories."""

from __future__ import annotations

from datetime import UTC, datetime

from alembic import op
from sqlalchemy import PrimaryKeyConstraint, UniqueConstraint
from sqlalchemy import text as sql

from perdure.store.migrations.steps import (
    MOMENT,
    NUMBER,
    add_column,
    create_index,
    create_table,
    line,
    may,
    must,
    owner,
)

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ID = line(64)


def upgrade() -> None:
    """Add two tables, a column and four indexes; nothing that is there changes its meaning."""
    _deletions()
    _feedback()
    add_column("perdure_messages", may("kept_at", MOMENT))
    # When the older messages came in is not known; counted from today none goes too early.
    today = (datetime.now(UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    op.execute(
        sql("UPDATE perdure_messages SET kept_at = :at WHERE kept_at IS NULL").bindparams(
            at=int(today) * 10**6
        )
    )
    for table, name, columns in (
        ("messages", "kept_at", ["namespace", "kept_at"]),
        ("memories", "expiry", ["namespace", "status", "expires_at"]),
        ("deletions", "at", ["namespace", "at"]),
        ("feedback", "at", ["namespace", "at", "verdict"]),
    ):
        create_index(f"ix_perdure_{table}_{name}", f"perdure_{table}", columns)


def _deletions() -> None:
    create_table(
        "perdure_deletions",
        *owner(),
        must("item_id", _ID),
        must("at", MOMENT),
        PrimaryKeyConstraint("namespace", "user_id", "item_id", name=op.f("pk_perdure_deletions")),
    )
    op.execute(
        "INSERT INTO perdure_deletions (namespace, user_id, item_id, at)"
        " SELECT namespace, user_id, item_id, MAX(at) FROM perdure_audit_log"
        " WHERE operation = 'delete' AND NOT EXISTS (SELECT 1 FROM perdure_deletions)"
        " GROUP BY namespace, user_id, item_id"
    )


def _feedback() -> None:
    create_table(
        "perdure_feedback",
        must("id", NUMBER),
        *owner(),
        must("trace", _ID),
        must("item_id", _ID),
        must("verdict", line(16)),
        must("at", MOMENT),
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
