"""A worker keeps promises: in one commit, in order, and with patience."""

from __future__ import annotations

import random
import threading
import time
from datetime import timedelta
from itertools import pairwise

import pytest

from perdure.errors import DatabaseUnavailable, ModelBusy, ModelUnavailable, Rejected
from perdure.jobs.worker import Worker
from perdure.ports import ItemFilter
from perdure.testing.samples import ANN, BO, contents, memory
from perdure.types import JobState, JobType, Scope


def learns(text):
    """A handler whose effect is one memory."""

    def handler(job):
        def effect(tx):
            tx.items.add(memory(job.scope, f"{text} {job.key}"))
            return {"learnt": [job.key]}

        return effect

    return handler


def fails(failure):
    def handler(_job):
        raise failure

    return handler


def memories(hall, scope=ANN):
    with hall.database.read() as tx:
        return sorted(contents(tx.items.every(scope, ItemFilter())))


@pytest.mark.spec("5")
def test_the_effect_and_the_end_of_the_job_are_one_commit(hall):
    hall.promise("1")
    worker = hall.worker(learns("fact"))
    assert worker.run_once()
    assert not worker.run_once()

    (job,) = hall.jobs()
    assert (job.state, job.result, job.retry_count) == (JobState.SUCCESS, {"learnt": ["1"]}, 0)
    assert memories(hall) == ["fact 1"]
    assert hall.outcomes("success") == 1


def test_an_effect_that_fails_leaves_nothing_and_is_tried_again(hall):
    def handler(job):
        def effect(tx):
            tx.items.add(memory(ANN, "half"))
            if job.retry_count == 0:
                raise ModelUnavailable
            return {}

        return effect

    hall.promise("1")
    worker = hall.worker(handler)
    assert worker.run_once()
    assert memories(hall) == []
    assert not worker.run_once()  # not before its time
    hall.turn(hall.policy.backoff_s)
    assert worker.run_once()
    assert memories(hall) == ["half"]
    assert (hall.outcomes("retry"), hall.outcomes("success")) == (1, 1)


@pytest.mark.spec("5")
@pytest.mark.parametrize(
    ("failure", "tries", "error"),
    [
        (Rejected("bad payload", field="payload"), 1, "rejected: payload:"),
        (ZeroDivisionError("my diary"), 3, "ZeroDivisionError"),
        (ModelUnavailable("timed out"), 3, "model_unavailable:"),
    ],
)
@pytest.mark.case("STO-09")
def test_what_keeps_failing_ends_dead_with_its_cause_and_holds_nobody_up(
    hall, failure, tries, error
):
    hall.promise("1", max_retry=2)
    hall.promise("2", scope=BO)
    worker = hall.worker(
        lambda job: fails(failure)(job) if job.user == "ann" else learns("fact")(job)
    )
    runs = 0
    while worker.run_once():
        runs += 1
        hall.turn(60)
    dead, done = hall.jobs()
    assert runs == tries + 1
    assert (dead.state, done.state) == (JobState.DEAD, JobState.SUCCESS)
    assert dead.last_error.startswith(error)
    assert "diary" not in dead.last_error
    assert hall.outcomes("dead") == 1


@pytest.mark.spec("5")
@pytest.mark.case("API-09")
def test_sixty_jobs_outlast_a_model_that_is_busy_for_ninety_seconds(hall):
    """Retry-After once in seconds, once without; nothing is lost, no try is used up."""
    start = hall.now
    calls = []

    def handler(job):
        since = (hall.now - start).total_seconds()
        calls.append(since)
        if since < 90:
            raise ModelBusy(retry_after=20 if since < 60 else None)
        return learns("fact")(job)

    for number in range(60):
        hall.promise(str(number), scope=Scope(user=("ann", "bo", "小林")[number % 3]))
    worker = hall.worker(handler)
    while sum(job.state is JobState.SUCCESS for job in hall.jobs()) < 60:
        assert (hall.now - start).total_seconds() < 200
        if not worker.run_once():
            hall.turn(1)

    assert {job.retry_count for job in hall.jobs()} == {0}
    assert sum(len(memories(hall, Scope(user=u))) for u in ("ann", "bo", "小林")) == 60
    refused = [since for since in calls if since < 90]
    assert all(b - a >= 20 for a, b in pairwise(refused) if b < 60)
    assert len(refused) < 25  # one call finds out for all


def test_a_ghost_writes_nothing(hall):
    """A worker that outlives its lease meets another that took over."""
    hall.promise("1")
    other = hall.worker(learns("by the second"))

    def slow(job):
        hall.turn(hall.policy.lease_s + 1)
        assert other.run_once()
        return learns("by the ghost")(job)

    assert hall.worker(slow).run_once()
    assert memories(hall) == ["by the second 1"]
    assert (hall.outcomes("fenced"), hall.outcomes("success")) == (1, 1)


def test_a_ghost_that_fails_changes_nothing_either(hall):
    hall.promise("1")
    other = hall.worker(learns("by the second"))

    def slow(job):
        hall.turn(hall.policy.lease_s + 1)
        assert other.run_once()
        raise ModelUnavailable

    assert hall.worker(slow).run_once()
    assert [job.state for job in hall.jobs()] == [JobState.SUCCESS]
    assert (hall.outcomes("fenced"), hall.outcomes("retry")) == (1, 0)


def test_the_heart_beats_while_a_handler_thinks(hall):
    policy = hall.policy.but(lease_s=0.15)
    hall.promise("1")
    other = hall.worker(learns("by the second"), policy)
    stolen = []

    def slow(job):
        for _ in range(8):
            time.sleep(0.05)
            hall.turn(0.05)
            stolen.append(other.run_once())
        return learns("by the first")(job)

    hall.worker(slow, policy).run_once()
    assert not any(stolen)
    assert memories(hall) == ["by the first 1"]


def test_no_transaction_is_open_while_a_handler_thinks(hall):
    hall.promise("1")

    def handler(job):
        with hall.database.begin() as tx:  # would wait in vain for a lock held by the worker
            tx.items.add(memory(BO, "written meanwhile"))
        return learns("fact")(job)

    assert hall.worker(handler).run_once()
    assert memories(hall, BO) == ["written meanwhile"]
    assert hall.outcomes("success") == 1


def run_in_background(worker, count=1):
    stop = threading.Event()
    threads = [threading.Thread(target=worker.run, args=(stop,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    return stop, threads


def wait_until(true, seconds=5.0):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_a_call_wakes_every_idle_thread_and_stops_it_at_once(hall):
    meet = threading.Barrier(3, timeout=5)

    def handler(job):
        meet.wait()  # only if all three threads took a job at the same time
        return learns("fact")(job)

    worker = hall.worker(handler, hall.policy.but(poll_s=60.0))
    stop, threads = run_in_background(worker, 3)
    time.sleep(0.05)
    for name in ("ann", "bo", "小林"):
        hall.promise("1", scope=Scope(user=name))
    worker.notify()
    wait_until(lambda: hall.outcomes("success") == 3)
    began = time.monotonic()
    stop.set()
    worker.notify()
    for thread in threads:
        thread.join(30)
    assert time.monotonic() - began < 20


def test_a_job_in_hand_can_be_let_go_and_is_done_by_another(hall):
    hall.promise("1")
    thinking, go_on = threading.Event(), threading.Event()

    def hangs(job):
        thinking.set()
        go_on.wait(5)
        return learns("by the first")(job)

    worker = hall.worker(hangs)
    stop, threads = run_in_background(worker)
    thinking.wait(5)
    stop.set()
    worker.notify()
    assert worker.let_go() == 1
    assert hall.worker(learns("by the second")).run_once()
    go_on.set()
    threads[0].join(5)

    assert memories(hall) == ["by the second 1"]
    (job,) = hall.jobs()
    assert (job.state, job.retry_count) == (JobState.SUCCESS, 0)
    assert worker.let_go() == 0


def test_a_database_that_is_away_for_a_while_does_not_end_the_worker(hall, monkeypatch):
    hall.promise("1")
    worker = hall.worker(learns("fact"), hall.policy.but(poll_s=0.01))
    begin = hall.database.begin
    away = [True] * 3

    def sometimes(scope=None):
        if away:
            away.pop()
            raise DatabaseUnavailable
        return begin(scope)

    monkeypatch.setattr(hall.database, "begin", sometimes)
    stop, threads = run_in_background(worker)
    wait_until(lambda: hall.outcomes("success") == 1)
    stop.set()
    threads[0].join(5)
    assert memories(hall) == ["fact 1"]


def test_a_job_of_a_worker_that_lost_the_database_comes_back(hall, monkeypatch):
    """Neither the effect nor the failure could be written: the lease ends, a try is used up."""
    hall.promise("1")
    begin = hall.database.begin
    opened = []

    def only_once(scope=None):
        opened.append(1)
        if len(opened) > 1:
            raise DatabaseUnavailable
        return begin(scope)

    monkeypatch.setattr(hall.database, "begin", only_once)
    with pytest.raises(DatabaseUnavailable):
        hall.worker(learns("fact")).run_once()
    monkeypatch.undo()
    hall.now += timedelta(seconds=hall.policy.lease_s + 1)
    assert hall.worker(learns("fact")).run_once()
    (job,) = hall.jobs()
    assert (job.state, job.retry_count) == (JobState.SUCCESS, 1)


@pytest.mark.spec("9")
def test_words_leave_a_payload_with_the_end_of_the_job_and_not_before(hall):
    """Done or dead; what will be tried again keeps them."""
    hall.promise("done", payload={"text": "见面", "id": 1}, ordered=False)
    hall.promise("fails", payload={"text": "见面", "id": 2}, ordered=False, max_retry=1)

    def handler(job):
        if job.key == "fails":
            raise ModelUnavailable
        return lambda tx: {}

    worker = Worker(
        hall.database, {JobType.EXTRACT: handler}, hall.policy, clock=hall.clock,
        meter=hall.meter, rng=random.Random(1), forgets=["text"],
    )  # fmt: skip
    for _ in range(2):
        worker.run_once()
    assert [job.payload for job in hall.jobs()] == [{"id": 1}, {"text": "见面", "id": 2}]
    hall.turn(60)
    worker.run_once()
    assert [(job.state, job.payload) for job in hall.jobs()] == [
        (JobState.SUCCESS, {"id": 1}), (JobState.DEAD, {"id": 2}),
    ]  # fmt: skip
