"""What a call is shown of what is known: small numbers instead of ids, within a bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from perdure import text
from perdure.policy import DecidePolicy, Policy
from perdure.types import Candidate, Level, MemoryItem, Scope

Row = TypeVar("Row")

_SIGNS = 5  # tokens that numbering a row takes


@dataclass(frozen=True, slots=True)
class Numbering(Generic[Row]):
    """Small numbers from 1 for the rows of one call. Real ids never reach a model."""

    rows: tuple[Row, ...] = ()

    def numbered(self) -> dict[int, Row]:
        """The rows by number."""
        return dict(enumerate(self.rows, start=1))

    def find(self, number: int | None) -> Row | None:
        """The row of a number; None if it was not shown."""
        if number is None or not 1 <= number <= len(self.rows):
            return None
        return self.rows[number - 1]


def home(scope: Scope, policy: Policy) -> Scope:
    """Where learnt memories live: the valid project, and the bindings the policy keeps."""
    bindings = ("assistant", "run", "conversation")
    kept = {name: getattr(scope, name) for name in bindings if name in policy.learn.bind_to}
    empty: dict[str, str | None] = dict.fromkeys(bindings)
    return scope.within(project=policy.item.project(scope.project), **{**empty, **kept})


def level_of(candidate: Candidate, where: Scope) -> Level:
    """The candidate's level; a project statement without a project is the user's."""
    return candidate.level if where.project is not None else Level.USER


def comparison(
    active: Sequence[MemoryItem], policy: DecidePolicy, nearest: Sequence[str] = ()
) -> Numbering[MemoryItem]:
    """The memories that a call is shown: those nearest to the turn, or the user's own first.

    Args:
        active: what the scope sees, newest first.
        policy: ``exact`` is shown everything; otherwise only rows that a machine may change.
        nearest: ids of rows that are near to what was said, nearest first, where that is known.
    """
    machine = policy.strategy != "exact"
    wanted = [item for item in active if item.machine_written or not machine]
    wanted.sort(key=lambda item: item.level is Level.PROJECT)
    if nearest:
        by_id = {item.id: item for item in wanted}
        wanted = [by_id[ref] for ref in nearest if ref in by_id][: policy.shown_nearest]
    return Numbering(within(wanted, policy.shown_tokens))


def within(rows: Sequence[MemoryItem], tokens: int) -> tuple[MemoryItem, ...]:
    """The first rows that fit into so many tokens of a prompt."""
    kept: list[MemoryItem] = []
    for row in rows:
        tokens -= text.model_tokens(row.content) + _SIGNS
        if tokens < 0:
            break
        kept.append(row)
    return tuple(kept)
