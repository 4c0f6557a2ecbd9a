"""A whole memory with a clock that is turned by hand; jobs run when a test says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from perdure import ItemFilter, Memory, Message, Scope
from perdure.settings import load
from perdure.testing.fakes import WordEmbedder
from perdure.types import JobState, Status
from perdure.wiring import wire

ann = Scope(user="ann")
START = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)


class Home:
    """One memory, its file, and its clock."""

    def __init__(self, folder, monkeypatch, preset="assistant", **environ):
        self.now = START
        self.file = folder / "home.db"
        self.embedder = WordEmbedder()
        monkeypatch.setattr(
            "perdure.wiring.running.embedder_of", lambda _settings, _meter: self.embedder
        )
        settings = load(environ, preset=preset).but(database_url=f"sqlite:///{self.file}")
        self.memory = Memory(wire(settings, self.clock))
        self.items = self.memory.items
        self.parts = self.memory.parts

    def clock(self):
        self.now += timedelta(microseconds=1)
        return self.now

    def turn(self, seconds):
        self.now += timedelta(seconds=seconds)

    def says(self, said, who=ann, **about):
        """A person says something, and what there is to do is done."""
        message = Message("user", said, **about)
        receipt = self.memory.capture(who, "chat-1", [message])
        self.work()
        return receipt

    def work(self):
        while self.parts.worker.run_once():
            pass

    def tidy(self):
        """What upkeep does once, and everything that comes of it."""
        self.parts.upkeep.run_once()
        self.work()

    def jobs(self, *kinds):
        with self.parts.database.read() as tx:
            every = tx.jobs.page(list(JobState), limit=1_000)[::-1]
        return [job for job in every if job.type in kinds or not kinds]

    def contents(self, who=ann, *statuses):
        """What the memories say that have one of these statuses, or that are active."""
        which = ItemFilter(statuses=statuses or [Status.ACTIVE])
        return [item.content for item in self.items.list(who, which)]

    def held(self, *words):
        """How often each word stands in the database, whatever the table and the column.

        Asked on a connection of its own engine: two copies of SQLite in one process would take
        each other's locks away.
        """
        with self.parts.database.read() as tx:
            sql = tx.items._connection.exec_driver_sql  # type: ignore[attr-defined]
            tables = sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars().all()
            every = str(
                [
                    sql(f"SELECT * FROM {name}").all()  # noqa: S608 - our own names
                    for name in tables
                    if name != "perdure_places"
                ]
            )
        return [every.count(word) for word in words]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A memory with the preset and settings that a test asks for."""
    homes: list[Any] = []

    def build(preset="assistant", **environ):
        folder = tmp_path / str(len(homes))
        folder.mkdir()
        homes.append(Home(folder, monkeypatch, preset, **environ))
        return homes[-1]

    yield build
    for one in homes:
        one.memory.close()
