"""What stays of an erased user, what models cost, and who looked: tables, columns, indexes."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Double, PrimaryKeyConstraint

from perdure.store.migrations.steps import (
    LONG,
    MOMENT,
    add_column,
    create_index,
    create_table,
    line,
    may,
    must,
    owner,
)

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_WORD, _ID, _NAME = line(16), line(64), line(255)


def upgrade() -> None:
    """Add two tables, two columns and four indexes; nothing that is there changes its meaning."""
    create_table(
        "perdure_erasures",
        must("id", _ID),
        *owner(),
        must("by", _NAME),
        must("asked_at", MOMENT),
        may("done_at", MOMENT),
        must("removed", LONG),
        PrimaryKeyConstraint("id", name=op.f("pk_perdure_erasures")),
    )
    create_table(
        "perdure_spend",
        *owner(),
        must("month", _WORD),
        must("model", _NAME),
        must("purpose", _WORD),
        must("calls", BigInteger()),
        must("tokens_in", BigInteger()),
        must("tokens_out", BigInteger()),
        must("cost", Double()),
        PrimaryKeyConstraint(
            "namespace", "user_id", "month", "model", "purpose", name=op.f("pk_perdure_spend")
        ),
    )
    add_column("perdure_jobs", may("span", _ID))
    add_column("perdure_audit_log", may("by", _NAME))
    for table, name, columns in (
        ("erasures", "owner", ["namespace", "user_id", "asked_at"]),
        ("memories", "vector_status", ["vector_status"]),
        ("audit_log", "newest", ["namespace", "id"]),
        ("audit_log", "user", ["namespace", "user_id", "id"]),
    ):
        create_index(f"ix_perdure_{table}_{name}", f"perdure_{table}", columns)
