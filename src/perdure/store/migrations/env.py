"""Alembic's way in: runs revisions on the connection it is handed, and touches no logging."""

from __future__ import annotations

from alembic import context

from perdure.store.migrations import VERSION_TABLE
from perdure.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    include_name=lambda name, kind, _parents: kind != "table" or name in metadata.tables,
    render_as_batch=True,
)

with context.begin_transaction():
    context.run_migrations()
