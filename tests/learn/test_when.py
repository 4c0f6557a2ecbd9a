"""Statements get the dates that were meant when they were said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from perdure.learn.screen import Sources, screen
from perdure.learn.when import timed
from perdure.policy import ScreenPolicy
from perdure.types import Candidate, Kind, Preferences, Reason

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
