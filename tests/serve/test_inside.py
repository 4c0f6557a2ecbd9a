"""What whoever asks does not learn when a part fails: paths, hosts, users, a driver's words."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest
import structlog
from sqlalchemy import event
from starlette.requests import Request

from perdure import Scope, errors
from perdure.details import foreign
from perdure.errors import DatabaseUnavailable
from perdure.policy import ASSISTANT
from perdure.serve.app import noted, replied
from perdure.settings import Secret
from perdure.store.database import SqlDatabase
from perdure.testing.model_server import ModelServer

ANN = {"user_id": "ann"}
INSIDE = ("/srv", "perdure.db", "10.0.0.7", "127.0.0.1", "hunter2", "SELECT", "disk")
"""What stands in the errors below, and in none of the answers."""


def told(error, language="en"):
    """The answer that an error becomes."""
    asked = Request({"type": "http", "headers": [(b"accept-language", language.encode())]})
    return json.loads(bytes(replied(asked, error, noted(error)).body))


@pytest.mark.parametrize(
    "error",
    [
        DatabaseUnavailable(
            "{place}: {why}.", place="/srv/perdure.db", why=foreign("disk I/O error")
        ),
        errors.ModelUnavailable("{where} cannot be reached, or hung up.", where="http://10.0.0.7"),
        errors.ModelBusy("{where} (HTTP {status}).", where="http://10.0.0.7", status=429),
        errors.Unavailable("{where} does not answer.", where="10.0.0.7:9092"),
        errors.Misconfigured(
            "The server says: {why}.", why="denied to hunter2", field="/srv/x.toml"
        ),
        errors.Corrupt("{place}: {why}.", place="/srv/perdure.db", why="no database"),
    ],
    ids=lambda error: error.code,
)
def test_a_part_that_fails_is_told_by_its_sentence_alone_and_whole_in_the_log(error):
    for language in ("en", "zh"):
        with structlog.testing.capture_logs() as log:
            problem = told(error, language)
        assert [(line["code"], line["why"]) for line in log] == [(error.code, str(error))]
        assert problem["status"] in (500, 503)
        assert problem["title"] == problem["detail"] == error.sentence(language)
        assert not any(word in str(problem) for word in INSIDE)


def test_a_sentence_of_ours_about_such_a_part_goes_out(api):
    body = {**ANN, "query": "tea", "arms": ["semantic"]}
    for language, said in (("en", "Vectors are switched off."), ("zh", "向量检索已关闭。")):
        asked = api.post("/memory/search", json=body, headers={"Accept-Language": language})
        assert asked.status_code == 503
        assert asked.json()["detail"].endswith(said)


@pytest.mark.spec("6")
def test_a_full_disk_is_told_without_the_file_or_the_statement(api):
    """SQLite is given no further page, as a full disk gives none."""

    @event.listens_for(api.memory.parts.database.engine, "begin")
    def no_more(connection):
        connection.exec_driver_sql("PRAGMA max_page_count = 1")  # as many as there are now

    body = {**ANN, "content": "tea " * 90}
    answers = (
        api.post("/memory/items", json=body | {"content": f"{number} {body['content']}"})
        for number in range(100)
    )
    refused = next(reply for reply in answers if reply.status_code != 201)
    assert (refused.status_code, refused.json()["code"]) == (503, "database_unavailable")
    assert refused.json()["title"] == refused.json()["detail"] == DatabaseUnavailable.sentence()
    with pytest.raises(DatabaseUnavailable, match=r"perdure\.db: database or disk is full") as full:
        api.memory.items.add(Scope(user="ann"), "tea " * 120)
    assert full.value.message("zh").endswith("perdure.db：数据库或磁盘已满。")


def ended(api, trace):
    """The receipt once nothing more happens to it."""
    until = time.monotonic() + 60
    while True:
        receipt = api.get(f"/captures/{trace}", params=ANN).json()
        if receipt["state"] in ("learnt", "dead") or time.monotonic() > until:
            return receipt
        time.sleep(0.02)


@pytest.mark.parametrize("scheme", ["postgresql", "mariadb", "mysql"])
def test_a_server_that_is_away_is_told_without_its_host_and_user(scheme):
    with pytest.raises(DatabaseUnavailable) as away:
        SqlDatabase.open(
            f"{scheme}://ann:hunter2@127.0.0.1:1/perdure", clock=lambda: datetime.now(UTC)
        )
    assert "127.0.0.1:1/perdure" in str(away.value)
    assert told(away.value)["detail"] == DatabaseUnavailable.sentence()


@pytest.mark.spec("6")
def test_a_receipt_names_what_failed_and_not_where(served):
    with ModelServer(api_key="right") as server:
        api = served(
            llm_base_url=server.base_url,
            llm_model="scripted",
            llm_api_key=Secret("wrong"),
            policy=ASSISTANT.turned({"jobs": {"max_retry": 0}}, "here"),
        )
        body = {**ANN, "messages": [{"role": "user", "content": "I moved to Bergen."}]}
        taken = api.post("/conversations/c/turns", json=body).json()
        receipt = ended(api, taken["trace"])
    assert (receipt["state"], receipt["error"]) == ("dead", "misconfigured")
    kept = api.memory.receipt(Scope(user="ann"), taken["trace"])
    assert "127.0.0.1" in (kept.error or "")
