"""Who is meant: keys name namespaces, tokens bind users, and without keys nobody comes in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import httpx
import jwt
import pytest
from starlette.requests import Request

from perdure.errors import Forbidden, Misconfigured, Unauthenticated
from perdure.serve.auth import COOKIE, Callers, check_listening
from perdure.settings import Secret, Settings
from perdure.types import KeyRole

SECRET = Secret("a secret of more than thirty-two characters")
KEYS = (Secret("shop=key-of-shop"), Secret("lab=schlüssel"))


def token(user="ann", namespace="shop", secret=SECRET, minutes=5, **claims):
    until = datetime.now(UTC) + timedelta(minutes=minutes)
    return jwt.encode({"sub": user, "ns": namespace, "exp": until} | claims, secret, "HS256")


def request(client="127.0.0.1", **headers):
    sent = {"host": "127.0.0.1:8377"} | headers
    raw = [(name.encode(), value.encode()) for name, value in sent.items()]
    return Request({"type": "http", "client": (client, 5), "headers": raw})


@pytest.mark.spec("6")
@pytest.mark.case("ISO-05")
def test_the_namespace_comes_from_the_key(served):
    shop = served(key="key-of-shop", api_keys=KEYS)
    shop.post("/memory/items", json={"user_id": "ann", "content": "Likes tea."})
    lab = {"Authorization": "Bearer schlüssel".encode()}

    def listed(**how):
        return shop.get("/memory/items", params={"user_id": "ann"}, **how).json()["items"]

    assert [item["content"] for item in listed()] == ["Likes tea."]
    assert listed(headers=lab) == []
    assert "namespace" not in listed()[0]


@pytest.mark.spec("6")
def test_an_unknown_key_and_no_key_are_both_strangers(served):
    api = served(api_keys=KEYS, token_secret=SECRET)
    for sent in ({}, {"Authorization": "Bearer key-of"}, {"Authorization": "Basic key-of-shop"}):
        refused = api.get("/memory/items", params={"user_id": "ann"}, headers=sent)
        assert refused.status_code == 401
        assert refused.json()["code"] == "unauthenticated"
    assert api.get("/health/live").status_code == 200


@pytest.mark.spec("6", "9")
@pytest.mark.parametrize("user", ["ann", "🦩" * 255, "林" * 255], ids=["short", "emoji", "Chinese"])
def test_a_user_erases_themselves_by_a_token_whatever_they_are_called(served, user):
    api = served(key=token(user), token_secret=SECRET)
    api.post("/memory/items", json={"content": "Likes tea."})
    erased = api.delete(f"/users/{quote(user, safe='')}")
    assert erased.status_code == 200, erased.text
    assert (erased.json()["user_id"], erased.json()["clean"]) == (user, True)
    assert api.get("/memory/items").json()["items"] == []


@pytest.mark.spec("6")
def test_an_app_names_the_user(served):
    api = served(key="key-of-shop", api_keys=KEYS)
    refused = api.get("/memory/items")
    assert (refused.status_code, refused.json()["field"]) == (422, "user_id")


@pytest.mark.spec("6")
def test_a_user_token_is_bound_to_its_user(served):
    api = served(key=token(), token_secret=SECRET)

    own = api.post("/memory/items", json={"content": "Likes tea."})
    assert own.json()["user_id"] == "ann"
    assert api.get("/memory/items", params={"user_id": "ann"}).json()["total"] == 1
    assert api.get("/memory/items").json()["total"] == 1

    assert api.get("/memory/items", params={"user_id": "bo"}).status_code == 403
    foreign = api.post("/memory/items", json={"user_id": "bo", "content": "Likes tea."})
    assert (foreign.status_code, foreign.json()["field"]) == (403, "user_id")


@pytest.mark.spec("6")
@pytest.mark.parametrize(
    "forged",
    [
        token(minutes=-1),
        token(secret="another secret of thirty-two characters"),
        token(user=""),
        token(namespace=" "),
        token(namespace="x" * 65),
        jwt.encode({"sub": "ann", "ns": "shop"}, SECRET, "HS256"),
        jwt.encode({"sub": "ann", "exp": 4_000_000_000}, SECRET, "HS256"),
        jwt.encode({"sub": "ann", "ns": "shop", "exp": 4_000_000_000}, "", "none"),
        "a.b.c",
    ],
)
def test_a_token_that_proves_nothing_is_refused(forged):
    callers = Callers.of(Settings(token_secret=SECRET))
    with pytest.raises(Unauthenticated):
        callers.recognise(request(authorization=f"Bearer {forged}"))


@pytest.mark.spec("6")
@pytest.mark.parametrize(
    "sent",
    [
        request(client="203.0.113.9"),
        request(host="memories.example"),
        request(host="[::1"),
        request(origin="https://memories.example"),
        request(origin="null"),
    ],
)
def test_without_keys_only_this_machine_is_served(sent):
    with pytest.raises(Forbidden):
        Callers.of(Settings()).recognise(sent)


def test_without_keys_this_machine_is_served_under_its_own_names():
    callers = Callers.of(Settings())
    for sent in (
        request(),
        request(host="localhost:8377", origin="http://localhost:8377"),
        request(client="::1", host="[::1]:8377"),
        request(client="::ffff:127.0.0.1"),
    ):
        assert callers.recognise(sent).namespace == "default"


@pytest.mark.spec("6")
def test_nobody_listens_beyond_this_machine_without_keys():
    for host in ("0.0.0.0", "::", "192.0.2.1", "memories.example", ""):  # noqa: S104 - refused
        with pytest.raises(Misconfigured):
            check_listening(Settings(host=host))
        check_listening(Settings(host=host, api_keys=KEYS))
    for host in ("127.0.0.1", "::1", "localhost"):
        check_listening(Settings(host=host))


def test_a_key_without_a_namespace_or_a_short_secret_stops_the_start():
    for written in (Secret("key"), Secret("=key"), Secret("shop=")):
        with pytest.raises(Misconfigured):
            Callers.of(Settings(api_keys=(written,)))
    with pytest.raises(Misconfigured):
        Callers.of(Settings(token_secret=Secret("short")))


# ── the link of the first start ──────────────────────────────────────────────────────────────────


def followed(api, key, **headers):
    """A browser follows the link with this key; what it is told to keep."""
    root = httpx.URL(api.base_url).copy_with(path="/")
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    reply = httpx.get(root, params={"token": key}, headers=sent, trust_env=False, timeout=20)
    assert (reply.status_code, reply.headers["location"]) == (303, "docs")
    return reply.headers.get("set-cookie")


@pytest.mark.spec("7")
def test_the_link_of_the_first_start_lets_its_reader_in(served):
    api = served(token_secret=SECRET)
    key = api.memory.parts.keys.create("default", "first start", KeyRole.ADMIN)[1]
    for asked in ({}, {"sec_fetch_site": "none"}, {"sec_fetch_site": "same-origin"}):
        for opens in (key, token()):
            kept = followed(api, opens, **asked)
            assert kept.startswith(f"{COOKIE}={opens};")
            assert "HttpOnly" in kept
            assert "SameSite=strict" in kept


@pytest.mark.spec("7")
def test_no_website_locks_a_person_out_or_lets_them_in_as_somebody_else(served):
    api = served(token_secret=SECRET)
    key, secret = api.memory.parts.keys.create("default", "first start", KeyRole.ADMIN)
    for wrong in (
        "bogus",
        "",
        "x\u00e4",
        "\u6797",
        "a b\r\n",
        token(minutes=-1),
        token(secret="y" * 40),
    ):
        assert followed(api, wrong) is None
        assert followed(api, wrong, sec_fetch_site="cross-site") is None
    for opens in (secret, token()):
        for elsewhere in (
            {"sec_fetch_site": "cross-site"}, {"sec_fetch_site": "same-site"},
            {"origin": "https://evil.example"}, {"host": "evil.example"},
        ):  # fmt: skip
            assert followed(api, opens, **elsewhere) is None
    api.memory.parts.keys.revoke("default", key.id)
    assert followed(api, secret) is None
