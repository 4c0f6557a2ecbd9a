"""Nothing calls home: the only connections are those to what the settings name."""

from __future__ import annotations

import json
import socket
import threading

import pytest

from perdure import Memory, Message, Scope
from perdure.settings import load
from perdure.testing.model_server import ModelServer

ann = Scope(user="ann")


@pytest.mark.case("OPS-01")
@pytest.mark.spec("10")
def test_a_whole_life_connects_to_the_configured_endpoint_alone(tmp_path, monkeypatch):
    """Learning, recall, metrics, spans, a move and an erasure; no thread but our own is left."""
    reached, asked = set(), set()
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def connecting(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6):
            reached.add(tuple(address[:2]))
        return connect(self, address)

    def looking_up(host, *rest, **more):
        asked.add(host)
        return look_up(host, *rest, **more)

    monkeypatch.setattr(socket.socket, "connect", connecting)
    monkeypatch.setattr(socket, "getaddrinfo", looking_up)
    reply = json.dumps({"items": [{"content": "Lives in Bergen", "kind": "fact"}]})
    with ModelServer([reply]) as server:
        before = set(threading.enumerate())
        settings = load({"PERDURE_LLM_BASE_URL": server.base_url, "PERDURE_LLM_MODEL": "m"})
        with Memory.open(tmp_path / "perdure.db", settings=settings) as memory:
            ours = {one.name for one in set(threading.enumerate()) - before}
            memory.wait(memory.capture(ann, "c", [Message("user", "I live in Bergen.")]))
            assert "Bergen" in memory.recall(ann, "Where do I live?").text
            memory.metrics.text()
            lines = list(memory.export(ann))
            memory.erase(ann)
            list(memory.import_lines(ann, lines))
        host, port = server.base_url.removeprefix("http://").removesuffix("/v1").split(":")

    assert reached == {(host, int(port))}
    assert asked <= {host}
    assert ours
    assert all(name.startswith("perdure-") for name in ours)
