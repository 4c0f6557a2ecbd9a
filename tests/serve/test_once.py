"""One request, one effect: repeated writes, stale edits, equal adds, limits on how often."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from perdure.errors import TooMany
from perdure.serve.limits import Limits
from perdure.settings import Secret

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
