"""A real service on a real socket, over a real SQLite file; searches by words, to be quick."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from functools import partial

import httpx
import pytest
import uvicorn

from perdure import Memory
from perdure.serve.app import PREFIX, create_app
from perdure.settings import Settings


class Api(httpx.Client):
    """A client, and the memory behind the service it speaks to."""

    memory: Memory
    ended: Callable[[], None]


@contextmanager
def listening(app):
    """The app behind a socket; gives the address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(
            uvicorn.Config(app, access_log=False, log_config=None, lifespan="off")
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until = time.monotonic() + 10
            while not server.started and time.monotonic() < until:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def started(stack, folder, *, key=None, url=None, **changes):
    """A client of a service that lasts as long as the stack, or until ``client.ended()``."""
    stack = stack.enter_context(ExitStack())
    settings = Settings(**({"embedder": "none"} | changes))
    memory = stack.enter_context(Memory.open(url or folder / "perdure.db", settings=settings))
    where = stack.enter_context(listening(create_app(memory, settings)))
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    client = Api(base_url=f"{where}{PREFIX}", headers=headers, trust_env=False, timeout=20)
    client.memory = memory
    client.ended = stack.close
    return stack.enter_context(client)


@pytest.fixture(scope="session")
def behind_a_socket():
    """Lets an app of one's own listen: ``with behind_a_socket(app) as address``."""
    return listening


@pytest.fixture
def served(tmp_path):
    """Starts services: ``served(api_keys=...)`` gives a client that speaks to one."""
    with ExitStack() as stack:
        yield partial(started, stack, tmp_path)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """The same for a whole module of tests, each with users of its own."""
    with ExitStack() as stack:
        yield partial(started, stack, tmp_path_factory.mktemp("lasting"))


@pytest.fixture
def api(served):
    """A client on this machine of a service without keys."""
    return served()


@pytest.fixture
def settled(api):
    """Waits for the receipt of a capture to which nothing more will happen."""

    def wait(user, trace):
        until = time.monotonic() + 60
        while True:
            receipt = api.get(f"/captures/{trace}", params={"user_id": user}).json()
            if receipt["state"] in ("learnt", "skipped", "dead") or time.monotonic() > until:
                return receipt
            time.sleep(0.02)

    return wait


@pytest.fixture
def learnt(api, settled):
    """Captures one message of a user and waits until it is learnt from; gives the receipt."""

    def say(user, content, conversation="chat-1", **more):
        body = {"user_id": user, "messages": [{"role": "user", "content": content}], **more}
        taken = api.post(f"/conversations/{conversation}/turns", json=body)
        assert taken.status_code == 202, taken.text
        receipt = taken.json()
        return receipt if receipt["state"] == "skipped" else settled(user, receipt["trace"])

    return say
