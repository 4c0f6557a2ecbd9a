"""Deployment switches and the health of parts: each stops its part alone, and nothing is lost."""

from __future__ import annotations

import time

import httpx
import pytest

from perdure.policy import ASSISTANT
from perdure.testing.model_server import ModelServer, failing
from perdure.types import JobState

ANN = {"user_id": "ann"}
SAID = {"messages": [{"role": "user", "content": "I don't eat meat.", "id": "m1"}]}
OTHER = {"messages": [{"role": "user", "content": "I moved to Bergen.", "id": "m2"}]}


def captured(api, said=SAID, conversation="c"):
    return api.post(f"/conversations/{conversation}/turns", json=ANN | said).json()


def settled(api, trace):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        receipt = api.get(f"/captures/{trace}", params=ANN).json()
        if receipt["state"] in ("learnt", "skipped", "dead"):
            return receipt
        time.sleep(0.02)
    return receipt


def contents(api):
    items = api.get("/memory/items", params=ANN).json()["items"]
    return sorted(item["content"] for item in items)


def recalled(api):
    asked = ANN | {"query": "Bergen and meat"}
    return api.post("/memory/context", json=asked).json()["text"]


def parts(api):
    return looked(api)["parts"]


def told(api):
    return looked(api)["status"]


def looked(api):
    url = str(api.base_url).removesuffix("/api/v1/")
    return api.get(f"{url}/health/ready").json()


def awaited(api, name, state):
    """The part, once it is so."""
    until = time.monotonic() + 60
    while (part := parts(api)[name])["state"] != state and time.monotonic() < until:
        time.sleep(0.02)
    assert part["state"] == state, part
    return part


@pytest.fixture
def known(served):
    """Something is known already, learnt with everything switched on."""
    api = served()
    assert settled(api, captured(api)["trace"])["state"] == "learnt"
    return contents(api)


@pytest.mark.spec("8")
def test_enabled_off_stops_learning_and_recall_and_managing_goes_on(served, known):
    off = served(enabled=False)
    assert captured(off, OTHER, "d")["state"] == "skipped"
    assert recalled(off) == ""
    assert contents(off) == known
    assert off.post("/memory/items", json=ANN | {"content": "Likes tea."}).status_code == 201
    assert (parts(off)["learning"]["state"], parts(off)["recall"]["state"]) == ("off", "off")

    on = served()
    assert "meat" in recalled(on)
    assert set(contents(on)) == {*known, "Likes tea."}


@pytest.mark.spec("8")
def test_learn_off_stops_learning_and_what_is_known_is_still_said(served, known):
    off = served(learn=False)
    assert captured(off, OTHER, "d")["state"] == "skipped"
    assert "meat" in recalled(off)
    assert contents(off) == known
    on = served()
    assert settled(on, captured(on, OTHER, "e")["trace"])["state"] == "learnt"


@pytest.mark.spec("8", "3.1")
@pytest.mark.parametrize("switch", ["enabled", "learn"])
def test_a_turn_promised_before_learning_went_off_waits_until_it_is_on(served, switch):
    waiting = captured(served(workers=False))["trace"]
    off = served(**{switch: False})
    assert not off.memory.parts.worker.run_once()
    assert off.get(f"/captures/{waiting}", params=ANN).json()["state"] == "queued"
    assert settled(served(), waiting)["state"] == "learnt"


@pytest.mark.spec("8")
def test_recall_off_empties_answers_and_turns_are_still_learnt_from(served, known):
    off = served(recall=False)
    assert recalled(off) == ""
    assert settled(off, captured(off, OTHER, "d")["trace"])["state"] == "learnt"
    assert len(contents(off)) > len(known)
    assert "meat" in recalled(served())


@pytest.mark.spec("8", "5")
def test_workers_off_leaves_jobs_waiting_and_none_is_lost(served):
    off = served(workers=False)
    traces = [captured(off)["trace"], captured(off, OTHER, "d")["trace"]]
    states = {off.get(f"/captures/{t}", params=ANN).json()["state"] for t in traces}
    assert states == {"queued"}
    assert parts(off)["workers"]["state"] == "off"
    on = served()
    assert {settled(on, trace)["state"] for trace in traces} == {"learnt"}


@pytest.mark.spec("8", "4.3")
def test_vectors_off_searches_by_words_and_vectors_come_back_by_themselves(served):
    with ModelServer() as server:
        on = {"embedder": "openai", "embedding_base_url": server.base_url,
              "embedding_model": "scripted"}  # fmt: skip
        off = served(**on, vectors=False)
        assert settled(off, captured(off)["trace"])["state"] == "learnt"
        assert "meat" in recalled(off)
        assert parts(off)["embedder"]["state"] == "off"
        assert [one.path for one in server.requests] == []

        off.ended()  # or else its workers, too, take the job that makes vectors
        api = served(**on)
        until = time.monotonic() + 60
        status = ""
        while status != "synced" and time.monotonic() < until:
            api.memory.parts.worker.run_once()
            status = api.get("/memory/items", params=ANN).json()["items"][0]["vector_status"]
            time.sleep(0.05)
        assert status == "synced"
        assert "meat" in recalled(api)


# ── health ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("6", "8")
def test_each_part_says_how_it_is_and_since_when(served):
    with ModelServer() as server:
        api = served(
            embedder="openai", embedding_base_url=server.base_url, embedding_model="scripted",
            reranker="none",
        )  # fmt: skip
        first = parts(api)
        assert {name: part["state"] for name, part in first.items()} == {
            "database": "up", "jobs": "up", "learning": "up", "recall": "up", "workers": "up",
            "model": "off", "embedder": "unknown", "vectors": "up", "bus": "off",
        }  # fmt: skip
        assert parts(api) == first  # nothing changed, and nothing was asked to find out
    api.post("/memory/items", json=ANN | {"content": "Likes tea."})
    now = parts(api)
    assert now["embedder"]["state"] == "down"
    assert now["embedder"]["since"] > first["embedder"]["since"]
    assert now["database"] == first["database"]
    url = str(api.base_url).removesuffix("/api/v1/")
    ready = api.get(f"{url}/health/ready")
    assert (ready.status_code, ready.json()["status"]) == (200, "degraded")


@pytest.mark.spec("4.10", "5", "6")
@pytest.mark.case("OPS-03")
def test_a_part_that_is_late_or_gone_is_named_and_comes_back_without_a_restart(served):
    """The embedder refuses, hangs, and comes back: adds are kept, search goes on by words.

    Here vectors are rows of the database; what can be down by itself is the embedder. Readiness
    is `degraded`, not false: requests are served. The proxy is tried with the ways in.
    """
    with ModelServer() as gone:
        where = gone.base_url
    api = served(embedder="openai", embedding_base_url=where, embedding_model="scripted")
    began = time.monotonic()
    added = api.post("/memory/items", json=ANN | {"content": "Owns a piano."})
    assert added.status_code == 201
    found = api.post("/memory/search", json=ANN | {"query": "piano"}).json()
    assert [hit["content"] for hit in found["hits"]] == ["Owns a piano."]
    nothing = api.post("/memory/search", json=ANN | {"query": "grand instrument"})
    assert (nothing.status_code, nothing.json()["hits"]) == (200, [])
    for told in (found, nothing.json()):
        assert told["degraded"] == [{"part": "semantic", "reason": "SEARCH_FAILED"}]
    assert api.get("/health/live").status_code == 200
    assert parts(api)["embedder"]["state"] == "down"
    assert time.monotonic() - began < 20

    with ModelServer(port=httpx.URL(where).port or 0):
        until = time.monotonic() + 40
        status = added.json()["vector_status"]
        while status != "synced" and time.monotonic() < until:
            time.sleep(0.1)
            status = api.get("/memory/items", params=ANN).json()["items"][0]["vector_status"]
        assert status == "synced"
        assert parts(api)["embedder"]["state"] in ("up", "degraded")


@pytest.mark.spec("4.10", "6")
@pytest.mark.case("OPS-03")
def test_a_database_that_is_gone_is_503_and_served_again_once_it_is_back(served, monkeypatch):
    from perdure.errors import DatabaseUnavailable  # noqa: PLC0415 - of this test alone

    api = served()
    api.post("/memory/items", json=ANN | {"content": "Owns a piano."})
    with monkeypatch.context() as broken:

        def silent(*_):
            raise DatabaseUnavailable("It does not answer.")

        database = type(api.memory.parts.database)
        broken.setattr(database, "read", silent)
        broken.setattr(database, "begin", silent)
        for reply in (
            api.get("/memory/items", params=ANN),
            api.post("/memory/items", json=ANN | {"content": "x"}),
            api.post("/memory/search", json=ANN | {"query": "piano"}),
        ):
            assert (reply.status_code, reply.json()["code"]) == (503, "database_unavailable")
            assert reply.headers["retry-after"]
        empty = api.post("/memory/context", json=ANN | {"query": "piano?"})
        assert (empty.status_code, empty.json()["text"]) == (200, "")
        assert empty.json()["degraded"]
        assert parts(api)["database"]["state"] == "down"
        assert api.get("/health/live").status_code == 200
    assert contents(api) == ["Owns a piano."]
    assert parts(api)["database"]["state"] == "up"


@pytest.mark.spec("3.3", "6")
def test_a_model_that_fails_is_named_and_the_rest_goes_on(served):
    with ModelServer([failing(503)] * 20) as server:
        api = served(llm_base_url=server.base_url, llm_model="scripted")
        captured(api)
        until = time.monotonic() + 60
        while parts(api)["model"]["state"] != "down" and time.monotonic() < until:
            time.sleep(0.1)
        assert parts(api)["model"]["state"] == "down"
        assert api.post("/memory/items", json=ANN | {"content": "Likes tea."}).status_code == 201


@pytest.mark.spec("5", "6")
def test_where_nobody_works_jobs_are_late_and_a_model_that_nobody_asked_is_unknown(served):
    """The model is at an address where nobody listens; a turn waits, and then it is learnt."""
    with ModelServer() as gone:
        where = gone.base_url
    policy = ASSISTANT.but(jobs=ASSISTANT.jobs.but(late_s=0.2, backoff_s=0.1))
    api = served(llm_base_url=where, llm_model="scripted", workers=False, policy=policy)
    first = parts(api)
    assert (first["model"]["state"], first["jobs"]["state"]) == ("unknown", "up")
    trace = captured(api)["trace"]
    late = awaited(api, "jobs", "degraded")
    assert late["detail"] == "late"
    assert told(api) == "degraded"

    while api.memory.parts.worker.run_once():  # as a worker in another process would
        pass
    other = served(workers=False, policy=policy, llm_base_url=where, llm_model="m")
    for part in (parts(api)["model"], parts(other)["model"]):
        assert (part["state"], part["detail"]) == ("down", "model_unavailable")
    with ModelServer(rule=lambda _: {"facts": []}, port=httpx.URL(where).port or 0):
        until = time.monotonic() + 60
        state = ""
        while state != "learnt" and time.monotonic() < until:
            api.memory.parts.worker.run_once()
            state = api.get(f"/captures/{trace}", params=ANN).json()["state"]
        assert state == "learnt"
    assert parts(api)["jobs"]["state"] == "up"
    assert awaited(api, "model", "up")["detail"] is None


@pytest.mark.spec("5", "8")
def test_turns_that_wait_since_learning_is_off_are_not_late(served):
    policy = ASSISTANT.but(jobs=ASSISTANT.jobs.but(late_s=0.01))
    captured(served(workers=False))
    off = served(learn=False, policy=policy)
    awaited(off, "jobs", "up")  # what is no turn is done
    assert not off.memory.parts.worker.run_once()
    assert off.memory.metrics.levels("default").queue[JobState.PENDING] == 1
    assert parts(off)["jobs"]["state"] == "up"


@pytest.mark.spec("3.3", "6")
def test_a_model_is_known_by_its_calls_whatever_the_model_that_learns_is_called(served):
    with ModelServer([failing(503)] * 20) as server:
        api = served(llm_base_url=server.base_url, llm_model="large", extraction_model="small")
        captured(api)
        assert awaited(api, "model", "down")
