"""An index for lists that are read page by page, in an order that no change moves."""

from __future__ import annotations

from perdure.store.migrations.steps import create_index

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Let a user's memories of one status be found newest first."""
    columns = ["namespace", "user_id", "status", "created_at", "id"]
    create_index("ix_perdure_memories_listed", "perdure_memories", columns)
