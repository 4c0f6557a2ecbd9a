"""What became of the lines of a file that was handed in."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from perdure.control.lines import LineType
from perdure.types import Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of one line, or would."""

    line: int
    type: LineType
    outcome: str
    """``captured`` (and learnt from later), ``skipped`` (may not be kept), ``kept``, ``stored``,
    ``set_aside`` (stored, over the limit of active memories), or ``known`` already."""
    receipt: Receipt | None = None
    """Of the turn that this line ended."""


def counted(reports: Iterable[Imported]) -> dict[str, dict[str, int]]:
    """How many lines of each type came to what, in one look."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for report in reports:
        found[report.type.value][report.outcome] += 1
    return {kind: dict(outcomes) for kind, outcomes in found.items()}
