"""People look after their memories over HTTP."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

ANN, BO = {"user_id": "ann"}, {"user_id": "bo"}


def added(api, content, user="ann", **more):
    made = api.post("/memory/items", json={"user_id": user, "content": content, **more})
    assert made.status_code == 201, made.text
    return made.json()


def contents(api, **query):
    listed = api.get("/memory/items", params=ANN | query)
    assert listed.status_code == 200, listed.text
    return [item["content"] for item in listed.json()["items"]]


@pytest.mark.spec("6", "9", "12.http")
def test_a_memory_is_written_corrected_refused_restored_and_deleted(api):
    """A 8, A 5.3: edit keeps the status; dismiss and restore are explicit and separate."""
    item = added(api, "Likes tea.", kind="preference", metadata={"theme": "food"})
    where = f"/memory/items/{item['id']}"
    assert (item["source"], item["status"], item["level"]) == ("manual", "active", "user")

    edited = api.patch(where, json=ANN | {"content": "Likes green tea."}).json()
    assert (edited["content"], edited["kind"]) == ("Likes green tea.", "preference")
    assert edited["metadata"] == {"theme": "food"}

    assert api.post(f"{where}/dismiss", json=ANN).json()["status"] == "dismissed"
    assert contents(api) == []
    assert contents(api, status="dismissed") == ["Likes green tea."]
    assert api.post(f"{where}/restore", json=ANN).json()["status"] == "active"

    assert api.delete(where, params=ANN).status_code == 204
    assert api.get(where, params=ANN).status_code == 404
    entries = api.get(f"{where}/history", params=ANN).json()["entries"]
    assert [e["operation"] for e in entries] == [
        "create", "update", "dismiss", "restore", "delete",
    ]  # fmt: skip


@pytest.mark.spec("2", "6")
def test_a_key_of_the_metadata_is_taken_out_with_null_and_gives_room_for_another(api):
    sixteen = {f"k{n}": "v" for n in range(16)}
    item = added(api, "Likes tea.", metadata=sixteen)
    where = f"/memory/items/{item['id']}"

    def patched(**metadata):
        return api.patch(where, json=ANN | {"metadata": metadata})

    assert patched(new="v").status_code == 422
    changed = patched(k0=None, k1="w", new="v", never=None)
    assert (changed.status_code, changed.json()["metadata"]) == (
        200, {f"k{n}": "v" for n in range(2, 16)} | {"k1": "w", "new": "v"},
    )  # fmt: skip
    assert api.get(where, params=ANN).json()["metadata"] == changed.json()["metadata"]
    assert contents(api, metadata="k0=v") == []
    assert contents(api, metadata="new=v") == ["Likes tea."]
    refused = api.post("/memory/items", json=ANN | {"content": "x", "metadata": {"a": None}})
    assert (refused.status_code, refused.json()["field"]) == (422, "metadata")


@pytest.mark.spec("6", "2")
def test_another_users_memory_and_a_missing_one_look_the_same(api):
    """A 5.3: both are 404."""
    item = added(api, "Likes tea.")
    for id_ in (item["id"], "0" * 32, "%", "a/b", "x" * 5_000, "用户"):
        where = f"/memory/items/{id_}"
        replies = [
            api.get(where, params=BO),
            api.patch(where, json=BO | {"content": "Hates tea."}),
            api.delete(where, params=BO),
            api.post(f"{where}/dismiss", json=BO),
            api.post(f"{where}/restore", json=BO),
            api.get(f"{where}/history", params=BO),
        ]
        assert {reply.status_code for reply in replies} == {404}
        assert {reply.json()["code"] for reply in replies} == {"not_found"}
    assert contents(api) == ["Likes tea."]


@pytest.mark.spec("6")
def test_a_duplicate_names_the_row_that_says_it_already(api):
    item = added(api, "Likes tea.")
    again = ANN | {"content": "  likes TEA. "}

    twice = api.post("/memory/items", json=again)
    assert (twice.status_code, twice.json()["code"]) == (409, "memory_duplicate")
    assert (twice.json()["item_id"], twice.json()["restorable"]) == (item["id"], False)

    api.post(f"/memory/items/{item['id']}/dismiss", json=ANN)
    assert api.post("/memory/items", json=again).json()["restorable"] is True


@pytest.mark.spec("6")
def test_two_equal_adds_at_once_are_one_memory_and_one_clear_refusal(api):
    with ThreadPoolExecutor(8) as pool:
        codes = list(
            pool.map(
                lambda _: (
                    api.post("/memory/items", json=ANN | {"content": "Likes tea."}).status_code
                ),
                range(8),
            )
        )
    assert sorted(codes) == [201] + [409] * 7
    assert contents(api) == ["Likes tea."]


@pytest.mark.spec("6", "3.6")
def test_each_refusal_has_a_stable_code_and_names_its_field(served, monkeypatch):
    api = served()
    for body, code, field in (
        ({"content": "x" * 501}, "content_too_long", "content"),
        ({"content": "x", "level": "project"}, "project_key_required", "project"),
        ({"content": "   "}, "rejected", "content"),
        ({}, "rejected", "content"),
        ({"content": "x", "kind": "rumour"}, "rejected", "kind"),
        ({"content": "x", "importance": 7}, "rejected", "importance"),
        ({"content": "x", "metadata": {"a": 1}}, "rejected", "metadata.a"),
        ({"content": "x", "expires_at": "2027-01-01T00:00:00"}, "rejected", "expires_at"),
        ({"content": "x", "expires_at": 1_800_000_000}, "rejected", "expires_at"),
        ({"content": "x", "namespace": "shop"}, "rejected", "namespace"),
    ):
        refused = api.post("/memory/items", json=ANN | body)
        assert refused.status_code == 422, body
        assert (refused.json()["code"], refused.json()["field"]) == (code, field)
    assert api.post("/memory/items", json=ANN | {"content": "字" * 500}).status_code == 201


@pytest.mark.spec("6")
def test_what_changed_since_it_was_shown_is_not_overwritten(api):
    item = added(api, "Likes tea.")
    where, shown = f"/memory/items/{item['id']}", item["updated_at"]

    first = api.patch(where, json=ANN | {"title": "Tea", "shown": shown})
    second = api.patch(where, json=ANN | {"content": "Hates tea.", "shown": shown})

    assert first.status_code == 200
    assert (second.status_code, second.json()["code"]) == (412, "stale")
    assert contents(api) == ["Likes tea."]


@pytest.mark.spec("6")
@pytest.mark.case("API-01")
def test_lists_are_paged_filtered_and_a_limit_is_a_limit(api):
    for number in range(7):
        added(api, f"Fact {number}", kind="fact" if number % 2 else "preference")
    added(api, "Uses 4 spaces", level="project", project="fjord-guide", kind="constraint")

    first = api.get("/memory/items", params=ANN | {"limit": 3}).json()
    rest = api.get("/memory/items", params=ANN | {"limit": 100, "after": first["next"]}).json()
    assert (len(first["items"]), len(rest["items"]), first["total"]) == (3, 5, 8)
    seen = [item["id"] for item in first["items"] + rest["items"]]
    assert len(set(seen)) == 8
    assert rest["next"] is None

    assert contents(api, kind=["constraint", "preference"], text="fact") == [
        "Fact 6", "Fact 4", "Fact 2", "Fact 0",
    ]  # fmt: skip
    assert contents(api, project="fjord-guide") == ["Uses 4 spaces"]
    assert contents(api, level="user", limit=1) == ["Fact 6"]
    assert contents(api, since="2999-01-01T00:00:00Z") == []
    for wrong in ({"limit": 0}, {"limit": 1_001}, {"limit": -1}, {"limit": 2.5}, {"top_k": 7},
                  {"kind": ""}, {"text": ""}, {"after": "%%%"}, {"since": "soon"}):  # fmt: skip
        refused = api.get("/memory/items", params=ANN | wrong)
        assert refused.status_code == 422
        assert refused.json()["field"].removesuffix("[0]") == next(iter(wrong))


@pytest.mark.spec("6")
def test_everything_is_deleted_only_when_it_is_confirmed(api):
    added(api, "Likes tea.")
    added(api, "Likes jazz.", user="bo")

    refused = api.delete("/memory/items", params=ANN)
    assert (refused.status_code, refused.json()["field"]) == (422, "confirm")
    assert contents(api) == ["Likes tea."]

    done = api.delete("/memory/items", params=ANN | {"confirm": "true"})
    assert done.json() == {"deleted": 1}
    assert contents(api) == []
    assert api.get("/memory/items", params=BO).json()["total"] == 1


@pytest.mark.spec("6", "8")
def test_switches_are_read_and_set_one_by_one(api):
    where = "/memory/settings"
    assert api.get(where, params=ANN).json() == {
        "memory_enabled": True, "auto_learn": True, "sensitive_allowed": False,
    }  # fmt: skip
    assert api.patch(where, json=ANN | {"auto_learn": False}).json()["auto_learn"] is False
    assert api.post(where, json=ANN | {"sensitive_allowed": True}).json() == {
        "memory_enabled": True, "auto_learn": False, "sensitive_allowed": True,
    }  # fmt: skip
    assert api.get(where, params=BO).json()["auto_learn"] is True
    for wrong in ({}, {"auto_learn": "yes"}, {"auto_lern": True}):
        assert api.patch(where, json=ANN | wrong).status_code == 422


@pytest.mark.spec("6")
def test_projects_are_those_seen_so_far(api):
    added(api, "Uses 4 spaces", level="project", project="峡湾指南")
    added(api, "Deploys on Friday", level="project", project="fjord-guide")
    assert api.get("/memory/projects", params=ANN).json() == {
        "projects": ["fjord-guide", "峡湾指南"]
    }
    assert api.get("/memory/projects", params=BO).json() == {"projects": []}
