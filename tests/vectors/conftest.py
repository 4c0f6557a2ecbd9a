"""A real database, a memory whose vectors lie outside of it, and hosts that can go away."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from perdure import Memory, Scope, wiring
from perdure.errors import ModelUnavailable
from perdure.settings import load
from perdure.store.database import WAITING, SqlDatabase
from perdure.testing.fakes import FakeHost, WordEmbedder
from perdure.testing.samples import NOW
from perdure.types import JobState
from perdure.vectors.outside import OutsideIndex
from perdure.vectors.table import TableIndex

ANN = Scope(user="ann")


@pytest.fixture
def database(tmp_path):
    database = SqlDatabase.open(
        f"sqlite:///{tmp_path / 'perdure.db'}", clock=lambda: NOW, policy=WAITING.but(busy_s=5)
    )
    yield database
    database.close()


class Words(WordEmbedder):
    """Notes what it is asked, and can be away."""

    def __init__(self, dimension: int = 1024, *, model: str = "words") -> None:
        super().__init__(dimension, model=model)
        self.asked: list[tuple[str, str]] = []
        self.away = False

    def embed(self, texts: Any, action: Any) -> Any:
        self.asked += [(action, said) for said in texts]
        if self.away:
            raise ModelUnavailable
        return super().embed(texts, action)


@dataclass
class House:
    """A whole memory, whose time passes and whose jobs are done when a test says so."""

    monkeypatch: Any
    url: str
    now: datetime = NOW
    passed: float = 0.0
    host: FakeHost = field(default_factory=FakeHost)
    embedder: Words = field(default_factory=Words)
    settings: dict[str, str] = field(default_factory=dict)

    def open(self, **settings: str) -> Memory:
        """As after a restart, with these settings from now on."""
        self.settings |= settings
        given = {f"PERDURE_{name.upper()}": value for name, value in self.settings.items()}
        for file in ("places", "running"):  # what answers now, and what answered before
            self.monkeypatch.setattr(f"perdure.wiring.{file}.embedder_of", self.maker)
            self.monkeypatch.setattr(f"perdure.wiring.{file}.index_of", self.place)
        loaded = load({"PERDURE_EMBEDDER": "openai", "PERDURE_DATABASE_URL": self.url, **given})
        self.memory = Memory(wiring.wire(loaded, clock=lambda: self.now))
        self.parts = self.memory.parts
        return self.memory

    def maker(self, settings: Any, _meter: Any) -> Words:
        before = settings.embedder == "bundled"
        return Words(64, model="before") if before else self.embedder

    def place(self, settings: Any, embedder: Any, clock: Any, _: Any) -> Any:
        if settings.vector_index == "table":
            return TableIndex(embedder.model)
        return OutsideIndex(self.host, embedder.model, clock=clock, ticks=lambda: self.passed)

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.passed += seconds

    def work(self) -> None:
        """Do what is due."""
        while self.parts.worker.run_once():
            pass

    def upkeep(self) -> None:
        self.parts.upkeep.run_once()
        self.work()

    def status(self, item: Any) -> str:
        with self.parts.database.read() as tx:
            return str(tx.items.get(ANN, [item.id])[0].vector_status)

    def finds(self, words: str, **options: Any) -> list[str]:
        """What is found by meaning alone."""
        return [one.content for one in self.memory.search(ANN, words, arms=["semantic"], **options)]

    def jobs(self, *states: JobState) -> list[Any]:
        with self.parts.database.read() as tx:
            return tx.jobs.page(states or list(JobState))


@pytest.fixture
def house(monkeypatch, tmp_path):
    house = House(monkeypatch, f"sqlite:///{tmp_path / 'perdure.db'}")
    yield house
    house.memory.close()
