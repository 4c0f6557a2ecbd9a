"""When much waits, vectors give way: learning goes on, and vector work resumes by itself."""

from __future__ import annotations

import random

import pytest

from perdure.jobs.backlog import Backlog
from perdure.jobs.worker import Worker
from perdure.testing.samples import ANN, BO
from perdure.types import JobType


def crew(hall, limit):
    """A worker that notes what it does, and the backlog that it heeds."""
    done = []
    policy = hall.policy.but(backlog=limit, backlog_look_s=5.0)
    backlog = Backlog(
        hall.database,
        policy,
        {JobType.EMBED, JobType.RECONCILE},
        clock=hall.clock,
        meter=hall.meter,
    )

    def handler(job):
        done.append(job.key)
        return lambda _tx: {}

    worker = Worker(
        hall.database, dict.fromkeys(JobType, handler), policy, clock=hall.clock, meter=hall.meter,
        rng=random.Random(1), backlog=backlog,
    )  # fmt: skip
    return worker, backlog, done


@pytest.mark.spec("5")
def test_over_the_limit_vector_work_pauses_and_resumes_by_itself(hall):
    """C 13.2: structured memory goes on."""
    worker, backlog, done = crew(hall, limit=2)
    for n in range(2):
        hall.promise(f"vector {n}", type=JobType.EMBED, ordered=False)
    hall.promise("reconcile", BO, type=JobType.RECONCILE, ordered=False)
    for n in range(4):
        hall.promise(f"learn {n}")
    assert backlog.over()

    for _ in range(4):
        assert worker.run_once()
    assert done == [f"learn {n}" for n in range(4)]
    assert not worker.run_once()  # it is not counted each time
    assert hall.meter.read("vector_work", state="paused") == 1

    hall.turn(5)
    while worker.run_once():
        pass
    assert done[4:] == ["vector 0", "vector 1", "reconcile"]
    assert hall.meter.read("vector_work", state="resumed") == 1


def test_at_the_limit_everything_has_its_turn(hall):
    worker, backlog, done = crew(hall, limit=2)
    hall.promise("vector", type=JobType.EMBED, ordered=False)
    hall.promise("learn 0")
    hall.promise("learn 1")
    assert not backlog.over()
    worker.run_once()
    assert done == ["vector"]


def test_many_vectors_alone_are_no_backlog_or_nothing_would_ever_resume(hall):
    worker, _, done = crew(hall, limit=1)
    for n in range(5):
        hall.promise(f"vector {n}", type=JobType.EMBED, ordered=False)
    while worker.run_once():
        pass
    assert len(done) == 5


def test_without_a_limit_nothing_is_counted(hall):
    _, backlog, _ = crew(hall, limit=0)
    for n in range(5):
        hall.promise(f"learn {n}")
    assert not backlog.over()


def test_jobs_that_are_over_do_not_wait(hall):
    worker, _, _ = crew(hall, limit=9)
    for scope in (ANN, BO):
        hall.promise("learn", scope)
    worker.run_once()
    with hall.database.read() as tx:
        assert tx.jobs.waiting([JobType.EXTRACT], 10) == 1
        assert tx.jobs.waiting([JobType.EXTRACT], 0) == 0
        assert tx.jobs.waiting([JobType.EMBED], 10) == 0
        assert tx.jobs.waiting([], 10) == 0
