"""Checks what was decided against what is stored now, and writes what holds: all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from perdure.learn import outcome
from perdure.learn.buried import read_deleted
from perdure.learn.capacity import Evictions, evictions
from perdure.learn.check import Checked, Checking, Known, check, hashes
from perdure.learn.groups import promise_due
from perdure.learn.plan import Plan
from perdure.learn.write import Writing
from perdure.policy import Policy
from perdure.ports import ItemFilter, Transaction, VectorIndex
from perdure.types import Action, Change, Learnt, Level, Reason, Refused, Status

_ACTIVE = ItemFilter(statuses=frozenset({Status.ACTIVE}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written and what not, in order."""

    learnt: tuple[Learnt, ...]
    refused: tuple[Refused, ...]


def apply(
    tx: Transaction, plan: Plan, policy: Policy, index: VectorIndex | None, at: datetime
) -> Written:
    """Check the decisions against what is stored now, and write what holds.

    Args:
        tx: the transaction that also finishes the job.
        plan: what to write.
        policy: the numbers that hold for the namespace.
        index: where vectors go; None if there is none.
        at: now.
    """
    checked = _checked(tx, plan, policy, at)
    room = _room(tx, plan, checked.changes, policy)
    writing = Writing(tx, plan, policy, index, at)
    for item in room.set_aside:
        writing.set_aside(item)
    learnt: list[Learnt] = []
    refused = [*plan.refused, *checked.refused, *room.refused]
    lost = {one.candidate for one in room.refused}
    for change in room.admitted:
        # Nothing is set aside for a statement that is not stored.
        idle = change.action is Action.DELETE and change.candidate in lost
        done = Reason.CHANGED_MEANWHILE if idle else writing.write(change)
        if isinstance(done, Learnt):
            learnt.append(done)
        else:
            lost.add(change.candidate)
            refused.append(Refused(candidate=change.candidate, reason=done))
    writing.promise_vectors()
    if plan.consolidates and policy.consolidate.enabled:
        promise_due(tx, writing.grown, policy, at)
    tx.messages.learnt(plan.owner, plan.conversation, plan.upto)
    if policy.capture.keep_messages_s == 0:
        tx.messages.remove(plan.owner, conversation=plan.conversation, upto=plan.upto)
    return Written(learnt=tuple(learnt), refused=tuple(refused))


def as_result(written: Written, plan: Plan) -> dict[str, Any]:
    """What the job keeps of it."""
    origin = plan.origin
    return outcome.ended(
        written.learnt, written.refused, origin.model or "", origin.prompt,
        cut_off=plan.cut_off, truncated=plan.truncated,
    )  # fmt: skip


def _checked(tx: Transaction, plan: Plan, policy: Policy, at: datetime) -> Checked:
    """The decisions that still hold, by what is stored now."""
    checking = Checking(shown=plan.shown, known=Known(), home=plan.home, policy=policy, at=at)
    wanted = hashes(plan.decisions, checking)
    rows = ((hashed, tx.items.by_hash(plan.home, hashed)) for hashed in sorted(wanted))
    here = plan.owner.within(conversation=plan.conversation)  # ids are a conversation's own
    known = Known(
        by_hash={hashed: row for hashed, row in rows if row is not None},
        buried=tx.items.buried(plan.home, wanted) if wanted else {},
        buried_messages=tx.items.buried_messages(here, plan.said.keys()) if wanted else {},
        deleted=read_deleted(tx, plan.owner, min(plan.said.values())) if wanted else {},
        said=plan.said,
    )
    return check(plan.decisions, replace(checking, known=known))


def _room(tx: Transaction, plan: Plan, changes: Sequence[Change], policy: Policy) -> Evictions:
    """Room for what is new; rows are read only if there is too little."""
    new = sum(change.action is Action.ADD for change in changes)
    active = tx.items.count(plan.owner, _ACTIVE) - _freed(tx, plan, changes) if new else 0
    tight = active + new > policy.capacity.active_limit
    leaving = [
        item
        for item in (tx.items.every(plan.owner, _ACTIVE) if tight else ())
        if item.level is Level.USER or item.project == plan.home.project
    ]
    return evictions(changes, active, leaving, policy.capacity)


def _freed(tx: Transaction, plan: Plan, changes: Sequence[Change]) -> int:
    """How many active rows are set aside for good; one that has changed since is left alone."""
    shown = {
        change.target.id: change.target.updated_at
        for change in changes
        if change.action is Action.DELETE and change.target is not None
    }
    rows = tx.items.get(plan.owner, shown.keys()) if shown else []
    return sum(row.status is Status.ACTIVE and row.updated_at == shown[row.id] for row in rows)
