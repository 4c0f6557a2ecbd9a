"""The pages in this process, asked as a browser asks, and in a browser; searches by words."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import uvicorn
from playwright.sync_api import expect, sync_playwright
from starlette.testclient import TestClient

from perdure import Memory, Scope
from perdure.pages.app import with_pages
from perdure.serve.app import create_app
from perdure.settings import Settings
from perdure.testing.model_server import ModelServer

HOME = "http://127.0.0.1"
HTMX = {"Origin": HOME, "HX-Request": "true"}
CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --test-third-party-cookie-phaseout"
).split()
WAIT_MS = 20_000  # the machine may be busy
EMBED_SECRET = "a secret that signs links into frames"
expect.set_options(timeout=WAIT_MS)


class Pages(TestClient):
    """A browser without a screen, and the memory behind the pages."""

    memory: Memory

    def send_form(self, path, form, *, source=None, **headers):
        """Post a form as the script does."""
        about = {} if source is None else {"HX-Source": f"form#{source}"}
        return self.post(f"/pages/{path}", data=form, headers=HTMX | about | headers)

    def wait(self, **time):
        """Let time pass, for whatever the pages themselves measure."""
        clock, by = self.memory.parts.clock, timedelta(**time)
        self.memory._parts = replace(self.memory.parts, clock=lambda: clock() + by)

    def remember(self, content, user="me", **about):
        return self.memory.items.add(Scope(user=user), content, **about)


@pytest.fixture
def opened(tmp_path):
    """Opens pages: ``opened(api_keys=...)``."""
    with ExitStack() as stack:

        def start(*, key=None, home=HOME, **changes):
            settings = Settings(embedder="none", workers=False).but(**changes)
            memory = stack.enter_context(Memory.open(tmp_path / "perdure.db", settings=settings))
            cookies = {} if key is None else {"perdure_key": key}
            app = with_pages(create_app(memory, settings))
            pages = Pages(
                app, base_url=home, client=("127.0.0.1", 50_000), cookies=cookies,
                follow_redirects=False,
            )  # fmt: skip
            pages.memory = memory
            return stack.enter_context(pages)

        yield start


@pytest.fixture
def pages(opened):
    """The pages of this machine, without keys."""
    return opened()


@pytest.fixture
def admin(opened):
    """Makes the pages of an admin with these permissions, and without keys for apps."""

    def start(*permissions):
        pages = opened()
        _, secret = pages.memory.parts.keys.create(
            "default", "ops", "admin", list(permissions), by="test"
        )
        pages.cookies.set("perdure_key", secret)
        return pages

    return start


# ── in a browser ─────────────────────────────────────────────────────────────────────────────────


class Model:
    """A scripted model behind the service: what each message teaches, told by whoever says it."""

    def __init__(self):
        self.teaches = {}
        self.server = ModelServer(rule=self.answer)

    def answer(self, request):
        """What was told of the message that it is asked about; everything new is added."""
        asked = json.loads(request.body["messages"][-1]["content"])
        if "statements" in asked:
            return {"decisions": [{"statement": int(n), "action": "ADD", "memory": None,
                                   "content": None} for n in asked["statements"]]}  # fmt: skip
        return {"memories": [
            {"content": content, "kind": "fact", "confidence": 0.9, "lines": [int(number)]}
            for number, line in asked["lines"].items()
            for said, contents in self.teaches.items() if line.endswith(said)
            for content in contents
        ]}  # fmt: skip


class Service:
    """A running service: its address, the link of its first start, and a client of its API."""

    def __init__(self, url, link, place, model):
        self.url = url
        self.link = link
        self.key = link.partition("token=")[2]
        self.place = place
        self.model = model
        self.api = httpx.Client(base_url=f"{url}/api/v1", trust_env=False, timeout=30)

    def say(self, user, content, *learnt):
        """A finished turn of a conversation; waits until the model has learnt this from it."""
        self.model.teaches[content] = learnt
        body = {
            "user_id": user,
            "messages": [
                {"role": "user", "content": content},
                {"role": "assistant", "content": "Noted."},
            ],
        }
        taken = self.api.post("/conversations/chat-1/turns", json=body).json()
        until = time.monotonic() + 60
        while taken["state"] not in ("learnt", "skipped", "dead") and time.monotonic() < until:
            time.sleep(0.05)
            path = f"/captures/{taken['trace']}"
            taken = self.api.get(path, params={"user_id": user}).json()
        assert (taken["state"], len(taken["learnt"])) == ("learnt", len(learnt)), taken

    def add(self, user, content, **more):
        body = {"user_id": user, "content": content, **more}
        made = self.api.post("/memory/items", json=body)
        assert made.status_code == 201, made.text
        return made.json()

    def take_in(self, user, lines):
        body = "\n".join(json.dumps(line) for line in lines)
        taken = self.api.post(
            "/memory/import", params={"user_id": user}, content=body,
            headers={"Content-Type": "application/x-ndjson"},
        )  # fmt: skip
        assert taken.status_code == 200, taken.text

    def find(self, user, content):
        """The memory that says this."""
        found = self.api.get("/memory/items", params={"user_id": user}).json()["items"]
        (item,) = [one for one in found if one["content"] == content]
        return item

    def listed(self, user, status="active"):
        found = self.api.get("/memory/items", params={"user_id": user, "status": status}).json()
        return [item["content"] for item in found["items"]]


class Hosting(BaseHTTPRequestHandler):
    """A page of a host, with the frame that its address names."""

    def do_GET(self):
        src = parse_qs(urlsplit(self.path).query).get("src", [""])[0]
        frame = f'<iframe title="m" width="900" height="700" src="{escape(src)}"></iframe>'
        body = f"<!doctype html><title>Host</title>{frame}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nothing is worth a line."""


@pytest.fixture(scope="package")
def hosts():
    """Ports of two hosts: one that may show pages in a frame, and one that may not."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Hosting) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield [server.server_port for server in servers]
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="package")
def model():
    """The model, on a socket of this process."""
    model = Model()
    with model.server:
        yield model


@pytest.fixture(scope="package")
def service(tmp_path_factory, hosts, model, patience):
    """``perdure serve`` in a process of its own; whoever looks in its folder finds the database."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PERDURE_")}
    environment |= patience | {
        "PERDURE_EMBEDDER": "none",
        "PERDURE_LLM_BASE_URL": model.server.base_url,
        "PERDURE_LLM_MODEL": "scripted",
        "PERDURE_EMBED_ORIGINS": f"http://127.0.0.1:{hosts[0]},http://localhost:{hosts[0]}",
        "PERDURE_EMBED_SECRET": EMBED_SECRET,
    }
    command = [str(Path(sys.executable).parent / "perdure"), "serve", "--port", "0", "--json"]
    place = tmp_path_factory.mktemp("service")
    with subprocess.Popen(
        command, cwd=place, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        told = json.loads(process.stdout.readline() if process.stdout else "{}")
        service = Service(told["url"], told["link"], place, model)
        yield service
        service.api.close()
        process.kill()  # how it ends is told elsewhere


@pytest.fixture(scope="package")
def browser():
    """One browser for all; its loop would be in the way of other rooms."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not there; `make services` installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def window(browser):
    """Opens windows; whatever their console complains of is a failure."""
    contexts, wrong = [], []

    def window(**how):
        context = browser.new_context(**({"locale": "en-GB"} | how))
        context.set_default_timeout(WAIT_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if "Policy" in said.text else None)
        page.complaints = wrong
        return page

    yield window
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def visit(service, window):
    """Opens a page as a user: ``visit("ann")``."""

    def visit(user, path="memory", *, admin=False, **how):
        page = window(**how)
        kept = {"perdure_user": user} | ({"perdure_key": service.key} if admin else {})
        page.context.add_cookies(
            [{"name": name, "value": value, "url": service.url} for name, value in kept.items()]
        )
        page.goto(f"{service.url}/pages/{path}")
        return page

    return visit


@pytest.fixture(scope="session")
def faults():
    """Tells what is seriously wrong with a page for whoever hears it, or hardly sees."""
    script = (Path(__file__).parent / "axe-4.14.1.min.js").read_text("utf-8")

    def found(page):
        page.evaluate(script)
        return page.evaluate("""axe.run().then(found => found.violations
            .filter(one => ["serious", "critical"].includes(one.impact))
            .map(one => [one.id, one.nodes.map(node => node.html + node.failureSummary)]))""")

    return found


@pytest.fixture(scope="session")
def listening():
    """Serves an app from a socket of this process: ``with listening(app) as port``."""
    return _listening


@contextmanager
def _listening(app, port=0):
    """The app behind a socket of this process; gives the port."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        server = uvicorn.Server(
            uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()
