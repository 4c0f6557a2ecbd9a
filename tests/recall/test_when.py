from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from perdure import text
from perdure.recall.when import Span, times, written

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)  # a Monday


def asked(question, at=NOW):
    return [f"{span.first}/{span.last}" for span in times(question, at)]


def day(year, month, number):
    return [f"{date(year, month, number)}/{date(year, month, number)}"]


@pytest.mark.spec("4.3")
@pytest.mark.parametrize(
    ("english", "chinese", "meant"),
    [
        ("What did I say yesterday?", "我昨天说了什么", day(2026, 11, 29)),
        ("the day before yesterday", "前天的会", day(2026, 11, 28)),
        ("what is due today?", "今天有什么事", day(2026, 11, 30)),
        ("and tomorrow?", "明天呢", day(2026, 12, 1)),
        ("three days ago", "三天前", day(2026, 11, 27)),
        ("last Wednesday", "上周三我们聊了什么", day(2026, 11, 25)),
        ("next Friday", "下周五", [*day(2026, 12, 4)]),
        ("last week", "上个星期", ["2026-11-23/2026-11-29"]),
        ("two weeks ago", "两周前", ["2026-11-16/2026-11-22"]),
        ("last weekend", "上周末", ["2026-11-28/2026-11-29"]),
        ("last month", "上个月", ["2026-10-01/2026-10-31"]),
        ("a month ago", "1个月前", ["2026-10-01/2026-10-31"]),
        ("Where was I in March 2024?", "2024年3月我在哪", ["2024-03-01/2024-03-31"]),
        ("on March 5th, 2024", "2024年3月5号", day(2024, 3, 5)),
        ("on 29 Feb 2024", "二〇二四年不算，2024年2月29日", day(2024, 2, 29)),
        ("last year", "去年", ["2025-01-01/2025-12-31"]),
        ("three years ago", "三年前", ["2023-01-01/2023-12-31"]),
        ("in 2024", "2024年", ["2024-01-01/2024-12-31"]),
    ],
)
def test_time_words_mean_the_same_in_both_languages(english, chinese, meant):
    assert asked(english) == meant
    if "Friday" not in english:
        assert asked(chinese) == meant
    else:  # 下周 is the next calendar week, "next Friday" the next to come
        assert asked(chinese) == day(2026, 12, 11)


@pytest.mark.spec("4.3")
def test_a_date_without_its_year_is_the_last_or_the_next():
    assert (
        asked("in March") == asked("三月份") == ["2026-03-01/2026-03-31", "2027-03-01/2027-03-31"]
    )
    assert asked("12月1日") == [*day(2025, 12, 1), *day(2026, 12, 1)]
    assert asked("last March") == asked("今年三月") == ["2026-03-01/2026-03-31"]
    assert asked("last March", NOW.replace(month=3)) == ["2025-03-01/2025-03-31"]
    assert asked("on Monday") == [*day(2026, 11, 23), *day(2026, 12, 7)]
    assert asked("周三") == [*day(2026, 11, 25), *day(2026, 12, 2)]


@pytest.mark.parametrize(
    "question",
    [
        "", "May I march on?", "It costs 2024 euros", "every Monday", "30 February", "9999-99-99",
        "每周三", "三个月的计划", "月亮", "目前天气怎么样", "说明天气", "99月99日", "一周的安排",
    ],
)  # fmt: skip
def test_words_that_only_look_like_a_time_are_none(question):
    assert times(question, NOW) == ()


def test_a_time_holds_its_moments_and_knows_texts_that_name_it():
    march = Span(date(2026, 3, 1), date(2026, 3, 31))

    def named(said, span=march):
        return span.named_by(set(text.terms(said)))

    assert march.holds(datetime(2026, 3, 1, tzinfo=UTC))
    assert march.holds(datetime(2026, 3, 31, 23, 59, 59, tzinfo=UTC))
    assert not march.holds(datetime(2026, 4, 1, tzinfo=UTC))
    assert named("Moved to Bergen in March 2026")
    assert named("2026年3月搬到杭州")
    assert named("Moved in March")
    assert not named("Moved in March 2025")
    assert not named("Moved in April 2026")
    day = Span(date(2026, 12, 1), date(2026, 12, 1))
    assert named("Dentist on 1 December", day)
    assert not named("Dentist on 2 December", day)
    year = Span(date(2026, 1, 1), date(2026, 12, 31))
    assert named("Ran a marathon in 2026", year)
    assert not named("Ran a marathon in May", year)


def test_any_moment_and_any_words_give_a_sane_answer():
    for at in (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)):
        for question in ("last year", "next year", "999 years ago", "上周", "in March", "明年三月"):
            assert all(span.first <= span.last for span in times(question, at))
    leap = datetime(2024, 2, 29, tzinfo=UTC)
    assert asked("last month", leap) == ["2024-01-01/2024-01-31"]
    assert timedelta(0) <= times("last year", leap)[0].last - times("last year", leap)[0].first


@pytest.mark.spec("4.3")
def test_a_day_or_a_month_that_learning_wrote_is_read_again():
    said = "Moves on 2026-12-05, pays from 2027-01; 旅行到2026-12-31。"
    said += "Not 2026-13, 2026-02-30, 1-2026-12-05"

    assert written(said) == [
        Span(date(2026, 12, 5), date(2026, 12, 5)),
        Span(date(2027, 1, 1), date(2027, 1, 31)),
        Span(date(2026, 12, 31), date(2026, 12, 31)),
    ]
    december = Span(date(2026, 12, 1), date(2026, 12, 31))
    assert [december.meets(span) for span in written(said)] == [True, False, True]
