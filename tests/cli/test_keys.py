"""keys, doctor and the first start: a key is shown once, what is wrong is named with a remedy."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import httpx
import pytest

from perdure.testing.model_server import ModelServer


@pytest.mark.spec("6")
def test_a_key_is_shown_once_and_nowhere_kept(perdure):
    made = perdure("keys", "create", "web shop", "--namespace", "shop", "--json").json
    assert made["secret"].startswith("pdr_")
    assert made["permissions"] == ["memory:use"]

    listed = perdure("keys", "list", "--namespace", "shop", "--json")
    assert [key["name"] for key in listed.json["keys"]] == ["web shop"]
    assert made["secret"] not in listed.out
    assert perdure("keys", "list", "--json").json == {"keys": []}
    for file in Path().glob("perdure.db*"):
        assert made["secret"].encode() not in file.read_bytes()

    revoked = perdure("keys", "revoke", made["id"], "--namespace", "shop", "--json").json
    assert revoked["revoked_at"]
    assert perdure("keys", "revoke", made["id"]).code == 1


@pytest.mark.spec("6")
def test_an_admin_can_be_given_less_and_nobody_more_than_the_role(perdure):
    made = perdure("keys", "create", "小林", "--role", "admin", "--may", "jobs:write", "--json")
    assert made.json["permissions"] == ["jobs:write"]
    perdure("keys", "create", "bo", "--role", "admin")
    listed = perdure("keys", "list")
    assert "settings:write" in listed.out
    assert "Keys: 2." in listed.err
    refused = perdure("keys", "create", "bo", "--may", "jobs:write")
    assert refused.code == 1
    assert "permissions: A key of this role may have memory:use." in refused.err


def test_keys_are_spoken_of_in_the_readers_language(perdure, monkeypatch):
    made = perdure("keys", "create", "shop")
    assert "Shown this once" in made.err
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "只显示这一次" in perdure("keys", "create", "商店").err
    listed = perdure("keys", "list")
    assert "最近使用" in listed.out
    assert "共 2 个密钥" in listed.err


@pytest.mark.spec("6")
def test_the_first_start_prints_a_link_that_opens_the_admin_side(started):
    service = started("serve", "--port", "0", "--json")
    told = json.loads(service.stdout.readline())
    with httpx.Client(base_url=told["url"], trust_env=False) as browser:
        assert browser.get("/api/v1/admin/settings").status_code == 403
        assert browser.get(told["link"]).headers["location"] == "pages/memory"
        assert browser.get("/api/v1/admin/settings").status_code == 200
        assert browser.get("/api/v1/memory/items?user_id=ann").status_code == 200
        change = {"values": {"gate.floor": 0.4}}
        for elsewhere in (None, "http://127.0.0.1:1"):
            headers = {} if elsewhere is None else {"Origin": elsewhere}
            sent = browser.patch("/api/v1/admin/settings", json=change, headers=headers)
            assert sent.status_code in (401, 403)
        own = {"Origin": told["url"]}
        assert browser.patch("/api/v1/admin/settings", json=change, headers=own).status_code == 200
    service.kill()
    service.wait()

    again = started("serve", "--port", "0", "--json", "--workers", "0")
    assert json.loads(again.stdout.readline()).keys() == {"url"}


@pytest.mark.spec("6")
def test_nobody_serves_strangers_until_there_is_a_key_in_the_table(perdure, started):
    assert "perdure keys create" in perdure("serve", "--host", "0.0.0.0").err  # noqa: S104 - refused
    made = perdure("keys", "create", "shop", "--json").json
    service = started("serve", "--host", "0.0.0.0", "--port", "0", "--json")  # noqa: S104 - has keys
    told = json.loads(service.stdout.readline())
    assert "link" not in told
    where = told["url"].replace("0.0.0.0", "127.0.0.1") + "/api/v1/memory/items?user_id=ann"  # noqa: S104 - as told
    bearer = {"Authorization": f"Bearer {made['secret']}"}
    assert httpx.get(where, trust_env=False).status_code == 401
    assert httpx.get(where, headers=bearer, trust_env=False).status_code == 200


# ── doctor ───────────────────────────────────────────────────────────────────────────────────────


def test_doctor_finds_nothing_where_all_is_well(perdure):
    found = perdure("doctor", "--json")
    assert (found.code, found.json["fine"]) == (0, True)
    states = {part: one["state"] for part, one in found.json["parts"].items()}
    assert states == {
        "settings": "fine", "database": "fine", "jobs": "fine", "embedder": "off", "model": "off",
        "reranker": "off", "vectors": "off", "broker": "off", "keys": "off",
    }  # fmt: skip


def test_doctor_names_the_part_that_is_wrong_and_says_what_to_do(perdure, monkeypatch):
    lost = perdure("doctor", "--database", "perdrue.db", "--json")
    assert (lost.code, lost.json["parts"]["database"]["state"]) == (1, "trouble")
    assert "perdure migrate" in lost.json["parts"]["database"]["advice"]
    assert not Path("perdrue.db").exists()

    with ModelServer(["yes"], api_key="right") as server:
        monkeypatch.setenv("PERDURE_LLM_BASE_URL", server.base_url)
        monkeypatch.setenv("PERDURE_LLM_MODEL", "scripted")
        monkeypatch.setenv("PERDURE_LLM_API_KEY", "right")
        assert perdure("doctor", "--json").json["parts"]["model"]["state"] == "fine"
        monkeypatch.setenv("PERDURE_LLM_API_KEY", "wrong")
        wrong = perdure("doctor", "--json")
    assert wrong.code == 1
    assert "PERDURE_LLM_API_KEY" in wrong.json["parts"]["model"]["advice"]
    gone = perdure("doctor")
    assert gone.code == 3
    assert "trouble" in gone.out
    assert perdure("doctor", "--no-models").code == 0

    monkeypatch.setenv("PERDURE_BUS", "kafka")
    monkeypatch.setenv("PERDURE_KAFKA_SERVERS", "127.0.0.1:9")
    monkeypatch.setenv("PERDURE_EMBEDDER", "bundled")
    monkeypatch.setenv("PERDURE_VECTOR_INDEX", "pgvector")
    monkeypatch.setenv("PERDURE_VECTOR_URL", "postgresql://127.0.0.1:9/perdure")
    away = perdure("doctor", "--no-models", "--json")
    assert away.code == 3
    assert {part for part, one in away.json["parts"].items() if one["state"] == "trouble"} == {
        "vectors", "broker",
    }  # fmt: skip

    monkeypatch.setenv("PERDURE_PRESETT", "team")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    typo = perdure("doctor")
    assert typo.code == 1
    assert "PERDURE_PRESETT" in typo.out
    assert "有问题" in typo.out


def test_doctor_advises_no_key_where_a_desktop_file_keeps_none(perdure):
    place = ("--database", "memory.json", "--preset", "desktop")
    assert perdure(*place, "--create", "doctor", "--json").json["parts"]["keys"]["advice"] == (
        "Set PERDURE_API_KEYS."
    )
    assert "keys create" in perdure("doctor", "--json").json["parts"]["keys"]["advice"]


def test_doctor_counts_dead_jobs(perdure):
    perdure("migrate")
    with sqlite3.connect("perdure.db") as file:
        file.execute(
            "INSERT INTO perdure_jobs (type, namespace, user_id, idempotency_key, key, payload,"
            " result, trace, state, ordered, retry_count, max_retry, created_at, updated_at)"
            " VALUES ('extract', 'default', 'ann', 'k', 'k', '{}', '{}', 't', 'dead', 1, 5, 5, 1,"
            " 1)"
        )
    file.close()
    found = perdure("doctor", "--json")
    assert found.code == 1
    assert found.json["parts"]["jobs"]["found"] == "0 wait, 1 are dead"
    assert "jobs list" in found.json["parts"]["jobs"]["advice"]
