"""The contracts on the desktop file: in one process, and with every unit of work in a new one.

A file is one person's; here it is told to take others along, since walls need two sides.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from perdure.store.file import FileDatabase
from perdure.store.file_rows import FileRows
from perdure.testing.contracts import MemoryStoreContract
from perdure.testing.index_contracts import IndexContract, MessageStoreContract
from perdure.testing.job_contracts import JobStoreContract
from perdure.testing.list_contracts import ListContract
from perdure.testing.privacy_contracts import PrivacyContract
from perdure.testing.samples import NOW
from perdure.testing.upkeep_contracts import UpkeepContract


class Reopened:
    """Every unit of work sees only what the one before left in the files."""

    def __init__(self, file):
        self.file = file

    @contextmanager
    def _unit(self, name):
        database = FileDatabase.open(self.file, clock=lambda: NOW, busy_s=5)
        try:
            with getattr(database, name)() as tx:
                yield tx
        finally:
            database.close()

    def begin(self, scope=None):
        return self._unit("begin")

    def run(self, work, scope=None):
        with self.begin(scope) as tx:
            return work(tx)

    def read(self):
        return self._unit("read")


@pytest.fixture(autouse=True)
def _hospitable(monkeypatch):
    monkeypatch.setattr(FileRows, "_refuse", lambda _rows, _field: None)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "memory.json"


class TestInOneProcess(
    MemoryStoreContract,
    ListContract,
    MessageStoreContract,
    IndexContract,
    JobStoreContract,
    UpkeepContract,
    PrivacyContract,
):
    """Everything, with the rows at hand."""

    @pytest.fixture
    def database(self, file):
        database = FileDatabase.open(file, clock=lambda: NOW, busy_s=5)
        yield database
        database.close()


class TestThroughTheFiles(
    MemoryStoreContract, ListContract, MessageStoreContract, JobStoreContract
):
    """Everything but vectors, which a desktop file does not keep."""

    test_what_is_removed_leaves_no_vector_and_no_term = None  # type: ignore[assignment]
    test_removed_messages_take_vectors_and_terms_along = None  # type: ignore[assignment]

    @pytest.fixture
    def database(self, file):
        return Reopened(file)
