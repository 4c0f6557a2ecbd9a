"""The table of promises is looked after."""

from __future__ import annotations

import threading

from perdure.errors import DatabaseUnavailable, Misconfigured
from perdure.jobs.upkeep import Chore, Upkeep
from perdure.testing.samples import ANN, promise
from perdure.types import JobState


def test_what_is_done_is_forgotten_in_time_and_what_is_dead_is_not(hall):
    for key in ("done", "dead"):
        hall.promise(key, ordered=False)

    def handler(job):
        if job.key == "dead":
            raise ZeroDivisionError
        return lambda tx: {}

    worker = hall.worker(handler)
    for _ in range(20):
        worker.run_once()
        hall.turn(60)
    hall.promise("new")
    upkeep = Upkeep(hall.database, hall.policy, clock=hall.clock)
    upkeep.run_once()
    assert [job.key for job in hall.jobs()] == ["done", "dead", "new"]
    hall.turn(hall.policy.keep_finished_s)
    upkeep.run_once()
    assert [(job.key, job.state) for job in hall.jobs()] == [
        ("dead", JobState.DEAD),
        ("new", JobState.PENDING),
    ]


def test_leases_of_the_dead_are_taken_back_without_a_worker(hall):
    hall.promise("1")
    with hall.database.begin() as tx:
        assert tx.jobs.claim(hall.now, 30, [job.type for job in hall.jobs()]) is not None
    hall.turn(31)
    stop = threading.Event()
    upkeep = Upkeep(hall.database, hall.policy.but(upkeep_s=0.01), clock=hall.clock)
    thread = threading.Thread(target=upkeep.run, args=(stop,))
    thread.start()
    while hall.jobs()[0].state is JobState.PROCESSING:
        pass
    stop.set()
    thread.join(5)
    (job,) = hall.jobs()
    assert (job.state, job.retry_count) == (JobState.FAILED, 1)


def upkeep(hall, *chores):
    return Upkeep(hall.database, hall.policy.but(upkeep_s=0.01), clock=hall.clock, chores=chores)


def test_work_that_comes_again_is_asked_for_at_the_start_and_then_so_often(hall):
    asked = []

    def due(at, period):
        asked.append(at)
        return [promise(ANN, f"clean {period}")]

    keeper, beside = (upkeep(hall, Chore(every_s=3_600, due=due)) for _ in range(2))
    never = upkeep(hall, Chore(every_s=0, due=due))
    for _ in range(3):
        for one in (keeper, beside, never):
            one.run_once()
        hall.turn(1_800)
    assert len(asked) == 4
    keys = [job.key for job in hall.jobs()]
    assert keys == sorted(set(keys))  # two processes that ask are one promise
    assert len(keys) == 2


def test_an_upkeep_that_fails_goes_on_with_the_next_time(hall):
    stop = threading.Event()
    failures = [DatabaseUnavailable("x"), Misconfigured("x")]

    def due(_at, _period):
        if failures:
            raise failures.pop()
        stop.set()
        return [promise(ANN, "clean")]

    thread = threading.Thread(target=upkeep(hall, Chore(every_s=60, due=due)).run, args=(stop,))
    thread.start()
    thread.join(10)
    assert [job.key for job in hall.jobs()] == ["clean"]
