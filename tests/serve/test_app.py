"""The boundary: errors in two languages, limits, documents, and nothing said in the log."""

from __future__ import annotations

import httpx
import pytest
import structlog

from perdure import errors
from perdure.serve.app import PREFIX, STATUS, status_of
from perdure.serve.guard import MAX_BODY
from perdure.types import Reason
from perdure.types.words import in_words

ANN = {"user_id": "ann"}
JSON = {"Content-Type": "application/json"}


@pytest.mark.spec("6")
def test_an_error_is_told_in_the_readers_language(api):
    def told(wish):
        reply = api.get("/memory/items/x", params=ANN, headers={"Accept-Language": wish})
        assert reply.headers["content-type"] == "application/problem+json"
        return reply.json()

    assert told("en-GB,zh;q=0.5")["title"] == "There is no such thing here."
    for wish in ("zh", "zh-CN,zh;q=0.9,en;q=0.8", "fr, zh-TW;q=0.4", "en;q=0.1,zh"):
        assert told(wish)["title"] == "这里没有这一项。"
    for wish in ("en; q=0.5, zh; q=0.9", "EN;Q=0.5 , ZH-Hans-CN ; q = 0.9", "en;level=1;q=0,zh"):
        assert told(wish)["title"] == "这里没有这一项。"
    for wish in ("zh;q=0", "zh; q=0.000, en;q=0.1", "zh;q=nan", "zh; q=0.1, en", ""):
        assert told(wish)["title"] == "There is no such thing here."
    assert told("fr;q=x,,")["code"] == "not_found"
    wrong = api.post("/memory/items", json=ANN, headers={"Accept-Language": "zh"}).json()
    assert wrong["detail"] == "content: 缺少此字段。"


@pytest.mark.spec("6")
def test_each_error_has_one_status():
    def family(error):
        return [error, *(e for child in error.__subclasses__() for e in family(child))]

    known = {e: status_of(e) for e in family(errors.PerdureError)}
    assert known[errors.ModelBusy] == known[errors.DatabaseUnavailable] == 503
    assert known[errors.ContentTooLong] == known[errors.ProjectKeyRequired] == 422
    assert known[errors.Corrupt] == 500
    assert set(STATUS) <= set(known)


@pytest.mark.spec("6")
def test_a_body_over_the_limit_is_refused_and_one_at_the_limit_is_read(api):
    big = b'{"user_id": "ann", "query": "' + b"x" * MAX_BODY + b'"}'
    for content in (big, iter([big[:100], big[100:]])):
        refused = api.post("/memory/search", content=content, headers=JSON)
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
    fits = b'{"user_id": "ann", "confirm":' + b" " * (MAX_BODY - 35) + b"true}"
    assert api.post("/memory/search", content=fits, headers=JSON).status_code == 422


BROKEN = (
    b"", b"{", b"nul", b"[]", b'"x"', b"[" * 100_000, b"\xff\xfe", b'{"user_id": 1e999}',
    b'{"limit": ' + b"9" * 5_000 + b"}",
)  # fmt: skip


@pytest.mark.spec("6")
@pytest.mark.parametrize("path", ["/memory/search", "/memory/items", "/conversations/c/turns"])
def test_what_is_no_body_is_refused_as_a_problem(api, path):
    for content in BROKEN:
        refused = api.post(path, content=content, headers=JSON)
        assert refused.status_code in (400, 422)
        assert refused.headers["content-type"] == "application/problem+json"


@pytest.mark.spec("6")
def test_a_web_page_cannot_send_a_form_to_the_service(api):
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        sent = api.post(
            "/memory/items",
            content='{"user_id": "ann", "content": "x"}',
            headers={"Content-Type": kind},
        )
        assert sent.status_code == 422
    assert api.get("/memory/items", params=ANN).json()["total"] == 0


def test_paths_and_methods_that_are_not_there_are_problems_too(api):
    for reply, status in ((api.get("/nowhere"), 404), (api.put("/memory/items"), 405)):
        assert reply.status_code == reply.json()["status"] == status
        assert reply.headers["content-type"] == "application/problem+json"


@pytest.mark.spec("6", "4.10")
def test_a_database_that_does_not_answer_is_503_and_says_when_to_come_again(api, monkeypatch):
    def silent(*_, **__):
        raise errors.DatabaseUnavailable(retry_after=7)

    monkeypatch.setattr(type(api.memory.parts.database), "read", silent)
    told = api.get("/memory/items", params=ANN)
    assert (told.status_code, told.json()["code"]) == (503, "database_unavailable")
    assert told.headers["retry-after"] == "7"
    ready = api.get("/health/ready")
    assert (ready.status_code, ready.headers["retry-after"]) == (503, "1")
    assert ready.json()["parts"]["database"]["state"] == "down"
    assert api.get("/health/live").status_code == 200


def test_what_is_wrong_with_the_deployment_is_not_told_to_callers(api, monkeypatch):
    def corrupt(*_, **__):
        raise errors.Corrupt("It is no database.", field="/srv/perdure.db")

    monkeypatch.setattr(type(api.memory.parts.database), "read", corrupt)
    told = api.get("/memory/items", params=ANN)
    assert (told.status_code, told.json()["code"]) == (500, "corrupt")
    assert "srv" not in told.text


@pytest.mark.spec("9")
def test_the_log_names_routes_and_kinds_and_never_what_was_said(api, monkeypatch):
    def broken(*_, **__):
        raise ValueError("Likes the secret tea")

    monkeypatch.setattr(type(api.memory.items), "history", broken)
    with structlog.testing.capture_logs() as log:
        api.post("/memory/items", json=ANN | {"content": "Likes the secret tea"})
        api.get("/memory/items", params=ANN | {"text": "secret"})
        api.post("/memory/context", json=ANN | {"query": "secret?", "mood": "secret"})
        failed = api.get("/memory/items/secret/history", params=ANN)
    assert failed.status_code == 500
    assert failed.json()["code"] == "error"
    assert "secret" not in str(log) + failed.text
    assert [line["status"] for line in log if line["event"] == "request"] == [201, 200, 422, 500]
    assert log[0]["route"] == "/memory/items"
    assert [line["error"] for line in log if line["log_level"] == "error"] == ["ValueError"]


@pytest.mark.spec("6")
def test_the_documents_need_no_internet_and_show_examples(api):
    root = httpx.URL(api.base_url).copy_with(path="/")
    with httpx.Client(base_url=root, trust_env=False) as browser:
        page = browser.get("/docs").text
        described = browser.get("/openapi.json").json()
    assert "//cdn" not in page
    paths = described["paths"]
    for method, path in (
        ("get", "/health/live"), ("get", "/health/ready"),
        ("get", f"{PREFIX}/memory/items"), ("post", f"{PREFIX}/memory/items"),
        ("delete", f"{PREFIX}/memory/items"), ("patch", f"{PREFIX}/memory/items/{{item_id}}"),
        ("post", f"{PREFIX}/memory/items/{{item_id}}/dismiss"),
        ("post", f"{PREFIX}/memory/items/{{item_id}}/restore"),
        ("get", f"{PREFIX}/memory/items/{{item_id}}/history"),
        ("patch", f"{PREFIX}/memory/settings"), ("get", f"{PREFIX}/memory/projects"),
        ("post", f"{PREFIX}/conversations/{{conversation_id}}/turns"),
        ("get", f"{PREFIX}/captures/{{trace}}"), ("post", f"{PREFIX}/memory/context"),
        ("post", f"{PREFIX}/memory/search"),
    ):  # fmt: skip
        assert paths[path][method]["summary"]
    schemas = described["components"]["schemas"]
    for name, field in (("TurnIn", "messages"), ("ContextIn", "query"), ("NewItem", "content")):
        assert schemas[name]["properties"][field]["examples"]


@pytest.mark.spec("6")
def test_health_says_whether_requests_can_be_served(api):
    assert api.get("/health/live").json() == {"status": "live"}
    ready = api.get("/health/ready").json()
    assert (ready["status"], ready["model"]) == ("ready", "basic")


def test_every_reason_can_be_told_in_both_languages():
    for language in ("en", "zh"):
        told = [in_words(reason, language) for reason in Reason]
        assert [t for t, r in zip(told, Reason, strict=True) if t == r.value] == []
