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
    free = oldest_first([item for item in leaving if item.id not in busy], policy)
    admitted: list[Change] = []
    set_aside: list[MemoryItem] = []
    refused: list[Refused] = []
    for change in changes:
        if change.action is Action.ADD and active >= policy.active_limit:
            wanted = active + 1 - policy.active_limit if policy.trims else 1
            out = [item for item in free if policy.trims or _same_group(item, change)][:wanted]
            if len(out) < wanted or len(set_aside) + wanted > policy.evict_per_round:
                refused.append(Refused(candidate=change.candidate, reason=Reason.CAPACITY))
                continue
            free = [item for item in free if item not in out]
            set_aside += out
            active -= len(out)
        admitted.append(change)
        active += change.action is Action.ADD
    return Evictions(tuple(admitted), tuple(set_aside), tuple(refused))


def oldest_first(active: Sequence[MemoryItem], policy: CapacityPolicy) -> list[MemoryItem]:
    """The rows that may be asked to go, in the order in which they are."""
    free = [item for item in active if _may_leave(item, policy)]
    return sorted(free, key=lambda item: _age(item, policy))


def _may_leave(item: MemoryItem, policy: CapacityPolicy) -> bool:
    return item.machine_written or policy.evicts_protected


def _age(item: MemoryItem, policy: CapacityPolicy) -> tuple[float, str]:
    moment = item.created_at if policy.evicts == "created" else item.updated_at
    return moment.timestamp(), item.id


def _same_group(item: MemoryItem, change: Change) -> bool:
    return item.level is change.candidate.level
