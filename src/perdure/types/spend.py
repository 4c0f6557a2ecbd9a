"""What models cost: calls, tokens and money of one month."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What one model was used for in one month, by a user or by all of a namespace."""

    month: str
    """As 2026-11, in UTC."""
    model: str
    purpose: str
    """What it was asked for: extract, decide, consolidate."""
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    """At the prices of the time, in the currency of the prices."""
