"""Who makes room when memories are learnt and no further one fits. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perdure.policy import CapacityPolicy
from perdure.types import Action, Change, MemoryItem, Reason, Refused


@dataclass(frozen=True, slots=True)
class Evictions:
    """What may be written, what is set aside for it, and what does not fit."""

    admitted: tuple[Change, ...]
    set_aside: tuple[MemoryItem, ...]
    refused: tuple[Refused, ...]


def evictions(
    changes: Sequence[Change],
    active: int,
    leaving: Sequence[MemoryItem],
    policy: CapacityPolicy,
) -> Evictions:
    """Make room for each new memory, one for one, from its own group, the oldest first.

    Args:
        changes: of one round, in order; only those that add a row need room.
        active: how many memories the user has.
        leaving: active rows that may be asked to go, in any order.
        policy: the limit, and how many may be set aside in one round.
    """
    busy = {change.target.id for change in changes if change.target is not None}
    free = [item for item in leaving if item.id not in busy and _may_leave(item, policy)]
    free.sort(key=lambda item: _age(item, policy), reverse=True)  # the oldest is taken from the end
    admitted: list[Change] = []
    set_aside: list[MemoryItem] = []
    refused: list[Refused] = []
    for change in changes:
        if change.action is Action.ADD and active >= policy.active_limit:
            out = _oldest(free, change) if len(set_aside) < policy.evict_per_round else None
            if out is None:
                refused.append(Refused(candidate=change.candidate, reason=Reason.CAPACITY))
                continue
            free.remove(out)
            set_aside.append(out)
            active -= 1
        admitted.append(change)
        active += change.action is Action.ADD
    return Evictions(tuple(admitted), tuple(set_aside), tuple(refused))


def _may_leave(item: MemoryItem, policy: CapacityPolicy) -> bool:
    return item.machine_written or policy.evicts_protected


def _age(item: MemoryItem, policy: CapacityPolicy) -> tuple[float, str]:
    moment = item.created_at if policy.evicts == "created" else item.updated_at
    return moment.timestamp(), item.id


def _oldest(free: Sequence[MemoryItem], change: Change) -> MemoryItem | None:
    """The row of the same group that is oldest."""
    level = change.candidate.level
    for item in reversed(free):
        if item.level is level:
            return item
    return None
