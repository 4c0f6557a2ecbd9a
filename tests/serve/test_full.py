"""A disk that is full, or a file that may only be read: named, told without a place, and over."""

from __future__ import annotations

import time
from threading import Event, Thread

import pytest
from sqlalchemy import event

ANN = {"user_id": "ann"}
TURN = ANN | {"messages": [{"role": "user", "content": "I live in Bergen. " * 1_000}]}
ROOMY = 1 << 30  # pages
MOST_S = 60.0  # a bound on every wait


class Quota:
    """What a transaction that writes finds: how many pages there may be, and whether it may."""

    def __init__(self, engine):
        self.engine = engine
        self.over()
        event.listen(engine, "checkout", self.apply)

    def apply(self, connection, *_):
        connection.execute(f"PRAGMA max_page_count = {self.pages}")
        connection.execute(f"PRAGMA query_only = {self.read_only:d}")

    def over(self):
        self.pages, self.read_only = ROOMY, False

    def full(self):
        self.pages = 1

    def locked(self):
        self.read_only = True

    def close(self):
        event.remove(self.engine, "checkout", self.apply)


@pytest.fixture
def quota(api):
    api.post("/memory/items", json=ANN | {"content": "Owns a piano."})
    quota = Quota(api.memory.parts.database.engine)
    yield quota
    quota.close()


def ready(api):
    url = str(api.base_url).removesuffix("/api/v1/")
    told = api.get(f"{url}/health/ready")
    return told.status_code, told.json()["status"], told.json()["parts"]["database"]["state"]


def refused(reply, tmp_path):
    assert (reply.status_code, reply.json()["code"]) == (503, "database_unavailable")
    assert int(reply.headers["retry-after"]) >= 1
    assert str(tmp_path) not in reply.text
    assert "perdure.db" not in reply.text


@pytest.mark.spec("4.10", "6")
@pytest.mark.case("OPS-03")
@pytest.mark.parametrize("trouble", [Quota.full, Quota.locked], ids=["full", "read-only"])
def test_a_database_without_room_is_named_and_served_again_once_there_is_some(
    api, quota, tmp_path, trouble, capfd
):
    """Where it is and what it said stands in the log, and in no reply."""
    assert ready(api) == (200, "ready", "up")
    trouble(quota)
    refused(api.post("/conversations/c/turns", json=TURN), tmp_path)
    for language in ("en", "zh"):
        headers = {"Accept-Language": language, "Idempotency-Key": language}
        refused(api.post("/conversations/c/turns", json=TURN, headers=headers), tmp_path)
    assert ready(api) == (200, "degraded", "degraded")
    assert ready(api) == (200, "degraded", "degraded")
    log = capfd.readouterr().out
    assert "code=database_unavailable" in log
    assert str(tmp_path) in log

    assert api.get("/memory/items", params=ANN).json()["total"] == 1
    answer = api.post("/memory/context", json=ANN | {"query": "Which piano?"}).json()
    assert "piano" in answer["text"]

    quota.over()
    assert ready(api) == (200, "ready", "up")
    taken = api.post("/conversations/c/turns", json=TURN)
    assert taken.status_code == 202
    until = time.monotonic() + MOST_S
    state = ""
    while state not in ("learnt", "skipped", "dead") and time.monotonic() < until:
        time.sleep(0.05)
        state = api.get(f"/captures/{taken.json()['trace']}", params=ANN).json()["state"]
    assert state == "learnt"


@pytest.mark.spec("4.10", "5")
def test_workers_wait_for_room_and_go_on_by_themselves(served):
    """What was captured while there was room is learnt once there is some again."""
    api = served(workers=False)
    said = ANN | {"messages": [{"role": "user", "content": "I live in Bergen."}]}
    trace = api.post("/conversations/c/turns", json=said).json()["trace"]
    quota, parts, stop = Quota(api.memory.parts.database.engine), api.memory.parts, Event()
    quota.locked()
    worker = Thread(target=parts.worker.run, args=(stop,))
    worker.start()
    until = time.monotonic() + MOST_S
    while not parts.meter.read("database_refused") and time.monotonic() < until:
        time.sleep(0.02)
    assert ready(api) == (200, "degraded", "degraded")

    quota.over()
    state = ""
    while state != "learnt" and time.monotonic() < until:
        time.sleep(0.02)
        state = api.get(f"/captures/{trace}", params=ANN).json()["state"]
    stop.set()
    parts.worker.notify()
    worker.join()
    quota.close()
    assert state == "learnt"
    assert ready(api) == (200, "ready", "up")
