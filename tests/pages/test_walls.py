"""Nobody gets further than their key by any page: each route of the app's own table is tried."""

from __future__ import annotations

import json
import time
from urllib.parse import quote, urlsplit

import jwt
import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from perdure import Message, Scope
from perdure.pages.app import with_pages
from perdure.pages.asked import SESSION, visitor
from perdure.pages.page import PREFIX
from perdure.pages.tune import NAMES as VALUES
from perdure.policy import DESKTOP
from perdure.serve.app import create_app
from perdure.serve.frames import PATH
from perdure.settings import Secret, Settings
from perdure.types import JobState, KeyRole, Permission

HOME = "https://127.0.0.1"
SECRET = "a secret of more than thirty-two characters"
KEYS = (Secret("shop=key-of-shop"), Secret("lab=key-of-lab"))
MARKER = "Plays the theremin"
BO = Scope(user="bo", namespace="shop")
OPEN = {
    ("GET", PREFIX), ("POST", f"{PREFIX}/key"), ("POST", f"{PREFIX}/leave"),
    ("GET", f"{PATH}/{{frame}}"),
}  # fmt: skip
"""What anybody may ask for: the way in, the way out, and what asks for its link."""


def table():
    for found in iter_route_contexts(with_pages(create_app(None, Settings())).routes):
        path = found.path or ""
        if path.startswith(PREFIX) and isinstance(found.original_route, APIRoute):
            yield from ((method, path, found.original_route) for method in found.methods or ())


def parts(asked):
    """What a route depends on, and what that depends on."""
    yield asked
    for further in asked.dependencies:
        yield from parts(further)


def rules(route):
    """The permissions that a page asks for; a person's own page lets its visitor in."""
    depends = list(parts(route.dependant))
    own = [Permission.MEMORY_USE] * any(one.call is visitor for one in depends)
    return own + [scope for one in depends for scope in one.own_oauth_scopes or ()]


ALL = sorted(table(), key=lambda one: one[:2])
ROUTES = [one for one in ALL if one[:2] not in OPEN]
NAMES = [f"{method} {path}" for method, path, _ in ROUTES]


@pytest.mark.spec("7")
@pytest.mark.case("SEC-05")
@pytest.mark.parametrize(("method", "path", "route"), ROUTES, ids=NAMES)
def test_every_page_has_one_rule_for_who_may_see_it(method, path, route):
    """A new page without a rule fails here."""
    (rule,) = rules(route)
    admin = any(word in path for word in ("/operations", "/audit", "/limit"))
    assert (rule is not Permission.MEMORY_USE) is admin, method
    assert rule is Permission.MEMORY_USE or not path.startswith(PATH), "no admin in a frame"


def token(user="ann", namespace="shop", secret=SECRET, until=4_000_000_000):
    return jwt.encode({"sub": user, "ns": namespace, "exp": until}, secret, "HS256")


def tampered():
    """A token of ann's that says it is bo's."""
    header, _, signature = token().split(".")
    return ".".join((header, token("bo", secret="x" * 40).split(".")[1], signature))


class House:
    """Pages with two users of one namespace, another namespace, and everybody's keys."""

    def __init__(self, opened):
        self.pages = opened(
            home=HOME, api_keys=KEYS, token_secret=Secret(SECRET), rate_limit=0,
            embed_origins=("https://app.example",), embed_secret=Secret(SECRET[::-1]),
        )  # fmt: skip
        memory = self.pages.memory
        self.item = memory.items.add(BO, MARKER)
        self.dismissed = memory.items.add(BO, f"{MARKER}, badly")
        memory.items.dismiss(BO, self.dismissed.id)
        said = [Message("user", f"I said: {MARKER}."), Message("assistant", "Noted.")]
        assert memory.capture(BO, "chat-1", said).trace
        with memory.parts.database.read() as tx:
            (self.job, *_) = tx.jobs.page(list(JobState))
        create = memory.parts.keys.create
        _, self.admin = create("shop", "admin", KeyRole.ADMIN)
        _, self.stranger = create("lab", "stranger", KeyRole.ADMIN)

    def call(self, method, path, *, header=False, session=None, key=None, frame="none"):
        """One page with everything that belongs to bo named in it."""
        where = (
            path.replace("{item_id}", self.item.id)
            .replace("{job_id}", str(self.job.id))
            .replace("{frame}", frame)
        )
        chosen = [f"{one.id}@" for one in (self.item, self.dismissed)]
        form = {
            "content": "Hates tea.", "kind": "fact", "project": "", "do": "drop", "shown": "",
            "chosen": chosen, "name": "memory_enabled", "user": "bo", "user_id": "bo",
            "level": "all", "status": "active", "q": "", "query": "theremin", "limit": "10",
            "typed": "clear all" if path.endswith("clear") else "bo",
        }  # fmt: skip
        if "/memory/" in path or path.endswith("several"):
            form["do"] = "delete"
        kept = {"perdure_user": "bo"}
        if key is not None and not header:
            kept["perdure_key"] = quote(key, safe="")
        if session is not None:
            kept[SESSION] = session
        headers = {"Origin": HOME, "Cookie": "; ".join(f"{k}={v}" for k, v in kept.items())}
        if header:
            headers["Authorization"] = f"Bearer {key}"
        query = {"user_id": "bo"} if "/audit" in path else {}
        self.pages.cookies.clear()
        how = {"data": form} if method == "POST" else {}
        return self.pages.request(method, where, params=query, headers=headers, **how)

    def enter(self, user):
        """The name of a frame that is open for a user, and the session that keeps it."""
        key = {"Authorization": "Bearer key-of-shop"}
        link = self.pages.post(f"/api/v1/users/{user}/page-link", headers=key).json()["path"]
        kept = self.pages.get(link).headers["set-cookie"]
        return urlsplit(link).path.rpartition("/")[2], kept.partition(";")[0].partition("=")[2]

    def everything(self):
        """All that belongs to bo, as it stands."""
        memory = self.pages.memory
        with memory.parts.database.read() as tx:
            jobs = [(job.id, job.state) for job in tx.jobs.page(list(JobState))]
        lines = [json.dumps(line, default=str) for line in memory.export(BO)]
        return lines, memory.preferences.get(BO), jobs, memory.parts.runtime.values("shop")


@pytest.fixture
def house(opened):
    return House(opened)


@pytest.mark.spec("7")
@pytest.mark.case("SEC-05")
@pytest.mark.parametrize("header", [False, True], ids=["cookie", "header"])
def test_a_missing_wrong_expired_or_tampered_key_opens_no_page(house, header):
    before = house.everything()
    wrong = ["unknown", "pdr_unknown", tampered(), token(secret="y" * 40),
             token("bo", until=int(time.time()) - 60)]  # fmt: skip
    for method, path, _ in ROUTES:
        for key in wrong if header else [None, *wrong]:
            reply = house.call(method, path, key=key, header=header)
            assert reply.status_code == 401, (method, path, key)
            assert "<html" in reply.text
            assert MARKER not in reply.text
    assert house.everything() == before


@pytest.mark.spec("7")
@pytest.mark.case("SEC-05")
def test_no_page_shows_or_changes_what_is_another_users_another_namespaces_or_an_admins(house):
    before = house.everything()
    for method, path, route in ROUTES:
        if path.startswith(PATH):
            continue
        admin = rules(route) != [Permission.MEMORY_USE]
        # a token of ann's, a cookie that says bo, and bo's ids
        reply = house.call(method, path, key=token())
        assert reply.status_code < 500
        assert MARKER not in reply.text, (method, path)
        if admin or path.endswith("/person"):
            assert reply.status_code == 403, (method, path)
        elif "{item_id}" in path:
            assert reply.status_code == 404, (method, path)
        # an app of another namespace; an admin of another
        for key in ("key-of-lab", house.stranger):
            reply = house.call(method, path, key=key)
            assert reply.status_code < 500
            assert MARKER not in reply.text, (method, path)
        # an app may not do what admins do, nor an admin what apps do
        reply = house.call(method, path, key="key-of-shop" if admin else house.admin)
        assert reply.status_code == 403, (method, path)
        assert MARKER not in reply.text
    assert house.everything() == before
    for path, key in (("memory", token("bo")), ("memory", "key-of-shop"), ("audit", house.admin)):
        assert MARKER in house.call("GET", f"{PREFIX}/{path}", key=key).text, path


@pytest.mark.spec("7")
@pytest.mark.case("SEC-05")
def test_a_frame_opens_for_its_own_user_alone_and_for_no_key(house):
    before = house.everything()
    frame, session = house.enter("ann")
    other, theirs = house.enter("bo")
    for method, path, _ in ROUTES:
        if not path.startswith(PATH):
            continue
        for key in ("key-of-shop", house.admin, token("bo")):
            reply = house.call(method, path, key=key, frame=frame)
            assert reply.status_code == 401, (method, path)
        for named, kept in ((other, session), (frame, theirs), (frame, token("bo")),
                            (frame, session[:-4])):  # fmt: skip
            reply = house.call(method, path, session=kept, frame=named)
            assert reply.status_code == 401, (method, path)
            assert MARKER not in reply.text
        reply = house.call(method, path, session=session, frame=frame, key=token("bo"))
        assert reply.status_code < 500
        assert MARKER not in reply.text, (method, path)
        if "{item_id}" in path:
            assert reply.status_code == 404, (method, path)
    assert house.everything() == before
    shown = house.call("GET", f"{PATH}/{{frame}}/memory", session=theirs, frame=other)
    assert MARKER in shown.text


@pytest.mark.spec("7")
@pytest.mark.case("SEC-05")
def test_a_page_of_anothers_memory_and_of_none_look_alike(house):
    for method, path, _ in ROUTES:
        if "{item_id}" not in path or path.startswith((PATH, f"{PREFIX}/audit")):
            continue
        theirs = house.call(method, path, key=token())
        nowhere = house.call(method, path.replace("{item_id}", "0" * 32), key=token())
        assert theirs.status_code == nowhere.status_code == 404, (method, path)
        told = [reply.text.replace(house.item.id, "0" * 32) for reply in (theirs, nowhere)]
        assert told[0] == told[1], (method, path)


ROUGH = {
    "nothing": "", "nul": "a\x00b", "half": "\ud800", "markup": '"><script>1</script>',
    "long": "9" * 5_000, "path": "../../etc/passwd", "sql": "' OR '1'='1", "percent": "%ff%00",
    "format": "{user.__class__}", "minus": "-1", "time": "2026-13-45T99:99",
    "unseen": "\u202e\u2066\u200b", "number": "1e999", "list": "[1]",
}  # fmt: skip


@pytest.mark.spec("7")
@pytest.mark.parametrize("value", ROUGH.values(), ids=ROUGH.keys())
def test_no_page_breaks_on_rough_values_whoever_sends_them(opened, value):
    """In every field of a form, in the address, in what the browser keeps."""
    pages = opened(policy=DESKTOP)
    item = pages.remember("Likes tea")
    _, admin = pages.memory.parts.keys.create("default", "ops", KeyRole.ADMIN)
    sent = quote(value, safe="", errors="surrogatepass")
    body = "&".join(f"{name}={sent}" for name in (
        "content", "kind", "project", "do", "shown", "chosen", "name", "on", "level", "status",
        "q", "typed", "user", "key", "query", "limit", *(f"was:{one}" for one in VALUES), *VALUES,
    ))  # fmt: skip
    names = ("level", "status", "q", "after", "user_id", "cursor", "lang")
    headers = {
        "Origin": "http://127.0.0.1", "Content-Type": "application/x-www-form-urlencoded",
        "Cookie": f"perdure_user={sent[:3_000]}; perdure_language={sent[:3_000]}; "
                  f"perdure_key={admin}",
    }  # fmt: skip
    script = {"HX-Request": "true", "HX-Source": sent[:500]}
    for method, path, route in ALL:
        asked = {field.alias for one in parts(route.dependant) for field in one.query_params}
        query = "&".join(f"{name}={sent}" for name in names if name in asked)
        for place, how in ((item.id, script), (sent[:500] or "0", {})):
            where = path.replace("{item_id}", place).replace("{job_id}", place)
            where = f"{where.replace('{frame}', place)}?{query}"
            content = body if method == "POST" else None
            reply = pages.request(method, where, content=content, headers=headers | how)
            assert reply.status_code < 500, (method, path, reply.text)
            assert "<script>1" not in reply.text, (method, path)
    assert [m.content for m in pages.memory.items.list(Scope(user="me"))] == ["Likes tea"]
