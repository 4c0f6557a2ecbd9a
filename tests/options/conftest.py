"""What may be seen of a setting: looks at real parts, for the table beside it."""

from __future__ import annotations

import base64
import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count

import grpc  # type: ignore[import-untyped]
import jwt
import pytest
import structlog

from perdure import Memory, Message, Scope
from perdure.cli import main, say
from perdure.errors import PerdureError
from perdure.events.kafka import KafkaBus
from perdure.serve.auth import Callers
from perdure.serve.frames import Frames
from perdure.settings import load
from perdure.testing.model_server import ModelServer
from perdure.types import Kind
from perdure.wiring import bus_of, wire

ann = Scope(user="ann")
SIGNS = "s" * 40
TOKEN = jwt.encode({"sub": "ann", "ns": "shop", "exp": time.time() + 3_600}, SIGNS, "HS256")
NAMELESS = jwt.encode({"sub": "ann", "exp": time.time() + 3_600}, SIGNS, "HS256")


class Place:
    """Where an option may have its effect: a folder, model servers, a port that is taken."""

    def __init__(self, folder, models, others, taken):
        self.folder = folder
        self.servers = {"models": models, "others": others}
        self.words = {
            "folder": folder, "models": models.base_url, "others": others.base_url, "port": taken,
        }  # fmt: skip

    def written(self, environ):
        """These settings as variables, with the place in them."""
        return {f"PERDURE_{n}": value.format(**self.words) for n, value in environ.items()}

    def asked(self, path):
        """Who was asked there, with which key, for which model; in order, each once."""
        seen = [
            (name, one.headers.get("authorization", "").removeprefix("Bearer "), one.body["model"])
            for name, server in self.servers.items()
            for one in server.requests
            if one.path == f"/v1/{path}"
        ]
        return list(dict.fromkeys(seen))


def opened(settings):
    return Memory.open(settings=settings, workers=False)


def files(place, settings):
    opened(settings).close()
    return sorted(one.name for one in place.folder.glob("*.db"))


def talked(_, settings):
    """What becomes of a turn, and what is said of what was known."""
    with opened(settings) as memory:
        memory.items.add(ann, "Likes tea.", kind=Kind.PREFERENCE)
        receipt = memory.capture(ann, "c", [Message("user", "I live in Bergen, near the sea.")])
        return receipt.state, "tea" in memory.recall(ann, "tea?").text


def learnt(place, settings):
    with opened(settings) as memory:
        memory.capture(ann, "c", [Message("user", "I live in Bergen, near the sea.")])
        while memory.parts.worker.run_once():
            pass
    return place.asked("chat/completions")


def embedded(place, settings):
    with opened(settings) as memory:
        if memory.parts.embedder is not None:
            memory.parts.embedder.embed(["tea"], "add")
    return place.asked("embeddings")


def formerly(place, settings):
    """Which models are asked for the vector of a question while those of a new one are made."""
    former = settings.but(
        embedder="openai", embedding_model="old", embedder_before="none",
        embedding_model_before=None,
    )  # fmt: skip
    with opened(former) as memory:
        memory.items.add(ann, "Likes tea.")
        while memory.parts.worker.run_once():
            pass
    before = len(place.servers["models"].requests)
    with opened(settings) as memory:
        memory.search(ann, "tea")
    later = place.servers["models"].requests[before:]
    return sorted({one.body["model"] for one in later if one.path == "/v1/embeddings"})


def similar(_, settings):
    with opened(settings) as memory:
        assert memory.parts.embedder is not None
        return memory.parts.embedder.similarity.unrelated


def indexed(_, settings):
    with opened(settings) as memory:
        return memory.parts.vectors_now()


def knocked(place, settings):
    """Whether somebody came to the port at which an index might be."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)
        came = threading.Event()

        def answer():
            with suppress(OSError):
                listener.accept()[0].close()
                came.set()

        thread = threading.Thread(target=answer)
        thread.start()
        url = settings.vector_url
        if url is not None:
            port = str(listener.getsockname()[1])
            settings = settings.but(vector_url=type(url)(url.replace(place.words["port"], port)))
        try:
            with opened(settings) as memory, suppress(PerdureError):
                memory.parts.vectors_now()
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
        return came.is_set()


class Porter(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Notes who knocks at a Milvus that can do nothing."""

    def __init__(self):
        self.sent = set()

    def service(self, details):
        found = dict(details.invocation_metadata).get("authorization", b"")
        self.sent.add(base64.b64decode(found).decode())


def presented(_, settings):
    porter = Porter()
    server = grpc.server(ThreadPoolExecutor(2), handlers=[porter])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        there = settings.but(vector_url=f"http://127.0.0.1:{port}")
        with opened(there) as memory, suppress(PerdureError):
            memory.parts.vectors_now()
    finally:
        server.stop(None).wait()
    return porter.sent


def reranked(place, settings):
    with opened(settings) as memory:
        if memory.parts.reranker is not None:
            memory.parts.reranker.rerank("boat?", ["red", "green"])
    return place.asked("rerank")


def promised(_, settings):
    """How many promises are on their way out: to learn from the turn, and to find it again."""
    with opened(settings) as memory:
        memory.capture(ann, "c", [Message("user", "I live in Bergen, near the sea.")])
        with memory.parts.database.read() as tx:
            return tx.outbox.waiting()[0]


def carried(_, settings):
    """What Kafka's library is told; whether a broker honours it is tried in tests/events."""
    bus = bus_of(settings)
    assert isinstance(bus, KafkaBus)
    bus.close()
    return {**bus._settings, "prefix": bus._prefix, "group": bus._group}


def works(_, settings):
    with Memory.open(settings=settings):
        return sum(one.name.startswith("perdure-worker") for one in threading.enumerate())


def threads(_, settings):
    parts = wire(settings)
    found = sum(name.startswith("perdure-worker") for name, _ in parts.background())
    parts.close()
    return found


def ended(place, settings):
    """What the service says as it ends at once: its port is taken, or it would serve strangers."""
    with pytest.raises(SystemExit) as told:
        main(["serve"])
    return told.value.code


def key_is_of(_, settings):
    return whose(settings, "k")


def token_is_of(_, settings):
    return whose(settings, TOKEN)


def nameless_token_is_of(_, settings):
    """One that names no namespace."""
    return whose(settings, NAMELESS)


def whose(settings, presented):
    caller = Callers.of(settings).known(presented)
    return caller.namespace, caller.user


def needs_keys(_, settings):
    return not Callers.of(settings).open


def asked_often(_, settings):
    limits = Callers.of(settings).limits
    for _ in range(3):
        limits.take("ann")
    return "served"


def framed(_, settings):
    return Frames.of(settings).ancestors


def logged(_, settings):
    root, ours = logging.getLogger(), logging.getLogger("perdure")
    handlers, levels = list(root.handlers), (root.level, ours.level)
    say.log_from(settings.log_level)
    found = ours.level
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
    structlog.reset_defaults()
    return found


LOOKS = (
    files, talked, learnt, embedded, formerly, similar, indexed, knocked, presented, reranked,
    promised, carried, works, threads, ended, key_is_of, token_is_of, nameless_token_is_of,
    needs_keys, asked_often, framed, logged,
)  # fmt: skip


@pytest.fixture
def look(tmp_path, monkeypatch):
    """Looks by name at what settings do: ``look("learnt", {"LLM_MODEL": "m"})``.

    Each look has new databases, and servers that nobody has asked yet. An error is its code.
    """
    numbers = count()

    def look(name, environ):
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        with (
            ModelServer(rule=lambda _: {"items": []}) as models,
            ModelServer(rule=lambda _: {"items": []}) as others,
            socket.create_server(("127.0.0.1", 0)) as taken,
        ):
            place = Place(folder, models, others, str(taken.getsockname()[1]))
            written = place.written({"DATABASE_URL": "sqlite:///{folder}/first.db"} | environ)
            for variable, value in written.items():
                monkeypatch.setenv(variable, value)
            try:
                return next(one for one in LOOKS if one.__name__ == name)(place, load(written))
            except PerdureError as error:
                return error.code

    return look
