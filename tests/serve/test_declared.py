"""Nothing that a request names is passed over: by any route of the app, hidden ones too."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from perdure import Memory, Scope
from perdure.pages.app import with_pages
from perdure.serve.app import PREFIX, create_app
from perdure.serve.frames import PATH
from perdure.settings import Settings
from perdure.types import KeyRole

ANN, BO = Scope(user="ann"), Scope(user="bo")
DOCUMENTS = {"/openapi.json", "/static-offline-docs", "/pages/static"}
"""What answers without being a route of ours: files, which read no query."""
PLACES = {"item_id": "i", "conversation_id:id": "c", "job_id": "1", "key_id": "k", "trace": "t",
          "run": "r", "user_id:id": "bo", "frame": "f"}  # fmt: skip
BODIES: dict[str, Any] = {
    "/memory/items": {"user_id": "bo", "content": "Likes tea."},
    "/memory/search": {"user_id": "bo", "query": "tea"},
    "/memory/context": {"user_id": "bo", "query": "tea"},
    "/memory/settings": {"user_id": "bo", "auto_learn": False},
    "/conversations/{conversation_id:id}/turns": {
        "user_id": "bo",
        "messages": [{"role": "user", "content": "I live in Bergen."}],
    },
    "/memory/items/{item_id}": {"user_id": "bo", "content": "Hates tea."},
    "/memory/items/{item_id}/dismiss": {"user_id": "bo"},
    "/memory/items/{item_id}/restore": {"user_id": "bo"},
    "/memory/items/{item_id}/accept": {"user_id": "bo"},
    "/admin/settings": {"values": {"gate.floor": 0.1}},
    "/admin/keys": {"name": "shop"},
}


def table():
    """Method and path of every route that the app has, from its own table."""
    app = with_pages(create_app(None, Settings()))
    for route in iter_route_contexts(app.routes):
        if not isinstance(route.original_route, APIRoute):
            assert route.path in DOCUMENTS
            continue
        yield from ((method, route.path) for method in sorted(route.methods or ()))


ROUTES = list(table())


READS = {f"{PREFIX}/memory/context", f"{PREFIX}/memory/search"}
"""What is posted and changes nothing."""


class Everything(httpx.Client):
    """A client that may call every route of a service with pages."""

    def __init__(self, where, memory):
        super().__init__(base_url=where, trust_env=False, timeout=20)
        self.memory = memory
        self.places = {}
        _, self.app = memory.parts.keys.create("default", "app")
        _, self.admin = memory.parts.keys.create("default", "ops", KeyRole.ADMIN)
        for user in (ANN, BO):
            memory.items.add(user, "Likes coffee.")

    def call(self, method, path, query, **sent):
        is_admin = any(word in path for word in ("/admin", "/metrics", "/operations", "/audit"))
        key = self.admin if is_admin else self.app
        headers = {"Authorization": f"Bearer {key}", "Origin": str(self.base_url).rstrip("/")}
        if "/pages" not in path and not path.endswith("/import"):
            body = BODIES.get(path.removeprefix(PREFIX))
            sent = {"json": body} | sent if method in ("POST", "PATCH") and body else sent
        headers |= sent.pop("headers", {})
        for name, value in (PLACES | self.places).items():
            path = path.replace(f"{{{name}}}", value)
        return self.request(method, path, params=query, headers=headers, **sent)

    def kept(self):
        """All that stands in the database of both users, and what was set."""
        lines = [json.dumps(line, default=str) for user in (ANN, BO)
                 for line in self.memory.export(user)]  # fmt: skip
        parts = self.memory.parts
        return (lines, parts.runtime.values("default"), len(parts.keys.list("default")),
                [self.memory.preferences.get(user) for user in (ANN, BO)])  # fmt: skip


@pytest.fixture(scope="module")
def service(tmp_path_factory, behind_a_socket):
    place = tmp_path_factory.mktemp("declared") / "perdure.db"
    settings = Settings(embedder="none", rate_limit=0, workers=False)
    with Memory.open(place, settings=settings) as memory:
        app = with_pages(create_app(memory, settings))
        with behind_a_socket(app) as where, Everything(where, memory) as client:
            yield client


@pytest.mark.spec("6")
def test_the_walk_sees_pages_hidden_routes_and_documents_alike():
    paths = {path for _, path in ROUTES}
    assert {"/", "/docs", "/metrics", "/health/ready", f"{PREFIX}/health/ready"} <= paths
    assert {"/pages/memory", "/pages/erase", f"{PATH}/{{frame}}/memory"} <= paths
    assert ("POST", f"{PREFIX}/memory/settings") in ROUTES
    assert len(ROUTES) > 80


@pytest.mark.spec("6")
@pytest.mark.case("ISO-03")
def test_every_route_refuses_a_name_in_a_query_that_it_does_not_know_and_does_nothing(service):
    before = service.kept()
    for method, path in ROUTES:
        reply = service.call(method, path, {"nope": "1"})
        assert reply.status_code == 422, (method, path)
        if path.startswith(PREFIX):
            assert reply.json()["field"] == "nope", (method, path)
            assert reply.json()["detail"] == "nope: There is no such field.", (method, path)
    assert service.kept() == before


@pytest.mark.spec("6")
@pytest.mark.case("ISO-03")
@pytest.mark.parametrize("query", [
    {"dry_run": "true"}, {"user_id": "ann"}, {"dry_run": ""}, {"DRY_RUN": "true"},
], ids=str)  # fmt: skip
def test_a_wish_that_erasing_does_not_know_erases_nobody(service, query):
    before = service.kept()
    refused = service.call("DELETE", f"{PREFIX}/users/{{user_id:id}}", query)
    assert (refused.status_code, refused.json()["field"]) == (422, next(iter(query)))
    assert service.kept() == before


@pytest.mark.spec("6")
def test_a_body_where_none_is_read_is_refused_and_does_nothing(service):
    before = service.kept()
    wish = {"dry_run": True}
    refused = service.call("DELETE", f"{PREFIX}/users/{{user_id:id}}", {}, json=wish)
    assert (refused.status_code, refused.json()["field"]) == (422, "body")
    assert service.kept() == before
    nothing = service.call("GET", f"{PREFIX}/admin/keys", {}, json={})
    assert nothing.status_code == 200  # some clients always send one


@pytest.mark.spec("6")
def test_a_key_against_repetition_is_kept_by_every_write_or_refused_and_never_passed_over(service):
    """Twice the same request with the same key: both are refused, or the second does nothing."""
    refused, honoured = set(), set()
    for place, (method, path) in enumerate(ROUTES):
        if not path.startswith(PREFIX) or method == "GET" or path in READS:
            continue
        item = service.memory.items.add(BO, f"Likes number {place}.")
        service.places = {"item_id": item.id}
        whose = {"user_id": "bo"} if method == "DELETE" and "/memory" in path else {}
        whose |= {"confirm": "true"} if path.endswith("/items") and whose else {}
        key = {"headers": {"Idempotency-Key": f"{method} {path}"}}
        before = service.kept()
        first = service.call(method, path, whose, **key)
        between = service.kept()
        second = service.call(method, path, whose, **key)
        assert second.status_code == first.status_code, (method, path)
        assert service.kept() == between, (method, path)
        if first.status_code == 422 and first.json()["field"] == "Idempotency-Key":
            assert between == before, (method, path)
            refused.add(f"{method} {path.removeprefix(PREFIX)}")
        elif first.is_success:
            honoured.add(f"{method} {path.removeprefix(PREFIX)}")
    assert honoured == {
        "POST /memory/items", "DELETE /memory/items", "PATCH /memory/items/{item_id}",
        "DELETE /memory/items/{item_id}", "POST /memory/items/{item_id}/dismiss",
        "POST /memory/items/{item_id}/restore", "POST /memory/items/{item_id}/accept",
        "POST /conversations/{conversation_id:id}/turns",
    }  # fmt: skip
    assert {
        "POST /admin/keys", "PATCH /admin/settings", "POST /admin/jobs/{job_id}/retry",
        "DELETE /users/{user_id:id}", "POST /memory/import", "POST /memory/settings",
        "POST /memory/consolidate/{run}/undo", "POST /users/{user_id:id}/page-link",
    } <= refused  # fmt: skip


@pytest.mark.spec("9")
def test_no_secret_of_a_key_is_kept_with_a_request(service):
    keys = len(service.memory.parts.keys.list("default"))
    again = {"headers": {"Idempotency-Key": "k"}}
    for _ in range(2):
        assert service.call("POST", f"{PREFIX}/admin/keys", {}, **again).status_code == 422
    assert len(service.memory.parts.keys.list("default")) == keys
    with service.memory.parts.database.read() as tx:
        rows = tx.connection.exec_driver_sql("SELECT * FROM perdure_requests").all()
    assert "pdr_" not in str(rows)


@pytest.mark.spec("6")
def test_every_name_that_the_description_tells_of_is_known(service):
    told = create_app(None, Settings()).openapi()["paths"]
    described = 0
    for path, methods in told.items():
        for method, route in methods.items():
            names = [p["name"] for p in route.get("parameters", []) if p["in"] == "query"]
            if not names:
                continue
            where = path.replace("{conversation_id}", "c").replace("{user_id}", "nobody")
            reply = service.call(method.upper(), where, dict.fromkeys(names, "x"))
            assert "no such field" not in reply.text, (method, path)
            described += 1
    assert described > 12


@pytest.mark.spec("7")
def test_any_page_takes_a_language(service):
    for method, path in ROUTES:
        if path.startswith("/pages/") and method == "GET":
            named = {"user_id": "ann"} if path.startswith("/pages/audit") else {}
            assert service.call(method, path, named | {"lang": "zh"}).status_code != 422, path
