"""What a user says about a memory that was said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perdure.types.checks import ItemId, Trace


class Verdict(StrEnum):
    """What a user thinks of a memory in an answer."""

    USEFUL = "useful"
    WRONG_MENTION = "wrong_mention"
    """True or not, it did not belong there."""
    CORRECTION = "correction"
    """It is not true; the user says what is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """One verdict on one memory of one answer; the words of a correction are the memory's own."""

    trace: Trace
    """Of the answer."""
    item: ItemId
    verdict: Verdict
    at: datetime
