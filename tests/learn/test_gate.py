"""Which turns are learnt from, and what counts as an explicit request."""

from __future__ import annotations

import pytest

from perdure.learn.gate import refusal
from perdure.policy import ASSISTANT, DESKTOP, TEAM
from perdure.ports import ConversationState
from perdure.types import (
    ConversationKind,
    Message,
    Mode,
    Outcome,
    Preferences,
    Reason,
    Role,
    Switches,
    Turn,
)

ON = Preferences()


def turn(*said, **how):
    messages = [m if isinstance(m, Message) else Message(Role.USER, m) for m in said]
    return Turn(conversation="chat-1", messages=tuple(messages), **how)


def verdict(said, *, preferences=ON, switches=None, state=None, policy=ASSISTANT):
    return refusal(said, preferences, switches or Switches(), state, policy.learn)


@pytest.mark.spec("3.1")
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (turn("hi", mode=Mode.OFF), Reason.MODE_OFF),
        (turn("hi", mode=Mode.READ), Reason.MODE_OFF),
        (turn("I ski", mode=Mode.WRITE), None),
        (turn("hi", outcome=Outcome.FAILED), Reason.NOT_COMPLETED),
        (turn("hi", outcome=Outcome.CANCELLED), Reason.NOT_COMPLETED),
        (turn("hi", kind=ConversationKind.SUBAGENT), Reason.CONVERSATION_KIND),
        (turn("hi", kind=ConversationKind.SIDE_TASK), Reason.CONVERSATION_KIND),
        (turn(" \n\t"), Reason.NOTHING_SAID),
        (turn(Message(Role.ASSISTANT, "hi")), Reason.NO_USER_MESSAGE),
        (turn(Message(Role.SYSTEM, "Be nice.")), Reason.NOTHING_SAID),
        (turn("I ski"), None),
        (turn("hi"), Reason.NOT_A_STATEMENT),
    ],
)
@pytest.mark.point("A8.2", "A8.3")
def test_a_turn_is_refused_for_the_first_reason_there_is(said, reason):
    """A 8: failed and cancelled tasks, subagents and side tasks are not learnt from."""
    assert verdict(said) is reason


@pytest.mark.spec("3.1", "8")
def test_switches_come_before_everything_else():
    failed = turn("hi", mode=Mode.OFF, outcome=Outcome.FAILED)
    off = Preferences(memory_enabled=False)

    assert verdict(failed, switches=Switches(learn=False)) is Reason.DISABLED
    assert verdict(failed, switches=Switches(enabled=False)) is Reason.DISABLED
    assert verdict(failed, preferences=off) is Reason.DISABLED
    assert verdict(failed, preferences=Preferences(auto_learn=False)) is Reason.AUTO_LEARN_OFF
    assert verdict(failed) is Reason.MODE_OFF


@pytest.mark.spec("8")
def test_with_automatic_learning_off_an_explicit_request_counts_where_the_policy_lets_it():
    off = Preferences(auto_learn=False)
    asks = turn("Please remember that I am allergic to nuts and to peanuts.")

    assert verdict(asks, preferences=off) is None
    assert verdict(asks, preferences=off, policy=TEAM) is Reason.AUTO_LEARN_OFF
    assert verdict(asks, preferences=off, policy=DESKTOP) is Reason.AUTO_LEARN_OFF


@pytest.mark.spec("3.1")
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("x" * 20, None),
        ("x" * 19, Reason.TOO_SHORT),
        ("  " + "x" * 9 + "     " + "x" * 9 + "  ", Reason.TOO_SHORT),
        ("我喜欢用中文写所有的技术文档和测试报告", Reason.TOO_SHORT),
        ("我喜欢用中文写所有的技术文档和测试报告吗", None),
        ("👩‍👩‍👧‍👦" * 19, Reason.TOO_SHORT),
    ],
)
def test_the_team_preset_wants_twenty_characters_and_a_reply(said, reason):
    """A 8, D11: counted after white space is folded, as a person counts characters."""
    reply = Message(Role.ASSISTANT, "Done.")
    earlier = "This was said before it, and does not count at all."

    assert verdict(turn(earlier, reply, said, reply), policy=TEAM) is reason
    assert verdict(turn(earlier + said), policy=TEAM) is Reason.NO_REPLY


@pytest.mark.spec("3.1")
def test_the_desktop_waits_until_enough_is_new():
    """B 8: below 4,000 new characters nothing is extracted."""
    waiting = ConversationState(conversation="chat-1", waiting_chars=3_990)

    assert verdict(turn("x" * 3_999), policy=DESKTOP) is Reason.NOT_ENOUGH_NEW
    assert verdict(turn("x" * 4_000), policy=DESKTOP) is None
    assert verdict(turn("x" * 9), state=waiting, policy=DESKTOP) is Reason.NOT_ENOUGH_NEW
    assert verdict(turn("x" * 10), state=waiting, policy=DESKTOP) is None
