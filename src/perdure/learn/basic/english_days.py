"""Days as English names them: "next Friday", "in two weeks", "on 5 March"."""

from __future__ import annotations

import calendar
from datetime import date

import regex

from perdure.learn.basic.dates import (
    Calendar,
    Match,
    Reading,
    Span,
    Tense,
    around,
    nearest,
    on_calendar,
    weekday_near,
    weekday_of,
)

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = tuple(m.lower() for m in calendar.month_name[1:])
NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
AWAY = {
    "the day before yesterday": -2, "yesterday": -1, "last": -1, "today": 0, "this": 0,
    "tonight": 0, "tomorrow": 1, "the day after tomorrow": 2, "next": 1,
    "after next": 2,
}  # fmt: skip

_DAY = "|".join(WEEKDAYS)
_SHORT = "(?:mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)"  # only after this, next, last
_MONTH = "|".join(f"{m}|{m[:3]}" if m != "may" else m for m in MONTHS) + "|sept"
_PREP = r"\b(?:(?P<prep>on|in|since|until|till|by|from|before|after)\s+)?(?:the\s+)?"
_PART = r"(?:\s+(?P<part>morning|afternoon|evening|night))?\b"
_YEAR = r"(?:,?\s+(?P<year>\d{4}))?\b"
_NTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_COUNT = rf"(?P<n>\d{{1,3}}|an?|{'|'.join(NUMBERS)}|a couple of)"


def _en(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.IGNORECASE)


def _month_number(word: str) -> int:
    return next(n for n, m in enumerate(MONTHS, 1) if m.startswith(word.lower()[:3]))


def _count(word: str) -> int:
    word = word.lower()
    if word.isdecimal():
        return int(word)
    return {"a": 1, "an": 1, "a couple of": 2}.get(word) or NUMBERS.index(word) + 1


def _read_month(match: Match, today: date, tense: Tense) -> Span | None:
    """Read "5 March", "March 5th 2027", "in May", "next May"."""
    groups = match.groupdict()
    month = _month_number(groups["month"])
    day = int(groups["day"]) if groups.get("day") else None
    if groups["year"]:
        return on_calendar(int(groups["year"]), month, day)
    if (groups["prep"] or "").lower() == "since":
        tense = Tense.BEHIND
    which = (groups.get("which") or "").lower()
    if which == "this":
        return on_calendar(today.year, month, day)
    tense = {"next": Tense.AHEAD, "last": Tense.BEHIND}.get(which, tense)
    return nearest(today, month, day, tense)


def _read_weekday(match: Match, today: date, tense: Tense) -> Span | None:
    """Read "next Friday" as the one of next week, "last Friday" as the latest that is over."""
    weekday = next(n for n, d in enumerate(WEEKDAYS) if d.startswith(match["weekday"].lower()))
    which = (match["which"] or "").lower()
    if match["later"]:
        return weekday_of(today, weekday, AWAY["after next"])
    if which in ("this", "next"):
        found = weekday_of(today, weekday, AWAY[which])
        # said on a Saturday, "this Friday" of a plan is yet to come
        over = which == "this" and tense is Tense.AHEAD and found and found.last < today
        return weekday_near(today, weekday, tense) if over else found
    tense = {"last": Tense.BEHIND, "this coming": Tense.AHEAD, "coming": Tense.AHEAD}.get(
        which, tense
    )
    return weekday_near(today, weekday, tense)


def _read_end(match: Match, today: date, tense: Tense) -> Span | None:
    """Read "the end of the month"; of no named one it comes every time, but in a plan or a past."""
    which = match["which"].lower()
    if which == "the" and tense is not Tense.AHEAD:
        return None
    return around(today, match["unit"].lower(), AWAY.get(which, 0))


READINGS: tuple[tuple[regex.Pattern[str], Reading], ...] = (
    # a full date, so that a plan knows its end
    (
        _en(_PREP + r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)\b"),
        lambda m, _today, _tense: on_calendar(int(m["y"]), int(m["m"]), int(m["d"])),
    ),
    # "tomorrow morning", "the day after tomorrow"
    (
        _en(
            r"\b(?:(?P<prep>since|until|till|by|from|before|after)\s+)?"
            r"(?P<away>the day (?:before yesterday|after tomorrow)|yesterday|today|tonight|tomorrow"
            r"|last(?=\s+night)|this(?=\s+(?:morning|afternoon|evening)))" + _PART
        ),
        lambda m, today, _tense: around(today, "day", AWAY[m["away"].lower()]),
    ),
    # "next Friday", "on Friday", never "every Friday" or "Fridays"
    (
        _en(
            r"(?<!\b(?:every|each)(?:\s+\w+)?\s+)" + _PREP
            + r"(?:(?P<which>this coming|coming|this|next|last)\s+)?"
            + rf"(?P<weekday>{_DAY}|(?<=[st]\s){_SHORT})(?P<later>\s+after\s+next)?" + _PART
        ),
        _read_weekday,
    ),
    # "the end of the month", "by the end of next year"
    (
        _en(
            r"\b(?:(?P<prep>at|by|before|until|till|from|since|after)\s+)?the end of\s+"
            r"(?P<which>the|this|next|last)\s+(?P<unit>week|month|year)\b"
        ),
        _read_end,
    ),
    # "the week after next"
    (
        _en(_PREP + r"(?P<unit>weekend|week|month|year)\s+after\s+next\b"),
        lambda m, today, _tense: around(today, m["unit"].lower(), AWAY["after next"]),
    ),
    # "next week", "last month", "this year"
    (
        _en(_PREP + r"(?P<which>this|next|last)\s+(?P<unit>weekend|week|month|year)\b"),
        lambda m, today, _tense: around(today, m["unit"].lower(), AWAY[m["which"].lower()]),
    ),
    # "in two weeks", "a month from now"
    (
        _en(
            rf"\bin\s+{_COUNT}\s+(?P<unit>day|week|month|year)s?(?:'?\s+time)?\b"
            rf"|\b{_COUNT}\s+(?P<unit>day|week|month|year)s?\s+from now\b"
        ),
        lambda m, today, _tense: around(today, m["unit"].lower(), _count(m["n"])),
    ),
    # "two years ago"
    (
        _en(rf"\b{_COUNT}\s+(?P<unit>day|week|month|year)s?\s+ago\b"),
        lambda m, today, _tense: around(today, m["unit"].lower(), -_count(m["n"])),
    ),
    # "on 5 March", "the 5th of March 2027"
    (_en(_PREP + rf"{_NTH}(?:\s+of)?\s+(?P<month>{_MONTH}){_YEAR}"), _read_month),
    # "March 5", "on March 5th, 2027"
    (_en(_PREP + rf"(?P<month>{_MONTH})\s+{_NTH}(?![\d:]|\s*(?:am|pm)){_YEAR}"), _read_month),
    # "in May", "since May 2020", "next May"
    (
        _en(
            r"\b(?:(?P<prep>in|since|until|till|by|from|before|after)\s+|(?P<which>this|next|last)\s+)"
            rf"(?P<month>{_MONTH})(?!\s+\d){_YEAR}"
        ),
        _read_month,
    ),
)  # fmt: skip


def _written(match: Match, span: Span) -> str:
    """Write "on 2026-12-04 in the morning", "in December 2026"."""
    groups = match.groupdict()
    bare, default = {
        "day": (span.first.isoformat(), "on"),
        "week": (f"the week of {span.first.isoformat()}", "in"),
        "weekend": (f"the weekend of {span.first.isoformat()}", "on"),
        "month": (f"{MONTHS[span.first.month - 1].capitalize()} {span.first.year}", "in"),
        "year": (str(span.first.year), "in"),
    }[span.unit]
    prep = (groups.get("prep") or "").lower()
    part = (groups.get("part") or "").lower()
    if (groups.get("away") or "").lower() == "tonight":
        part = "evening"
    hour = {"": "", "night": " at night"}.get(part, f" in the {part}")
    if " end of " in match.group():
        return f"{prep or 'at'} the end of {bare}"
    return f"{default if prep in ('', 'on', 'in') else prep} {bare}{hour}"


ENGLISH_DAYS = Calendar(READINGS, _written)
