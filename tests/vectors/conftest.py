"""A real database and an embedder that knows nothing but words."""

from __future__ import annotations

import pytest

from perdure.store.database import SqlDatabase
from perdure.testing.samples import NOW


@pytest.fixture
def database(tmp_path):
    database = SqlDatabase.open(f"sqlite:///{tmp_path / 'perdure.db'}", clock=lambda: NOW, busy_s=5)
    yield database
    database.close()
