"""Charts as numbers: where each piece of a bar begins and how long it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WIDTH = 100.0
"""Of a whole chart, in its own units."""
_LEAST = 0.0005  # of a term that is drawn
_MINUTE_S = 60.0
TERMS = (
    "relevance", "confidence", "recency", "explicit", "importance", "type", "time", "chat",
    "task", "same_conversation",
)  # fmt: skip
"""Terms by the colour they have; any other has the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One piece of a bar."""

    name: str
    value: float
    start: float
    length: float
    colour: int


def stacked(terms: Mapping[str, float], whole: float) -> list[Piece]:
    """The terms of a score one after the other; a term that takes away has no length."""
    pieces, start = [], 0.0
    for name, value in terms.items():
        length = max(0.0, value) / whole * WIDTH if whole else 0.0
        if abs(value) < _LEAST:
            continue
        colour = TERMS.index(name) if name in TERMS else len(TERMS)
        pieces.append(
            Piece(
                name=name,
                value=value,
                start=round(start, 3),
                length=round(length, 3),
                colour=colour,
            )
        )
        start += length
    return pieces


def bars(amounts: Mapping[str, float]) -> list[Piece]:
    """One bar for each name, as long as its share of the largest."""
    most = max(amounts.values(), default=0.0)
    return [
        Piece(
            name=name, value=value, start=0.0,
            length=round(value / most * WIDTH, 3) if most else 0.0, colour=0,
        )
        for name, value in amounts.items()
    ]  # fmt: skip


def largest_first(amounts: Mapping[str, float]) -> dict[str, float]:
    """The same in order; equal ones by name."""
    return dict(sorted(amounts.items(), key=lambda one: (-one[1], one[0])))


def amount(value: float) -> str:
    """A number to be read beside its bar."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.4g}"


def seconds(value: float) -> str:
    """A time to be read beside its bar."""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < _MINUTE_S else f"{value / _MINUTE_S:,.1f} min"
