"""What goes wrong is told on a page in the page's language, whole."""

from __future__ import annotations

import sqlite3
from urllib.parse import urlsplit

import pytest

from perdure import Message, Scope
from perdure.policy import ASSISTANT
from perdure.settings import Secret
from perdure.testing.model_server import ModelServer

ZH = {"Accept-Language": "zh-CN"}
EN = {"Accept-Language": "en"}


SEEN = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
SIGNS = Secret("a secret of forty characters, or a few more")


def is_page(reply, status, language="en"):
    """A whole page in the look of the others, with a way back, behind the walls of every page."""
    title, back = {"en": ("This did not work", "Back to my memory"),
                   "zh": ("没有成功", "返回我的记忆")}[language]  # fmt: skip
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"].startswith("text/html"), reply.text
    assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
    assert f"<h1>{title}</h1>" in reply.text
    assert f'<a href="/pages/memory">{back}</a>' in reply.text
    return True


@pytest.mark.spec("7")
@pytest.mark.parametrize(
    "path", ["nothing", "memory/a/b/c", "static/nothing.css", "static/../x", "in", "%00"]
)
def test_a_wrong_address_is_a_page_with_a_way_back(pages, path):
    wrong = pages.get(f"/pages/{path}", headers=SEEN | EN)
    assert is_page(wrong, 404)
    assert "There is no such thing here." in wrong.text
    chinese = pages.get(f"/pages/{path}?lang=zh", headers=SEEN | EN)
    assert is_page(chinese, 404, "zh")
    assert "这里没有这一项。" in chinese.text
    assert is_page(pages.get(f"/pages/{path}", headers=SEEN | EN), 404, "zh"), "it was chosen"


@pytest.mark.spec("7")
def test_a_program_is_told_of_a_wrong_address_as_programs_are(pages):
    for path in ("/pages/nothing", "/pages/static/nothing.css"):
        told = pages.get(path)
        assert (told.status_code, told.json()["code"]) == (404, "not_found")
    told = pages.get("/api/v1/nothing", headers=SEEN)
    assert (told.status_code, told.json()["code"]) == (404, "not_found")


@pytest.mark.spec("7")
def test_whoever_knows_no_page_by_name_begins_with_their_memories(pages):
    for path in ("/pages", "/pages/"):
        reply = pages.get(path, headers=SEEN, follow_redirects=True)
        assert (reply.status_code, reply.url.path) == (200, "/pages/memory")


@pytest.mark.spec("7")
@pytest.mark.parametrize("language", ["en", "zh"])
def test_whatever_goes_wrong_on_a_page_is_a_page(opened, tmp_path, language):
    seen = SEEN | {"en": EN, "zh": ZH}[language]
    pages = opened()
    ours = seen | {"Origin": "http://127.0.0.1"}
    method = pages.get("/pages/several", headers=seen)
    assert is_page(method, 405, language)
    assert method.headers["allow"] == "POST"
    assert is_page(pages.get("/pages/memory?q=%ff", headers=seen), 422, language)
    large = b"content=" + b"x" * 2_500_000
    assert is_page(pages.post("/pages/memory", content=large, headers=ours), 413, language)
    assert is_page(pages.post("/pages/memory", headers=seen), 403, language)

    slow = opened(rate_limit=1, api_keys=(Secret("default=open sesame"),), key="open sesame")
    slow.get("/pages/memory", headers=seen)
    often = slow.get("/pages/memory", headers=seen)
    assert is_page(often, 429, language)
    assert int(often.headers["retry-after"]) > 0
    slow.cookies.clear()
    assert is_page(slow.get("/pages/memory", headers=seen), 401, language)

    with sqlite3.connect(tmp_path / "perdure.db") as database:
        database.execute("ALTER TABLE perdure_memories RENAME TO elsewhere")
    away = pages.get("/pages/memory", headers=seen)
    assert is_page(away, 503, language)
    assert away.headers["retry-after"] == "1"
    pages.app.state.memory = None
    broken = pages.get("/pages/memory", headers=seen)
    assert is_page(broken, 500, language)
    assert {"en": "Something in Perdure", "zh": "Perdure 出错了。"}[language] in broken.text


@pytest.mark.spec("7")
def test_what_the_script_sent_is_answered_beside_it_also_before_it_comes_to_a_page(pages):
    large = {"content": "x" * 2_500_000}
    refused = pages.send_form("memory", large, source="add", **EN)
    assert (refused.status_code, refused.headers["hx-retarget"]) == (413, "#add .wrong")
    assert refused.text.strip().startswith("The request is larger than the limit.")


@pytest.mark.spec("7")
def test_a_wrong_address_in_a_frame_leads_back_into_the_frame(opened):
    pages = opened(
        home="https://127.0.0.1", embed_origins=("https://app.example",), embed_secret=SIGNS
    )
    path = urlsplit(pages.post("/api/v1/users/ann/page-link").json()["path"])
    pages.get(f"{path.path}?{path.query}")
    for wrong in (f"{path.path}/nothing", f"{path.path}/why", f"{path.path}/memory/nothing"):
        reply = pages.get(wrong, headers=SEEN | ZH)
        assert reply.status_code == 404
        assert f'<a href="{path.path}/memory">返回我的记忆</a>' in reply.text
        assert 'class="framed"' in reply.text
        policy = reply.headers["content-security-policy"]
        assert policy.endswith("frame-ancestors https://app.example")
    foreign = pages.post(f"{path.path}/memory", headers=SEEN | EN)
    assert (foreign.status_code, "<form" in foreign.text) == (403, False)


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
