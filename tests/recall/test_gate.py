from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perdure.policy import ASSISTANT, DESKTOP
from perdure.recall.gate import gate
from perdure.types import Preferences, Scope, Score, Status

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
ANN = Scope(user="ann", project="mao")
CAREFUL = ASSISTANT.but(gate=ASSISTANT.gate.but(min_confidence=0.3))

FACES = [
    ({}, None),
    ({"expires_at": NOW}, "EXPIRED"),
    ({"expires_at": NOW + timedelta(seconds=1)}, None),
    ({"sensitivity": 1}, None),
    ({"sensitivity": 2}, "SENSITIVE_BLOCKED"),
    ({"confidence": 0.29}, "LOW_CONFIDENCE"),
    ({"status": Status.DISMISSED}, "DISMISSED"),
    ({"suspicious": True}, "SUSPICIOUS"),
    ({"project": "mao"}, None),
    ({"project": "other"}, "SCOPE"),
    ({"user": "bo"}, "SCOPE"),
    ({"conversation": "c-1"}, "SCOPE"),
]


@pytest.mark.spec("4.6", "1")
@pytest.mark.parametrize(("fields", "reason"), FACES)
@pytest.mark.parametrize("arm", ["semantic", "pinned"])
@pytest.mark.point("C12.1.4")
def test_each_reason_to_withhold_a_memory_has_its_name(item, ranked, fields, reason, arm):
    """C 8.3.2, C 8.3.3."""
    entries = ranked(item("x", **fields), arms=[arm])

    sifted = gate(entries, NOW, ANN, Preferences(), CAREFUL)

    assert [one.reason for one in sifted.dropped] == ([reason] if reason else [])
    assert len(sifted.kept) == (0 if reason else 1)


@pytest.mark.spec("4.6")
def test_a_weak_score_and_no_relevance_are_low_scores_but_never_for_pinned_rows(item, ranked):
    """C 8.3.1: below 0.55 nothing is injected."""
    weak, strong, irrelevant = ranked(item("a", 1), item("b", 2), item("c", 3))
    weak = replace(weak, score=Score(terms={"all": 0.549}))
    strong = replace(strong, score=Score(terms={"all": 0.55}))
    irrelevant = replace(irrelevant, relevance=0.34)
    pinned = replace(weak, arms=("pinned", "semantic"), relevance=0.0)
    typed = replace(weak, floored=False)  # that formula knows no floor

    sifted = gate([weak, strong, irrelevant, pinned, typed], NOW, ANN, Preferences(), ASSISTANT)

    assert sifted.kept == (strong, pinned, typed)
    assert [one.reason for one in sifted.dropped] == ["LOW_SCORE", "LOW_SCORE"]


@pytest.mark.spec("4.6", "8")
def test_with_consent_sensitive_memories_are_said(item, ranked):
    entries = ranked(item("x", sensitivity=2))

    assert gate(entries, NOW, ANN, Preferences(sensitive_allowed=True), ASSISTANT).dropped == ()


@pytest.mark.spec("2")
def test_where_nothing_expires_a_time_in_the_past_changes_nothing(item, ranked):
    entries = ranked(item("x", expires_at=NOW - timedelta(days=1)))

    assert gate(entries, NOW, ANN, Preferences(), DESKTOP).dropped == ()


def test_what_may_not_be_said_is_told_before_what_is_not_worth_saying(item, ranked):
    (entry,) = ranked(item("x", expires_at=NOW, sensitivity=2))
    entry = replace(entry, relevance=0.0)

    (dropped,) = gate([entry], NOW, ANN, Preferences(), ASSISTANT).dropped

    assert dropped.reason == "EXPIRED"
    assert dropped.score is entry.score
