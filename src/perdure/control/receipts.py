"""What became of a captured turn, asked by its trace."""

from __future__ import annotations

from dataclasses import replace

from perdure.errors import NotFound
from perdure.learn.outcome import receipt_of
from perdure.ports import Transaction
from perdure.types import Job, JobState, JobType, Reason, Receipt, ReceiptState, Scope, Trace

_ON_THE_WAY = frozenset({JobState.PENDING, JobState.PROCESSING})


def receipt(tx: Transaction, scope: Scope, trace: Trace) -> Receipt:
    """How far learning from a turn has come.

    It counts as learnt once what was learnt can also be found: until the jobs that index it have
    run, it is still running. Indexing that fails holds nothing up; it is tried again later.

    Raises:
        NotFound: this user has no such capture, or nothing of it was kept, as where learning is
            switched off.
    """
    jobs = tx.jobs.of(scope, trace)
    indexing = [job for job in jobs if job.type is JobType.EMBED]
    for job in jobs:
        if job.type is JobType.EXTRACT:
            return _with_index(receipt_of(job, scope), indexing)
    for job in indexing:
        if "skipped" in job.payload:
            return _skipped(job, scope)
    raise NotFound(field="trace")


def _with_index(taken: Receipt, indexing: list[Job]) -> Receipt:
    """The receipt as long as something of the turn is still being indexed."""
    if taken.state is ReceiptState.LEARNT and any(job.state in _ON_THE_WAY for job in indexing):
        return replace(taken, state=ReceiptState.RUNNING)
    return taken


def _skipped(job: Job, scope: Scope) -> Receipt:
    """The receipt of a turn that is kept, and not learnt from."""
    return Receipt(
        trace=job.trace,
        scope=scope,
        state=ReceiptState.SKIPPED,
        reason=Reason(job.payload["skipped"]),
    )
