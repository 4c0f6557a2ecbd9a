from __future__ import annotations

import pytest

from perdure.errors import Rejected
from perdure.prompts.words import BLOCK_CLOSE, BLOCK_OPEN
from perdure.recall.question import asked
from perdure.types import Message, Role


def test_a_conversation_is_asked_with_as_a_whole_and_leans_to_what_the_user_said_last():
    question = asked(
        [
            Message(Role.SYSTEM, "Be kind."),
            Message(Role.USER, "We go to Bergen.", name="Ann"),
            Message(Role.ASSISTANT, "Nice!"),
            Message(Role.USER, "What should I pack?"),
            Message(Role.TOOL, "{}"),
        ],
        4_000,
    )

    assert question.whole == "Ann: We go to Bergen.\nNice!\nWhat should I pack?"
    assert question.message == "What should I pack?"
    assert question.texts == [question.whole, "What should I pack?"]
    assert asked([Message(Role.USER, "Hi")], 100).texts == ["Hi"]


def test_memories_that_stand_in_a_question_are_not_searched_with():
    block = f"{BLOCK_OPEN}\n- Prefers tea\n{BLOCK_CLOSE}"

    assert asked(f"{block}\nWhat now?", 100).whole == "What now?"
    assert asked([Message(Role.USER, f"What now?\n\n{block}")], 100).whole == "What now?"


def test_of_a_long_question_the_end_is_taken_and_no_character_is_cut():
    family = "👨‍👩‍👧"

    assert asked("a" * 10_000_000 + " the end", 7).whole == "the end"
    assert asked("x" * 500 + family * 3, 12).whole == family * 2
    assert asked("anything", 0).whole == ""


@pytest.mark.parametrize(
    ("question", "field"),
    [
        (None, "question"),
        (7, "question"),
        (b"bytes", "question"),
        ([], "question"),
        ([Message(Role.USER, "ok"), {"role": "user"}], "question[1]"),
    ],
)
def test_what_is_no_question_is_refused_by_name(question, field):
    with pytest.raises(Rejected) as refused:
        asked(question, 100)

    assert refused.value.field == field


def test_a_blank_question_and_half_a_character_have_a_sane_meaning():
    assert asked("  \n", 100).whole == ""
    assert asked("caf\udce9\x00", 100).whole == "caf\ufffd"
