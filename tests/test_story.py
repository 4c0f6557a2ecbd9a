"""The main job in five stories. Start here."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from perdure import Memory, Message, Scope
from perdure.testing.model_server import ModelServer, failing

if TYPE_CHECKING:
    from collections.abc import Iterator

ann = Scope(user="ann")
bo = Scope(user="bo")
lin = Scope(user="小林")


@pytest.fixture
def memory(tmp_path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "perdure.db") as opened:
        yield opened


def contents(memory: Memory, who: Scope) -> list[str]:
    return [item.content for item in memory.items.list(who)]


@pytest.mark.spec("3", "4", "12.python")
def test_what_was_said_in_one_conversation_helps_in_the_next(memory):
    """C day 3: a preference is remembered, works in the next turn, is deleted and is gone."""
    said = Message("user", "I moved to Bergen. Answer me in Norwegian from now on.")
    receipt = memory.wait(memory.capture(ann, "chat-1", [said, Message("assistant", "Noted!")]))
    assert len(receipt.learnt) == 2

    answer = memory.recall(ann, "Where should we meet for coffee?")
    assert "Norwegian" in answer.text
    assert memory.recall(bo, "Where should we meet for coffee?").text == ""

    for item in memory.items.list(ann):
        memory.items.delete(ann, item.id)
    assert memory.recall(ann, "Where should we meet for coffee?").text == ""


@pytest.mark.spec("3", "4.8")
def test_chinese_is_no_second_class(memory):
    memory.wait(memory.capture(lin, "对话一", [Message("user", "我住在杭州。我不吃香菜。")]))

    answer = memory.recall(lin, "帮我点一份外卖")

    assert "不吃香菜" in answer.text
    assert "<memory" in answer.text
    assert memory.search(lin, "杭州")[0].content.endswith("杭州")


@pytest.mark.spec("3.3", "3.4")
def test_some_things_are_refused_and_the_reason_is_told(memory):
    secret = Message("user", "Remember that my password is hunter2-Zq81!", id="m1")
    receipt = memory.wait(memory.capture(ann, "chat-1", [secret]))
    assert [note.reason for note in receipt.refused] == ["SECRET"]

    unsure = Message("user", "If I lived in Rome I would eat ice cream every day. Do you like it?")
    receipt = memory.wait(memory.capture(ann, "chat-1", [unsure]))
    assert "HYPOTHETICAL" in [note.reason for note in receipt.refused]
    assert contents(memory, ann) == []


@pytest.mark.spec("3.4", "6")
def test_what_a_person_refused_never_comes_back_by_itself(memory):
    said = [Message("user", "I prefer short answers.")]
    memory.wait(memory.capture(ann, "chat-1", said))
    (item,) = memory.items.list(ann)

    memory.items.dismiss(ann, item.id)
    receipt = memory.wait(memory.capture(ann, "chat-2", said))

    assert [note.reason for note in receipt.refused] == ["DISMISSED"]
    assert memory.recall(ann, "Tell me about fjords").text == ""
    assert [entry.operation for entry in memory.items.history(ann, item.id)] == [
        "create",
        "dismiss",
    ]


@pytest.mark.spec("3.2", "4.10", "5")
def test_a_broken_model_delays_learning_and_never_the_conversation(tmp_path, monkeypatch):
    learnt = {"memories": [{"content": "Lives in Bergen", "kind": "fact", "action": "insert"}]}
    with ModelServer([failing(500), failing(500), learnt]) as server:
        monkeypatch.setenv("PERDURE_LLM_BASE_URL", server.base_url)
        monkeypatch.setenv("PERDURE_LLM_MODEL", "scripted")
        monkeypatch.setenv("PERDURE_POLICY__JOBS__BACKOFF_S", "0.1")
        monkeypatch.setenv("PERDURE_POLICY__LEARN__TIMEOUT_S", "2")
        with Memory.open(tmp_path / "perdure.db") as memory:
            said = Message("user", "I live in Bergen.", at=datetime(2026, 11, 30, tzinfo=UTC))
            receipt = memory.capture(ann, "chat-1", [said])
            assert memory.recall(ann, "Where do I live?").text == ""  # nothing yet, no error

            assert memory.wait(receipt).state == "learnt"
            assert contents(memory, ann) == ["Lives in Bergen"]
