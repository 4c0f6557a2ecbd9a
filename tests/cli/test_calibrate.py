"""calibrate: thresholds of the configured embedder, as a line for the settings."""

from __future__ import annotations

import re

import pytest

from perdure import Memory, Message, Scope
from perdure.models.calibrate import read
from perdure.settings import load
from perdure.testing.model_server import ModelServer
from perdure.types import Role

THINGS = "tea boat cup rain coin tram wool kite loaf pear moss harp lamp fjord".split()


@pytest.fixture
def _remembered(monkeypatch, tmp_path):
    """Memories of two users, and an embeddings endpoint that knows words."""
    monkeypatch.setenv("PERDURE_DATABASE_URL", f"sqlite:///{tmp_path / 'p.db'}")
    ann, lin = Scope(user="ann"), Scope(user="小林")
    with Memory.open(settings=load(), workers=False) as memory:
        for number, a in enumerate(THINGS):
            memory.items.add(
                ann, f"Likes {a} and {THINGS[number - 1]} on {THINGS[number - 5]} days"
            )
            memory.items.add(lin, f"小林喜欢{a}，不喜欢{THINGS[number - 2]}")
            said = f"What about {a} today, with {THINGS[number - 1]}?"
            memory.capture(ann, "c", [Message(Role.USER, said)])
    with ModelServer() as server:
        monkeypatch.setenv("PERDURE_EMBEDDER", "openai")
        monkeypatch.setenv("PERDURE_EMBEDDING_BASE_URL", server.base_url)
        monkeypatch.setenv("PERDURE_EMBEDDING_MODEL", "words")
        yield


@pytest.mark.spec("4.6")
@pytest.mark.usefixtures("_remembered")
def test_the_line_that_is_printed_is_a_setting(perdure):
    done = perdure("calibrate", "ann", "小林")

    assert done.code == 0, done.err
    (line,) = re.findall(r'^PERDURE_EMBEDDING_SIMILARITY="(.+)"$', done.out, re.MULTILINE)
    assert f'embedding_similarity = "{line}"' in done.out
    found = read(line)
    assert 0 <= found.unrelated < found.topic < found.same <= 1
    assert "words: 28 memories" in done.err
    told = perdure("calibrate", "ann", "小林", "--json").json
    assert told["embedding_similarity"] == line
    assert told["model"] == "words"


@pytest.mark.usefixtures("_remembered")
def test_too_little_and_no_embedder_are_told(perdure, monkeypatch):
    done = perdure("calibrate", "bo")
    assert (done.code, done.out) == (1, "")
    assert "at least 20 memories; there are 0" in done.err
    monkeypatch.setenv("PERDURE_EMBEDDER", "none")
    assert perdure("calibrate", "ann").code == 1
    assert perdure("calibrate").code == 2
