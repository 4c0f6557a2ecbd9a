"""Columns and indexes by which upkeep finds what it looks for without reading whole tables."""

from __future__ import annotations

from alembic import op

from perdure.store.migrations.steps import MOMENT, add_column, create_index, may

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Note beside each row that can be brought back since when it is kept; add indexes."""
    add_column("perdure_audit_log", may("was_at", MOMENT))
    op.execute("UPDATE perdure_audit_log SET was_at = at WHERE was IS NOT NULL AND was_at IS NULL")
    create_index("ix_perdure_audit_log_was_at", "perdure_audit_log", ["namespace", "was_at"])
    create_index("ix_perdure_jobs_since", "perdure_jobs", ["state", "updated_at"])
    create_index("ix_perdure_vectors_model", "perdure_vectors", ["model"])
