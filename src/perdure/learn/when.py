"""Gives statements their dates: what is relative is counted from the message, never from today."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, time

from perdure.learn.basic import dated, end_of
from perdure.types import Candidate, Kind, Utterance

_RELATIVE = re.compile(
    r"""\b(?:today|tonight|tomorrow|yesterday|(?:last|next|this|coming)\ (?:\w+day|week|weekend
    |month|year|spring|summer|autumn|fall|winter)
    |in\ (?!the\b)\w+\ (?:days?|weeks?|months?)|\w+\ ago|\w+\ after\ next
    |the\ end\ of\ (?:the|this|next|last)\ (?:week|month|year))\b
    | [今明昨后前][天日晚早] | [上下这本]+个?(?:周|星期|礼拜|月) | [今明去后前]年
    | (?<![每个])[月年][底末初] | \w(?:天|周|星期|礼拜|个月|年)[以之]?[后前]""",
    re.IGNORECASE | re.VERBOSE,
)
"""Words that mean another day tomorrow."""


def timed(candidates: Sequence[Candidate], said: Sequence[Utterance]) -> tuple[Candidate, ...]:
    """The candidates without "tomorrow" and "last week"; a plan ends after its day.

    Args:
        candidates: as a model proposed them.
        said: the lines they come from, with the times at which they were said.
    """
    times = {line.id: line.at for line in said}
    last = max(times.values(), default=None)
    return tuple(_timed(candidate, times, last) for candidate in candidates)


def _timed(candidate: Candidate, times: dict[str, datetime], last: datetime | None) -> Candidate:
    at = max((times[one] for one in candidate.messages if one in times), default=last)
    if at is None or not candidate.content:
        return candidate
    relative = _RELATIVE.search(candidate.content) is not None
    found = dated(candidate.content, at.date(), ahead=candidate.kind is Kind.TODO_HINT)
    expires = _at_their_midnight(candidate.expires_at, at)
    if candidate.kind is Kind.TODO_HINT and expires is None and found.last is not None:
        expires = end_of(found.last) if found.last > at.date() else None
    content = found.text if relative else candidate.content
    return replace(candidate, content=content, expires_at=expires)


def _at_their_midnight(end: datetime | None, at: datetime) -> datetime | None:
    """A day that ends, ends on the speaker's clock; a model names no zone."""
    if end is None or end.time() != time():
        return end
    return end.replace(tzinfo=at.tzinfo).astimezone(UTC)
