from __future__ import annotations

from datetime import UTC, datetime

import pytest

from perdure.policy import ASSISTANT
from perdure.recall.intent import Intent
from perdure.recall.merge import Merged
from perdure.recall.rank import by_time, rank, recency
from perdure.types import Kind, Origin, Scope

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
ANN = Scope(user="ann")


def ranked(*entries, scope=ANN, intent=Intent.MIXED, **knobs):
    policy = ASSISTANT.but(rank=ASSISTANT.rank.but(**knobs))
    return rank(entries, NOW, scope, intent, policy)


def found(item, relevance=1.0, arms=("semantic",)):
    return Merged(item=item, relevance=relevance, arms=arms)


@pytest.mark.spec("4.5")
@pytest.mark.point("C12.1.3")
def test_the_relevance_formula_of_c_8_2_explains_itself_term_by_term(item):
    """C 8.2: 0.45 relevance + 0.25 confidence + 0.20 recency + 0.10 explicit."""
    one = item("x", confidence=0.8, explicit=True, age=30, kind=Kind.FACT)

    (entry,) = ranked(found(one, 0.6), type_weight_on_searched=False)

    assert entry.score.terms == pytest.approx(
        {"relevance": 0.27, "confidence": 0.2, "recency": 0.1, "explicit": 0.1}
    )
    assert entry.score.total == pytest.approx(0.67)
    assert entry.floored


@pytest.mark.spec("4.5")
def test_the_typed_formula_of_d_4_ranks_pinned_rows_and_knows_the_conversation(item):
    here = Origin(conversation="c-1")
    one = item(
        "x", kind=Kind.CONSTRAINT, importance=1.0, confidence=0.5, explicit=True, age=60,
        origin=here,
    )  # fmt: skip

    (entry,) = ranked(found(one, arms=("pinned",)), scope=Scope(user="ann", conversation="c-1"))
    (elsewhere,) = ranked(found(one, arms=("pinned",)))

    assert entry.score.terms == pytest.approx(
        {
            "type": 0.15, "importance": 0.35, "confidence": 0.15, "recency": 0.05, "explicit": 0.1,
            "same_conversation": 0.08,
        }
    )  # fmt: skip
    assert entry.score.total - elsewhere.score.total == pytest.approx(0.08)
    assert not entry.floored


@pytest.mark.spec("4.5")
def test_the_type_decides_between_equals_and_then_the_newer_id(item):
    """D 4: constraint 0.15, preference 0.10, todo_hint 0.05, fact 0; ties by newer id."""
    kinds = [Kind.FACT, Kind.TODO_HINT, Kind.PREFERENCE, Kind.CONSTRAINT, Kind.CONSTRAINT]
    items = [item(str(n), n, kind=kind) for n, kind in enumerate(kinds)]

    for formula in ("relevance", "typed"):
        entries = ranked(*map(found, items), searched=formula)
        assert [int(entry.item.id, 16) for entry in entries] == [4, 3, 2, 1, 0]


@pytest.mark.spec("4.2")
def test_a_task_lifts_constraints_and_small_talk_lifts_what_is_relevant(item):
    """C 8.2, notes 1 and 2."""
    rule, fact = item("rule", 1, kind=Kind.CONSTRAINT), item("fact", 2)
    total = {
        intent: {
            e.item.content: e.score.total for e in ranked(*map(found, (rule, fact)), intent=intent)
        }
        for intent in Intent
    }

    assert total[Intent.TASK]["rule"] - total[Intent.MIXED]["rule"] == pytest.approx(0.10)
    assert total[Intent.TASK]["fact"] == total[Intent.MIXED]["fact"]
    assert total[Intent.CHAT]["fact"] - total[Intent.MIXED]["fact"] == pytest.approx(0.10)


def test_recency_halves_with_each_half_life_and_never_exceeds_one(item):
    assert recency(item("x", age=0), NOW, 30) == 1.0
    assert recency(item("x", age=60), NOW, 30) == pytest.approx(0.25)
    assert recency(item("x", age=-5), NOW, 30) == 1.0
    assert recency(item("x"), NOW, 0) == 0.0


@pytest.mark.spec("4.1")
def test_team_and_desktop_know_no_scores_only_time(item):
    first, second, third = (item(str(n), n, age=10 - n) for n in (1, 2, 3))

    assert [e.item for e in by_time([first, third, second], "newest")] == [third, second, first]
    assert [e.score.total for e in by_time([first], "oldest")] == [0]
