"""A value that comes back, and one whose time was up: one current memory each, never two."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from perdure.learn.basic import extract_basic
from perdure.policy import ASSISTANT, TEAM
from perdure.testing.fakes import ScriptedChat, WordEmbedder
from perdure.types import (
    Action,
    Message,
    Preferences,
    Reason,
    ReceiptState,
    Role,
    Scope,
    Source,
    Status,
)

ANN = Scope(user="ann")
OSLO = ("Lives in Oslo", "I live in Oslo.")
BERGEN = ("Lives in Bergen", "I live in Bergen.")
HANGZHOU = ("住在杭州", "我住在杭州。")
CHENGDU = ("住在成都", "我住在成都。")
MOVES = pytest.mark.parametrize(("first", "then"), [(OSLO, BERGEN), (HANGZHOU, CHENGDU)])


WAYS = ("two_call, vectors", "two_call, words", "one_call", "team", "rules")
"""Every way to decide what becomes of a memory that a statement makes untrue."""


def decides(world, way):
    world.policy = {
        "one_call": replace(ASSISTANT, decide=ASSISTANT.decide.but(strategy="one_call")),
        "team": replace(
            TEAM,
            defaults=Preferences(auto_learn=True),
            learn=TEAM.learn.but(min_user_chars=0),
        ),
    }.get(way, ASSISTANT)
    if way == "two_call, vectors":
        world.embedder = WordEmbedder(while_open=lambda: world.database.open > 0)
    if way == "rules":
        world.basic = extract_basic
    else:
        world.answers([])
    return world


@pytest.fixture(params=WAYS)
def ann(world, request):
    return decides(world, request.param)


@pytest.fixture(params=WAYS[:2])
def twice_asked(world, request):
    return decides(world, request.param)


@pytest.fixture(params=WAYS[:-1])
def parked(world, request):
    """A world in which things end, and a model says when."""
    decides(world, request.param)
    world.policy = replace(world.policy, item=world.policy.item.but(expires=True))
    return world


def says(world, statement, action="UPDATE", **more):
    """The user says it; a model, if there is one, finds it to change the first memory shown."""
    content, said = statement

    def reply(question):
        if question.purpose == "decide":
            return {"decisions": [{"statement": 1, "action": action, "memory": 1, "content": ""}]}
        shown = '"known"' in question.messages[1]["content"]
        does = {"action": "update", "existing": 1} if shown else {"action": "insert"}
        return {"memories": [{"content": content, "lines": [1], **does, **more}]}

    if world.chat is not None:
        world.chat = ScriptedChat(rule=reply, while_open=lambda: world.database.open > 0)
    exchange = Message(Role.USER, said), Message(Role.ASSISTANT, "Noted.")
    return world.says(*exchange, conversation=f"at {world.now}")


def asked(world):
    return [question.purpose for question in world.chat.asked] if world.chat is not None else []


def crowded_out(world):
    """The one active memory, set aside as it is where there is too little room."""
    [row] = world.rows()
    with world.database.begin() as tx:
        tx.items.put(replace(row, status=Status.ARCHIVED))
    return row


# ── what was set aside or deleted ────────────────────────────────────────────────────────────────


@MOVES
@pytest.mark.spec("3.4")
def test_a_value_that_comes_back_is_one_current_memory(ann, first, then):
    says(ann, first)
    old = crowded_out(ann)
    says(ann, then)
    assert ann.memories() == [then[0]]

    told = says(ann, first)

    assert [(row.id, row.content) for row in ann.rows()] == [(old.id, first[0])]
    assert ann.memories(Status.ARCHIVED) == [then[0]]
    assert [one.action for one in told.learnt] == [Action.ADD, Action.DELETE]
    assert ann.history(old.id)[-1][0] == "restore"


@MOVES
@pytest.mark.parametrize("action", ["UPDATE", "DELETE", "NONE"])
def test_it_is_one_whatever_the_second_call_calls_it(twice_asked, first, then, action):
    world = twice_asked
    mine = world.items.add(ANN, first[0])
    says(world, then)
    assert world.memories() == [then[0]]

    says(world, first, action)

    assert asked(world) == ["extract", "decide"]
    [row] = world.rows()
    assert (row.id, row.content, row.source) == (mine.id, first[0], Source.MANUAL)
    assert world.memories(Status.ARCHIVED) == [then[0]]


@MOVES
def test_what_comes_back_alone_asks_nobody(ann, first, then):
    says(ann, first)
    crowded_out(ann)

    says(ann, first)

    assert ann.memories() == [first[0]]
    assert asked(ann) == ["extract"] * (ann.chat is not None)


@MOVES
def test_what_was_deleted_and_is_said_again_later_is_one_memory_too(ann, first, then):
    says(ann, first)
    [old] = ann.rows()
    ann.items.delete(ANN, old.id)
    says(ann, then)

    says(ann, first)

    assert ann.memories() == [first[0]]


@MOVES
def test_what_comes_back_needs_no_room_and_what_was_refused_stays_away(ann, first, then):
    ann.policy = replace(
        ann.policy, capacity=ann.policy.capacity.but(active_limit=1, evict_per_round=0)
    )
    says(ann, first)
    old = crowded_out(ann)
    says(ann, then)

    told = says(ann, first)
    assert (ann.memories(), told.refused) == ([first[0]], ())

    ann.items.dismiss(ANN, old.id)
    [late] = ann.rows(Status.ARCHIVED)
    ann.items.restore(ANN, late.id)
    told = says(ann, first)
    assert ann.memories() == [then[0]]
    assert [note.reason for note in told.refused] == [Reason.DISMISSED]


# ── what was over ────────────────────────────────────────────────────────────────────────────────

LEVEL_3 = ("Is parked on level -3", "I am parked on level -3.")
LEVEL_1 = ("Is parked on level -1", "I am parked on level -1.")
FLOOR_3 = ("车停在负三层", "我的车停在负三层。")
FLOOR_1 = ("车停在负一层", "我的车停在负一层。")


@pytest.mark.case("TIME-05")
@pytest.mark.spec("2")
@pytest.mark.parametrize(("first", "then"), [(LEVEL_3, LEVEL_1), (FLOOR_3, FLOOR_1)])
def test_what_is_over_is_compared_with_nothing(parked, first, then):
    says(parked, first, expires_at="2026-12-01")
    [old] = parked.rows()
    parked.now += timedelta(days=5)

    told = says(parked, then, expires_at="2026-12-06")

    assert asked(parked) == ["extract"]
    assert [one.action for one in told.learnt] == [Action.ADD]
    assert parked.rows()[0] == old
    assert [row.content for row in parked.rows() if row.current(parked.now)] == [then[0]]


@pytest.mark.case("TIME-05")
@pytest.mark.parametrize(("first", "then"), [(LEVEL_3, LEVEL_1), (FLOOR_3, FLOOR_1)])
def test_what_was_over_and_holds_again_takes_the_place_of_what_held_since(parked, first, then):
    says(parked, first, expires_at="2026-12-01")
    parked.now += timedelta(days=5)
    says(parked, then)

    told = says(parked, first, expires_at="2026-12-08")

    assert told.state is ReceiptState.LEARNT
    [row] = parked.rows()
    assert (row.content, row.current(parked.now)) == (first[0], True)
    assert row.expires_at.day == 9
    assert parked.memories(Status.ARCHIVED) == [then[0]]


@pytest.mark.parametrize(
    ("again", "ends"),
    [("2027-03-01", "2027-03-02"), ("2026-12-05", "2026-12-16"), (None, "2026-12-16")],
)
@pytest.mark.parametrize("statement", [
    ("Is on parental leave", "I am on parental leave."),
    ("正在休育儿假", "我正在休育儿假。"),
])  # fmt: skip
def test_what_is_said_again_ends_at_the_later_of_its_ends(parked, statement, again, ends):
    says(parked, statement, expires_at="2026-12-15")

    says(parked, statement, expires_at=again)

    [row] = parked.rows()
    assert row.expires_at.date().isoformat() == ends


def test_what_has_no_end_gets_none_and_what_a_person_wrote_ends_as_it_was_written(parked):
    statement = ("Is on parental leave", "I am on parental leave.")
    says(parked, statement)
    says(parked, statement, expires_at="2026-12-15")
    [row] = parked.rows()
    assert row.expires_at is None

    ends = parked.now + timedelta(days=9)
    with parked.database.begin() as tx:
        tx.items.put(replace(row, source=Source.MANUAL, expires_at=ends))
    says(parked, statement, expires_at="2027-03-01")
    assert parked.rows()[0].expires_at == ends
