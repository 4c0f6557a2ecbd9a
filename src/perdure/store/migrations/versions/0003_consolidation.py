"""What consolidation remembers: when it ran, and the rows that it can bring back."""

from __future__ import annotations

from perdure.store.migrations.steps import LONG, MOMENT, add_column, line, may

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add three columns, empty; nothing that is there changes its meaning."""
    add_column("perdure_users", may("consolidated_at", MOMENT))
    add_column("perdure_users", may("consolidated_by", line(64)))
    add_column("perdure_audit_log", may("was", LONG))
