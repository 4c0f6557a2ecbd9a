"""Keys that open the service, and requests that may be sent twice."""

from __future__ import annotations

from alembic import op
from sqlalchemy import PrimaryKeyConstraint, UniqueConstraint

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

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_WORD, _ID, _BINDING, _NAME = line(16), line(64), line(128), line(255)


def upgrade() -> None:
    """Add two tables; nothing that is there changes its meaning."""
    create_table(
        "perdure_keys",
        must("id", _ID),
        must("namespace", _ID),
        must("name", _NAME),
        must("role", _WORD),
        must("permissions", LONG),
        must("hashed", _ID),
        must("created_at", MOMENT),
        may("last_used_at", MOMENT),
        may("revoked_at", MOMENT),
        PrimaryKeyConstraint("id", name=op.f("pk_perdure_keys")),
        UniqueConstraint("hashed", name="uq_perdure_keys_hashed"),
    )
    create_index("ix_perdure_keys_namespace", "perdure_keys", ["namespace", "id"])
    create_table(
        "perdure_requests",
        must("id", NUMBER),
        *owner(),
        must("key", _ID),
        must("fingerprint", _ID),
        may("ref", _BINDING),
        must("at", MOMENT),
        PrimaryKeyConstraint("id", name=op.f("pk_perdure_requests")),
        UniqueConstraint("namespace", "user_id", "key", name="uq_perdure_requests_key"),
        sqlite_autoincrement=True,
    )
    create_index("ix_perdure_requests_at", "perdure_requests", ["at"])
