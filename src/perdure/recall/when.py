"""Which time a question asks about: its time words, English and Chinese, as spans. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeAlias

import regex

from perdure import text

_WRITTEN = regex.compile(r"(?<![\d-])(\d{4})-(\d{2})(?:-(\d{2}))?(?![\d-])")
_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)
_YEARS = range(1900, 2101)  # what four digits must be to be a year


@dataclass(frozen=True, slots=True)
class Span:
    """Whole days, in UTC."""

    first: date
    last: date

    def holds(self, at: datetime) -> bool:
        """That moment lies in it."""
        start = datetime.combine(self.first, time(), UTC)
        return start <= at < start + (self.last - self.first) + _DAY

    def meets(self, other: Span) -> bool:
        """They have a day in common."""
        return self.first <= other.last and other.first <= self.last

    def named_by(self, terms: Collection[str]) -> bool:
        """A text with these terms names this time: its days, its month or its year."""
        days = (self.last - self.first).days + 1
        if days <= _WEEK.days:
            return any(
                _names(terms, text.date_terms(self.first + n * _DAY), parts=2) for n in range(days)
            )
        named = text.date_terms(self.first)[1 if self.first.month == self.last.month else 2 :]
        return _names(terms, named, parts=1)


def times(question: str, at: datetime) -> tuple[Span, ...]:
    """The time that a question asks about; a date without its year may be the last or the next.

    Of several time words the most exact one counts. Days are those of UTC. No time word: none.

    Args:
        question: in English or Chinese.
        at: now.
    """
    folded, today = text.normalise(question), at.astimezone(UTC).date()
    for pattern, meaning in _MEANINGS:
        for match in pattern.finditer(folded):
            try:
                spans = tuple(meaning(match, today))
            except (ValueError, OverflowError):  # there is no such day
                continue
            if spans:
                return spans
    return ()


def written(words: str) -> list[Span]:
    """The days and months that a text names as learning writes them: 2026-12-05, 2026-12."""
    spans = []
    for match in _WRITTEN.finditer(words):
        year, month, day = match.groups()
        with suppress(ValueError, OverflowError):  # there is no such day
            first = date(int(year), int(month), int(day or 1))
            spans.append(_day(first) if day else _month(first.year, first.month))
    return spans


def _names(terms: Collection[str], named: list[str], parts: int) -> bool:
    """The first parts of a date stand there, and its year, unless no year does."""
    whole = all(term in terms for term in named[:parts])
    return whole and (named[-1] in terms or not any(map(_year_like, terms)))


def _year_like(term: str) -> bool:
    return len(term) == 4 and term.isdecimal() and int(term) in _YEARS  # noqa: PLR2004 - digits


# ── days, weeks, months, years ───────────────────────────────────────────────────────────────────


def _day(day: date) -> Span:
    return Span(day, day)


def _week(day: date) -> Span:
    """Monday to Sunday."""
    monday = day - day.weekday() * _DAY
    return Span(monday, monday + 6 * _DAY)


def _weekend(day: date) -> Span:
    sunday = _week(day).last
    return Span(sunday - _DAY, sunday)


def _month(year: int, month: int) -> Span:
    """Months before January and after December run into other years."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    following = date(year + month // 12, month % 12 + 1, 1)
    return Span(date(year, month, 1), following - _DAY)


def _year(year: int) -> Span:
    return Span(date(year, 1, 1), date(year, 12, 31))


# ── what the words say ───────────────────────────────────────────────────────────────────────────

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_WEEKDAYS = "mon tue wed thu fri sat sun".split()
_HAN_WEEKDAYS = "一二三四五六日"
_NUMBERS = "a one two three four five six seven eight nine ten eleven twelve".split()
_HAN_DIGITS = "零一二三四五六七八九"
_BACK = {
    "大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3,
    "上上": -2, "上": -1, "last": -1, "previous": -1, "这": 0, "本": 0, "this": 0,
    "下": 1, "next": 1, "去": -1,
}  # fmt: skip
"""How many days, weeks, months or years away a word points to."""


def _number(said: str) -> int:
    """A small number in digits, English or Chinese."""
    if said.isdecimal():
        return int(said)
    if said in ("a", "an"):
        return 1
    if said in _NUMBERS:
        return _NUMBERS.index(said)
    tens, ten, ones = said.replace("两", "二").rpartition("十")
    return (10 * (_HAN_DIGITS.index(tens) if tens else 1) if ten else 0) + (
        _HAN_DIGITS.index(ones) if ones else 0
    )


def _month_number(said: str) -> int:
    return _MONTHS.index(said[:3]) + 1 if said[:3] in _MONTHS else _number(said)


def _dated(match: regex.Match[str], today: date) -> Iterator[Span]:
    """A day or a month, with its year or the years around now; or a year alone."""
    said = match.groupdict()
    year, back = said.get("year"), said.get("back")
    if year and int(year) not in _YEARS:
        return
    if not said.get("month"):
        yield _year(int(match["year"]))
        return
    month, day = _month_number(match["month"]), said.get("day")
    if not 1 <= month <= 12:  # noqa: PLR2004 - a year's months
        return

    def of(year: int) -> Span:
        return _day(date(year, month, _number(day))) if day else _month(year, month)

    if year or back:
        yield of(int(year) if year else today.year + _BACK[str(back)])
    else:
        yield from _around([of(today.year + n) for n in (-1, 0, 1)], today)


def _around(turns: Sequence[Span], today: date) -> Iterator[Span]:
    """The last turn that has begun, and the next one; turns are given oldest first."""
    begun = [span for span in turns if span.first <= today]
    coming = [span for span in turns if span.first > today]
    yield from (*begun[-1:], *coming[:1])


def _turn_of_month(match: regex.Match[str], today: date) -> Iterator[Span]:
    """Last, this or next March."""
    month, word = _month_number(match["month"]), match["back"]
    this = today.year
    if word in ("last", "previous"):
        yield _month(this - (month >= today.month), month)
    elif word == "next":
        yield _month(this + (month <= today.month), month)
    else:
        yield _month(this, month)


def _turn_of_weekday(match: regex.Match[str], today: date) -> Iterator[Span]:
    """Last, this or next Monday; without such a word the last one and the next one."""
    number, word = _WEEKDAYS.index(match["weekday"][:3]), match["back"]
    since = (today.weekday() - number) % 7
    if word == "this":
        yield _day(_week(today).first + number * _DAY)
        return
    if word != "next":
        yield _day(today - (since or 7) * _DAY)
    if word in ("next", "on"):
        yield _day(today + (7 - since) * _DAY)


def _turn_of_han_weekday(match: regex.Match[str], today: date) -> Iterator[Span]:
    """上周, 上周三, 这周末, 下礼拜天; a bare 周三 is the last one and the next one."""
    back, weekday = match["back"], match["weekday"]

    def of(weeks: int) -> Span:
        week = _week(today + weeks * _WEEK)
        if weekday == "末":
            return _weekend(week.first)
        if weekday:
            return _day(week.first + _HAN_WEEKDAYS.index(weekday.replace("天", "日")) * _DAY)
        return week

    if back:
        yield of(_BACK[back])
    elif weekday:
        yield from _around([of(weeks) for weeks in (-1, 0, 1)], today)


def _ago(match: regex.Match[str], today: date) -> Iterator[Span]:
    """Three days, two weeks, a month, a year ago: that day, week, month, year."""
    unit, number = match["unit"][0], 6 if match["n"] == "半" else _number(match["n"])
    if match["n"] == "半":
        yield _month(today.year, today.month - number)
    elif unit in "d天日":
        yield _day(today - number * _DAY)
    elif unit in "w周星礼":
        yield _week(today - number * _WEEK)
    elif unit in "m月":
        yield _month(today.year, today.month - number)
    else:
        yield _year(today.year - number)


def _relative(match: regex.Match[str], today: date) -> Iterator[Span]:
    """Last week, this month, 去年, 上个月 and the like."""
    away, unit = _BACK[match["back"]], match["unit"]
    if unit == "weekend":
        yield _weekend(today + away * _WEEK)
    elif unit == "week":
        yield _week(today + away * _WEEK)
    elif unit in ("month", "月"):
        yield _month(today.year, today.month + away)
    else:
        yield _year(today.year + away)


def _days_away(days: int) -> Callable[[regex.Match[str], date], Iterator[Span]]:
    return lambda _, today: iter([_day(today + days * _DAY)])


def _han_day(match: regex.Match[str], today: date) -> Iterator[Span]:
    yield _day(today + _BACK[match["back"]] * _DAY)


_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY = r"(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_HAN_N = r"\d{1,3}|[一二两三四五六七八九十]{1,3}"
_HAN_MONTH = r"(?<![\d一二三四五六七八九十])(?P<month>\d{1,2}|[一二三四五六七八九十]{1,2})月"
_HAN_DATE = rf"{_HAN_MONTH}(?:份|(?P<day>\d{{1,2}}|[一二三四五六七八九十]{{1,3}})[日号])?"
_HAN_DAY = r"(?<![目之以说表声证今年月周天])(?P<back>大前|前|昨|今|明|大后|后)[天日晚夜早](?!报)"
_HAN_WEEKDAY = (
    r"(?<![每一二两三四五六七八九十\d])(?P<back>上上|上|这|本|下)?个?(?:周|星期|礼拜)"
    r"(?P<weekday>[一二三四五六日天末])?(?![期年边刊报])"
)

_Meaning: TypeAlias = Callable[[regex.Match[str], date], Iterator[Span]]
_MEANINGS: tuple[tuple[regex.Pattern[str], _Meaning], ...] = tuple(
    (regex.compile(pattern), meaning)
    for pattern, meaning in (
        (r"(?<!\d)(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)", _dated),
        (rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}\b(?:,? (?P<year>\d{{4}}))?",
         _dated),
        (rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])(?:,? (?P<year>\d{{4}}))?",
         _dated),
        (rf"\b{_MONTH}(?: of|,)? (?P<year>\d{{4}})\b", _dated),
        (rf"(?P<year>\d{{4}})年{_HAN_DATE}", _dated),
        (rf"(?P<back>[今去前明])年{_HAN_DATE}", _dated),
        (rf"\b(?P<back>last|previous|this|next) {_MONTH}\b", _turn_of_month),
        (rf"\b(?:in|during) (?:early |late |mid-?)?{_MONTH}\b", _dated),
        (_HAN_DATE, _dated),
        (r"\bday before yesterday\b", _days_away(-2)),
        (r"\byesterday\b|\blast night\b", _days_away(-1)),
        (r"\bday after tomorrow\b", _days_away(2)),
        (r"\btomorrow\b", _days_away(1)),
        (r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b", _days_away(0)),
        (_HAN_DAY, _han_day),
        (rf"\b(?P<n>\d{{1,3}}|an?|{'|'.join(_NUMBERS[1:])}) (?P<unit>day|week|month|year)s? ago\b",
         _ago),
        (rf"(?P<n>{_HAN_N}|半)个?(?P<unit>天|日|周|星期|礼拜|月|年)(?:之|以)?前", _ago),
        (rf"\b(?P<back>last|previous|this|next|on) {_WEEKDAY}\b", _turn_of_weekday),
        (_HAN_WEEKDAY, _turn_of_han_weekday),
        (r"\b(?P<back>last|previous|this|next) (?P<unit>weekend|week|month|year)\b", _relative),
        (r"(?P<back>上上|上|这|本|下)个?(?P<unit>月)(?!亮)", _relative),
        (r"(?<![目之以年月天])(?P<back>前|去|今|明)(?P<unit>年)", _relative),
        (r"\b(?:in|during|of) (?P<year>\d{4})\b", _dated),
        (r"(?<!\d)(?P<year>\d{4})年", _dated),
    )
)  # fmt: skip
"""Most exact first."""
