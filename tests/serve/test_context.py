"""Assistants use memory over HTTP: capture, receipt, context, search; whatever they send."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from perdure import Scope

ANN = {"user_id": "ann"}


@pytest.mark.spec("6", "3.2", "4")
def test_what_was_said_over_http_helps_the_next_question(api, learnt):
    receipt = learnt("ann", "I moved to Bergen. Answer me in Norwegian from now on.")
    assert receipt["state"] == "learnt"
    assert receipt["model"] == "basic"
    assert len(receipt["learnt"]) == 2

    answer = api.post("/memory/context", json=ANN | {"query": "Where should we meet?"}).json()
    assert "Norwegian" in answer["text"]
    assert answer["kept"][0]["content"] in answer["text"].replace("\\", "")
    assert {"text", "kept", "dropped", "degraded", "trace", "timings_ms"} <= answer.keys()

    other = api.post("/memory/context", json={"user_id": "bo", "query": "Where should we meet?"})
    assert other.json()["text"] == ""


@pytest.mark.spec("6", "4.5")
def test_an_explained_answer_shows_how_each_score_adds_up(api, learnt):
    learnt("ann", "I don't eat meat.")
    body = ANN | {"messages": [{"role": "user", "content": "What shall we cook?"}]}

    short = api.post("/memory/context", json=body).json()["kept"][0]
    full = api.post("/memory/context", json=body | {"explain": True}).json()["kept"][0]

    assert short["terms"] is None
    assert sum(full["terms"].values()) == pytest.approx(full["score"])
    assert "pinned" in full["arms"]


@pytest.mark.spec("6", "4.1")
def test_explain_tells_the_way_of_each_memory_and_why_in_both_languages(api):
    for content, kind in (("对花生过敏", "constraint"), ("住在杭州", "fact"), ("属虎", "fact")):
        memory = {"user_id": "小林", "content": content, "kind": kind}
        assert api.post("/memory/items", json=memory).status_code == 201
    body = {"user_id": "小林", "query": "冰壶的规则是什么？"}

    plain = api.post("/memory/context", json=body).json()
    full = api.post("/memory/context", json=body | {"explain": True}).json()

    assert plain["considered"] is None
    assert (full["text"], len(full["kept"])) == (plain["text"], len(plain["kept"]))
    told = {one["content"]: one for one in full["considered"]}
    assert len(told) == len(full["kept"]) + len(full["dropped"]) > 1
    said = [one for one in told.values() if one["stage"] == "said"]
    assert [one["id"] for one in said] == [kept["id"] for kept in full["kept"]]
    assert said[0]["places"][0] == {"arm": "pinned", "rank": 1}
    left = [one for one in told.values() if one["stage"] != "said"]
    assert {one["reason"] for one in left} <= {"NOT_FOUND", "LOW_SCORE"}
    assert all(one["why"]["en"].isascii() and not one["why"]["zh"].isascii() for one in left)


@pytest.mark.spec("6", "3.1", "9")
def test_a_receipt_says_what_was_refused_and_belongs_to_one_user(api, learnt):
    receipt = learnt("ann", "Remember that my password is hunter2-Zq81!")
    assert [note["reason"] for note in receipt["refused"]] == ["SECRET"]
    assert "hunter2" not in json.dumps(receipt)

    foreign = api.get(f"/captures/{receipt['trace']}", params={"user_id": "bo"})
    assert foreign.status_code == 404
    off = learnt("ann", "I live in Oslo.", mode="off")
    assert (off["state"], off["reason"]) == ("skipped", "MODE_OFF")


TURNS: list[tuple[dict[str, object], str]] = [
    ({"messages": []}, "messages"),
    ({}, "messages"),
    ({"messages": "hello"}, "messages"),
    ({"messages": [{"role": "wizard", "content": "hi"}]}, "messages[0].role"),
    ({"messages": [{"role": "user", "content": None}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": "x", "at": "2026-11-30T09:00"}]},
     "messages[0].at"),
    ({"messages": [{"role": "user", "content": "x", "at": 1_796_000_000}]}, "messages[0].at"),
    ({"messages": [{"role": "user", "content": "x", "at": "0001-01-01T00:00:00+14:00"}]},
     "messages[0].at"),
    ({"messages": [{"role": "user", "content": "x", "id": "a\x00b"}]}, "messages[0].id"),
    ({"messages": [{"role": "user", "content": "x", "mood": "good"}]}, "messages[0].mood"),
    ({"messages": [{"role": "user", "content": "x"}], "mode": "loud"}, "mode"),
    ({"messages": [{"role": "user", "content": "x"}], "project": "p" * 129}, "project"),
    ({"messages": [{"role": "user", "content": "x"}], "assistant_id": "a" * 129},
     "assistant_id"),
]  # fmt: skip


@pytest.mark.spec("6")
def test_a_turn_that_cannot_be_meant_is_refused_by_field(api):
    for body, field in TURNS:
        refused = api.post("/conversations/chat-1/turns", json=ANN | body)
        assert (refused.status_code, refused.json()["field"]) == (422, field)


@pytest.mark.spec("6")
def test_content_parts_and_calls_of_tools_are_taken_as_they_come(api, learnt):
    receipt = learnt("ann", [{"type": "text", "text": "I live in Bergen."}, {"type": "image_url"}])
    assert len(receipt["learnt"]) == 1
    silent = {"role": "assistant", "content": None, "tool_calls": [{"id": "t1"}]}
    heard = {"role": "tool", "content": "22 degrees", "tool_call_id": "t1"}
    said = {"role": "user", "content": "Is it warm?"}
    body = ANN | {"messages": [said, silent, heard]}
    assert api.post("/conversations/chat-2/turns", json=body).status_code == 202


@pytest.mark.spec("6")
def test_a_question_is_asked_in_one_way_only(api):
    for body in ({}, {"query": "x", "messages": [{"role": "user", "content": "x"}]}):
        refused = api.post("/memory/context", json=ANN | body)
        assert (refused.status_code, refused.json()["field"]) == (422, "query")


@pytest.mark.spec("6")
@pytest.mark.case("LANG-03")
def test_half_an_emoji_is_replaced_or_refused_and_the_next_message_is_learnt(api, settled):
    raw = (
        '{"user_id": "ann", "messages": [{"role": "user", "content": "I adopted a parrot \\ud83d'
        ' and named it Pim."}, {"role": "user", "content": "I live in Bergen."}]}'
    )
    header = {"Content-Type": "application/json"}
    taken = api.post("/conversations/chat-1/turns", content=raw, headers=header)
    assert taken.status_code == 202
    receipt = settled("ann", taken.json()["trace"])
    assert receipt["state"] == "learnt"
    assert "Bergen" in api.get("/memory/items", params=ANN).text

    for path, body, field in (
        ("/memory/items", r'{"user_id": "a\ud83d", "content": "x"}', "user_id"),
        ("/memory/items", r'{"user_id": "ann", "content": "x", "\udfff": 1}', "body"),
        ("/memory/context", r'{"user_id": "ann", "query": "x", "project": "\ud83d"}', "project"),
    ):
        refused = api.post(path, content=body, headers=header)
        assert (refused.status_code, refused.json()["field"]) == (422, field)
    for path, body in (
        (
            "/memory/items",
            r'{"user_id": "ann", "content": "tea \ud83d", "metadata": {"a": "\ud83d"}}',
        ),
        ("/memory/context", r'{"user_id": "ann", "query": "\ud83d"}'),
        ("/memory/search", r'{"user_id": "ann", "query": "parrot \ud83d"}'),
    ):
        assert api.post(path, content=body, headers=header).status_code in (200, 201)
    export = "\n".join(map(str, api.memory.export(Scope(user="ann"))))
    assert export.encode("utf-8")


AWKWARD = [
    "nw-toolkit", "auth0|5f7c", "first last", "o'neill\"; --", "léa@ex.org", "用户一", "a+b=c/d",
    "A", "a", " a ", "a\u200b", "x" * 255, "%", "team%", "_ed", "*",
]  # fmt: skip


@pytest.mark.spec("6", "1")
@pytest.mark.case("ISO-05", "ISO-07")
def test_every_id_means_exactly_itself(api):
    for number, user in enumerate(AWKWARD):
        body = {"user_id": user, "content": f"Number {number} likes tea"}
        assert api.post("/memory/items", json=body).status_code == 201
        turn = {"user_id": user, "messages": [{"role": "user", "content": "Is it late?"}]}
        taken = api.post(f"/conversations/{quote(user[:128], safe='')}/turns", json=turn)
        assert taken.status_code == 202
        trace = f"/captures/{taken.json()['trace']}"
        assert api.get(trace, params={"user_id": user}).status_code == 200
    for number, user in enumerate(AWKWARD):
        listed = api.get("/memory/items", params={"user_id": user}).json()["items"]
        assert [item["content"] for item in listed] == [f"Number {number} likes tea"]
        found = api.post("/memory/search", json={"user_id": user, "query": "tea"}).json()["hits"]
        assert [hit["content"] for hit in found] == [f"Number {number} likes tea"]
    for user in ("x" * 5_000, "", "  ", "a\x00"):
        refused = api.post("/memory/items", json={"user_id": user, "content": "x"})
        assert (refused.status_code, refused.json()["field"]) == (422, "user_id")


@pytest.mark.spec("6")
@pytest.mark.case("ISO-05")
def test_an_address_that_is_no_text_is_refused_before_two_ids_become_one(api):
    for address in ("/memory/items?user_id=%ff", "/conversations/%fe/turns"):
        refused = api.get(address)
        assert refused.status_code == 422


@pytest.mark.case("ISO-07")
def test_signs_in_a_query_are_taken_literally(api):
    for user, content in (("team_a", "Discount is 35%"), ("teamXa", "Discount is 3500 points"),
                          ("zed", "Prefixes scripts with z_run")):  # fmt: skip
        api.post("/memory/items", json={"user_id": user, "content": content})

    def listed(user, text):
        found = api.get("/memory/items", params={"user_id": user, "text": text})
        assert found.status_code == 200
        return [item["content"] for item in found.json()["items"]]

    assert listed("team_a", "35%") == ["Discount is 35%"]
    assert listed("teamXa", "35%") == []
    assert listed("zed", "z_run") == ["Prefixes scripts with z_run"]
    assert listed("zed", "\\") == listed("zed", "_x") == []


@pytest.mark.spec("6")
@pytest.mark.case("API-01")
def test_a_search_gives_as_many_hits_as_were_asked_for(api):
    for number in range(15):
        about = "gardening" if number < 11 else "chess"
        api.post("/memory/items", json=ANN | {"content": f"Note {number} about {about}"})

    def hits(limit):
        found = api.post("/memory/search", json=ANN | {"query": "gardening", "limit": limit})
        assert found.status_code == 200
        return [hit["item"]["id"] for hit in found.json()["hits"]]

    assert [len(set(hits(limit))) for limit in (1, 7, 11, 1_000)] == [1, 7, 11, 11]
    assert hits(7)[:1] == hits(1)
    body = ANN | {"query": "chess, not gardening", "limit": 20}
    scores = [hit["score"] for hit in api.post("/memory/search", json=body).json()["hits"]]
    high = api.post("/memory/search", json=body | {"floor": scores[0]}).json()["hits"]
    assert len(high) == scores.count(scores[0]) < len(scores)
    for wrong in ({"limit": 0}, {"limit": 1_001}, {"limit": -1}, {"limit": "5"}, {"limit": 2.5},
                  {"top_k": 7}, {"arms": ["telepathy"]}, {"floor": 1.5}, {"floor": -0.2},
                  {"floor": "0.5"}):  # fmt: skip
        refused = api.post("/memory/search", json=ANN | {"query": "gardening"} | wrong)
        assert (refused.status_code, refused.json()["field"].split("[")[0]) == (
            422, next(iter(wrong)),
        )  # fmt: skip
