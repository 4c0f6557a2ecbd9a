"""reindex: vectors and terms are made anew, with a bar or as JSON; no text is lost."""

from __future__ import annotations

import pytest

from perdure import Memory, Scope
from perdure.ports import Corpus, VectorEntry
from perdure.settings import load
from perdure.testing.samples import unit
from perdure.types import JobState, JobType, VectorStatus

ANN, XIAOLIN = Scope(user="ann"), Scope(user="小林")


@pytest.fixture(autouse=True)
def _vectors(monkeypatch):
    monkeypatch.setenv("PERDURE_EMBEDDER", "bundled")


@pytest.fixture
def spoilt():
    """A store whose vectors are of another length than the embedder's, and whose terms are lost."""
    with Memory.open(settings=load(), workers=False) as memory:
        items = [memory.items.add(ANN, "Owns a telescope"), memory.items.add(XIAOLIN, "养了一只猫")]
        with memory.parts.database.begin() as tx:
            index = memory.parts.index
            assert index is not None
            for item in items:
                owner = Scope(user=item.user)
                tx.vectors.write(
                    owner, Corpus.MEMORIES, index.model,
                    [VectorEntry(ref=item.id, vectors=unit(1, 0))],
                )  # fmt: skip
                tx.fulltext.remove(owner, Corpus.MEMORIES, [item.id])
    return items


@pytest.mark.spec("5")
@pytest.mark.case("STO-03")
def test_everything_is_made_anew_and_told_in_json(perdure, spoilt):
    refused = perdure("worker")
    assert refused.code == 1
    assert "512 numbers; stored are 2" in refused.err
    assert "perdure reindex" in refused.err

    assert perdure("reindex", "--json").json == {"users": 2, "failed": 0}

    with Memory.open(settings=load()) as memory:
        for item, question in zip(spoilt, ("stargazing", "动物"), strict=True):
            owner = Scope(user=item.user)
            found = memory.search(owner, question, arms=["semantic"])
            assert [one.content for one in found] == [item.content]
            with memory.parts.database.read() as tx:
                assert tx.fulltext.refs(owner, Corpus.MEMORIES) == {item.id}
                assert tx.items.get(owner, [item.id])[0].vector_status is VectorStatus.SYNCED


def test_a_person_is_told_in_a_sentence_and_it_can_be_left_to_workers(perdure):
    with Memory.open(settings=load(), workers=False) as memory:
        memory.items.add(ANN, "Owns a telescope")
    assert perdure("reindex").out == "1 users; 0 jobs failed.\n"
    assert perdure("reindex", "--no-wait").out == "1 users; workers do the rest.\n"
    with Memory.open(settings=load(), workers=False) as memory, memory.parts.database.read() as tx:
        assert [job.type for job in tx.jobs.page([JobState.PENDING])] == [JobType.RECONCILE]
