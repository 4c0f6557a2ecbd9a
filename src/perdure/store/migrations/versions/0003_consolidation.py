"""What consolidation remembers: when it ran, and the rows that it can bring back."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, String, Text

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add three columns, empty; nothing that is there changes its meaning."""
    op.add_column("perdure_users", Column("consolidated_at", BigInteger(), nullable=True))
    op.add_column("perdure_users", Column("consolidated_by", String(64), nullable=True))
    op.add_column("perdure_audit_log", Column("was", Text(), nullable=True))
