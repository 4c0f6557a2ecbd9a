"""The contracts on real databases: SQLite in files and in memory, and servers."""

from __future__ import annotations

import pytest

from perdure.store import sqlite
from perdure.store.database import WAITING, SqlDatabase
from perdure.testing.contracts import MemoryStoreContract
from perdure.testing.index_contracts import IndexContract, MessageStoreContract
from perdure.testing.job_contracts import JobStoreContract
from perdure.testing.list_contracts import ListContract
from perdure.testing.privacy_contracts import PrivacyContract
from perdure.testing.samples import NOW
from perdure.testing.upkeep_contracts import UpkeepContract


@pytest.fixture(params=["sqlite", "sqlite, Python's own", "memory", "mariadb", "postgres"])
def database(request, place, monkeypatch):
    kind, _, own = request.param.partition(", ")
    if own:
        monkeypatch.setattr(sqlite, "_newer_sqlite", None)
    url = "sqlite://" if kind == "memory" else place(kind)
    database = SqlDatabase.open(url, clock=lambda: NOW, policy=WAITING.but(busy_s=5))
    yield database
    database.close()


class TestMemories(MemoryStoreContract):
    """Memories in SQL."""


class TestLists(ListContract):
    """Pages of memories in SQL."""


class TestMessages(MessageStoreContract):
    """Conversations in SQL."""


class TestIndexes(IndexContract):
    """Vectors and terms in SQL."""


class TestJobs(JobStoreContract):
    """Promises in SQL."""


class TestUpkeep(UpkeepContract):
    """What is overdue and what disagrees in SQL."""


class TestPrivacy(PrivacyContract):
    """Forgetting, moving and accounting in SQL."""
