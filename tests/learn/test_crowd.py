"""Many threads learn the same for one user at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from perdure.testing.fakes import ScriptedChat, WordEmbedder
from perdure.types import Action, JobType, Scope

ANN = Scope(user="ann")
THREADS = 8
TIMES = [
    (kind, time)
    for kind, times in (("sqlite", 20), ("mariadb", 5), ("postgres", 5))
    for time in range(times)
]
STATEMENTS = [f"Owns boat number {number}" for number in range(9)] + ["住在杭州"]
SAID = f"{'. '.join(STATEMENTS[:9])}. 我住在杭州。"


@pytest.mark.spec("3.5")
@pytest.mark.parametrize(("kind", "_time"), TIMES)
def test_eight_threads_with_the_same_ten_statements_end_with_ten_rows(worlds, place, kind, _time):
    """Each has thought before any of them writes: only the database can keep them apart."""
    world = worlds(place(kind))
    world.embedder = WordEmbedder()
    facts = [{"content": statement, "lines": [1]} for statement in STATEMENTS]
    world.chat = ScriptedChat(rule=lambda _: {"memories": facts})
    traces = [world.capture(SAID, conversation=f"chat-{n}").trace for n in range(THREADS)]
    with world.database.read() as tx:
        jobs = [
            job for trace in traces for job in tx.jobs.of(ANN, trace)
            if job.type is JobType.EXTRACT
        ]  # fmt: skip
    thought = threading.Barrier(THREADS)

    def learn(job):
        effect = world.learner(job)
        thought.wait(30)
        with world.database.begin(job.scope) as tx:
            return effect(tx)

    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(learn, jobs))

    assert sorted(world.memories()) == sorted(STATEMENTS)
    assert len(world.searchable()) == len(STATEMENTS)
    done = [one["action"] for result in results for one in result["learnt"]]
    assert (done.count(Action.ADD), done.count(Action.TOUCH)) == (10, 10 * (THREADS - 1))
    assert [refused for result in results for refused in result["refused"]] == []
