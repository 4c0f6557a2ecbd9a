"""The contracts on real SQLite: in a file with either driver, and in memory."""

from __future__ import annotations

import pytest

from perdure.store import database as store
from perdure.store.database import SqlDatabase
from perdure.testing.contracts import MemoryStoreContract
from perdure.testing.index_contracts import IndexContract, MessageStoreContract
from perdure.testing.job_contracts import JobStoreContract
from perdure.testing.samples import NOW
from perdure.testing.upkeep_contracts import UpkeepContract


@pytest.fixture(params=["file", "file, Python's own driver", "memory"])
def database(request, tmp_path, monkeypatch):
    if "own" in request.param:
        monkeypatch.setattr(store, "_newer_sqlite", None)
    where = tmp_path / "perdure.db"
    url = "sqlite://" if request.param == "memory" else f"sqlite:///{where}"
    database = SqlDatabase.open(url, clock=lambda: NOW, busy_s=5)
    yield database
    database.close()


class TestMemories(MemoryStoreContract):
    """Memories in SQLite."""


class TestMessages(MessageStoreContract):
    """Conversations in SQLite."""


class TestIndexes(IndexContract):
    """Vectors and terms in SQLite."""


class TestJobs(JobStoreContract):
    """Promises in SQLite."""


class TestUpkeep(UpkeepContract):
    """What is overdue and what disagrees in SQLite."""
