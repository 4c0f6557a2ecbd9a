"""What becomes of a job that failed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from perdure.errors import (
    Contended,
    Corrupt,
    DatabaseUnavailable,
    ModelBusy,
    ModelUnavailable,
    Rejected,
    ReplyUnusable,
    TooMany,
)
from perdure.jobs.job import Again, Dead, backoff, cause, verdict
from perdure.policy import JobsPolicy
from perdure.testing.samples import NOW
from perdure.types import Job, JobState, JobType

POLICY = JobsPolicy(backoff_s=2.0, backoff_max_s=60.0, jitter=0.5, busy_max_s=3_600.0)
JOB = Job(
    id=1, type=JobType.EXTRACT, namespace="default", user="ann", key="k", payload={}, trace="t",
    state=JobState.PROCESSING, max_retry=2, created_at=NOW,
)  # fmt: skip


def after(seconds):
    return NOW + timedelta(seconds=seconds)


@pytest.mark.spec("5")
def test_waiting_doubles_up_to_a_limit_and_luck_only_adds():
    """C 7.2.2: exponential backoff."""
    assert [backoff(n, POLICY, 0.0) for n in range(7)] == [2, 4, 8, 16, 32, 60, 60]
    assert backoff(1, POLICY, 1.0) == 6.0
    assert backoff(10_000, POLICY, 0.0) == 60.0


@pytest.mark.parametrize("failure", [ModelUnavailable(), ReplyUnusable(), ValueError("text")])
def test_a_failure_runs_again_until_no_try_is_left(failure):
    """C 7.2.2, 7.2.3: retried, over the limit dead."""
    first = verdict(failure, JOB, NOW, POLICY, 0.0)
    second = verdict(failure, replace(JOB, retry_count=1), NOW, POLICY, 0.0)
    assert first == Again(at=after(2), counts=True, pause=False)
    assert second == Again(at=after(4), counts=True, pause=False)
    assert verdict(failure, replace(JOB, retry_count=2), NOW, POLICY, 0.0) == Dead()


@pytest.mark.parametrize("failure", [Rejected("bad payload"), Corrupt()])
def test_what_cannot_succeed_is_dead_at_once(failure):
    """C 7.2.1: a bad payload is dead, without a retry."""
    assert verdict(failure, JOB, NOW, POLICY, 0.0) == Dead()


@pytest.mark.case("API-09")
@pytest.mark.parametrize("kind", [ModelBusy, TooMany])
def test_a_busy_model_is_waited_for_as_long_as_it_asks_and_costs_no_try(kind):
    worn = replace(JOB, retry_count=2)
    assert verdict(kind(retry_after=20), worn, NOW, POLICY, 0.0) == Again(
        at=after(20), counts=False, pause=True
    )
    assert verdict(kind(), JOB, NOW, POLICY, 0.0) == Again(at=after(2), counts=False, pause=True)
    late = after(3_600)
    assert verdict(kind(retry_after=20), worn, late, POLICY, 0.0) == Dead()


@pytest.mark.spec("5")
def test_a_job_that_lost_to_another_unit_of_work_is_put_off_and_costs_no_try():
    worn = replace(JOB, retry_count=2)
    told = verdict(Contended(), worn, NOW, POLICY, 0.0)
    assert told == Again(at=after(8), counts=False, pause=False)


def test_any_part_that_says_how_long_is_given_that_long():
    told = verdict(DatabaseUnavailable(retry_after=9), JOB, NOW, POLICY, 0.0)
    assert told == Again(at=after(9), counts=True, pause=False)


@pytest.mark.spec("9")
def test_a_cause_never_carries_a_stranger_s_words():
    assert cause(ModelBusy()) == "model_busy: The model endpoint asks us to slow down."
    assert cause(ValueError("my diary")) == "ValueError"
