"""A promise leaves, comes back and becomes a job: once, in order, whatever is lost on the way."""

from __future__ import annotations

import json

import pytest

from perdure.control.receipts import receipt
from perdure.errors import NotFound, Unavailable
from perdure.events.outbox import come_home
from perdure.testing.samples import ANN, BO
from perdure.types import JobState, JobType, ReceiptState, Scope

FIELDS = {
    "user_id", "conversation_id", "assistant_id", "run_id", "source_message_id", "source_role",
    "source_text", "occurred_at", "trace_id", "idempotency_key",
}  # fmt: skip


@pytest.mark.spec("3.2", "5")
@pytest.mark.point("C12.2.1", "C12.2.2")
def test_a_capture_leaves_as_the_event_of_the_first_version_and_comes_back_as_its_job(office):
    """C day 1, 12.2.1, 12.2.2: the event stands in the outbox; once taken it stands as a job."""
    taken = office.capture("我住在卑尔根。", Scope(user="ann", assistant="helper"))
    assert taken.state is ReceiptState.QUEUED
    assert office.jobs() == []
    with office.database.read() as tx:
        assert receipt(tx, ANN, taken.trace).state is ReceiptState.QUEUED

    assert office.relay.run_once() == 2
    letters = {letter.topic: letter for letter in office.broker.letters}
    extract = letters["memory.extract.requested"]
    said = json.loads(extract.body)
    assert set(said) == FIELDS
    assert (said["user_id"], said["assistant_id"], said["source_text"]) == (
        "ann", "helper", "我住在卑尔根。",
    )  # fmt: skip
    assert extract.headers == {"namespace": "default", "version": "1"}
    assert {letter.key for letter in letters.values()} == {extract.key}
    assert "我" not in letters["memory.embed.requested"].body.decode()

    office.consumer.run_once()
    assert (office.waiting(), office.woken) == (0, 2)
    with office.database.read() as tx:
        jobs = {job.type: job for job in tx.jobs.of(ANN, taken.trace)}
    assert set(jobs) == {JobType.EXTRACT, JobType.EMBED}
    assert jobs[JobType.EXTRACT].payload == said
    assert jobs[JobType.EXTRACT].key == said["idempotency_key"]


@pytest.mark.spec("3.2", "5")
def test_a_turn_that_is_captured_again_anywhere_on_the_way_changes_nothing(office):
    """C 7.3.3: redelivery has no effect."""
    first = office.capture("I live in Bergen.")
    assert office.capture("I live in Bergen.").trace == first.trace
    office.relay.run_once()
    assert office.capture("I live in Bergen.").trace == first.trace
    office.consumer.run_once()
    jobs = office.jobs()
    assert office.capture("I live in Bergen.").trace == first.trace
    assert (office.waiting(), office.jobs(), len(jobs)) == (0, jobs, 2)


@pytest.mark.spec("5")
def test_events_of_the_other_kinds_leave_too_and_what_has_no_event_is_a_job_at_once(office):
    for kind in JobType:
        office.promise(kind.value, type=kind, payload={}, ordered=False)
    assert sorted(office.jobs()) == ["consolidate", "erase", "reconcile"]
    office.promise("x", type=JobType.CLEANUP, payload={}, max_retry=7, ordered=False)
    with office.database.begin() as tx:
        tx.outbox.take(ANN, "extract")
    office.relay.run_once()
    office.consumer.run_once()
    assert sorted(office.jobs()) == ["cleanup", "consolidate", "embed", "erase", "reconcile", "x"]
    assert office.outcomes("dead") == 0
    with office.database.read() as tx:
        (last,) = [job for job in tx.jobs.page([JobState.PENDING]) if job.key == "x"]
    assert (last.max_retry, last.payload) == (7, {})


@pytest.mark.spec("5")
@pytest.mark.case("STO-09")
def test_what_the_broker_lost_is_published_again_and_nothing_overtakes_it(office):
    valid("1", office)
    office.relay.run_once()
    office.broker.lose()
    valid("2", office)
    valid("1", office, scope=BO)
    office.relay.run_once()
    office.consumer.run_once()
    assert office.jobs() == ["1", "2", "1"]  # ann's first came with her second
    assert office.waiting() == 0

    valid("3", office)
    office.relay.run_once()
    office.broker.lose()
    office.turn(59)
    assert office.relay.run_once() == 0
    office.turn(2)
    assert office.relay.run_once() == 1
    office.consumer.run_once()
    assert office.jobs() == ["1", "2", "1", "3"]


@pytest.mark.spec("5")
def test_an_event_that_comes_twice_makes_one_job_also_when_that_is_forgotten(office):
    valid("1", office)
    office.relay.run_once()
    office.broker.letters *= 2
    office.consumer.run_once()
    assert (office.jobs(), office.outcomes("arrived"), office.outcomes("known")) == (["1"], 1, 1)
    with office.database.begin() as tx:
        job = tx.jobs.claim(office.now, 10, [JobType.EXTRACT])
        tx.jobs.finish(job, {}, office.now)
    office.turn(1)
    with office.database.begin() as tx:
        tx.jobs.forget(office.now)
    office.broker.letters *= 2
    office.consumer.run_once()
    assert office.jobs() == []


@pytest.mark.spec("9")
def test_an_event_of_a_user_who_was_erased_has_no_effect(office):
    office.capture("I live in Bergen.")
    valid("1", office, scope=BO)
    office.relay.run_once()
    with office.database.begin(ANN) as tx:
        assert tx.outbox.remove(ANN) == 2
    office.consumer.run_once()
    assert office.jobs() == ["1"]
    assert office.waiting() == 0


@pytest.mark.spec("5")
def test_a_broker_that_is_gone_for_a_minute_loses_nothing_and_doubles_nothing(office):
    office.broker.away = True
    taken = [office.capture(f"I like number {n}.", message=f"m{n}") for n in range(12)]
    for _ in range(6):
        with pytest.raises(Unavailable):
            office.relay.run_once()
        with pytest.raises(Unavailable):
            office.consumer.run_once()
        office.turn(10)
    assert (office.waiting(), office.meter.read("outbox_depth")) == (24, 24)
    assert office.meter.read("outbox_age_seconds") == pytest.approx(50)
    office.broker.away = False
    while office.relay.run_once():
        pass
    while office.consumer.run_once():
        pass
    with office.database.read() as tx:
        jobs = tx.jobs.page(list(JobState), limit=100)[::-1]
    learning = [job.trace for job in jobs if job.type is JobType.EXTRACT]
    assert learning == [one.trace for one in taken]
    assert len(jobs) == 24
    office.relay.run_once()
    assert office.meter.read("outbox_depth") == office.meter.read("outbox_age_seconds") == 0


@pytest.mark.spec("5")
def test_a_rolled_back_turn_leaves_nothing_to_publish(office):
    def broken():
        with office.database.begin(ANN) as tx:
            tx.jobs.promise(promised("1"), office.now)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert office.relay.run_once() == 0


@pytest.mark.spec("5")
def test_of_several_processes_one_publishes_until_it_is_silent_for_too_long(office):
    another = office.opened()
    second = office.relay_of(another)
    valid("1", office)
    assert office.relay.run_once() == 1
    valid("2", office)
    assert second.run_once() == 0
    office.turn(office.policy.lease_s + 1)
    assert second.run_once() == 1
    valid("3", office)
    assert office.relay.run_once() == 0
    another.close()


@pytest.mark.spec("5")
def test_what_was_on_its_way_comes_home_when_there_is_no_bus_any_more(office):
    for key in ("1", "2", "3"):
        valid(key, office)
        valid(key, office, scope=BO)
    office.relay.run_once()
    without = office.opened(leaving=())
    assert come_home(without, office.clock, 2) == 6
    assert office.jobs() == ["1", "1", "2", "2", "3", "3"]
    assert come_home(without, office.clock, 2) == 0
    without.close()


@pytest.mark.spec("5")
def test_without_a_bus_the_job_row_is_the_promise(office):
    without = office.opened(leaving=())
    with without.begin(ANN) as tx:
        job, new = tx.jobs.promise(promised("1"), office.now)
    assert (new, office.jobs(), office.waiting()) == (True, ["1"], 0)
    assert job.id > 0
    without.close()


def test_a_trace_that_nobody_promised_is_not_found(office):
    with office.database.read() as tx, pytest.raises(NotFound):
        receipt(tx, ANN, "01" * 13)


# ── what is promised ─────────────────────────────────────────────────────────────────────────────


def promised(key, scope=ANN):
    from perdure.testing.samples import NOW, promise  # noqa: PLC0415 - beside its only use

    payload = {
        "user_id": scope.user, "conversation_id": "c", "assistant_id": None, "run_id": None,
        "source_message_id": key, "source_role": "user", "source_text": "我喜欢茶。",
        "occurred_at": NOW.isoformat(), "trace_id": f"t{key}", "idempotency_key": key,
    }  # fmt: skip
    return promise(scope, key, payload=payload)


def valid(key, office, scope=ANN):
    """Promise to learn from a turn."""
    with office.database.begin(scope) as tx:
        tx.jobs.promise(promised(key, scope), office.now)
