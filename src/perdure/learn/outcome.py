"""What became of a turn, as its job keeps it: ids, reasons and counts, never a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perdure.errors import CapReached, PerdureError
from perdure.types import (
    USUAL_KIND,
    Action,
    Job,
    JobState,
    Kind,
    Learnt,
    Reason,
    Receipt,
    ReceiptState,
    Refused,
    RefusedNote,
    Scope,
)


def ended(
    learnt: Sequence[Learnt],
    refused: Sequence[Refused],
    model: str,
    prompt: str | None,
    *,
    cut_off: int = 0,
    truncated: int = 0,
) -> dict[str, Any]:
    """The result of a job that learnt what there was to learn.

    Args:
        learnt: what was done to which memory.
        refused: what was proposed and not stored.
        model: what proposed it.
        prompt: versions of the prompts that were used.
        cut_off: questions asked again with less input: too long, or their reply cut off.
        truncated: messages of which only the beginning was learnt from.
    """
    lacks = {"cut_off": cut_off, "truncated": truncated}
    return {name: times for name, times in lacks.items() if times} | {
        "learnt": [{"action": one.action.value, "item": one.item} for one in learnt],
        "refused": [
            {
                "reason": one.reason.value,
                "kind": (one.candidate.kind or USUAL_KIND).value,
                "messages": list(one.candidate.messages),
            }
            for one in refused
        ],
        "model": model,
        "prompt": prompt,
    }


def skipped(reason: Reason) -> dict[str, Any]:
    """The result of a job that had nothing to learn from, or may not any more."""
    return {"skipped": reason.value}


def gave_up(error: PerdureError, reason: Reason = Reason.REPLY_UNUSABLE) -> dict[str, Any]:
    """The result of a job whose model gave nothing that can be used: no success."""
    return {**skipped(reason), "gave_up": error.code}


_STATES: Mapping[JobState, ReceiptState] = {
    JobState.PENDING: ReceiptState.QUEUED,
    JobState.PROCESSING: ReceiptState.RUNNING,
    JobState.SUCCESS: ReceiptState.LEARNT,
    JobState.FAILED: ReceiptState.FAILED,
    JobState.DEAD: ReceiptState.DEAD,
}


def receipt_of(job: Job, scope: Scope) -> Receipt:
    """What the job that learns from a turn says about it."""
    result = job.result
    left_out = result.get("skipped")
    if job.state is JobState.FAILED and (job.last_error or "").startswith(CapReached.code):
        return Receipt(
            trace=job.trace, scope=scope, state=ReceiptState.QUEUED, reason=Reason.COST_CAP,
            tries=job.retry_count, next_try_at=job.next_retry_at,
        )  # fmt: skip
    return Receipt(
        trace=job.trace,
        scope=scope,
        state=ReceiptState.SKIPPED if left_out else _STATES[job.state],
        reason=Reason(left_out) if left_out else None,
        learnt=tuple(
            Learnt(action=Action(one["action"]), item=one["item"])
            for one in result.get("learnt", ())
        ),
        refused=tuple(
            RefusedNote(
                reason=Reason(one["reason"]),
                kind=Kind(one["kind"]),
                messages=tuple(one["messages"]),
            )
            for one in result.get("refused", ())
        ),
        error=result.get("gave_up") or job.last_error,
        tries=job.retry_count,
        next_try_at=job.next_retry_at if job.state is JobState.FAILED else None,
        model=result.get("model"),
        truncated=result.get("truncated", 0),
    )
