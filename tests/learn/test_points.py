"""Test points of the design notes that no other file of this room has by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perdure.errors import ModelUnavailable
from perdure.learn.reply import extract_json
from perdure.policy import TEAM
from perdure.testing.samples import memory as row_of
from perdure.types import (
    JobType,
    Message,
    Outcome,
    Preferences,
    Reason,
    ReceiptState,
    Role,
    Scope,
    Source,
    Status,
)

ANN = Scope(user="ann")
TEAM_ON = replace(TEAM, defaults=Preferences(auto_learn=True))


def exchange(said, name=None):
    return Message(Role.USER, said, id=name), Message(Role.ASSISTANT, "Understood, noted.")


def fact(content, **more):
    return {"content": content, "lines": [1], "action": "insert", **more}


@pytest.fixture
def team(world):
    world.policy = TEAM_ON
    return world


@pytest.mark.spec("3.1")
@pytest.mark.point("A8.1")
def test_a_completed_task_is_learnt_from_exactly_once_and_others_never(team):
    """A 8, P2: COMPLETED of a main conversation triggers, and only once; FAILED does not."""
    chat = team.answers([fact("Deploys on Tuesdays")])
    said = exchange("We always deploy on Tuesdays, by hand.", name="m1")

    first = team.says(*said)
    again = team.says(*said)
    failed = team.says(*exchange("We always deploy on Fridays, by hand."), outcome=Outcome.FAILED)

    assert (first.trace, len(chat.asked)) == (again.trace, 1)
    assert failed.reason is Reason.NOT_COMPLETED


@pytest.mark.spec("3", "3.2")
@pytest.mark.point("A8.4")
def test_a_failure_of_learning_never_reaches_the_finished_turn(team):
    """A 8, P2: an exception in extraction leaves the task's own course alone."""
    team.answers(ModelUnavailable())

    taken = team.capture(*exchange("We always deploy on Tuesdays, by hand."))

    assert taken.state is ReceiptState.QUEUED
    with pytest.raises(ModelUnavailable):
        team.learn()  # only the worker sees it


@pytest.mark.spec("3.3")
@pytest.mark.parametrize(("chosen", "used"), [(None, "scripted"), ("small-one", "small-one")])
@pytest.mark.point("A8.16")
def test_an_empty_extraction_model_means_the_usual_one(team, chosen, used):
    """A 8, P2 and D10: left empty it falls back to the default model."""
    team.extraction_model = chosen
    team.answers([fact("Deploys on Tuesdays")])

    told = team.says(*exchange("We always deploy on Tuesdays, by hand."))

    assert told.model == used


@pytest.mark.spec("3.5")
@pytest.mark.point("A8.15")
def test_two_turns_of_one_user_are_learnt_from_one_after_the_other(team):
    """A 8, P2: extractions of the same conversation run in turn, never side by side."""
    team.answers([fact("Deploys on Tuesdays")], [fact("Deploys by hand")])
    team.capture(*exchange("We always deploy on Tuesdays, by hand."))
    team.capture(*exchange("And we always deploy by hand, with care."))

    running = team._claim(JobType.EXTRACT)

    assert running is not None
    assert team._claim(JobType.EXTRACT) is None


@pytest.mark.spec("3.6")
@pytest.mark.point("A8.13")
def test_at_two_hundred_memories_the_oldest_learnt_one_makes_room_or_nothing_does(team):
    """A 8, P2 and A 10.6, D14: the limit of the preset, with machine rows and without."""
    with team.database.begin() as tx:
        for number in range(TEAM.capacity.active_limit):
            tx.items.add(row_of(ANN, f"Owns book number {number}"))
    said = exchange("We always deploy on Tuesdays, by hand.")
    team.answers([fact("Deploys on Tuesdays")])
    assert [note.reason for note in team.says(*said).refused] == [Reason.CAPACITY]

    [row, *_] = team.rows()
    with team.database.begin() as tx:
        tx.items.put(replace(row, source=Source.AUTO))
    team.answers([fact("Deploys on Tuesdays")])
    team.says(*said, conversation="later")

    assert "Deploys on Tuesdays" in team.memories()
    assert team.memories(Status.ARCHIVED) == [row.content]


@pytest.mark.spec("3.3")
@pytest.mark.parametrize(
    "reply",
    ['{"facts": ["Likes tea"]}', '```json\n{"facts": ["Likes tea"]}\n```',
     'Here you are: {"facts": ["Likes tea"]} Done.', "{'facts': ['Likes tea'],}"],
)  # fmt: skip
@pytest.mark.point("C12.1.6")
def test_the_parser_finds_the_json_of_a_reply(reply):
    """C 12.1: parsing of candidate replies, `extract_json`."""
    assert extract_json(reply) == {"facts": ["Likes tea"]}


@pytest.mark.spec("3.2", "3.4")
@pytest.mark.point("C12.1.5")
def test_the_same_statement_from_another_message_is_one_memory(world):
    """C 12.1: idempotency; the same key again moves the time and adds nothing."""
    world.answers({"facts": ["Likes tea"]}, {"facts": ["likes  tea"]})
    world.says(Message(Role.USER, "I like tea.", id="m1"))
    [before] = world.rows()

    world.says(Message(Role.USER, "As I said, I like tea.", id="m2"))

    [after] = world.rows()
    assert after.updated_at > before.updated_at
    assert after.origin.messages == ("m1", "m2")
