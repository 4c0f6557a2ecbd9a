"""Statements come out of a reply clean, within limits, and none is lost to a bad neighbour."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from perdure.errors import ReplyUnusable
from perdure.learn.facts import normalize_facts
from perdure.policy import ASSISTANT, DESKTOP, TEAM
from perdure.types import Action, Candidate, Kind, Level, Reason


def contents(parsed, policy=ASSISTANT):
    return [p.candidate.content for p in normalize_facts(parsed, policy).proposals]


def only(entry):
    [proposal] = normalize_facts([entry], ASSISTANT).proposals
    return proposal


@pytest.mark.spec("3.3")
@pytest.mark.case("LLM-03")
@pytest.mark.parametrize(
    "parsed",
    [
        ["Owns a kayak", "Bakes bread"],
        [{"content": "Owns a kayak"}, {"fact": "Bakes bread"}],
        {"facts": ["Owns a kayak", {"text": "Bakes bread"}]},
        {"memories": [["Owns a kayak", [["Bakes bread"]]]]},
        {"memory": [{"statement": "Owns a kayak"}, {"Bakes bread": True}]},
        {"facts": ["  Owns a kayak\n", "Bakes bread", None, 44, "", "  ", {}, [], "44", "null"]},
        {"事实": ["Owns a kayak", {"内容": "Bakes bread"}]},
    ],
)
@pytest.mark.point("C12.1.1")
def test_every_shape_gives_the_same_clean_sentences(parsed):
    """C 12: parsing of extraction results; ``normalize_facts``."""
    assert contents(parsed) == ["Owns a kayak", "Bakes bread"]


@pytest.mark.case("LLM-03")
def test_entries_that_are_no_statement_are_counted():
    assert normalize_facts(["Owns a kayak", None, 44, "", [[]]], ASSISTANT).skipped == 3


@pytest.mark.parametrize("dump", ['{"a": 1}', "[1, 2]", "None", "True", "🙂", "—"])
def test_no_dump_of_a_structure_becomes_a_memory(dump):
    assert contents(["Owns a kayak", dump]) == ["Owns a kayak"]


@pytest.mark.parametrize("parsed", [{}, {"error": "no"}, {"memories": None}, [None, 44], [{}]])
def test_a_reply_without_any_statement_is_unusable_unless_it_is_an_empty_list(parsed):
    assert contents([]) == contents({"memories": []}) == []
    with pytest.raises(ReplyUnusable):
        normalize_facts(parsed, ASSISTANT)


def test_all_fields_are_read():
    proposal = only(
        {
            "content": "Uses pnpm",
            "type": "project",
            "kind": "constraint",
            "title": "Package manager",
            "confidence": 0.9,
            "importance": 0.7,
            "sensitivity": 1,
            "explicit": True,
            "expires_at": "2026-12-24",
            "lines": [1, 3],
            "action": "update",
            "existing": 2,
        }
    )

    assert proposal.lines == (1, 3)
    assert proposal.candidate == Candidate(
        content="Uses pnpm",
        level=Level.PROJECT,
        kind=Kind.CONSTRAINT,
        title="Package manager",
        confidence=0.9,
        importance=0.7,
        sensitivity=1,
        explicit=True,
        expires_at=datetime(2026, 12, 25, tzinfo=UTC),
        proposed=Action.UPDATE,
        about=2,
    )


@pytest.mark.spec("2", "3.3")
def test_wrong_types_have_their_sane_meaning():
    candidate = only(
        {
            "content": "Owns a kayak",
            "type": None,
            "kind": "hobby",
            "title": 7,
            "confidence": "high",
            "importance": "0.8",
            "sensitivity": "high",
            "explicit": "yes",
            "expires_at": "soon",
            "lines": "1",
            "action": "remember",
            "existing": "#3",
        }
    ).candidate

    assert (candidate.level, candidate.kind, candidate.title) == (Level.USER, None, "")
    assert (candidate.confidence, candidate.importance) == (None, 0.8)
    assert (candidate.sensitivity, candidate.explicit, candidate.expires_at) == (2, False, None)
    assert (candidate.proposed, candidate.about) == (None, 3)
    assert only({"content": "A b", "confidence": 7, "importance": -1}).candidate.confidence == 1.0


def test_a_touch_needs_no_words_but_a_number():
    assert only({"action": "touch", "existing": 1}).candidate.proposed is Action.TOUCH
    with pytest.raises(ReplyUnusable):
        normalize_facts([{"action": "touch"}], ASSISTANT)


@pytest.mark.spec("3.3")
@pytest.mark.point("C12.1.7")
def test_repetitions_and_what_is_over_the_limit_are_refused_with_a_reason():
    policy = TEAM.turned({"learn": {"max_items": 2, "abandon_over_max": False}}, "test")

    facts = normalize_facts(["Likes tea", "Likes  tea ", "Owns a boat", "Owns a van"], policy)

    assert [p.candidate.content for p in facts.proposals] == ["Likes tea", "Owns a boat"]
    assert [r.reason for r in facts.refused] == [Reason.REPEATED, Reason.TOO_MANY_ITEMS]


def test_the_team_preset_abandons_a_reply_with_more_than_three_entries():
    """A 5.6.4: more than 3 elements in the raw array, whatever they are."""
    facts = normalize_facts(["Likes tea", "Likes tea", "Owns a boat", None], TEAM)

    assert facts.proposals == ()
    assert {r.reason for r in facts.refused} == {Reason.TOO_MANY_ITEMS}
    assert contents(["Likes tea", "Owns a boat", None], TEAM) == ["Likes tea", "Owns a boat"]


@pytest.mark.spec("3.3")
def test_a_long_statement_is_dropped_or_cut_at_a_character_by_preset():
    family = "👨‍👩‍👧"
    facts = normalize_facts(["Long " * 30, "Likes tea", "好" * 120], TEAM)

    assert [p.candidate.content for p in facts.proposals] == ["Likes tea", "好" * 120]
    assert [r.reason for r in facts.refused] == [Reason.TOO_LONG]
    assert contents(["a" * 199 + family * 3], DESKTOP) == ["a" * 199 + family]
