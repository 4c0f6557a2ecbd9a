"""Presets hold the numbers of the design notes; a knob is turned by name or not at all."""

from __future__ import annotations

import pytest

from perdure.errors import Misconfigured
from perdure.policy import ASSISTANT, DESKTOP, PRESETS, TEAM, SearchPolicy, preset


@pytest.mark.spec("3.1", "3.6", "4.7")
def test_team_has_the_numbers_of_note_a():
    assert (TEAM.learn.min_user_chars, TEAM.learn.max_items, TEAM.learn.item_chars) == (20, 3, 120)
    assert TEAM.learn.abandon_over_max
    assert TEAM.learn.timeout_s == 30
    assert (TEAM.budget.user, TEAM.budget.project) == (8, 12)
    assert TEAM.capacity.active_limit == 200
    assert TEAM.capacity.evict_per_round == 3
    assert not TEAM.defaults.auto_learn
    assert not TEAM.item.expires
    assert (TEAM.consolidate.user_target, TEAM.consolidate.project_target) == (30, 60)
    assert TEAM.search.mode == "newest"


@pytest.mark.spec("3.1", "3.6", "4.7")
def test_desktop_has_the_numbers_of_note_b():
    assert DESKTOP.learn.trigger_chars == 4_000
    assert (DESKTOP.learn.item_chars, DESKTOP.learn.long_item) == (200, "cut")
    assert DESKTOP.learn.timeout_s == 180
    assert DESKTOP.budget.bytes == 8 * 1024
    assert DESKTOP.capacity.active_limit == 100
    assert DESKTOP.search.mode == "oldest"
    assert DESKTOP.item.content_chars == 200


@pytest.mark.spec("4.5", "4.6", "4.7")
def test_assistant_has_the_numbers_of_notes_c_and_d():
    rank = ASSISTANT.rank
    assert (
        rank.relevance_weight, rank.confidence_weight, rank.recency_weight, rank.explicit_weight
    ) == (0.45, 0.25, 0.20, 0.10)  # fmt: skip
    assert (rank.constraint_weight, rank.preference_weight, rank.todo_hint_weight) == (
        0.15, 0.10, 0.05,
    )  # fmt: skip
    assert ASSISTANT.gate.floor == 0.55
    budget = ASSISTANT.budget
    assert (budget.constraint, budget.preference, budget.todo_hint, budget.fact) == (5, 5, 3, 5)
    assert budget.total == 18
    assert SearchPolicy().deadline_ms == 800


@pytest.mark.spec("8")
def test_a_knob_is_turned_as_a_file_or_an_environment_variable_writes_it():
    turned = ASSISTANT.turned(
        {
            "gate": {"floor": "0.6"},
            "item": {"channel_projects": "weixin*, feishu*"},
            "render": {"form": "flat"},
            "budget": {"fact": "none", "constraint": "0"},
            "topics": {"enabled": "off"},
            "defaults": {"auto_learn": False},
        },
        "test",
    )
    assert turned.gate.floor == 0.6
    assert turned.item.channel_projects == ("weixin*", "feishu*")
    assert turned.render.form == "flat"
    assert turned.budget.fact is None
    assert turned.budget.constraint == 0
    assert not turned.topics.enabled
    assert not turned.defaults.auto_learn
    assert ASSISTANT.gate.floor == 0.55


@pytest.mark.spec("8")
@pytest.mark.case("OPS-07")
@pytest.mark.parametrize(
    ("knobs", "named"),
    [
        ({"gates": {}}, "policy.gates"),
        ({"preset": {}}, "policy.preset"),
        ({"gate": {"flor": 1}}, "policy.gate.flor"),
        ({"gate": {"floor": -1}}, "policy.gate.floor"),
        ({"gate": {"floor": "nan"}}, "policy.gate.floor"),
        ({"gate": {"floor": True}}, "policy.gate.floor"),
        ({"gate": {"floor": 10**400}}, "policy.gate.floor"),
        ({"jobs": {"max_retry": 10**20}}, "policy.jobs.max_retry"),
        ({"search": {"recent_days": 10**6}}, "policy.search.recent_days"),
        ({"item": {"vector_wait_s": 1e15}}, "policy.item.vector_wait_s"),
        ({"cost": {"user_tokens_month": 10**16}}, "policy.cost.user_tokens_month"),
        ({"learn": {"extraction_model": "\ud800"}}, "policy.learn.extraction_model"),
        ({"learn": {"extraction_model": "a\0b"}}, "policy.learn.extraction_model"),
        ({"budget": {"fact": 1.5}}, "policy.budget.fact"),
        ({"render": {"form": "html"}}, "policy.render.form"),
        ({"topics": {"enabled": "perhaps"}}, "policy.topics.enabled"),
        ({"item": {"channel_projects": [1]}}, "policy.item.channel_projects"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(knobs, named):
    with pytest.raises(Misconfigured) as refused:
        ASSISTANT.turned(knobs, "perdure.toml")
    assert refused.value.field == f"perdure.toml: {named}"


def test_there_are_three_presets_and_no_fourth():
    assert set(PRESETS) == {"assistant", "team", "desktop"}
    with pytest.raises(Misconfigured):
        preset("enterprise")
