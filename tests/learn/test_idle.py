"""Turns that hold nothing cost nothing; whatever says something of its user is looked at."""

from __future__ import annotations

import pytest

from perdure.learn.idle import idle
from perdure.policy import ASSISTANT, DESKTOP, TEAM
from perdure.types import Message, Reason, ReceiptState, Role

IDLE = [
    "thanks", "Thank you so much!", "ok", "👍", "👍🏽 😂", "go on", "Go on, please.", "hi there",
    "Great, thanks!", "Good morning!", "lol", "...", "What do you think?",
    "What's the capital of Peru?", "Thanks! And how tall is the Eiffel tower?",
    "Interesting. Tell me more.",
    "Can you explain quicksort?", "Why does it always rain in Bergen?", "Could you translate this?",
    "What would you always recommend?", "Can you stop a running process with kill?",
    "Can you tell why cats always land on their feet?", "Can you avoid deadlocks in SQL?",
    "你能解释一下吗？", "为什么卑尔根一直下雨？", "北京以后会下雨吗？", "人为什么不能一直不睡觉？",
    "Python 默认用什么编码？", "每次部署都要重启服务器吗？", "可以不用密码登录吗？",
    "谢谢", "谢谢你！", "好棒", "继续", "哈哈哈", "早上好", "收到，辛苦了", "明白了，谢谢",
    "秘鲁的首都是哪里？", "厉害！埃菲尔铁塔有多高？",
]  # fmt: skip
SAYS_SOMETHING = [
    "yes", "Yes, that's right.", "对的", "嗯", "好的", "是的",  # they may confirm what was asked
    "no", "42", "Okra is great", "Thanks to Bo, the house is sold.", "Bergen.", "tea, please",
    "Thank you, I moved to Bergen.", "How do I get from my flat in Oslo to work?",
    "Could you remember that Bo is vegan?", "Always answer in French", "Answer briefly",
    "Next year in Rome", "我是素食者，晚饭吃什么好？", "谢谢，我搬到成都了", "以后用英文回答",
    "Can you always answer in French from now on?", "Could you stop using emojis?",
    "Would you use metric units from here on?", "Would you mind not using emojis?",
    "Could you not use emojis anymore?", "Can we use metric units from now on?",
    "能不能以后都用中文回答?", "以后可以别用表情符号吗？", "你能不能每次都用公制单位？",
    "能别再用表情符号了吗？", "你可以一直用简体中文吗？",
    "继续学西班牙语", "成都", "记住周二开会，好吗？", "早上六点起床", "了解一下素食",
]  # fmt: skip


@pytest.mark.spec("3.1")
@pytest.mark.parametrize("said", IDLE)
def test_what_says_nothing_of_its_user_is_idle(said):
    assert idle(said)


@pytest.mark.spec("3.1")
@pytest.mark.parametrize("said", SAYS_SOMETHING)
def test_what_could_say_something_is_not(said):
    assert not idle(said)


@pytest.mark.spec("3.1")
def test_an_idle_turn_is_kept_and_costs_no_call(world):
    chat = world.answers()

    told = world.says(Message(Role.USER, "Thanks!"), Message(Role.ASSISTANT, "You are welcome."))

    assert (told.state, told.reason) == (ReceiptState.SKIPPED, Reason.NOT_A_STATEMENT)
    assert chat.asked == []
    with world.database.read() as tx:
        assert [one.content for one in tx.messages.since(told.scope, "chat-1", 0)] == [
            "Thanks!", "You are welcome.",
        ]  # fmt: skip


def test_the_presets_of_the_other_notes_leave_that_to_the_model():
    assert [p.learn.skips_idle for p in (ASSISTANT, TEAM, DESKTOP)] == [True, False, False]
