"""A whole memory on a real Milvus or pgvector that comes late, goes and returns."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import make_url

from perdure import Memory, Message, Scope
from perdure.errors import Unavailable
from perdure.ports import Corpus
from perdure.serve.app import create_app
from perdure.settings import load
from perdure.types import JobState, Role

ANN = Scope(user=f"ann {os.getpid()}")  # the server may be shared
SERVERS = {
    "milvus": os.environ.get("PERDURE_TEST_MILVUS"),
    "pgvector": os.environ.get("PERDURE_TEST_POSTGRES"),
}
VARIABLES = {"milvus": "PERDURE_TEST_MILVUS", "pgvector": "PERDURE_TEST_POSTGRES"}


class Gate:
    """A port that leads to the server while it is open; closed, it refuses and cuts everybody."""

    def __init__(self, host, port):
        self.there = (host, port)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = taken.getsockname()[1]
        self.listener = None
        self.through = []

    def open(self):
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._let_in, args=(self.listener,), daemon=True).start()

    def close(self):
        if self.listener is None:
            return
        for one in (self.listener, *self.through):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self.listener, self.through = None, []

    def _let_in(self, listener):
        with suppress(OSError):
            while True:
                near = listener.accept()[0]
                far = socket.create_connection(self.there)
                self.through += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, one, other):
        with suppress(OSError):
            while data := one.recv(65_536):
                other.sendall(data)
        with suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)


@pytest.fixture(params=["milvus", "pgvector"])
def place(request):
    """An index behind a gate that is closed."""
    url = SERVERS[request.param]
    if not url:
        pytest.skip(
            f"{VARIABLES[request.param]} is not set; `make services` starts one and says where."
        )
    where = make_url(url)
    gate = Gate(where.host, where.port)
    yield request.param, gate, url.replace(f":{where.port}", f":{gate.port}")
    gate.close()


@pytest.fixture
def memory(place, tmp_path):
    index, gate, url = place
    settings = load({
        "PERDURE_VECTOR_INDEX": index, "PERDURE_VECTOR_URL": url,
        "PERDURE_POLICY__JOBS__POLL_S": "0.05", "PERDURE_POLICY__JOBS__BACKOFF_S": "0.1",
    })  # fmt: skip
    with Memory.open(f"sqlite:///{tmp_path / 'perdure.db'}", settings=settings) as memory:
        yield memory
        gate.close()
        gate.open()
        assert soon(lambda: emptied(memory.parts.index))


def emptied(index):
    """Nothing of these tests is left on the server."""
    for corpus in Corpus:
        index.discard(ANN, corpus, index.refs(None, ANN, corpus))
    return True


def soon(said, seconds=45):
    """It becomes true; what is asked may not answer meanwhile."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with suppress(Unavailable):
            if said():
                return True
        time.sleep(0.1)
    return False


def statuses(memory):
    with memory.parts.database.read() as tx:
        ids = [one.id for one in memory.items.list(ANN)]
        return {str(one.vector_status) for one in tx.items.get(ANN, ids)}


def found(memory, question):
    return [one.content for one in memory.search(ANN, question, arms=["semantic"])][:1]


@pytest.mark.spec("4.10", "5")
def test_an_index_that_comes_late_goes_and_returns_is_never_waited_for(memory, place):
    _, gate, _ = place
    health = TestClient(create_app(memory, memory.parts.settings), client=("127.0.0.1", 1))

    memory.items.add(ANN, "Owns a telescope")
    memory.items.add(ANN, "我在卑尔根养了一只猫")
    taken = memory.capture(ANN, "c", [Message(Role.USER, "I live in Bergen and I play the viola.")])
    assert memory.wait(taken).learnt
    assert health.get("/health/ready").json()["parts"]["vectors"]["state"] == "down"
    memory.recall(ANN, "telescope")
    began = time.monotonic()
    answer = memory.recall(ANN, "telescope")
    assert time.monotonic() - began < 10
    assert "Owns a telescope" in answer.text
    assert any(one.part == "semantic" for one in answer.degraded)
    assert statuses(memory) == {"pending"}

    gate.open()
    assert soon(lambda: statuses(memory) == {"synced"})
    assert soon(lambda: found(memory, "stargazing equipment") == ["Owns a telescope"])
    assert found(memory, "养猫") == ["我在卑尔根养了一只猫"]
    assert health.get("/health/ready").json()["parts"]["vectors"]["state"] == "up"

    gate.close()
    assert "Owns a telescope" in memory.recall(ANN, "telescope").text
    memory.items.edit(ANN, next(iter(memory.items.list(ANN))).id, content="Plays the violin")
    gate.open()
    assert soon(lambda: statuses(memory) == {"synced"})
    assert soon(lambda: memory.recall(ANN, "telescope").degraded == ())
    with memory.parts.database.read() as tx:
        assert tx.jobs.page([JobState.DEAD]) == []
