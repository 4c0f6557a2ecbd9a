"""Faults people met elsewhere, over HTTP: limits, scopes, odd keys, tool calls, clocks, silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime

import httpx
import pytest

from perdure import Memory
from perdure.serve.app import create_app
from perdure.settings import Settings
from perdure.testing.model_server import ModelServer
from perdure.wiring import wire

ANN, BO = {"user_id": "ann"}, {"user_id": "bo"}


def add(api, content, user="ann", **more):
    made = api.post("/memory/items", json={"user_id": user, "content": content, **more})
    assert made.status_code == 201, made.text
    return made.json()


@pytest.mark.spec("6")
@pytest.mark.case("API-01")
def test_a_limit_is_a_limit_in_lists_and_searches_alike(api):
    for number in range(60):
        add(api, f"Note {number} about {'gardening' if number < 45 else 'chess'}")

    def search(**how):
        return api.post("/memory/search", json=ANN | {"query": "gardening"} | how)

    for limit, expected in ((1, 1), (7, 7), (40, 40), (1_000, 45)):
        hits = search(limit=limit).json()["hits"]
        assert len({hit["item"]["id"] for hit in hits}) == expected
        listed = api.get("/memory/items", params=ANN | {"limit": limit}).json()
        assert (len(listed["items"]), listed["total"]) == (min(limit, 60), 60)
    for wrong in (0, -1, 1_001, 2.5, "five"):
        assert search(limit=wrong).status_code == 422
        assert api.get("/memory/items", params=ANN | {"limit": wrong}).status_code == 422
    assert search(limit="5").status_code == 422
    assert search(top_k=7).status_code == 422


@pytest.mark.spec("6")
@pytest.mark.case("API-01")
def test_pages_reach_everything_once_also_while_the_list_changes(api):
    for number in range(25):
        add(api, f"Note {number}")
    seen, after = [], None
    while True:
        page = api.get("/memory/items", params=ANN | {"limit": 4} | (
            {"after": after} if after else {})).json()  # fmt: skip
        seen += [item["content"] for item in page["items"]]
        if len(seen) == 8:
            add(api, "New while paging")
        if (after := page["next"]) is None:
            break
    assert seen == [f"Note {number}" for number in reversed(range(25))]


@pytest.mark.spec("1", "6")
@pytest.mark.case("ISO-03")
def test_a_scope_that_is_given_is_applied_and_one_that_is_missing_is_refused(api):
    add(api, "Lives in Peru", "ann")
    add(api, "Lives in Chad", "bo")
    question = {"query": "Which country is home?", "arms": ["fulltext", "semantic", "episodes"]}
    found = api.post("/memory/search", json=ANN | question)
    assert "Chad" not in found.text
    explained = ANN | {"query": "Peru Chad", "explain": True}
    assert "Chad" not in api.post("/memory/context", json=explained).text
    for body in ({"filters": ANN}, {"userId": "ann"}, {}, {"user_id": None}, {"user_id": ""},
                 {"scope": ANN}, {"user_id": ["ann", "bo"]}):  # fmt: skip
        for path, more in (("/memory/search", {"query": "home"}),
                           ("/memory/context", {"query": "home"})):  # fmt: skip
            refused = api.post(path, json=more | body)
            assert refused.status_code == 422
            assert "Chad" not in refused.text
    for query in ({}, {"userId": "ann"}, {"user_id": ""}):
        for path in ("/memory/items", "/memory/export", "/memory/projects", "/memory/settings"):
            assert api.get(path, params=query).status_code == 422
    nobody = {"user_id": "nobody"}
    found = api.post("/memory/search", json=nobody | {"query": "home"}).json()
    assert (found["hits"], found["hidden"]) == ([], 0)
    assert found["degraded"] == [{"part": "semantic", "reason": "VECTORS_OFF"}]
    assert api.post("/memory/context", json=nobody | {"query": "home"}).json()["text"] == ""


ODD = ["k' = 'v' OR '1'='1' --", "k') OR 1=1 --", "k.$where", 'a" OR "1"="1', "user_id",
       "metadata->>'k'", "k\x00", "%", "k\n"]  # fmt: skip


@pytest.mark.spec("2", "6")
@pytest.mark.case("SEC-07")
def test_a_filters_key_is_a_key_and_nothing_else(api):
    """Deleting by a filter is not offered: a filter there is refused, whatever it says."""
    add(api, "ann-marker", "ann", metadata={"k": "v"})
    add(api, "bo-marker", "bo", metadata={"k": "v"})
    where = "/memory/items"

    def listed(pair):
        return api.get(where, params=ANN | {"metadata": pair})

    assert [item["content"] for item in listed("k=v").json()["items"]] == ["ann-marker"]
    assert listed("k=w").json()["total"] == 0
    for key in ODD:
        found = listed(f"{key}=v")
        assert found.status_code == 422 or found.json()["items"] == []
        for query in (ANN | {"metadata": f"{key}=v"}, ANN | {key: "v"}):
            refused = api.delete(where, params=query | {"confirm": True})
            assert refused.status_code == 422 or key == "user_id"
        searched = api.post("/memory/search", json=ANN | {"query": "x", "filter": {key: "v"}})
        assert searched.status_code == 422
    for pair in ("k", "=v", ["k=v", "k=w"]):
        assert listed(pair).json()["field"] == "metadata"
    sorted_by = api.get(where, params=ANN | {"sort": "created_at; DROP TABLE memories"})
    assert sorted_by.status_code == 422
    for words in ('" OR NEAR( * ^ :', "NOT", "a AND", "*", "marker*", "{}", "ann:", "-bo"):
        found = api.post("/memory/search", json=ANN | {"query": words})
        assert found.status_code == 200
        assert "bo-marker" not in found.text
        assert api.get(where, params=ANN | {"text": words}).status_code == 200
    assert api.get(where, params=BO).json()["total"] == 1


@pytest.mark.spec("3.2", "6")
@pytest.mark.case("API-05")
def test_a_history_with_calls_of_tools_is_learnt_from_as_it_comes(served):
    """The same history through the proxy is tried with the ways in."""
    said = [
        {"role": "user", "content": "Book me a table, I'm coeliac."},
        {"role": "assistant", "tool_calls": [
            {"id": "t1", "type": "function", "function": {"name": "book", "arguments": "{}"}}]},
        {"role": "assistant", "content": None,
         "tool_calls": [{"id": "t2", "type": "function", "function": None}]},
        {"role": "tool", "tool_call_id": "t1", "content": None},
        {"role": "function", "name": "book", "content": "ok"},
        {"role": "assistant", "content": "Done."},
    ]  # fmt: skip
    facts = {"facts": [{"content": "Is coeliac", "sensitivity": 0, "sources": [1]}]}
    with ModelServer(rule=lambda _: facts) as server:
        api = served(llm_base_url=server.base_url, llm_model="scripted")
        api.patch("/memory/settings", json=ANN | {"sensitive_allowed": True})
        taken = api.post("/conversations/c/turns", json=ANN | {"messages": said})
        assert taken.status_code == 202, taken.text
        trace, until = taken.json()["trace"], time.monotonic() + 60
        while time.monotonic() < until:
            receipt = api.get(f"/captures/{trace}", params=ANN).json()
            if receipt["state"] in ("learnt", "dead", "skipped"):
                break
            time.sleep(0.05)
        asked = json.dumps([request.body for request in server.requests])
    assert receipt["state"] == "learnt", receipt
    assert "coeliac" in asked


@pytest.mark.spec("2", "6")
@pytest.mark.case("TIME-03")
@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/Los_Angeles"])
def test_a_day_is_a_day_in_utc_wherever_the_host_stands(served, monkeypatch, zone, tmp_path):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        early, late = (datetime(2026, 7, 25, *at, tzinfo=UTC) for at in ((2, 0), (23, 30)))
        now = [early]
        settings = Settings(embedder="none", database_url=f"sqlite:///{tmp_path}/days.db")
        with Memory(wire(settings, clock=lambda: now[0])) as memory:
            from starlette.testclient import TestClient  # noqa: PLC0415 - a clock of its own

            app = create_app(memory, settings)
            with TestClient(app, base_url="http://127.0.0.1/api/v1",
                            client=("127.0.0.1", 5)) as api:  # fmt: skip
                first = add(api, "Likes tea.")
                now[0] = late
                add(api, "Likes jazz.")

                def day(since, until):
                    found = api.get(
                        "/memory/items", params=ANN | {"since": since, "until": until}
                    ).json()
                    return [item["content"] for item in found["items"]]

                whole = day("2026-07-25T00:00:00Z", "2026-07-26T00:00:00Z")
                assert whole == ["Likes jazz.", "Likes tea."]
                assert day("2026-07-25T11:00:00+09:00", "2026-07-25T11:00:00.000001+09:00") == [
                    "Likes tea."
                ]
                assert day("2026-07-25T02:00:00Z", "2026-07-25T02:00:00Z") == []
                where = f"/memory/items/{first['id']}"
                read = api.get(where, params=ANN)
                listed = api.get("/memory/items", params=ANN).json()["items"][1]
                hit = api.post("/memory/search", json=ANN | {"query": "tea"}).json()["hits"][0]
                entry = api.get(f"{where}/history", params=ANN).json()["entries"][0]
                told = {first["created_at"], read.json()["created_at"], listed["created_at"],
                        hit["item"]["created_at"], entry["at"]}  # fmt: skip
                assert told == {"2026-07-25T02:00:00Z"}
    finally:
        monkeypatch.undo()
        time.tzset()


WATCHED = """
import json, socket, sys
before = socket.socket.connect
def connect(self, address):
    if self.family != socket.AF_UNIX:
        print("CONNECT", address[0], address[1], file=sys.stderr, flush=True)
    return before(self, address)
socket.socket.connect = connect
lookup = socket.getaddrinfo
def getaddrinfo(host, *rest, **more):
    print("LOOKUP", host, file=sys.stderr, flush=True)
    return lookup(host, *rest, **more)
socket.getaddrinfo = getaddrinfo
from perdure.cli import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as ended:
        if ended.code:
            raise
"""


@pytest.mark.spec("9", "10")
@pytest.mark.case("OPS-01")
@pytest.mark.timeout(400)  # four processes, one after the other
def test_nothing_is_called_but_what_is_configured(tmp_path):
    """Service, worker and commands with every connection noted: the model endpoint, or nobody.

    Noted is what goes through Python's sockets. The libraries of PostgreSQL, Kafka and Milvus have
    their own; none of them is loaded here.
    """
    (tmp_path / "perdure.db").touch()
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"conversation": "c", "role": "user", "content": "I moved to Bergen."}\n')

    def calls(*commands, **more):
        """Whom these commands called, one after the other in one process."""
        done = subprocess.run(
            [sys.executable, "-c", WATCHED, json.dumps(commands)], env=os.environ | more,
            cwd=tmp_path, capture_output=True, encoding="utf-8", check=False, timeout=100,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return {tuple(line.split()[1:]) for line in done.stderr.splitlines()
                if line.startswith(("CONNECT", "LOOKUP"))}  # fmt: skip

    took_in = ("import", str(chat), "--user", "ann")
    assert calls(
        took_in, ("recall", "ann", "Bergen?"), ("items", "ann"), ("export", "ann"),
        ("worker", "--once"), ("doctor",),
    ) == set()  # fmt: skip
    assert whom_a_service_calls(tmp_path) == set()
    with ModelServer(rule=lambda _: {"facts": []}) as server:
        port = server.base_url.rpartition(":")[2].partition("/")[0]
        chat.write_text('{"conversation": "d", "role": "user", "content": "I live in Oslo."}\n')
        called = calls(
            took_in,
            PERDURE_LLM_BASE_URL=server.base_url, PERDURE_LLM_MODEL="scripted",
        )  # fmt: skip
        more = whom_a_service_calls(
            tmp_path, PERDURE_LLM_BASE_URL=server.base_url, PERDURE_LLM_MODEL="scripted"
        )
    for found in (called, more):
        assert {call for call in found if len(call) > 1} == {("127.0.0.1", port)}
        assert {call[0] for call in found} == {"127.0.0.1"}


def whom_a_service_calls(folder, **more):
    """Whom a service called from its start to its end: a turn, an answer, the pages, figures."""
    service = subprocess.Popen(
        [sys.executable, "-c", WATCHED, json.dumps([["serve", "--port", "0", "--json"]])],
        cwd=folder, env=os.environ | more, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert service.stdout is not None
        line = json.loads(service.stdout.readline())
        with httpx.Client(base_url=line["url"], trust_env=False, timeout=60) as api:
            said = {"role": "user", "content": "I live in Oslo, near the sea."}
            body = ANN | {"messages": [said]}
            taken = api.post("/api/v1/conversations/e/turns", json=body).json()
            until = time.monotonic() + 60
            state = ""
            while state != "learnt" and time.monotonic() < until:
                receipt = api.get(f"/api/v1/captures/{taken['trace']}", params=ANN).json()
                state = receipt["state"]
                time.sleep(0.05)
            assert state == "learnt"
            api.post("/api/v1/memory/context", json=ANN | {"query": "Oslo?"}).raise_for_status()
            for path in ("/health/ready", "/docs", "/pages/memory?user_id=ann"):
                assert api.get(path).status_code < 500, path
    finally:
        service.terminate()
        _, noted = service.communicate(timeout=60)
    assert service.returncode == 0, noted
    return {tuple(line.split()[1:]) for line in noted.splitlines()
            if line.startswith(("CONNECT", "LOOKUP"))}  # fmt: skip


@pytest.mark.spec("10")
@pytest.mark.case("OPS-01")
def test_the_documents_page_loads_nothing_from_elsewhere(api):
    root = str(api.base_url).removesuffix("/api/v1/")
    page = api.get(f"{root}/docs").text
    assert "http://" not in page.replace(root, "")
    assert "https://" not in page
    assert "//cdn" not in page
