"""Days as Chinese names them: 下周五, 两周后, 三月五号."""

from __future__ import annotations

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

HAN = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
AWAY = {
    "大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3, "去": -1,
    "上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2,
}  # fmt: skip
UNITS = {"天": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}

EDGE = 7
"""Days before its end in which a month or a year counts as ended."""

_N = r"(?:\d{1,3}|[一二两三四五六七八九十]{1,3})"
_WEEK = r"(?:周|星期|礼拜)"
_DAY = rf"(?:(?P<day>{_N})[号日])?"
_OF_WEEK = r"(?P<weekday>[一二三四五六日天末])"
_PART = r"(?P<part>早上?|晚上?|上午|下午|中午|凌晨|夜里)?"


def number(text: str) -> int:
    """一 to 九十九, or digits."""
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    value = 10 * (HAN.get(tens, 1) if tens else 1) if ten else 0
    return value + (HAN.get(ones, 0) if ones else 0)


def _read_calendar(match: Match, today: date, tense: Tense) -> Span | None:
    """五月, 5月3号, 明年三月, 下个月五号, 2027年3月5日."""
    groups = match.groupdict()
    day = number(groups["day"]) if groups.get("day") else None
    month = number(groups["month"]) if groups.get("month") else None
    if groups.get("y"):
        return on_calendar(int(groups["y"]), month or 1, day)
    if groups.get("which"):  # a month relative to this one
        span = around(today, "month", AWAY[groups["which"]])
        return on_calendar(span.first.year, span.first.month, day) if span and day else span
    if groups.get("year"):  # a year relative to this one
        span = around(today, "year", AWAY[groups["year"]])
        return on_calendar(span.first.year, month, day) if span and month else span
    return nearest(today, month, day, tense) if month else None


def _read_weekday(match: Match, today: date, tense: Tense) -> Span | None:
    """下周五, 这周末, 上星期; a bare 周五 points by tense."""
    which = match.groupdict().get("which")
    word = match["weekday"]
    if word == "末":
        ahead = which or tense is not Tense.LASTING
        return around(today, "weekend", AWAY[which or "本"]) if ahead else None
    if not word:
        return around(today, "week", AWAY[which or "本"])
    weekday = 6 if word in "日天" else HAN[word] - 1
    return weekday_of(today, weekday, AWAY[which]) if which else weekday_near(today, weekday, tense)


def _read_edge(match: Match, today: date, tense: Tense) -> Span | None:
    """月底, 年底, 年初 of no named month or year; neither way: it comes every time."""
    unit, begin = ("month", "year")[match["unit"] == "年"], match["edge"] == "初"
    if tense is Tense.LASTING:
        return None
    this = around(today, unit, 0)
    if this is None:
        return None
    over = (this.last - today).days > EDGE if tense is Tense.BEHIND else begin
    step = (-1 if tense is Tense.BEHIND else 1) if over else 0
    return around(today, unit, step)


READINGS: tuple[tuple[regex.Pattern[str], Reading], ...] = (
    # a full date, so that a plan knows its end
    (
        regex.compile(rf"(?P<y>\d{{4}})年(?P<month>{_N})月(?:份|{_DAY})?"),
        _read_calendar,
    ),
    # 明天, 今晚, 大后天; but not 以后天天
    (
        regex.compile(
            rf"(?<![以之然])(?P<away>大前|大后|前|昨|今|明|后)(?:[天日]{_PART}|(?P<part>[早晚]))"
            r"(?![天起])"
        ),
        lambda m, today, _tense: around(today, "day", AWAY[m["away"]]),
    ),
    # 下周五, 上星期, 这周末
    (
        regex.compile(rf"(?<!一)(?P<which>上上|下下|上|下|这|本)个?{_WEEK}{_OF_WEEK}?{_PART}"),
        _read_weekday,
    ),
    # 周五, but not 每周五 or 周一到周五
    (
        regex.compile(
            rf"(?<![每隔逢单双到至个上下这本年一二两三四五六七八九十\d]){_WEEK}{_OF_WEEK}"
            rf"(?![到至和、都]){_PART}"
        ),
        _read_weekday,
    ),
    # 下个月, 上个月五号
    (
        regex.compile(rf"(?P<which>上上|下下|上|下|这|本)个?月份?(?![到至]){_DAY}"),
        _read_calendar,
    ),
    # 明年, 去年五月, 今年三月八号
    (
        regex.compile(rf"(?P<year>前|去|今|明|后)年(?:的?(?P<month>{_N})月份?{_DAY})?"),
        _read_calendar,
    ),
    # 月底, 年底: the next or the last one; not 每个月底
    (
        regex.compile(
            r"(?<![每个上下这本今明去后前\d一二三四五六七八九十])(?P<unit>[月年])(?=(?P<edge>[底末初]))"
        ),
        _read_edge,
    ),
    # 两周后, 三个月前
    (
        regex.compile(
            rf"(?P<n>{_N})个?(?P<unit>天|周|星期|礼拜|月|年)(?:以|之)?(?P<way>后|前)(?!天)"
        ),
        lambda m, today, _tense: around(
            today, UNITS[m["unit"]], number(m["n"]) * (1 if m["way"] == "后" else -1)
        ),
    ),
    # 五月, 5月3号: the next or the last one
    (
        regex.compile(rf"(?<![年每个\d十])(?P<month>{_N})月(?:份|{_DAY})?(?![到至])"),
        _read_calendar,
    ),
)


def _written(match: Match, span: Span) -> str:
    """2026年12月4日早上, 2026年12月."""
    part = match.groupdict().get("part") or ""
    part = {"早": "早上", "晚": "晚上"}.get(part, part)
    first = span.first
    day = f"{first.year}年{first.month}月{first.day}日"
    return {
        "day": f"{day}{part}",
        "week": f"{day}那周",
        "weekend": f"{day}那个周末",
        "month": f"{first.year}年{first.month}月",
        "year": f"{first.year}年",
    }[span.unit]


CHINESE_DAYS = Calendar(READINGS, _written)
