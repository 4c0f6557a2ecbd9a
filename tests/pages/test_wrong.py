"""What goes wrong is told on a page in the page's language, whole."""

from __future__ import annotations

import pytest

from perdure import Message, Scope
from perdure.policy import ASSISTANT
from perdure.settings import Secret
from perdure.testing.model_server import ModelServer

ZH = {"Accept-Language": "zh-CN"}
EN = {"Accept-Language": "en"}


@pytest.mark.spec("7")
def test_a_form_that_cannot_be_meant_is_answered_in_the_language_of_the_page(pages):
    sent = {"typed": "x"}
    assert "请求无法按现状完成。请准确输入“全部清空”。" in pages.send_form("clear", sent, **ZH).text
    assert "as it stands. Type “clear all”, exactly." in pages.send_form("clear", sent, **EN).text


@pytest.mark.spec("7")
def test_a_memory_that_would_be_too_long_is_told_with_its_length(pages):
    item = pages.remember("Likes tea")
    sent = {"content": "tea" * 200, "kind": "fact", "shown": item.updated_at.isoformat()}
    told = pages.send_form(f"memory/{item.id}/edit", sent, **ZH)
    assert told.status_code == 422
    assert "内容超过了一条记忆的长度上限。共 600 个字符；最多 500 个。" in told.text
    assert pages.memory.items.get(Scope(user="me"), item.id).content == "Likes tea"


@pytest.mark.spec("7")
def test_what_failed_in_a_job_is_read_in_the_language_of_the_page(opened):
    with ModelServer(api_key="right") as server:
        pages = opened(
            llm_base_url=server.base_url, llm_model="scripted", llm_api_key=Secret("wrong"),
            policy=ASSISTANT.turned({"jobs": {"max_retry": 0}}, "here"),
        )  # fmt: skip
        pages.memory.capture(Scope(user="me"), "chat", [Message("user", "I moved to Bergen.")])
        while pages.memory.parts.worker.run_once():
            pass
    _, secret = pages.memory.parts.keys.create("default", "ops", "admin", by="test")
    pages.cookies.set("perdure_key", secret)

    chinese = pages.get("/pages/operations", headers=ZH).text
    assert "PERDURE_LLM_API_KEY: 配置无法使用。" in chinese
    assert "拒绝了密钥（HTTP 401）。" in chinese
    assert "The settings cannot work as they are." not in chinese
    english = pages.get("/pages/operations", headers=EN).text
    assert "refuses the key (HTTP 401)." in english
