from __future__ import annotations

import pytest

from perdure.recall.intent import intent


@pytest.mark.spec("4.2")
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Plan my week around the deadline on Friday", "task"),
        ("please translate this letter", "task"),
        ("帮我安排周四的日程", "task"),
        ("点一份外卖", "task"),
        ("hi, how are you?", "chat"),
        ("I'm so tired today", "chat"),
        ("I’m happy", "chat"),
        ("晚上好，最近怎么样", "chat"),
        ("谢谢！", "chat"),
        ("Hello! Can you book a table for two?", "mixed"),
        ("你好，帮我写一封信", "mixed"),
        ("Where should we meet?", "mixed"),
        ("planet", "mixed"),
        ("", "mixed"),
    ],
)
def test_a_message_is_a_task_small_talk_or_some_of_both(message, expected):
    """C 8.1.1."""
    assert intent(message) == expected
