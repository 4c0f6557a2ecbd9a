"""A real database in a file of its own."""

from __future__ import annotations

import pytest

from perdure.store.database import WAITING, SqlDatabase
from perdure.testing.samples import NOW


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'perdure.db'}"


@pytest.fixture
def database(url):
    database = SqlDatabase.open(url, clock=lambda: NOW, policy=WAITING.but(busy_s=0.2))
    yield database
    database.close()
