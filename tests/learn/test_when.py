"""Statements get the dates that were meant when they were said."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perdure.learn.basic import extract_basic
from perdure.learn.screen import Sources, screen
from perdure.learn.when import timed
from perdure.policy import ASSISTANT, DESKTOP, TEAM, ScreenPolicy
from perdure.types import Candidate, Kind, Message, Preferences, Reason, Scope

THEN = datetime(2023, 5, 24, 10, tzinfo=UTC)


@pytest.fixture
def dated(line):
    def give(content, kind=Kind.FACT, **more):
        said = line(content, at=THEN)
        [candidate] = timed([Candidate(content=content, kind=kind, messages=(said.id,), **more)],
                            [said])  # fmt: skip
        return candidate

    return give


@pytest.mark.case("TIME-01")
@pytest.mark.spec("3.3")
@pytest.mark.parametrize(
    ("statement", "meant"),
    [
        ("Flew to Reykjavik last week", "Flew to Reykjavik in the week of 2023-05-15"),
        ("Starts at the bakery tomorrow", "Starts at the bakery on 2023-05-25"),
        ("下个月要去泉州看展", "2023年6月要去泉州看展"),
        ("上周去了雷克雅未克", "2023年5月15日那周去了雷克雅未克"),
        ("Flew to Reykjavik in the week of 15 May 2023",) * 2,
        ("Starts the Friday after next", "Starts on 2023-06-09"),
        ("两周后去泉州", "2023年6月5日那周去泉州"),
        ("每个月底去泉州",) * 2,
        ("Starts on 2023-05-25",) * 2,
        ("Works on Mondays",) * 2,
    ],
)
def test_relative_days_are_counted_from_the_message(dated, statement, meant):
    assert dated(statement).content == meant


@pytest.mark.spec("3.3")
def test_a_plan_ends_after_its_day_and_nothing_else_does(dated):
    plan = dated("Starts at the bakery tomorrow", Kind.TODO_HINT)
    until = datetime(2023, 12, 24, tzinfo=UTC)

    assert timedelta(1) < plan.expires_at - THEN < timedelta(4)
    assert dated("月底要交房租", Kind.TODO_HINT).content == "2023年5月底要交房租"
    assert dated("月底要交房租", Kind.TODO_HINT).expires_at == datetime(2023, 6, 2, tzinfo=UTC)
    assert dated("Starts at the bakery tomorrow").expires_at is None
    assert dated("Flew home yesterday", Kind.TODO_HINT).expires_at is None
    assert dated("Starts tomorrow", Kind.TODO_HINT, expires_at=until).expires_at == until


@pytest.mark.case("TIME-01")
def test_a_date_that_was_counted_from_today_is_refused(line):
    said = line("I flew to Reykjavik last week.", at=THEN)
    wrong = Candidate(content="Flew to Reykjavik in the week of 24 August 2026")

    screened = screen([wrong], Sources((said,)), Preferences(), ScreenPolicy())

    assert [refused.reason for refused in screened.refused] == [Reason.UNSUPPORTED]
    for sentence, claim in (("The lease runs for five years.", "Lease runs until 2028"),
                            ("The trip is in 2026.", "Trip is in 2026")):  # fmt: skip
        said = line(sentence, at=THEN)
        kept = screen([Candidate(content=claim)], Sources((said,)), Preferences(), ScreenPolicy())
        assert kept.refused == ()


# ── the speaker's own day ────────────────────────────────────────────────────────────────────────

EARLY_IN_SHANGHAI = datetime.fromisoformat("2026-11-30T00:30:00+08:00")
LATE_IN_NEW_YORK = datetime.fromisoformat("2026-11-30T20:00:00-05:00")
PRESETS = {
    "assistant": ASSISTANT,
    "team": TEAM,
    "desktop": replace(DESKTOP, learn=DESKTOP.learn.but(trigger_chars=10)),
}


@pytest.fixture(params=PRESETS)
def ann(world, request):
    world.policy = replace(PRESETS[request.param], defaults=Preferences(auto_learn=True))
    return world


def says(world, said, at):
    return world.says(Message("user", said, at=at), Message("assistant", "Noted.", at=at))


@pytest.mark.case("TIME-01")
@pytest.mark.parametrize("at", [EARLY_IN_SHANGHAI, LATE_IN_NEW_YORK])
@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("I have a dentist appointment tomorrow.", "Has a dentist appointment tomorrow"),
        ("我明天下午要去看牙医，然后去超市买菜，晚上在家做饭吃。", "明天下午要去看牙医"),
    ],
)
def test_tomorrow_is_counted_from_the_speakers_day(ann, at, said, statement):
    chat = ann.answers({"memories": [{"content": statement, "lines": [1]}]})

    says(ann, said, at)

    assert f"[user {at:%Y-%m-%d %a %H:%M}]" in chat.asked[0].messages[1]["content"]
    [kept] = ann.memories()
    assert "2026-12-01" in kept or "2026年12月1日" in kept


@pytest.mark.parametrize("at", [EARLY_IN_SHANGHAI, LATE_IN_NEW_YORK])
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("I have a dentist appointment tomorrow.", "Has a dentist appointment on 2026-12-01"),
        ("我明天要去看牙医。", "2026年12月1日要去看牙医"),
    ],
)
def test_so_it_is_without_a_model(world, at, said, kept):
    world.basic = extract_basic

    says(world, said, at)

    assert world.memories() == [kept]


def test_a_time_without_an_offset_is_in_utc_as_before(world):
    world.basic = extract_basic

    says(world, "I have a dentist appointment tomorrow.", EARLY_IN_SHANGHAI.astimezone(UTC))

    assert world.memories() == ["Has a dentist appointment on 2026-11-30"]


@pytest.mark.parametrize("at", [EARLY_IN_SHANGHAI, LATE_IN_NEW_YORK])
def test_a_day_that_a_model_names_as_the_end_ends_on_the_speakers_clock(world, at):
    parked = {"content": "Is parked on level 3", "expires_at": "2026-12-02", "lines": [1]}
    world.answers({"memories": [parked]})

    says(world, "I am parked on level 3 until Wednesday night.", at)

    midnight = datetime(2026, 12, 3, tzinfo=at.tzinfo)
    assert [row.expires_at for row in world.rows()] == [midnight]


def test_the_same_moment_from_another_place_is_the_same_message(world):
    """What was kept is in UTC, whatever the host's offset."""
    world.capture(Message("user", "I live in Oslo.", at=EARLY_IN_SHANGHAI, id="m1"))
    with world.database.read() as tx:
        [kept] = tx.messages.by_id(Scope(user="ann"), "chat-1", ["m1"])

    assert (kept.at, kept.at.tzinfo) == (EARLY_IN_SHANGHAI, UTC)
