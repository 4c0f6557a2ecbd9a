"""The outbox: promises on their way out, and which process publishes them."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Boolean, Integer, PrimaryKeyConstraint, UniqueConstraint

from perdure.store.migrations.steps import (
    LONG,
    MOMENT,
    NUMBER,
    create_index,
    create_table,
    line,
    may,
    must,
    owner,
)

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_WORD, _ID, _BINDING = line(16), line(64), line(128)


def upgrade() -> None:
    """Add two empty tables; nothing that is there changes its meaning."""
    create_table(
        "perdure_outbox",
        must("id", NUMBER),
        must("type", _WORD),
        *owner(),
        may("conversation_id", _BINDING),
        may("source_message_id", _BINDING),
        must("idempotency_key", _ID),
        must("key", LONG),
        must("payload", LONG),
        must("trace", _ID),
        must("ordered", Boolean()),
        must("max_retry", Integer()),
        may("run_at", MOMENT),
        must("created_at", MOMENT),
        may("sent_at", MOMENT),
        PrimaryKeyConstraint("id", name=op.f("pk_perdure_outbox")),
        UniqueConstraint("idempotency_key", name="uq_perdure_outbox_idempotency_key"),
        sqlite_autoincrement=True,
    )
    for name, columns in (
        ("sent", ["sent_at", "id"]),
        ("owner", ["namespace", "user_id", "id"]),
        ("trace", ["trace"]),
    ):
        create_index(f"ix_perdure_outbox_{name}", "perdure_outbox", columns)
    create_table(
        "perdure_leads",
        must("id", NUMBER),
        must("name", _WORD),
        must("token", _ID),
        must("lease_until", MOMENT),
        PrimaryKeyConstraint("id", name=op.f("pk_perdure_leads")),
        UniqueConstraint("name", name="uq_perdure_leads_name"),
        sqlite_autoincrement=True,
    )
