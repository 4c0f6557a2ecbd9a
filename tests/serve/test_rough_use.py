"""Users who break things: keys that go while they are used, talkative logs, spent money."""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event
from urllib.parse import quote

import pytest

from perdure import Scope
from perdure.settings import load
from perdure.testing.model_server import ModelServer
from perdure.types import Preferences

ANN = {"user_id": "ann"}
WORDS = ("Skarvestrand", "quilladrone", "灰菜蕨", "Zanzibarrow", "pdr_", "sk-hush-hush")


def captured(api, said, number, reply="Noted."):
    messages = [{"role": "user", "content": said}, {"role": "assistant", "content": reply}]
    return api.post(f"/conversations/c{number}/turns", json=ANN | {"messages": messages}).json()


def settled(api, taken, *states):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        receipt = api.get(f"/captures/{taken['trace']}", params=ANN).json()
        if receipt["state"] in (states or ("learnt", "skipped", "dead")):
            break
        time.sleep(0.02)
    return receipt


def contents(api):
    listed = api.get("/memory/items", params=ANN).json()["items"]
    return sorted(item["content"] for item in listed)


def facts(*said):
    return {"facts": list(said)}


@pytest.mark.spec("6")
@pytest.mark.case("SEC-05")
def test_a_key_revoked_while_many_use_it_opens_nothing_from_then_on(served):
    """Each request is served whole or refused whole; what was written before stays."""
    api = served()
    keys = api.memory.parts.keys
    key, secret = keys.create("default", "web")
    numbers, revoked = count(), Event()

    def write(_):
        number = next(numbers)
        if number == 20:
            keys.revoke("default", key.id)
            revoked.set()
        late = revoked.is_set()
        body = ANN | {"content": f"Note {number}"}
        return late, api.post("/memory/items", json=body, headers=bearer).status_code

    bearer = {"Authorization": f"Bearer {secret}"}
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(write, range(60)))
    assert {code for _, code in told} == {201, 401}
    assert {code for late, code in told if late} == {401}
    kept = api.memory.items.list(Scope(user="ann"), limit=100)
    assert len(kept) == sum(code == 201 for _, code in told)


class Everything(logging.Handler):
    """Keeps every record whole, as a host may have it written."""

    def __init__(self):
        super().__init__(logging.NOTSET)
        self.lines = []

    def emit(self, record):
        self.lines.append(f"{self.format(record)} {record.args!r} {record.__dict__!r}")


@pytest.mark.spec("9")
def test_a_log_at_debug_holds_no_word_of_a_whole_conversation_over_http(served, capfd):
    """Learning, failures, edits, searches, refusals, an export and an import, an erasure."""
    root, heard = logging.getLogger(), Everything()
    before = root.level
    root.addHandler(heard)
    root.setLevel(logging.DEBUG)
    replies = [facts("Lives in Skarvestrand"), "not json Zanzibarrow", facts("不吃灰菜蕨")]
    try:
        with ModelServer(replies, rule=lambda _: facts()) as server:
            api = served(llm_base_url=server.base_url, llm_model="m", llm_api_key="sk-hush-hush")
            _, secret = api.memory.parts.keys.create("default", "web")
            api.headers["Authorization"] = f"Bearer {secret}"
            life(api)
            assert server.chats
    finally:
        root.removeHandler(heard)
        root.setLevel(before)
    out, err = capfd.readouterr()
    ours = [line for line in heard.lines if "'name': 'http" not in line]  # not the client's own
    told = "\n".join([*ours, out, err])
    assert "perdure" in told
    assert "request" in out
    assert [word for word in WORDS if word in told] == []


def life(api):
    for number, said in enumerate(("I live in Skarvestrand.", "I own a quilladrone.",
                                   "我不吃灰菜蕨。")):  # fmt: skip
        settled(api, captured(api, said, number, "Zanzibarrow!"), "learnt", "failed", "skipped")
    made = api.post("/memory/items", json=ANN | {"content": "Owns a quilladrone"}).json()
    where = f"/memory/items/{made['id']}"
    api.patch(where, json=ANN | {"content": "Owns a red quilladrone"})
    for wrong in ({"content": "Owns a red quilladrone"}, {"content": "quilladrone " * 200},
                  {"content": "x", "kind": "quilladrone"}, {"quilladrone": 1}):  # fmt: skip
        refused = api.post("/memory/items", json=ANN | wrong)
        assert refused.status_code in (409, 422)
    api.post("/memory/context", json=ANN | {"query": "Where is Skarvestrand?", "explain": True})
    api.post("/memory/search", json=ANN | {"query": "quilladrone"})
    api.get("/memory/items", params=ANN | {"text": "quilladrone"})
    lines = api.get("/memory/export", params=ANN).content
    assert api.delete("/users/ann").json()["clean"]
    sent = {"Content-Type": "application/x-ndjson"}
    api.post("/memory/import", content=lines, params=ANN, headers=sent)
    api.post("/memory/import", content=b"quilladrone", params=ANN, headers=sent)
    api.get("/memory/items/quilladrone", params=ANN)


@pytest.mark.spec("10")
def test_learning_waits_for_money_while_recall_and_managing_go_on(served):
    policy = load({"PERDURE_POLICY__COST__USER_TOKENS_MONTH": "1"}).policy
    with ModelServer(rule=lambda _: facts("Lives in Bergen")) as server:
        api = served(llm_base_url=server.base_url, llm_model="m", policy=policy)
        assert settled(api, captured(api, "I live in Bergen.", 1))["state"] == "learnt"
        asked = len(server.chats)
        waits = captured(api, "I moved to Oslo with my cat.", 2)
        receipt = settled(api, waits, "queued", "failed")
        until = time.monotonic() + 60
        while receipt["reason"] != "COST_CAP" and time.monotonic() < until:
            receipt = api.get(f"/captures/{waits['trace']}", params=ANN).json()
        assert (receipt["state"], receipt["reason"]) == ("queued", "COST_CAP")
        assert receipt["next_try_at"]

        question = ANN | {"query": "Where do I live? In Bergen?"}
        for _ in range(5):
            answer = api.post("/memory/context", json=question).json()
            assert "Bergen" in answer["text"]
        assert api.post("/memory/items", json=ANN | {"content": "Owns a kayak"}).status_code == 201
        tidied = api.post("/memory/consolidate", json=ANN)
        assert tidied.status_code == 200, tidied.text  # one memory: nothing to ask
        assert contents(api) == ["Lives in Bergen", "Owns a kayak"]
        assert len(server.chats) == asked
        root = str(api.base_url).removesuffix("/api/v1/")
        assert api.get(f"{root}/health/ready").json()["status"] == "ready"


@pytest.mark.spec("3.7", "6", "9")
def test_a_merge_over_http_is_looked_at_done_and_undone_in_team(served):
    """After an export came back there is nothing to undo, and nothing is lost."""
    merged = "Prefers short answers without any emoji"
    first, second = "Prefers short answers", "Prefers answers without any emoji"
    merge = {"operations": [{"op": "merge", "memories": [1, 2], "content": merged}]}
    policy = load({}, preset="team").policy
    policy = policy.but(defaults=Preferences(auto_learn=True))
    with ModelServer([facts(first), facts(second)], rule=lambda _: merge) as server:
        api = served(llm_base_url=server.base_url, llm_model="m", policy=policy)
        for number, said in enumerate((first, second)):
            taken = captured(api, f"Remember that I {said[0].lower()}{said[1:]}, please.", number)
            assert settled(api, taken)["state"] == "learnt"
        assert contents(api) == sorted([first, second])

        where = "/memory/consolidate"
        looked = api.post(where, json=ANN | {"dry_run": True}).json()
        assert [one["content"] for one in looked["merges"]] == [merged]
        assert contents(api) == sorted([first, second])
        done = api.post(where, json=ANN).json()
        assert contents(api) == [merged]
        foreign = api.post(f"{where}/{done['run']}/undo", json={"user_id": "bo"})
        assert foreign.status_code == 404
        back = api.post(f"{where}/{done['run']}/undo", json=ANN).json()
        assert sorted(one["content"] for one in back["restored"]) == sorted([first, second])
        assert contents(api) == sorted([first, second])
        assert api.post(f"{where}/{done['run']}/undo", json=ANN).status_code == 404

        again = api.post(where, json=ANN).json()
        lines = api.get("/memory/export", params=ANN).content
        assert api.delete("/users/ann").json()["clean"]
        sent = {"Content-Type": "application/x-ndjson"}
        taken_in = api.post("/memory/import", content=lines, params=ANN, headers=sent)
        assert taken_in.status_code == 200
        gone = api.post(f"{where}/{again['run']}/undo", json=ANN)
        assert (gone.status_code, gone.json()["code"]) == (404, "not_found")
        assert contents(api) == [merged]
        (item,) = api.get("/memory/items", params=ANN).json()["items"]
        assert item["source"] == "consolidated"


@pytest.mark.spec("3.7", "6")
def test_without_a_model_merging_is_refused_and_the_field_named(api):
    refused = api.post("/memory/consolidate", json=ANN)
    assert (refused.status_code, refused.json()["code"]) == (422, "rejected")
    assert api.post("/memory/consolidate", json=ANN | {"dry": True}).status_code == 422


@pytest.mark.parametrize("user", ["ann\n", "an\nn", "\nann", "ann\r\n"])
def test_a_user_whose_id_has_a_line_s_end_is_erased_and_nobody_else(api, user):
    for one in ("ann", user):
        api.post("/memory/items", json={"user_id": one, "content": "Likes tea"})

    erased = api.delete(f"/users/{quote(user, safe='')}").json()

    assert (erased["user_id"], erased["removed"]["memories"]) == (user, 1)
    assert contents(api) == ["Likes tea"]
    assert api.get(f"/users/{quote(user, safe='')}/erasure").json()["user_id"] == user


def test_a_conversation_whose_id_has_a_line_s_end_takes_turns(api):
    turn = ANN | {"messages": [{"role": "user", "content": "I never eat meat."}]}

    assert api.post("/conversations/a%0Ab/turns", json=turn).status_code == 202


@pytest.mark.spec("6")
@pytest.mark.parametrize("number", ["2026", "1764500000", "1764500000.5", "20261130", "-1", "1e3"])
def test_a_number_is_no_time_also_where_it_is_written_as_a_text(api, number):
    """ "2026" was taken for seconds after 1970: a list ended then, and a memory had expired."""
    asked = {"user_id": "ann", "until": number}
    refused = [
        ("until", api.get("/memory/items", params=asked)),
        ("expires_at", api.post("/memory/items", json={
            "user_id": "ann", "content": "Likes tea.", "expires_at": number})),
        ("as_of", api.post("/memory/context", json={
            "user_id": "ann", "query": "tea?", "as_of": number})),
        ("messages[0].at", api.post("/conversations/c/turns", json={
            "user_id": "ann", "messages": [{"role": "user", "content": "Hi", "at": number}]})),
    ]  # fmt: skip
    for field, reply in refused:
        assert reply.status_code == 422
        assert reply.json()["field"] == field
        assert "ISO 8601" in reply.json()["detail"]
