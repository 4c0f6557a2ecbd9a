from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perdure.policy import ASSISTANT, DESKTOP, TEAM
from perdure.recall.merge import Sighting
from perdure.recall.question import Asked, Query
from perdure.recall.roads import fixed, ordered
from perdure.types import Preferences, Scope

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)


def query(policy):
    return Query(scope=Scope(user="ann"), words=Asked("tea"), at=NOW, policy=fixed(policy))


@pytest.mark.spec("4.12")
def test_the_legacy_road_joins_only_lines_that_are_the_same(item):
    """D: its only deduplication is by line."""
    one, same, other = item("likes tea", 1), item("likes tea", 2), item("Likes tea", 3)
    other = replace(other, content_hash=one.content_hash)
    arms = {"semantic": [Sighting(item=i, relevance=0.5) for i in (one, same, other)]}
    legacy = ASSISTANT.but(search=ASSISTANT.search.but(mode="legacy"))

    ranked, twins = ordered(arms, {}, query(legacy), Preferences())

    assert {entry.item.content for entry in ranked} == {"likes tea", "Likes tea"}
    assert [(twin.item, twin.reason) for twin in twins] == [(one, "REPEATED")]
    assert len(ordered(arms, {}, query(ASSISTANT), Preferences())[0]) == 1


@pytest.mark.spec("4.1")
def test_only_the_hybrid_road_knows_floors_topics_and_intent():
    strict = {"gate": ASSISTANT.gate, "topics": ASSISTANT.topics, "intent": ASSISTANT.intent}

    assert fixed(ASSISTANT) is ASSISTANT
    for preset in (TEAM, DESKTOP):
        policy = fixed(preset.but(**strict))
        assert (policy.gate.floor, policy.gate.min_relevance) == (0, 0)
        assert not policy.topics.enabled
        assert not policy.intent.enabled
        assert policy.budget == preset.budget
