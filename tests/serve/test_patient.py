"""A service whose database is away: at the start, or later."""

from __future__ import annotations

import time

import pytest
from fastapi.testclient import TestClient

from perdure import Memory
from perdure.serve.app import create_app
from perdure.settings import load

HERE = ("127.0.0.1", 50_000)
TURN = {
    "user_id": "小林",
    "messages": [{"role": "user", "content": "我住在杭州。"}],
}
KEY = "k" * 40
BACK_S = 30.0


@pytest.mark.spec("4.10", "5", "6")
@pytest.mark.case("OPS-05")
@pytest.mark.parametrize("kind", ["mariadb", "postgres"])
def test_a_service_starts_without_its_database_says_so_and_recovers_by_itself(
    kind, place, line_to, monkeypatch
):
    line = line_to(place(kind))
    line.whole = False
    monkeypatch.setenv("PERDURE_EMBEDDER", "none")
    monkeypatch.setenv("PERDURE_API_KEYS", f"default={KEY}")
    url = line.url.render_as_string(hide_password=False)
    with Memory.open(url, settings=load(database_url=url), patient=True) as memory:
        app = create_app(memory, memory.parts.settings)
        with TestClient(app, base_url="http://127.0.0.1", client=HERE) as api:
            api.headers["Authorization"] = f"Bearer {KEY}"
            ready = api.get("/health/ready")
            assert (ready.status_code, ready.json()["parts"]["database"]["state"]) == (503, "down")
            assert api.post("/api/v1/conversations/c/turns", json=TURN).status_code == 503
            asked = api.post("/api/v1/memory/context", json={"user_id": "小林", "query": "住哪"})
            assert (asked.status_code, asked.json()["text"]) == (200, "")
            assert asked.json()["degraded"]

            line.whole = True
            taken = api.post("/api/v1/conversations/c/turns", json=TURN)
            assert taken.status_code == 202
            assert api.get("/health/ready").json()["parts"]["database"]["state"] == "up"
            until = time.monotonic() + BACK_S
            while not (found := listed(api)) and time.monotonic() < until:
                time.sleep(0.1)
            assert found == ["住在杭州"]


def listed(api):
    rows = api.get("/api/v1/memory/items", params={"user_id": "小林"}).json()["items"]
    return [row["content"] for row in rows]
