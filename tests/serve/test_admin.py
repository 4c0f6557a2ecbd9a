"""Whoever runs the service looks after it: each look is noted, and no key gets more than it has."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from perdure import Scope
from perdure.types import JobType, KeyRole, Permission, Promise, Spend

ANN = {"user_id": "ann"}


@pytest.fixture
def admin(api):
    """A client with an admin's key; ``admin.given(...)`` has only these permissions."""
    keys = api.memory.parts.keys
    with ExitStack() as opened:

        def given(*permissions):
            _, secret = keys.create("default", "some", KeyRole.ADMIN, permissions or None)
            headers = {"Authorization": f"Bearer {secret}"}
            client = httpx.Client(base_url=api.base_url, headers=headers, trust_env=False)
            return opened.enter_context(client)

        client = given()
        client.given = given
        client.api = api
        yield client


def audit(admin, **query):
    return admin.get("/admin/audit", params=query).json()["entries"]


@pytest.mark.spec("6", "9")
def test_an_admin_reads_memories_page_by_page_and_that_is_noted(admin):
    """A 5.4: by user, page, scope and status; there is no write twin."""
    for number in range(5):
        admin.api.post("/memory/items", json=ANN | {"content": f"Likes tea {number}."})
    where = {"user_id": "ann", "page_size": 2}
    pages = [admin.get("/admin/memory", params=where | {"page": n}).json() for n in (1, 2, 3, 4)]
    assert [len(page["items"]) for page in pages] == [2, 2, 1, 0]
    assert {page["total"] for page in pages} == {5}
    assert len({item["id"] for page in pages for item in page["items"]}) == 5
    assert admin.get("/admin/memory", params=where | {"scope": "project"}).json()["total"] == 0
    assert admin.get("/admin/memory", params=where | {"status": "dismissed"}).json()["total"] == 0
    assert admin.post("/admin/memory", json={}).status_code == 405

    looks = audit(admin, operation="read", user_id="ann")
    assert len(looks) == 6
    assert {(e["actor"], e["reason"], e["user_id"]) for e in looks} == {
        ("admin", "memories", "ann")
    }
    assert looks[0]["by"].startswith("key:")


@pytest.mark.spec("6", "9")
def test_every_admin_read_is_noted_and_one_that_cannot_be_noted_is_not_given(admin, monkeypatch):
    for path in ("/admin/jobs", "/admin/settings", "/admin/keys", "/admin/metrics/summary"):
        before = len(audit(admin, operation="read"))
        assert admin.get(path).status_code == 200
        assert len(audit(admin, operation="read")) == before + 2  # this look and the one before it

    def broken(*_):
        raise httpx.HTTPError("no matter what")

    monkeypatch.setattr("perdure.store.audit.SqlAudit.add", broken)
    for path in ("/admin/jobs", "/admin/memory?user_id=ann", "/admin/audit"):
        assert admin.get(path).status_code == 500


@pytest.mark.spec("6", "9")
def test_texts_in_the_audit_are_for_those_who_may_read_memories(admin):
    item = admin.api.post("/memory/items", json=ANN | {"content": "Likes tea."}).json()
    admin.api.patch(f"/memory/items/{item['id']}", json=ANN | {"content": "Likes jazz."})

    (change,) = audit(admin, operation="update", user_id="ann", actor="user")
    assert (change["before"], change["after"]) == ("Likes tea.", "Likes jazz.")
    blind = admin.given(Permission.ADMIN_READ)
    (same,) = audit(blind, operation="update")
    assert (same["id"], same["before"], same["after"]) == (change["id"], None, None)
    assert audit(admin, user_id="ann", since="2999-01-01T00:00:00Z") == []

    seen, after = [], None
    while True:
        further: dict[str, str] = {"after": after} if after else {}
        page = admin.get("/admin/audit", params={"user_id": "ann", "limit": 1} | further).json()
        seen += [entry["operation"] for entry in page["entries"]]
        after = page["next"]
        if after is None:
            break
    assert seen == ["update", "create"]
    assert admin.get("/admin/audit?after=x").json()["field"] == "after"


@pytest.mark.spec("5", "6")
def test_dead_jobs_are_seen_tried_again_and_dropped(admin):
    memory = admin.api.memory
    memory._stop.set()
    memory.parts.notify()
    for thread in memory._threads:
        thread.join()
    with memory.parts.database.begin() as tx:
        at = memory.parts.clock()
        for user in ("ann", "bo"):
            promise = Promise(
                type=JobType.EXTRACT, namespace="default", user=user, key="k", trace="t",
                payload={"words": "secret tea"},
            )  # fmt: skip
            tx.jobs.promise(promise, at)
            tx.jobs.bury(tx.jobs.claim(at, 60, [JobType.EXTRACT]), "ModelUnavailable", at)

    listed = admin.get("/admin/jobs", params={"limit": 1}).json()
    rest = admin.get("/admin/jobs", params={"after": listed["next"]}).json()
    assert [job["user_id"] for page in (listed, rest) for job in page["jobs"]] == ["bo", "ann"]
    assert rest["next"] is None
    assert "tea" not in str(listed)
    bo, ann = listed["jobs"][0]["id"], rest["jobs"][0]["id"]

    assert admin.post(f"/admin/jobs/{ann}/retry").status_code == 204
    assert admin.get("/admin/jobs", params={"state": "pending"}).json()["jobs"][0]["id"] == ann
    assert admin.delete(f"/admin/jobs/{bo}").status_code == 204
    for gone in (bo, 0, -1, 2**70):
        assert admin.delete(f"/admin/jobs/{gone}").status_code in (404, 422)
    reader = admin.given(Permission.ADMIN_READ)
    assert reader.get("/admin/jobs").status_code == 200
    assert reader.post(f"/admin/jobs/{ann}/retry").status_code == 403
    assert [e["reason"] for e in audit(admin, operation="set")][-3:-1] == [
        "job dropped", "job tried again",
    ]  # fmt: skip


@pytest.mark.spec("6", "8")
@pytest.mark.case("OPS-07")
def test_run_time_values_are_set_all_or_none_and_take_effect_at_once(admin):
    where = "/admin/settings"
    wish = {"capacity.active_limit": 1, "defaults.auto_learn": False,
            "memory.extraction_model": "other"}  # fmt: skip
    told = admin.patch(where, json={"values": wish}).json()
    assert told["policy"]["capacity.active_limit"] == 1
    assert told["policy"]["learn.extraction_model"] == "other"
    assert admin.api.get("/memory/settings", params=ANN).json()["auto_learn"] is False
    admin.api.post("/memory/items", json=ANN | {"content": "Likes tea."})
    full = admin.api.post("/memory/items", json=ANN | {"content": "Likes jazz."})
    assert full.json()["code"] == "memory_limit_reached"

    for wrong, field in (
        ({"gate.floor": 0.1, "gate.flor": 1}, "gate.flor"),
        ({"gate.floor": 0.1, "capacity.active_limit": -1}, "capacity.active_limit"),
        ({"gate.floor": 0.1, "search.mode": "psychic"}, "search.mode"),
        ({"gate.floor": "warm"}, "gate.floor"),
        ({"no.such": None}, "no"),
    ):
        refused = admin.patch(where, json={"values": wrong})
        assert (refused.status_code, refused.json()["code"]) == (422, "rejected"), wrong
        assert field in refused.json()["field"]
    assert admin.get(where).json()["values"].keys() == {
        "capacity.active_limit", "defaults.auto_learn", "learn.extraction_model",
    }  # fmt: skip

    back = admin.patch(where, json={"values": dict.fromkeys(wish)}).json()
    assert back["values"] == {}
    assert admin.api.post("/memory/items", json=ANN | {"content": "Likes jazz."}).status_code == 201
    sets = {e["item_id"]: e for e in audit(admin, operation="set", item_id="capacity.active_limit")}
    assert sets["capacity.active_limit"]["by"].startswith("key:")


@pytest.mark.spec("6", "8")
@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "learn.extraction_model, memory.extraction_model mean the same"),
        ("zh", "learn.extraction_model、memory.extraction_model 含义相同"),
    ],
)
def test_two_names_of_one_run_time_value_are_refused_together_by_both_names(admin, language, said):
    both = {"memory.extraction_model": "small", "learn.extraction_model": "large"}
    other = dict(reversed(both.items()))
    for values in (both, other, dict.fromkeys(both), both | {"gate.floor": 1}):
        refused = admin.patch(
            "/admin/settings", json={"values": values}, headers={"Accept-Language": language}
        )
        assert (refused.status_code, refused.json()["code"]) == (422, "rejected"), values
        assert said in refused.json()["detail"]
        assert refused.json()["field"] == "learn.extraction_model"
    assert admin.get("/admin/settings").json()["values"] == {}


@pytest.mark.spec("6")
@pytest.mark.case("SEC-05")
def test_nobody_makes_a_key_that_may_more_than_their_own(admin):
    some = admin.given(Permission.KEYS_WRITE)
    for body in ({"role": "admin"}, {"role": "admin", "permissions": ["memory:read"]}):
        refused = some.post("/admin/keys", json={"name": "mine"} | body)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    all_within = admin.post("/admin/keys", json={"name": "all", "role": "admin"}).json()
    assert set(all_within["permissions"]) == {
        "admin:read", "memory:read", "jobs:write", "settings:write", "keys:write",
    }  # fmt: skip
    beyond = {"name": "all", "role": "admin", "permissions": ["deployment:read"]}
    assert admin.post("/admin/keys", json=beyond).status_code == 403
    made = some.post("/admin/keys", json={"name": "网店"}).json()
    assert made["permissions"] == ["memory:use"]
    listed = some.get("/admin/keys")
    assert made["secret"] not in listed.text
    assert made["id"] in [key["id"] for key in listed.json()["keys"]]
    assert some.delete(f"/admin/keys/{made['id']}").json()["revoked_at"]
    assert some.delete("/admin/keys/nope").status_code == 404


@pytest.mark.spec("10")
def test_figures_are_for_admins_and_those_of_all_namespaces_for_whoever_runs_them_all(admin):
    root = httpx.URL(admin.api.base_url).copy_with(path="/metrics")
    assert admin.api.get(root).status_code == 403
    memory = admin.api.memory
    with memory.parts.database.begin() as tx:
        month = f"{memory.parts.clock():%Y-%m}"
        tx.spend.add("lab", "bo", Spend(month=month, model="of-lab", purpose="extract", calls=1))
    refused = admin.get(root)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert "of-lab" not in admin.get("/admin/metrics/summary").text
    told = admin.given(Permission.DEPLOYMENT_READ).get(root).text
    assert "perdure_recalls_total" in told
    assert "memory_retrieval_hit_rate" in admin.get("/admin/metrics/summary").json()["rates"]


@pytest.mark.spec("6", "10")
def test_a_summary_tells_an_admin_nothing_of_another_namespace(admin, learnt):
    memory = admin.api.memory
    _, secret = memory.parts.keys.create("lab", "lab", KeyRole.ADMIN)
    headers = {"Authorization": f"Bearer {secret}"}
    where = "/admin/metrics/summary"
    with httpx.Client(base_url=admin.base_url, headers=headers, trust_env=False) as lab:
        before = lab.get(where).json()
        learnt("ann", "I moved to Bergen.")
        asked = ANN | {"query": "Who moved to Bergen?"}
        answer = admin.api.post("/memory/context", json=asked).json()
        item = admin.api.get("/memory/items", params=ANN).json()["items"][0]
        said = ANN | {"trace": answer["trace"], "item_id": item["id"], "verdict": "wrong_mention"}
        admin.api.post("/memory/feedback", json=said)
        with memory.parts.database.begin() as tx:
            month = f"{memory.parts.clock():%Y-%m}"
            cost = Spend(month=month, model="m", purpose="extract", calls=1, tokens_in=7, cost=0.5)
            tx.spend.add("default", "ann", cost)
        assert lab.get(where).json() == before
    ours = admin.get(where).json()
    assert set(before["queue"].values()) == set(before["vectors"].values()) == {0}
    assert (before["spend"], before["queue_age_seconds"]) == ([], 0)
    rates: dict[str, Any] = {**dict.fromkeys(ours["rates"]), "memory_decision_distribution": {}}
    assert before["rates"] == rates
    assert ours["rates"]["memory_job_success_rate"] == 1.0
    assert ours["rates"]["memory_wrong_mention_rate"] == 1.0
    assert ours["rates"]["memory_decision_distribution"]["ADD"] == 1.0
    assert ours["rates"]["chat_p95_latency_delta_with_memory"] > 0
    assert ours["queue"]["success"] >= 1
    assert sum(ours["vectors"].values()) == 1
    assert [(one["purpose"], one["cost"]) for one in ours["spend"]] == [("extract", 0.5)]


# ── all of a user ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("9")
def test_what_is_handed_out_comes_back_after_everything_was_erased(api, learnt):
    """Export → erase → import gives the same memories; a dismissed one stays dismissed."""
    learnt("ann", "I moved to Bergen. I don't eat meat.")
    wrong = api.post("/memory/items", json=ANN | {"content": "Likes liver."}).json()
    api.post(f"/memory/items/{wrong['id']}/dismiss", json=ANN)
    api.patch("/memory/settings", json=ANN | {"sensitive_allowed": True})
    before = api.get("/memory/export", params=ANN)
    assert before.headers["content-type"].startswith("application/x-ndjson")

    receipt = api.delete("/users/ann").json()
    assert (receipt["clean"], receipt["user_id"]) == (True, "ann")
    assert receipt["removed"]["memories"] == 3
    assert api.get("/users/ann/erasure").json()["clean"] is True
    assert api.get("/memory/items", params=ANN).json()["total"] == 0
    assert api.get("/users/bo/erasure").status_code == 404

    lines = {"Content-Type": "application/x-ndjson"}

    def taken_in(content, **query):
        return api.post("/memory/import", content=content, params=ANN | query, headers=lines)

    looked = taken_in(before.content, dry_run=True).json()
    assert api.get("/memory/export", params=ANN).text == ""
    done = taken_in(before.content).json()
    assert looked["outcomes"] == done["outcomes"]
    assert api.get("/memory/export", params=ANN).text == before.text
    assert set(taken_in(before.content).json()["outcomes"]["memory"]) == {"known"}
    again = api.post("/memory/items", json=ANN | {"content": "Likes liver."})
    assert again.json()["restorable"] is True


@pytest.mark.spec("9")
def test_lines_that_cannot_be_meant_are_named_before_anything_is_taken_in(api):
    fine = b'{"type": "message", "conversation": "c", "role": "user", "content": "I like tea."}\n'
    lines = {"Content-Type": "application/x-ndjson"}
    for raw, field in ((b"{", "line 2"), (b"[]", "line 2"), (b"\xff", "line 2"),
                       (b'{"type": "spell"}', "line 2"),
                       (b'{"type": "message", "role": "user"}', "line 2")):  # fmt: skip
        refused = api.post("/memory/import", content=fine + raw, params=ANN, headers=lines)
        assert refused.status_code == 422
        assert refused.json()["field"].startswith(field)
    assert api.get("/memory/export", params=ANN).text == ""


@pytest.mark.spec("4.6", "6")
def test_a_user_says_what_a_memory_was_worth(api, learnt):
    learnt("ann", "I moved to Bergen.")
    answer = api.post("/memory/context", json=ANN | {"query": "Who moved to Bergen?"}).json()
    item = api.get("/memory/items", params=ANN).json()["items"][0]
    said = ANN | {"trace": answer["trace"], "item_id": item["id"]}
    assert api.post("/memory/feedback", json=said | {"verdict": "useful"}).status_code == 200
    right = said | {"verdict": "correction", "text": "Moved to Oslo."}
    assert api.post("/memory/feedback", json=right).json()["content"] == "Moved to Oslo."
    for wrong in ({"verdict": "useful", "text": "x"}, {"verdict": "correction"}, {"verdict": "x"}):
        assert api.post("/memory/feedback", json=said | wrong).status_code == 422
    foreign = said | {"user_id": "bo", "verdict": "useful"}
    assert api.post("/memory/feedback", json=foreign).status_code == 404


def test_the_scope_of_an_import_is_the_callers(api):
    """SEC-05: import cannot write to another account, whatever its lines name."""
    line = (
        b'{"type": "message", "conversation": "c", "role": "user", "content": "Hi.", "user": "bo"}'
    )
    lines = {"Content-Type": "application/x-ndjson"}
    api.post("/memory/import", content=line, params=ANN, headers=lines)
    assert list(api.memory.export(Scope(user="bo"))) == []
