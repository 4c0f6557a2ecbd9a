"""One call that extracts and compares: what it may carry over, and what it may not forget."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perdure.policy import ASSISTANT, DESKTOP, TEAM
from perdure.types import Action, Kind, Message, Preferences, Reason, Role

ONE_CALL = replace(ASSISTANT, decide=ASSISTANT.decide.but(strategy="one_call"))
TEAM_ON = replace(
    TEAM, defaults=Preferences(auto_learn=True), learn=TEAM.learn.but(min_user_chars=0)
)
DESKTOP_ON = replace(DESKTOP, learn=DESKTOP.learn.but(trigger_chars=1))


@pytest.fixture(params=[ONE_CALL, TEAM_ON], ids=["one_call", "team"])
def ann(world, request):
    world.policy = request.param
    return world


@pytest.fixture
def desktop(world):
    world.policy = DESKTOP_ON
    return world


def says(world, said, *facts):
    """The user says it, and the model makes these of it."""
    world.answers({"memories": [{"lines": [1], **fact} for fact in facts]})
    exchange = Message(Role.USER, said), Message(Role.ASSISTANT, "Noted.")
    return world.says(*exchange, conversation=f"at {world.now}")


def knows(world, content, **more):
    says(world, f"{content}.", {"content": content, **more})
    assert content in world.memories()


def does(action, content="", existing=1):
    return {"action": action, "content": content, "existing": existing}


def reasons(receipt):
    return [note.reason for note in receipt.refused]


def actions(receipt):
    return [one.action for one in receipt.learnt]


# ── what an update carries over ──────────────────────────────────────────────────────────────────

CARRIED = pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("Works at Acme in Bergen", "I was promoted to head of design last year.",
         "Works at Acme in Bergen as head of design"),
        ("Has two dogs, Rex and Max", "Poor Max has gone deaf in one ear.",
         "Has two dogs, Rex and Max, and Max is deaf in one ear"),
        ("Pays 900 euros of rent", "My rent includes heating and water.",
         "Pays 900 euros of rent including heating and water"),
        ("Has a lease until 2040", "My lease covers the garage.",
         "Has a lease until 2040 that covers the garage"),
        ("在北京的 ByteDance 工作", "我现在是那边的设计总监了。", "在北京的 ByteDance 任设计总监"),
        ("每月付900元房租", "我的房租包含水电。", "每月付900元房租，包含水电"),
    ],
)  # fmt: skip


@CARRIED
@pytest.mark.spec("3.4")
def test_an_update_carries_over_what_its_memory_says(ann, old, said, new):
    knows(ann, old)

    told = says(ann, said, does("update", new))

    assert (ann.memories(), actions(told)) == ([new], [Action.UPDATE])


@CARRIED
@pytest.mark.spec("3.4")
def test_a_merged_list_carries_over_what_its_memories_say(desktop, old, said, new):
    knows(desktop, old)

    told = says(desktop, said, {"content": old}, {"content": new})

    assert desktop.memories() == [old, new]
    assert (actions(told), reasons(told)) == ([Action.ADD], [])


@pytest.mark.parametrize(
    ("said", "new"),
    [
        ("I was promoted to head of design.", "Works at Acme in Bergen as head of Globex design"),
        ("I was promoted to head of design.", "Works at Acme in Bergen as head of 12 designers"),
        ("I was promoted to head of design.", "Head of design Kim works at Acme with Rex"),
        ("Nice weather.", "Works at Acme in Bergen near the harbour"),
    ],
)
def test_what_neither_the_user_nor_that_one_memory_says_is_refused(ann, said, new):
    knows(ann, "Has a dog called Rex")
    knows(ann, "Works at Acme in Bergen")

    told = says(ann, said, does("update", new))

    assert reasons(told) == [Reason.UNSUPPORTED]
    assert ann.memories() == ["Has a dog called Rex", "Works at Acme in Bergen"]


def test_a_new_statement_borrows_nothing_from_what_was_shown(ann):
    knows(ann, "Works at Acme in Bergen")

    told = says(ann, "My brother was promoted.", does("insert", "Brother was promoted at Acme"))

    assert reasons(told) == [Reason.UNSUPPORTED]


def test_a_merged_list_makes_no_new_fact_of_two_memories(desktop):
    knows(desktop, "Has a dog called Rex")
    knows(desktop, "Works at Acme in Bergen")

    told = says(desktop, "I took the dog to work.", {"content": "The dog Rex works at Acme"})

    assert reasons(told) == [Reason.UNSUPPORTED]


@pytest.mark.spec("3.4")
@pytest.mark.parametrize(
    ("old", "said", "new"),
    [("Prefers zsh", "I use pnpm here.", "Uses pnpm"), ("喜欢用深色主题", "我用五笔。", "用五笔")],
)
def test_what_a_merged_list_repeats_is_no_refusal(desktop, old, said, new):
    knows(desktop, old)
    before = desktop.rows()

    told = says(desktop, said, {"content": old}, {"content": new})

    assert (actions(told), reasons(told)) == ([Action.ADD], [])
    assert desktop.rows()[:1] == before


@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("Never deploy on Fridays", "We never deploy on Fridays after noon.",
         "Never deploy on Fridays after noon"),
        ("周五不要部署", "周五下午不要部署。", "周五下午不要部署"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("weighed", [{}, {"kind": "fact", "confidence": 0.6, "importance": 0.5}])
def test_a_rule_stays_a_rule_where_the_reply_says_nothing_of_it(ann, old, said, new, weighed):
    knows(ann, old, kind="constraint", confidence=0.95, importance=1.0)

    says(ann, said, {**does("update", new), **weighed})

    [row] = ann.rows()
    assert (row.content, row.kind) == (new, Kind.CONSTRAINT)
    assert (row.confidence, row.importance) == (0.95, 1.0)


# ── what it may not forget, nor confirm ──────────────────────────────────────────────────────────


@pytest.mark.case("DED-03")
@pytest.mark.spec("3.4")
@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("Has two border collies, Biscuit and Moss", "Moss turned three last week.",
         "Moss turned three"),
        ("养了两只边牧，饼干和苔苔，每天早上六点遛狗", "我的边牧苔苔上周三岁了。",
         "边牧苔苔三岁了"),
    ],
)  # fmt: skip
def test_an_update_of_one_detail_leaves_the_others(ann, old, said, new):
    knows(ann, old)

    told = says(ann, said, does("update", new))

    assert (ann.memories(), actions(told)) == ([old, new], [Action.ADD])


def test_an_update_that_says_less_only_confirms(ann):
    knows(ann, "Has two border collies, Biscuit and Moss")

    told = says(ann, "I have two border collies.", does("update", "Has two border collies"))

    assert ann.memories() == ["Has two border collies, Biscuit and Moss"]
    assert actions(told) == [Action.TOUCH]


DENIED = pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("Likes durian", "I cannot stand durian any more.", "Cannot stand durian any more"),
        ("喜欢吃榴莲", "我再也受不了榴莲了。", "受不了榴莲"),
    ],
)


@DENIED
@pytest.mark.case("DED-11")
@pytest.mark.spec("3.4")
def test_a_touch_does_not_confirm_what_was_just_denied(ann, old, said, new):
    knows(ann, old)
    before = ann.rows()

    told = says(ann, said, does("touch"))
    assert (ann.rows(), reasons(told)) == (before, [Reason.UNSUPPORTED])

    told = says(ann, said, does("touch", new))
    assert (ann.memories(), actions(told)) == ([new], [Action.UPDATE])


@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("Has 2 cats", "I have 3 cats now.", "Has 3 cats"),
        ("Lives in Oslo", "I live in Bergen now.", "Lives in Bergen"),
        ("住在杭州", "我现在住在成都。", "住在成都"),
    ],
)
def test_a_touch_that_says_otherwise_is_an_update(ann, old, said, new):
    knows(ann, old)

    told = says(ann, said, does("touch", new))

    assert (ann.memories(), actions(told)) == ([new], [Action.UPDATE])


@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("Likes durian", "Durian is great.", ""),
        ("Likes durian", "I love durian.", "Loves durian"),
        ("Likes durian", "Yes.", "Likes durian"),
        ("Does not like durian", "I really don't like durian.", ""),
        ("喜欢吃榴莲", "榴莲太好吃了。", ""),
        ("喜欢吃榴莲", "我爱吃榴莲。", "爱吃榴莲"),
    ],
)
def test_a_touch_of_what_was_said_again_confirms_it(ann, old, said, new):
    knows(ann, old)

    told = says(ann, said, does("touch", new))

    assert (ann.memories(), actions(told)) == ([old], [Action.TOUCH])


def test_what_names_a_memory_that_was_not_shown_is_dropped_and_never_new(ann):
    knows(ann, "Likes durian")

    told = says(
        ann, "I like rye bread.", does("update", "Likes rye bread", 7), does("touch", "", 9)
    )

    assert reasons(told) == [Reason.UNKNOWN_REFERENCE] * 2
    assert ann.memories() == ["Likes durian"]
