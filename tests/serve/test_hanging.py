"""A service whose database hangs: it takes what is asked, and never answers."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from perdure.policy import ASSISTANT
from perdure.store.database import WAITING

KEY_S, DEADLINE_MS = 0.3, 300
MOST_S = 7.0  # far above both together, since machines are slow, and far below what hangs
POLICY = ASSISTANT.but(
    database=WAITING.but(key_s=KEY_S, look_s=60.0, answer_s=60.0),
    search=ASSISTANT.search.but(deadline_ms=DEADLINE_MS),
)
ANN = {"user_id": "ann"}
HOLD = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX, 5, 123)
    print("held", flush=True)
    sys.stdin.read()
"""
"""Holds the places by which SQLite notes who reads; readers try again for about ten seconds."""


@contextmanager
def held(file):
    """Another program that locks a SQLite file against readers, too."""
    command = [sys.executable, "-c", HOLD, str(file)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "held\n"
        yield
        process.stdin.close()


@contextmanager
def silent(line):
    """A server that takes what it is sent, and says nothing."""
    line.speaks.clear()
    yield
    line.speaks.set()


@pytest.fixture(params=["sqlite", "mariadb", "postgres"])
def service(request, served, place, line_to, tmp_path):
    """A client with a stored key, and what makes its database hang."""
    if request.param == "sqlite":
        api = served(workers=False, policy=POLICY)
        api.hangs = lambda: held(tmp_path / "perdure.db-shm")
    else:
        line = line_to(place(request.param))
        url = line.url.render_as_string(hide_password=False)
        api = served(workers=False, policy=POLICY, url=url)
        api.hangs = lambda: silent(line)
    _, secret = api.memory.parts.keys.create("default", "app")
    api.headers["Authorization"] = f"Bearer {secret}"
    return api


def recalled(api):
    """The answer and how long it took."""
    start = time.monotonic()
    reply = api.post("/memory/context", json=ANN | {"query": "What do I drink?"})
    return reply, time.monotonic() - start


def remembered(api):
    """See that it answers; a machine that stands still for a moment may miss a deadline."""
    until = time.monotonic() + 60
    while "tea" not in (reply := recalled(api)[0]).text and time.monotonic() < until:
        time.sleep(0.05)
    assert "tea" in reply.json()["text"]


@pytest.mark.spec("4.10", "6")
@pytest.mark.case("OPS-05")
def test_recall_with_a_stored_key_answers_in_time_while_the_database_hangs(service):
    """One after the other, many at once, and with a key that nobody has; then as before."""
    service.post("/memory/items", json=ANN | {"content": "Likes tea.", "kind": "preference"})
    remembered(service)
    with service.hangs():
        with ThreadPoolExecutor(12) as many:
            told = list(many.map(recalled, [service] * 12))
        assert max(took for _, took in told) < MOST_S
        for reply, _ in told:
            assert (reply.status_code, reply.json()["code"]) == (503, "database_unavailable")
            assert int(reply.headers["retry-after"]) > 0
        service.headers["Authorization"] += "x"
        unknown, took = recalled(service)
        assert (unknown.status_code, took < MOST_S) == (503, True)
        service.headers["Authorization"] = service.headers["Authorization"][:-1]
    remembered(service)
