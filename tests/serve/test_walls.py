"""Nobody gets further than their key: every route of the app is tried by every stranger."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import jwt
import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from perdure import Scope
from perdure.control.hand import owner
from perdure.pages.app import with_pages
from perdure.pages.page import PREFIX as PAGES
from perdure.serve.app import PREFIX, create_app
from perdure.settings import Secret, Settings
from perdure.types import JobState, JobType, KeyRole, Permission, Promise

SECRET = Secret("a secret of more than thirty-two characters")
KEYS = (Secret("shop=key-of-shop"), Secret("lab=key-of-lab"))
FILES = {"/openapi.json", "/static-offline-docs", "/pages/static"}
"""What is mounted: documents and files, the same for everybody."""
PUBLIC = {
    "/", "/docs", "/docs/oauth2-redirect", "/health/live", "/health/ready",
    f"{PREFIX}/health/live", f"{PREFIX}/health/ready",
}  # fmt: skip
"""What needs no key; a new route is either listed here or declares what it asks for."""
MARKER = "Plays the theremin"


def token(user="ann", namespace="shop", secret=SECRET):
    until = datetime.now(UTC) + timedelta(minutes=5)
    return jwt.encode({"sub": user, "ns": namespace, "exp": until}, secret, "HS256")


def table():
    """Every route of the app with the pages beside it, from its own table, hidden ones too."""
    for found in iter_route_contexts(with_pages(create_app(None, Settings())).routes):
        route = found.original_route
        if not isinstance(route, APIRoute):
            assert found.path in FILES
            continue
        yield from ((method.lower(), found.path, route) for method in found.methods or ())


ROUTES = sorted(
    (one for one in table() if one[1] not in PUBLIC and not one[1].startswith(PAGES)),
    key=lambda one: one[:2],
)
NAMES = [f"{method.upper()} {path}" for method, path, _ in ROUTES]
BODIES: dict[tuple[str, str], Any] = {
    ("post", "/memory/items"): {"content": "Hates tea."},
    ("patch", "/memory/items/{item_id}"): {"content": "Hates tea."},
    ("patch", "/memory/settings"): {"memory_enabled": False},
    ("post", "/memory/settings"): {"memory_enabled": False},
    ("post", "/conversations/{conversation_id:id}/turns"): {
        "messages": [{"role": "user", "content": "I hate tea."}]
    },
    ("post", "/memory/context"): {"query": "theremin", "explain": True},
    ("post", "/memory/search"): {"query": "theremin"},
    ("post", "/memory/feedback"): {"verdict": "correction", "text": "Hates it."},
    ("patch", "/admin/settings"): {"values": {"gate.floor": 0.1}},
    ("post", "/admin/keys"): {"name": "mine", "role": "admin"},
}


def parts(asked):
    """What a route depends on, and what that depends on."""
    yield asked
    for further in asked.dependencies:
        yield from parts(further)


def needs(route):
    """The permissions that a route declares, each once whatever depends on it."""
    every = (scope for one in parts(route.dependant) for scope in one.own_oauth_scopes or ())
    return list(dict.fromkeys(every))


@pytest.mark.spec("6")
@pytest.mark.case("SEC-05")
@pytest.mark.parametrize(("method", "path", "route"), ROUTES, ids=NAMES)
def test_every_route_declares_what_it_asks_for(method, path, route):
    """A new route without a permission fails here."""
    asked = needs(route)
    assert len(asked) == 1, "declare one permission: who may call it?"
    admin = path.startswith((f"{PREFIX}/admin/", "/metrics"))
    assert (Permission(asked[0]) is not Permission.MEMORY_USE) is admin


def asked_for(route):
    """The names of a query that a route declares."""
    for one in parts(route.dependant):
        for field in one.query_params:
            model = field.field_info.annotation
            names = getattr(model, "model_fields", None)
            yield from [field.alias] if names is None else names


class House:
    """A service with two users of one namespace, another namespace, and everybody's keys."""

    def __init__(self, served):
        self.api = served(api_keys=KEYS, token_secret=SECRET)
        memory = self.api.memory
        self.item = memory.items.add(Scope(user="bo", namespace="shop"), MARKER)
        self.dismissed = memory.items.add(Scope(user="bo", namespace="shop"), f"{MARKER}, badly")
        memory.items.dismiss(owner(self.dismissed), self.dismissed.id)
        with memory.parts.database.begin() as tx:
            promise = Promise(
                type=JobType.EXTRACT, namespace="shop", user="bo", key="k", payload={}, trace="t1"
            )
            self.job, _ = tx.jobs.promise(promise, memory.parts.clock())
            tx.jobs.bury(
                tx.jobs.claim(memory.parts.clock(), 60, list(JobType)), "x", memory.parts.clock()
            )
        self.admin, self.admin_secret = memory.parts.keys.create("shop", "admin", KeyRole.ADMIN)
        _, self.stranger = memory.parts.keys.create("lab", "stranger", KeyRole.ADMIN)

    def call(self, method, path, route, key=None, user=None, **headers):
        """One route with everything that belongs to bo named in it."""
        where = path.replace("{item_id}", self.item.id).replace("{trace}", "t1")
        where = (
            where.replace("{conversation_id:id}", "c")
            .replace("{job_id}", str(self.job.id))
            .replace("{run}", "r1")
        )
        where = where.replace("{key_id}", self.admin.id).replace("{user_id:id}", "bo")
        body = BODIES.get((method, path.removeprefix(PREFIX)))
        named = {} if user is None else {"user_id": user}
        query = (
            {"confirm": "true"} if (method, path) == ("delete", f"{PREFIX}/memory/items") else {}
        )
        if path.endswith("/feedback"):
            body = {**(body or {}), "trace": "t1", "item_id": self.item.id}
        if "user_id" in asked_for(route):
            query |= named
        elif method not in ("get", "delete") and "/admin/" not in path and "/users/" not in path:
            body = (body or {}) | named
        how = {"json": body} if body is not None else {}
        if path.endswith("/import"):
            line = {"type": "message", "conversation": "c", "role": "user", "content": "I hate it."}
            how = {"content": json.dumps(line), "headers": {"Content-Type": "application/x-ndjson"}}
        sent = how.pop("headers", {}) | headers
        if key is not None:
            sent["Authorization"] = f"Bearer {key}"
        url = httpx.URL(self.api.base_url).copy_with(path=None).join(where)
        return self.api.request(method, url, params=query, headers=sent, **how)

    def everything(self):
        """All that belongs to bo, as it stands."""
        memory, bo = self.api.memory, Scope(user="bo", namespace="shop")
        with memory.parts.database.read() as tx:
            jobs = [(job.id, job.state) for job in tx.jobs.page(list(JobState))]
        return (
            [json.dumps(line, default=str) for line in memory.export(bo)],
            memory.preferences.get(bo), jobs,
            memory.parts.runtime.values("shop"), memory.parts.keys.list("shop")[0].revoked_at,
        )  # fmt: skip


@pytest.fixture
def house(served):
    return House(served)


def tampered(key):
    """A token of ann's that says it is bo's."""
    header, _, signature = key.split(".")
    forged = jwt.encode({"sub": "bo", "ns": "shop", "exp": 4_000_000_000}, "x" * 40, "HS256")
    return ".".join((header, forged.split(".")[1], signature))


@pytest.mark.spec("1", "6")
@pytest.mark.case("SEC-05")
def test_no_stranger_reads_or_changes_anything_by_any_route(house):
    before = house.everything()
    for method, path, route in ROUTES:
        admin = needs(route) != [Permission.MEMORY_USE]
        for key in (None, "unknown", "pdr_unknown", tampered(token()), token(secret="y" * 40)):
            reply = house.call(method, path, route, key, "bo")
            assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated"), path
        # the wrong user: a token of ann's that names bo, in whatever place
        reply = house.call(method, path, route, token(), "bo", **{"X-User-Id": "bo"})
        assert reply.status_code == 403, (method, path)
        # ann's own name, bo's ids
        reply = house.call(method, path, route, token(), "ann" if not admin else "bo")
        assert reply.status_code < 500
        assert MARKER not in reply.text, (method, path)
        # an app of another namespace; an admin of another
        for key in ("key-of-lab", house.stranger):
            reply = house.call(method, path, route, key, "bo")
            assert reply.status_code in (200, 201, 202, 204, 403, 404, 422), (method, path)
            assert MARKER not in reply.text, (method, path)
            assert house.admin.id not in reply.text
        # an app may not do what admins do, nor an admin what apps do
        reply = house.call(
            method, path, route, "key-of-shop" if admin else house.admin_secret, "bo"
        )
        assert (reply.status_code, reply.json()["code"]) == (403, "forbidden"), (method, path)
    assert house.everything() == before


@pytest.mark.spec("6")
@pytest.mark.case("SEC-05")
def test_what_is_anothers_and_what_is_not_there_look_alike(house):
    for method, path, route in ROUTES:
        if "{item_id}" not in path:
            continue
        theirs = house.call(method, path, route, token(), "ann")
        house.item, kept = replace(house.item, id="0" * 32), house.item
        nowhere = house.call(method, path, route, token(), "ann")
        house.item = kept
        assert (theirs.status_code, theirs.content) == (404, nowhere.content), (method, path)


@pytest.mark.spec("6", "9")
def test_a_revoked_key_opens_nothing_from_the_next_request_on(served):
    api = served()
    keys = api.memory.parts.keys
    key, secret = keys.create("shop", "web")
    bearer = {"Authorization": f"Bearer {secret}"}
    where = {"url": "/memory/items", "params": {"user_id": "ann"}}
    assert api.get(**where, headers=bearer).status_code == 200
    until = time.monotonic() + 60
    while keys.list("shop")[0].last_used_at is None and time.monotonic() < until:
        time.sleep(0.01)
    assert keys.list("shop")[0].last_used_at is not None
    assert api.get(**where).status_code == 401  # once there is a key, it is asked for
    keys.revoke("shop", key.id)
    assert api.get(**where, headers=bearer).status_code == 401
    assert api.get(**where).status_code == 401  # revoking the last one opens nothing again
