"""What a change moved besides the content, who handed an entry in, and what each answer said."""

from __future__ import annotations

from alembic import op
from sqlalchemy import PrimaryKeyConstraint, UniqueConstraint

from perdure.store.migrations.steps import (
    LONG,
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

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add two columns and a table; nothing that is there changes its meaning."""
    add_column("perdure_audit_log", may("moved", LONG))
    add_column("perdure_audit_log", may("imported_by", line(255)))
    create_table(
        "perdure_answers",
        must("id", NUMBER),
        *owner(),
        must("trace", line(64)),
        must("item_ids", LONG),
        must("at", MOMENT),
        PrimaryKeyConstraint("id", name=op.f("pk_perdure_answers")),
        UniqueConstraint("namespace", "user_id", "trace", name="uq_perdure_answers_trace"),
        sqlite_autoincrement=True,
    )
    create_index("ix_perdure_answers_newest", "perdure_answers", ["namespace", "user_id", "id"])
