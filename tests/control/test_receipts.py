"""What a receipt says while a turn is learnt from, afterwards, and to whom."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from perdure.control.receipts import receipt
from perdure.errors import NotFound, ReplyUnusable
from perdure.learn import outcome
from perdure.store.database import SqlDatabase
from perdure.types import (
    Action,
    Candidate,
    JobType,
    Kind,
    Learnt,
    Promise,
    Reason,
    ReceiptState,
    Refused,
    RefusedNote,
    Scope,
)

ANN = Scope(user="ann")
BO = Scope(user="bo")
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture
def database(tmp_path):
    opened = SqlDatabase.open(f"sqlite:///{tmp_path}/p.db", clock=lambda: NOW)
    yield opened
    opened.close()


@pytest.fixture
def told(database):
    def ask(scope=ANN, trace="t1"):
        with database.read() as tx:
            return receipt(tx, scope, trace)

    return ask


def promised(database, kind, key="k", **payload):
    with database.begin() as tx:
        tx.jobs.promise(
            Promise(
                type=kind,
                namespace="default",
                user="ann",
                key=key,
                payload=payload,
                trace="t1",
                ordered=kind is JobType.EXTRACT,
            ),
            NOW,
        )


def claimed(database, kind):
    with database.begin() as tx:
        return tx.jobs.claim(NOW, 30.0, [kind])


def finished(database, kind, result):
    job = claimed(database, kind)
    with database.begin() as tx:
        tx.jobs.finish(job, result, NOW)


LEARNT = outcome.ended(
    [Learnt(action=Action.ADD, item="i1")],
    [
        Refused(
            candidate=Candidate(content="My PIN is 4821", kind=Kind.FACT, messages=("m1",)),
            reason=Reason.SECRET,
        )
    ],
    "basic",
    None,
)


@pytest.mark.spec("3.2")
def test_a_receipt_follows_its_turn_from_the_queue_to_what_was_learnt(database, told):
    promised(database, JobType.EXTRACT)
    assert told().state is ReceiptState.QUEUED

    job = claimed(database, JobType.EXTRACT)
    assert told().state is ReceiptState.RUNNING

    with database.begin() as tx:
        tx.jobs.finish(job, LEARNT, NOW)
    done = told()
    assert (done.state, done.model, done.error) == (ReceiptState.LEARNT, "basic", None)
    assert done.learnt == (Learnt(action=Action.ADD, item="i1"),)
    assert done.refused == (RefusedNote(reason=Reason.SECRET, kind=Kind.FACT, messages=("m1",)),)


@pytest.mark.spec("9")
def test_a_job_keeps_reasons_and_never_the_refused_words():
    assert "4821" not in str(LEARNT)


def test_it_is_not_learnt_before_it_can_be_found(database, told):
    promised(database, JobType.EXTRACT)
    promised(database, JobType.EMBED, "e", conversation="chat-1", trace="t1")
    finished(database, JobType.EXTRACT, LEARNT)
    assert told().state is ReceiptState.RUNNING

    finished(database, JobType.EMBED, {})

    assert told().state is ReceiptState.LEARNT


def test_indexing_that_fails_holds_no_receipt_up(database, told):
    promised(database, JobType.EXTRACT)
    promised(database, JobType.EMBED, "e")
    finished(database, JobType.EXTRACT, LEARNT)
    job = claimed(database, JobType.EMBED)
    with database.begin() as tx:
        tx.jobs.postpone(job, "unavailable", NOW, NOW)

    assert told().state is ReceiptState.LEARNT


@pytest.mark.spec("3.2", "5")
def test_a_failure_tells_its_kind_the_tries_and_the_next_time(database, told):
    promised(database, JobType.EXTRACT)
    with database.begin() as tx:
        tx.jobs.postpone(tx.jobs.claim(NOW, 30.0, [JobType.EXTRACT]), "model_unavailable", NOW, NOW)

    failed = told()
    assert (failed.state, failed.error) == (ReceiptState.FAILED, "model_unavailable")
    assert (failed.tries, failed.next_try_at) == (1, NOW)

    job = claimed(database, JobType.EXTRACT)
    with database.begin() as tx:
        tx.jobs.bury(job, "reply_unusable", NOW)
    assert (told().state, told().error) == (ReceiptState.DEAD, "reply_unusable")


def test_a_turn_whose_switch_went_off_meanwhile_is_skipped(database, told):
    promised(database, JobType.EXTRACT)
    finished(database, JobType.EXTRACT, outcome.skipped(Reason.DISABLED))

    assert (told().state, told().reason) == (ReceiptState.SKIPPED, Reason.DISABLED)


def test_a_reply_that_was_given_up_is_no_success_and_tells_its_error(database, told):
    promised(database, JobType.EXTRACT)
    finished(database, JobType.EXTRACT, outcome.gave_up(ReplyUnusable()))

    given_up = told()
    assert (given_up.state, given_up.reason) == (ReceiptState.SKIPPED, Reason.REPLY_UNUSABLE)
    assert (given_up.error, given_up.learnt) == ("reply_unusable", ())


def test_a_turn_that_is_only_kept_tells_why_nothing_is_learnt_from_it(database, told):
    promised(database, JobType.EMBED, "e", skipped="TOO_SHORT")

    assert (told().state, told().reason) == (ReceiptState.SKIPPED, Reason.TOO_SHORT)


@pytest.mark.spec("3.2")
def test_another_users_receipt_and_a_missing_one_are_both_not_there(database, told):
    promised(database, JobType.EXTRACT)

    for scope, trace in ((BO, "t1"), (ANN, "t2"), (Scope(user="ann", namespace="x"), "t1")):
        with pytest.raises(NotFound):
            told(scope, trace)
