"""Who is meant: keys name namespaces, tokens bind users, and without keys nobody comes in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import jwt
import pytest
from starlette.requests import Request

from perdure.errors import Forbidden, Misconfigured, Unauthenticated
from perdure.serve.auth import Callers, check_listening
from perdure.settings import Secret, Settings

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
