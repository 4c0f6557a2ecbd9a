"""Decides without a model: what cannot hold beside a new statement gives way, nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perdure import text
from perdure.learn.basic.instead import told_already
from perdure.learn.basic.outdated import outdated
from perdure.learn.shown import Numbering
from perdure.policy import Policy
from perdure.types import Action, Candidate, Decision, MemoryItem, Reason, Refused


@dataclass(frozen=True, slots=True)
class Ruled:
    """What each candidate does, and those that a later one of the same turn has made untrue."""

    decisions: tuple[Decision, ...]
    refused: tuple[Refused, ...]
    shown: Numbering[MemoryItem]


def decide_by_rule(
    candidates: Sequence[Candidate], active: Sequence[MemoryItem], policy: Policy
) -> Ruled:
    """What the candidates do to what is stored; what a person wrote stays beside them.

    Args:
        candidates: as they were said, in order; of two that cannot both hold the last one counts.
        active: what the scope sees, newest first.
        policy: how statements are compared word for word, and what a decision may do.
    """
    past = [one for n, one in enumerate(candidates) if _taken_back(one, candidates[n + 1 :])]
    machine = [row for row in active if row.machine_written]
    gone = {one: outdated(one, machine) for one in candidates if one not in past}
    told = {one: row for one in gone if (row := told_already(one, active)) is not None}
    rows_shown = [*(row for rows in gone.values() for row in rows), *told.values()]
    shown = Numbering(tuple({row.id: row for row in rows_shown}.values()))
    stored = {text.normalise(row.content, policy.item.normalisation) for row in active}
    decisions: list[Decision] = []
    done: set[str] = set()
    for candidate, rows in gone.items():
        left = [row for row in rows if row.id not in done]
        done |= {row.id for row in left}
        known = text.normalise(candidate.content, policy.item.normalisation) in stored
        if candidate in told and not known and not left:
            place = shown.rows.index(told[candidate]) + 1
            decisions.append(Decision(action=Action.TOUCH, candidate=candidate, reference=place))
        else:
            decisions += _decisions(candidate, left, shown, known=known, policy=policy)
    refused = tuple(Refused(candidate=one, reason=Reason.PASSING) for one in past)
    return Ruled(tuple(decisions), refused, shown)


def _taken_back(candidate: Candidate, later: Sequence[Candidate]) -> bool:
    """Did the same person say otherwise in the same breath?"""
    return any(outdated(one, [candidate]) for one in later)


def _decisions(
    candidate: Candidate,
    rows: Sequence[MemoryItem],
    shown: Numbering[MemoryItem],
    *,
    known: bool,
    policy: Policy,
) -> Iterator[Decision]:
    """Put the statement in the place of the newest row, and set the others aside.

    A statement that is stored word for word keeps its own row.
    """
    numbers = {row.id: number for number, row in shown.numbered().items()}
    places = [numbers[row.id] for row in rows]
    if known or not places:
        yield Decision(action=Action.ADD, candidate=candidate)
    else:
        place = places.pop(0)
        yield Decision(action=Action.UPDATE, candidate=candidate, reference=place)
    if policy.decide.strategy == "two_call":  # the others may not set aside
        for place in places:
            yield Decision(action=Action.DELETE, candidate=candidate, reference=place)
