"""What a person writes does not wait for an embedder that is slow."""

from __future__ import annotations

import time
from threading import Event

import pytest

from perdure import Memory, Scope
from perdure.errors import Misconfigured, ModelUnavailable
from perdure.settings import load
from perdure.testing.fakes import WordEmbedder
from perdure.types import VectorStatus

ann = Scope(user="ann")


class Hanging(WordEmbedder):
    """Answers once it is told to."""

    def __init__(self):
        super().__init__()
        self.go_on = Event()

    def embed(self, texts, action):
        if not self.go_on.wait(30):
            raise ModelUnavailable
        return super().embed(texts, action)


@pytest.mark.spec("2", "5")
def test_nobody_waits_long_for_an_embedder_that_hangs(tmp_path, monkeypatch):
    embedder = Hanging()
    monkeypatch.setattr("perdure.wiring.running.embedder_of", lambda _settings, _meter: embedder)
    settings = load({"PERDURE_POLICY__ITEM__VECTOR_WAIT_S": "0.1"})
    where = f"sqlite:///{tmp_path / 'perdure.db'}"
    with Memory.open(where, settings=settings, workers=False) as memory:
        began = time.monotonic()
        item = memory.items.add(ann, "Plays the oboe")
        memory.items.edit(ann, item.id, content="Plays the viola")
        assert time.monotonic() - began < 5
        assert memory.items.get(ann, item.id).vector_status is VectorStatus.PENDING
        assert memory.search(ann, "viola", arms=["fulltext"])

        embedder.go_on.set()
        time.sleep(0.01)  # the second change was a moment after the first
        while memory.parts.worker.run_once():
            pass
        assert memory.items.get(ann, item.id).vector_status is VectorStatus.SYNCED
        assert memory.search(ann, "viola", arms=["semantic"])


def test_an_embedder_that_is_set_up_wrongly_says_so_at_once(tmp_path, monkeypatch):
    class Wrong(WordEmbedder):
        def embed(self, texts, action):
            raise Misconfigured(field="PERDURE_EMBEDDING_MODEL")

    monkeypatch.setattr("perdure.wiring.running.embedder_of", lambda _settings, _meter: Wrong())
    where = f"sqlite:///{tmp_path / 'perdure.db'}"
    with Memory.open(where, settings=load(), workers=False) as memory:
        with pytest.raises(Misconfigured, match="PERDURE_EMBEDDING_MODEL"):
            memory.items.add(ann, "Plays the oboe")
        assert len(memory.items.list(ann)) == 0
