"""What a job does when it runs, and when it runs again after a failure. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from perdure.errors import (
    CapReached,
    Contended,
    Corrupt,
    ModelBusy,
    PerdureError,
    Rejected,
    TooMany,
    Unavailable,
    VectorsUnavailable,
)
from perdure.policy import JobsPolicy
from perdure.ports import Transaction
from perdure.types import Job

Effect: TypeAlias = Callable[[Transaction], Mapping[str, Any]]
"""Writes what a job found out, inside the transaction that finishes the job. Returns the result
that the job keeps: ids, reasons and counts, never a text."""

Handler: TypeAlias = Callable[[Job], Effect]
"""Reads and thinks, with no transaction open while a model is asked; writes nothing by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """The job runs again."""

    at: datetime
    counts: bool
    """It used up a try."""
    pause: bool
    """No other job of its type should be tried before, either."""


@dataclass(frozen=True, slots=True)
class Dead:
    """The job does not run again by itself."""


def verdict(
    failure: Exception, job: Job, at: datetime, policy: JobsPolicy, luck: float
) -> Again | Dead:
    """What becomes of a job that failed.

    Args:
        failure: what its handler or its effect raised.
        job: as it was claimed.
        at: now.
        policy: how promises are kept.
        luck: 0..1, spreads retries so that they do not march in step.
    """
    if isinstance(failure, Rejected | Corrupt):
        return Dead()
    asked = failure.retry_after if isinstance(failure, Unavailable) else None
    asked = min(asked or 0.0, policy.retry_after_max_s)
    wait = timedelta(seconds=max(backoff(job.retry_count, policy, luck), asked))
    if isinstance(failure, CapReached):
        return Again(at=at + wait, counts=False, pause=False)
    busy = isinstance(failure, ModelBusy | TooMany)
    spared = busy or isinstance(failure, VectorsUnavailable | Contended)  # which pass by themselves
    if spared and at < (job.created_at or at) + timedelta(seconds=policy.busy_max_s):
        return Again(at=at + wait, counts=False, pause=busy)
    if job.retry_count >= job.max_retry:
        return Dead()
    return Again(at=at + wait, counts=True, pause=busy)


def backoff(retries: int, policy: JobsPolicy, luck: float) -> float:
    """Seconds before the next try: doubling, with an upper limit, and a share of luck on top."""
    doubled = policy.backoff_s * 2.0 ** min(retries, 64)
    return min(doubled, policy.backoff_max_s) * (1.0 + policy.jitter * luck)


def cause(failure: Exception) -> str:
    """What may be written down of a failure: our own sentence, or only the kind of a stranger's."""
    if isinstance(failure, PerdureError):
        return f"{failure.code}: {failure}"
    return type(failure).__name__
