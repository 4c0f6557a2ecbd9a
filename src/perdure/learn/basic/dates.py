"""Turns the days people name into spans of the calendar, and texts with them into dated ones."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from typing import TypeAlias

import regex


class Tense(Enum):
    """Which way a bare "Friday" or "May" points."""

    LASTING = "lasting"
    """Neither way: the Friday of a habit stays a Friday."""
    AHEAD = "ahead"
    BEHIND = "behind"


@dataclass(frozen=True, slots=True)
class Dated:
    """A text with its relative days resolved, and the last day that it names."""

    text: str
    last: date | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """The days that a word means; ``unit`` is day, week, weekend, month or year."""

    first: date
    last: date
    unit: str


Match: TypeAlias = "regex.Match[str]"
Reading: TypeAlias = Callable[[Match, date, Tense], Span | None]


@dataclass(frozen=True, slots=True)
class Calendar:
    """How one language names days: patterns with their readings, and how a span is written."""

    readings: tuple[tuple[regex.Pattern[str], Reading], ...]
    written: Callable[[Match, Span], str]


def resolve(text: str, today: date, tense: Tense, calendar: Calendar) -> Dated:
    """Replace days that are relative to ``today``; habits ("every Friday") stay as they are."""
    last: date | None = None
    for pattern, read in calendar.readings:
        pieces: list[str] = []
        done = 0
        for match in pattern.finditer(text):
            span = read(match, today, tense)
            if span is not None:
                pieces += text[done : match.start()], calendar.written(match, span)
                done = match.end()
                last = max(last or span.last, span.last)
        text = "".join((*pieces, text[done:]))
    return Dated(text, last)


# ── spans of days ────────────────────────────────────────────────────────────────────────────────


def around(today: date, unit: str, offset: int) -> Span | None:
    """The day, week, weekend, month or year that lies ``offset`` of its kind away."""
    try:
        if unit == "day":
            day = today + timedelta(days=offset)
            return Span(day, day, unit)
        if unit in ("week", "weekend"):
            monday = today + timedelta(days=7 * offset - today.weekday())
            first = monday + timedelta(days=5 if unit == "weekend" else 0)
            return Span(first, monday + timedelta(days=6), unit)
        if unit == "month":
            year, month = divmod(today.year * 12 + today.month - 1 + offset, 12)
            return on_calendar(year, month + 1, None)
        return Span(date(today.year + offset, 1, 1), date(today.year + offset, 12, 31), unit)
    except (ValueError, OverflowError):  # before the year 1 or after the year 9999
        return None


def on_calendar(year: int, month: int, day: int | None) -> Span | None:
    """A day of the calendar, or a whole month of it."""
    try:
        if day is not None:
            return Span(date(year, month, day), date(year, month, day), "day")
        last = calendar.monthrange(year, month)[1]
        return Span(date(year, month, 1), date(year, month, last), "month")
    except ValueError:  # there is no such day
        return None


def nearest(today: date, month: int, day: int | None, tense: Tense) -> Span | None:
    """That day or month of no named year: the next one, or the last one."""
    if tense is Tense.LASTING:
        return None
    for year in (today.year, today.year + (1 if tense is Tense.AHEAD else -1)):
        span = on_calendar(year, month, day)
        if span and (span.last >= today if tense is Tense.AHEAD else span.first <= today):
            return span
    return None


def weekday_near(today: date, weekday: int, tense: Tense) -> Span | None:
    """The next such day after today, or the last one before it."""
    if tense is Tense.LASTING:
        return None
    if tense is Tense.AHEAD:
        return around(today, "day", (weekday - today.weekday() - 1) % 7 + 1)
    return around(today, "day", -((today.weekday() - weekday - 1) % 7 + 1))


def weekday_of(today: date, weekday: int, offset: int) -> Span | None:
    """That day of the week that lies so many weeks away."""
    return around(today, "day", 7 * offset + weekday - today.weekday())
