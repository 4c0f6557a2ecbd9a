"""The fakes satisfy the ports, and they fail a test that holds a transaction open."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from perdure.errors import ModelBusy
from perdure.ports import ChatModel, Embedder, Question, Reply
from perdure.testing.fakes import AskedWhileOpen, ScriptedChat, ScriptOver, WordEmbedder

QUESTION = Question(purpose="extract", version="1", messages=({"role": "user", "content": "你好"},))


def test_a_scripted_chat_answers_in_order_then_by_rule_and_keeps_the_questions():
    chat = ScriptedChat(
        "plain",
        {"items": ["喜欢茶"]},
        Reply(text="cut", model="m", cut_off=True),
        ModelBusy(retry_after=2.0),
        rule=lambda question: question.purpose,
    )
    model: ChatModel = chat
    assert model.ask(QUESTION).text == "plain"
    assert model.ask(QUESTION, "other").model == "other"
    assert model.ask(QUESTION).cut_off
    with pytest.raises(ModelBusy):
        model.ask(QUESTION)
    assert model.ask(QUESTION).text == "extract"
    assert chat.asked == [QUESTION] * 5


def test_a_chat_that_is_asked_more_often_than_scripted_fails_the_test_past_any_job_boundary():
    with pytest.raises(ScriptOver):
        ScriptedChat().ask(QUESTION)
    assert not issubclass(ScriptOver, Exception)


def test_asking_while_a_transaction_is_open_fails_past_any_job_boundary():
    here = threading.local()
    here.open = True
    while_open = lambda: getattr(here, "open", False)  # noqa: E731 - the hook as tests write it
    chat, embedder = (
        ScriptedChat("a", while_open=while_open),
        WordEmbedder(while_open=while_open),
    )
    with pytest.raises(AskedWhileOpen, match="extract"):
        chat.ask(QUESTION)
    with pytest.raises(AskedWhileOpen):
        embedder.embed(["a"], "add")
    here.open = False
    assert chat.ask(QUESTION).text == "a"
    assert not issubclass(AskedWhileOpen, Exception)


def test_the_word_embedder_is_an_embedder_that_likes_common_words():
    embedder: Embedder = WordEmbedder()
    rows = embedder.embed(
        ["likes green tea", "green tea is liked", "在杭州工作", "", "杭州"], "add"
    )
    assert rows.shape == (5, embedder.dimension)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0)
    alike, unlike, chinese = rows[0] @ rows[1], rows[0] @ rows[2], rows[2] @ rows[4]
    assert min(alike, chinese) > embedder.similarity.unrelated > unlike
    assert embedder.similarity.relevance(alike) > embedder.similarity.relevance(unlike) == 0.0
