"""One request, one effect: repeated writes, stale edits, equal adds, limits on how often."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from perdure import Scope
from perdure.errors import DatabaseUnavailable, TooMany
from perdure.serve.limits import Limits
from perdure.settings import Secret
from perdure.store.requests import SqlRequests

ANN, BO = {"user_id": "ann"}, {"user_id": "bo"}
KEYS = (Secret("shop=key-of-shop"),)


def once(key):
    return {"Idempotency-Key": key}


@pytest.fixture
def tea(api):
    return api.post("/memory/items", json=ANN | {"content": "Likes tea."})


@pytest.mark.spec("6")
def test_a_write_that_is_sent_twice_happens_once_and_is_answered_alike(api):
    body = ANN | {"content": "Likes tea."}
    first = api.post("/memory/items", json=body, headers=once("k1"))
    again = api.post("/memory/items", json=body, headers=once("k1"))
    assert (again.status_code, again.json()) == (201, first.json())
    assert api.post("/memory/items", json=body).status_code == 409

    where = f"/memory/items/{first.json()['id']}"
    changed = {"If-Match": first.headers["etag"], **once("k2")}
    for _ in range(2):
        reply = api.patch(where, json=ANN | {"content": "Likes green tea."}, headers=changed)
        assert (reply.status_code, reply.json()["content"]) == (200, "Likes green tea.")
    assert len(api.get(f"{where}/history", params=ANN).json()["entries"]) == 2
    for _ in range(2):
        assert api.delete(where, params=ANN, headers=once("k3")).status_code == 204
    for _ in range(2):
        cleared = api.delete("/memory/items", params=ANN | {"confirm": True}, headers=once("k4"))
        assert cleared.json() == {"deleted": 0}


@pytest.mark.spec("3.2", "6")
def test_a_turn_without_ids_that_is_sent_twice_is_kept_once(api):
    said = ANN | {"messages": [{"role": "user", "content": "I live in Bergen."}]}
    traces = {
        api.post("/conversations/c/turns", json=said, headers=once("k")).json()["trace"]
        for _ in range(3)
    }
    assert len(traces) == 1
    off = said | {"mode": "off"}
    for _ in range(2):
        reply = api.post("/conversations/c/turns", json=off, headers=once("off"))
        assert (reply.status_code, reply.json()["state"]) == (202, "skipped")
    assert len(api.get("/memory/export", params=ANN).text.splitlines()) <= 3


@pytest.mark.spec("6")
def test_a_key_stands_for_one_request_of_one_user(api):
    tea = {"content": "Likes tea."}
    assert api.post("/memory/items", json=ANN | tea, headers=once("k")).status_code == 201
    other = api.post("/memory/items", json=ANN | {"content": "Likes jazz."}, headers=once("k"))
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert api.post("/memory/items", json=BO | tea, headers=once("k")).status_code == 201
    for wrong in ("x" * 256, ""):
        refused = api.post("/memory/items", json=ANN | tea, headers=once(wrong))
        assert (refused.status_code, refused.json()["field"]) == (422, "Idempotency-Key")


@pytest.mark.spec("6")
def test_a_write_that_was_refused_may_be_sent_again_with_its_key(api, tea):
    body = ANN | {"content": "Likes tea."}
    assert api.post("/memory/items", json=body, headers=once("k")).status_code == 409
    api.delete(f"/memory/items/{tea.json()['id']}", params=ANN)
    assert api.post("/memory/items", json=body, headers=once("k")).status_code == 201


@pytest.mark.spec("6")
def test_equal_requests_at_once_have_one_effect_and_no_fault(api):
    body = ANN | {"content": "Likes tea."}

    def send(_):
        return api.post("/memory/items", json=body, headers=once("k")).status_code

    with ThreadPoolExecutor(8) as pool:
        codes = set(pool.map(send, range(16)))
    assert 201 in codes <= {201, 409}
    assert send(0) == 201
    assert api.get("/memory/items", params=ANN).json()["total"] == 1


@pytest.mark.spec("9")
def test_nothing_that_was_said_is_kept_with_a_request(api):
    api.post("/memory/items", json=ANN | {"content": "Likes tea."}, headers=once("k"))
    with api.memory.parts.database.read() as tx:
        rows = tx.connection.exec_driver_sql("SELECT * FROM perdure_requests").all()
    assert len(rows) == 1
    assert "tea" not in str(rows)


@pytest.mark.spec("6")
def test_a_stale_edit_changes_nothing(api, tea):
    where, shown = f"/memory/items/{tea.json()['id']}", tea.headers["etag"]
    assert api.get(where, params=ANN).headers["etag"] == shown
    newer = api.patch(where, json=ANN | {"title": "Tea"}, headers={"If-Match": shown})
    assert newer.headers["etag"] != shown

    for stale in (shown, '"nonsense"', 'W/"x"', '"2026-11-30T09:00:00"'):
        match = {"If-Match": stale}
        for reply in (
            api.patch(where, json=ANN | {"content": "Hates tea."}, headers=match),
            api.post(f"{where}/dismiss", json=ANN, headers=match),
            api.post(f"{where}/restore", json=ANN, headers=match),
            api.delete(where, params=ANN, headers=match),
        ):
            assert (reply.status_code, reply.json()["code"]) == (412, "stale")
    several = api.delete(where, params=ANN, headers={"If-Match": '"a", "b"'})
    assert (several.status_code, several.json()["field"]) == (422, "If-Match")
    assert api.get(where, params=ANN).json()["status"] == "active"
    for fresh in (newer.headers["etag"], "*"):
        ok = api.post(f"{where}/dismiss", json=ANN, headers={"If-Match": fresh})
        assert ok.status_code == 200


@pytest.mark.spec("6", "3.6")
def test_restoring_respects_the_limit(served, monkeypatch):
    monkeypatch.setenv("PERDURE_POLICY__CAPACITY__ACTIVE_LIMIT", "1")
    from perdure.settings import load  # noqa: PLC0415 - reads the variable that was just set

    api = served(policy=load().policy)
    first = api.post("/memory/items", json=ANN | {"content": "Likes tea."}).json()
    api.post(f"/memory/items/{first['id']}/dismiss", json=ANN)
    assert api.post("/memory/items", json=ANN | {"content": "Likes jazz."}).status_code == 201
    full = api.post(f"/memory/items/{first['id']}/restore", json=ANN)
    assert (full.status_code, full.json()["code"]) == (409, "memory_limit_reached")


@pytest.mark.spec("6")
def test_who_asks_too_often_is_told_when_to_come_again(served):
    api = served(key="key-of-shop", api_keys=KEYS, rate_limit=3)
    codes = [api.get("/memory/items", params=ANN).status_code for _ in range(4)]
    assert codes == [200, 200, 200, 429]
    refused = api.get("/memory/items", params=ANN)
    assert refused.json()["code"] == "too_many"
    assert 1 <= int(refused.headers["retry-after"]) <= 21
    assert api.get("/health/live").status_code == 200


def test_a_bucket_fills_again_and_belongs_to_one_caller():
    now = [0.0]
    limits = Limits(60, lambda: now[0])
    for _ in range(60):
        limits.take("a")
    with pytest.raises(TooMany) as refused:
        limits.take("a")
    assert refused.value.retry_after == pytest.approx(2)
    limits.take("b")
    now[0] = 1.0
    limits.take("a")
    with pytest.raises(TooMany):
        limits.take("a")
    for _ in range(1_000):
        Limits(0).take("a")


# ── a process that ends in between ───────────────────────────────────────────────────────────────

DIES = """
import os, signal, sys
from starlette.testclient import TestClient
from perdure import Memory
from perdure.serve.app import create_app
from perdure.settings import Settings
from perdure.store.requests import SqlRequests
from perdure.store.database import SqlDatabase

where, when = sys.argv[1:]
answered, begin = SqlRequests.answered, SqlDatabase.begin

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

if when == "before its commit":
    SqlRequests.answered = lambda *of: (answered(*of), die())
else:
    from perdure.serve import once
    before = once.Once.serve
    once.Once.serve = lambda *of, **how: (before(*of, **how), die())
settings = Settings(embedder="none")
with Memory.open(where, settings=settings, workers=False) as memory:
    app = create_app(memory, settings)
    with TestClient(app, base_url="http://127.0.0.1/api/v1", client=("127.0.0.1", 5)) as api:
        api.post("/conversations/c/turns", headers={"Idempotency-Key": "k"}, json={
            "user_id": "ann", "messages": [{"role": "user", "content": "I live in Bergen."}]})
"""


@pytest.mark.spec("3.2", "6")
@pytest.mark.parametrize(("when", "kept"), [("before its commit", 0), ("after its commit", 1)])
def test_a_process_killed_with_a_request_leaves_the_turn_and_its_key_or_neither(
    served, tmp_path, monkeypatch, when, kept
):
    script = [sys.executable, "-c", DIES, str(tmp_path / "perdure.db"), when]
    died = subprocess.run(script, check=False, timeout=60)
    assert died.returncode == -signal.SIGKILL
    monkeypatch.setattr("perdure.serve.once._FRESH_S", 0.0)  # as a minute later

    api = served(workers=False)
    assert len(list(api.memory.export(Scope(user="ann")))) == kept
    said = ANN | {"messages": [{"role": "user", "content": "I live in Bergen."}]}
    traces = set()
    for _ in range(2):
        taken = api.post("/conversations/c/turns", json=said, headers=once("k"))
        assert (taken.status_code, taken.json()["state"]) == (202, "queued")
        traces.add(taken.json()["trace"])
    assert len(traces) == 1
    assert len(list(api.memory.export(Scope(user="ann")))) == 1


@pytest.mark.spec("6")
@pytest.mark.parametrize("write", [
    lambda api, item, **how: api.post("/memory/items", json=ANN | {"content": "Likes go."}, **how),
    lambda api, item, **how: api.patch(item, json=ANN | {"content": "Likes go."}, **how),
    lambda api, item, **how: api.post(f"{item}/dismiss", json=ANN, **how),
    lambda api, item, **how: api.delete(item, params=ANN, **how),
    lambda api, item, **how: api.delete("/memory/items", params=ANN | {"confirm": True}, **how),
    lambda api, item, **how: api.post("/memory/feedback", json=ANN | {
        "trace": "t", "item_id": item.rpartition("/")[2], "verdict": "correction",
        "text": "Likes go."}, **how),
    lambda api, item, **how: api.post("/conversations/c/turns", json=ANN | {
        "messages": [{"role": "user", "content": "I live in Bergen."}]}, **how),
], ids=["add", "edit", "dismiss", "delete", "clear", "correct", "capture"])  # fmt: skip
def test_a_write_whose_key_cannot_be_kept_is_not_made(served, monkeypatch, write):
    api = served(workers=False)
    tea = api.post("/memory/items", json=ANN | {"content": "Likes tea."})
    item = f"/memory/items/{tea.json()['id']}"
    api.memory.parts.uses.note(Scope(user="ann"), "t", [tea.json()["id"]], counts=False)
    whole = api.get("/memory/export", params=ANN).text

    def full(*_):
        raise DatabaseUnavailable("It is full.")

    with monkeypatch.context() as broken:
        broken.setattr(SqlRequests, "answered", full)
        assert write(api, item, headers=once("k")).status_code == 503
    assert api.get("/memory/export", params=ANN).text == whole
    assert write(api, item, headers=once("k")).is_success
    changed = api.get("/memory/export", params=ANN).text
    assert changed != whole
    assert write(api, item, headers=once("k")).is_success
    assert api.get("/memory/export", params=ANN).text == changed


@pytest.mark.spec("6")
def test_a_request_that_stood_still_too_long_writes_nothing_once_another_has_its_key(
    api, monkeypatch
):
    """The first is held up for longer than a key waits; the client sends it again meanwhile."""
    second: list[Any] = []
    body = ANN | {"content": "Likes tea."}
    vector = type(api.memory.items)._vector

    def slow(*of, **how):
        monkeypatch.setattr(type(api.memory.items), "_vector", vector)
        monkeypatch.setattr("perdure.serve.once._FRESH_S", -1.0)
        second.append(api.post("/memory/items", json=body, headers=once("k")))
        return vector(*of, **how)

    monkeypatch.setattr(type(api.memory.items), "_vector", slow)
    first = api.post("/memory/items", json=body, headers=once("k"))
    assert [one.status_code for one in second] == [201]
    assert first.status_code == 409
    again = api.post("/memory/items", json=body, headers=once("k"))
    assert (again.status_code, again.json()["id"]) == (201, second[0].json()["id"])
