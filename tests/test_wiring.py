"""Settings become parts: what is not asked for is not loaded, what cannot work is named."""

from __future__ import annotations

import pytest

from perdure import Memory, Scope
from perdure.errors import Misconfigured
from perdure.settings import load
from perdure.types import JobState


@pytest.mark.parametrize(
    ("preset", "made"), [("assistant", True), ("team", False), ("desktop", False)]
)
def test_an_embedder_is_there_only_where_something_asks_for_vectors(tmp_path, preset, made):
    """A 8, B 8: `team` and `desktop` know no vectors, so they load and make none."""
    with Memory.open(tmp_path / "perdure.db", preset=preset, workers=False) as memory:
        assert (memory.parts.embedder is not None) is made
        assert memory.parts.vectors_now() == ("on" if made else "off")
        if not made:
            memory.items.add(Scope(user="ann"), "Likes tea")
            with memory.parts.database.read() as tx:
                assert tx.jobs.page(list(JobState)) == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"PERDURE_VECTOR_INDEX": "milvus"}, "PERDURE_VECTOR_URL"),
        ({"PERDURE_VECTOR_INDEX": "pgvector"}, "PERDURE_VECTOR_URL"),
        ({"PERDURE_VECTOR_INDEX": "pgvector", "PERDURE_VECTOR_URL": "::"}, "PERDURE_VECTOR_URL"),
        ({"PERDURE_VECTOR_INDEX": "chroma"}, "table, pgvector, milvus"),
    ],
)
def test_settings_that_cannot_work_are_named(settings, said):
    with pytest.raises(Misconfigured, match=said):
        Memory.open(settings=load({"PERDURE_DATABASE_URL": "sqlite://", **settings}))


@pytest.mark.parametrize(
    ("index", "package", "extra"),
    [("milvus", "pymilvus", "milvus"), ("pgvector", "psycopg", "postgres")],
)
def test_a_missing_extra_is_named(monkeypatch, index, package, extra):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == package else 1)
    url = "postgresql://127.0.0.1:1/x"
    settings = load({"PERDURE_VECTOR_INDEX": index, "PERDURE_VECTOR_URL": url})
    with pytest.raises(Misconfigured, match=rf"perdure\[{extra}\]"):
        Memory.open("sqlite://", settings=settings)


def test_the_address_of_an_index_does_not_show_itself():
    settings = load(
        {"PERDURE_VECTOR_URL": "postgresql://u:hidden@h/d", "PERDURE_VECTOR_TOKEN": "hidden"}
    )
    assert "hidden" not in repr(settings)
