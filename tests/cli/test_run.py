"""serve and worker as processes: started, killed, started again; nothing that was said is lost."""

from __future__ import annotations

import json
import signal
import socket
import time

import httpx
import pytest

from perdure import Memory, Message, Scope
from perdure.settings import Settings
from perdure.types import Role

QUICK = {"PERDURE_POLICY__JOBS__LEASE_S": "1", "PERDURE_POLICY__JOBS__POLL_S": "0.1"}


def client(process):
    """A client of a service that was just started."""
    where = json.loads(process.stdout.readline())["url"]
    return httpx.Client(base_url=f"{where}/api/v1", trust_env=False, timeout=30)


def settled(api, trace):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        receipt = api.get(f"/captures/{trace}", params={"user_id": "ann"}).json()
        if receipt["state"] == "learnt":
            return receipt
        time.sleep(0.05)
    pytest.fail(f"not learnt in time: {receipt}")


@pytest.mark.spec("3.2", "5")
def test_a_killed_service_loses_nothing_that_it_acknowledged(started):
    service = started("serve", "--port", "0", "--json", **QUICK)
    taken = {}
    with client(service) as api:
        for number in range(20):
            said = {"role": "user", "content": f"I like number {number}.", "id": f"m{number}"}
            reply = api.post(
                f"/conversations/chat-{number % 3}/turns",
                json={"user_id": "ann", "messages": [said]},
            )
            taken[number] = reply.json()["trace"]
        service.kill()
    assert service.wait() == -signal.SIGKILL

    again = started("serve", "--port", "0", "--json", **QUICK)
    with client(again) as api:
        assert all(settled(api, trace)["learnt"] for trace in taken.values())
        items = api.get("/memory/items", params={"user_id": "ann", "limit": 100}).json()["items"]
        assert {i["content"] for i in items} == {f"Likes number {n}" for n in taken}
        assert len(items) == 20

        again.send_signal(signal.SIGTERM)
    said, errors = again.communicate(timeout=20)
    assert again.returncode == 0
    logged = [json.loads(line) for line in errors.splitlines()]
    assert {line["event"] for line in logged} == {"request"}
    assert "Likes" not in said + errors


@pytest.mark.spec("5")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_worker_keeps_promises_until_it_is_told_to_stop(started, tmp_path, name):
    ann = Scope(user="ann")
    settings = Settings(embedder="none")
    worker = started("worker", **QUICK)
    assert "runs" in worker.stderr.readline()
    with Memory.open(tmp_path / "perdure.db", settings=settings, workers=False) as memory:
        receipt = memory.capture(ann, "chat-1", [Message(Role.USER, "I live in Bergen.")])
        assert memory.wait(receipt, timeout=20).state == "learnt"

    worker.send_signal(getattr(signal, name))
    _, errors = worker.communicate(timeout=20)
    assert worker.returncode == 0
    assert "Traceback" not in errors


@pytest.mark.spec("5", "6")
def test_a_service_whose_worker_was_killed_says_that_jobs_are_late(started):
    """Until another comes, which learns what waited; neither ever speaks to the other."""
    late = QUICK | {"PERDURE_POLICY__JOBS__LATE_S": "0.5"}
    service = started("serve", "--port", "0", "--workers", "0", "--json", **late)
    worker = started("worker", **late)
    assert "runs" in worker.stderr.readline()
    with client(service) as api:
        said = {"role": "user", "content": "I live in Bergen."}
        where = "/conversations/chat-1/turns"
        body = {"user_id": "ann", "messages": [said]}
        assert settled(api, api.post(where, json=body).json()["trace"])["learnt"]
        assert readiness(api, "up") == ("ready", None)
        worker.kill()
        worker.wait()
        trace = api.post(where, json=body | {"messages": [said | {"content": "I like tea."}]})
        assert readiness(api, "degraded") == ("degraded", "late")
        started("worker", **late)
        assert settled(api, trace.json()["trace"])["learnt"]
        assert readiness(api, "up") == ("ready", None)


def readiness(api, jobs):
    """What the whole is, and why, once its jobs are so."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        told = api.get("/health/ready").json()
        if told["parts"]["jobs"]["state"] == jobs:
            break
        time.sleep(0.05)
    assert told["parts"]["jobs"]["state"] == jobs
    return told["status"], told["parts"]["jobs"]["detail"]


@pytest.mark.spec("10")
def test_what_a_worker_counts_is_read_from_the_worker(started, perdure):
    """In a split deployment, where the service says that learning is not among its own figures."""
    service = started("serve", "--port", "0", "--workers", "0", "--json", **QUICK)
    line = json.loads(service.stdout.readline())
    worker = started("worker", "--metrics-port", "0", **QUICK)
    where = worker.stderr.readline().split()[-1]
    assert where.startswith("http://127.0.0.1:")
    admin = {"Authorization": f"Bearer {line['link'].partition('token=')[2]}"}
    with httpx.Client(base_url=f"{line['url']}/api/v1", trust_env=False, timeout=30) as api:
        body = {"user_id": "ann", "messages": [{"role": "user", "content": "I live in Bergen."}]}
        taken = api.post("/conversations/chat-1/turns", json=body).json()
        assert settled(api, taken["trace"])["learnt"]
        told = api.get("/admin/metrics/summary", headers=admin).json()
        page = api.get(f"{line['url']}/pages/operations", headers=admin | {"Accept-Language": "en"})
    assert told["rates"]["memory_job_success_rate"] is None
    assert told["works_here"] is False
    assert "works on no jobs" in page.text

    done = 'perdure_jobs_total{outcome="success",type="extract"} 1.0'
    until = time.monotonic() + 60
    while done not in (read := httpx.get(where, trust_env=False).text):
        assert time.monotonic() < until, read
        time.sleep(0.05)
    assert 'perdure_memory_decision_total{action="ADD"} 1.0' in read
    assert "Bergen" not in read
    for name, value in (("Host", "evil.example"), ("Origin", "https://evil.example")):
        assert httpx.get(where, headers={name: value}, trust_env=False).status_code in (401, 403)
    may = ("--role", "admin", "--may", "deployment:read")
    key = perdure("keys", "create", "prometheus", *may, "--json").json["secret"]
    for sent, status in ((admin, 403), ({"Authorization": f"Bearer {key}"}, 200)):
        known = httpx.get(where, headers=sent | {"Host": "worker.example"}, trust_env=False)
        assert (known.status_code, done in known.text) == (status, status == 200)
    assert httpx.get(where.replace("metrics", "docs"), trust_env=False).status_code == 404
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=20)
    assert worker.returncode == 0


def test_a_port_for_figures_that_is_taken_is_told(perdure):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = perdure("worker", "--once", "--metrics-port", taken.getsockname()[1])
    assert done.code == 3
    assert "metrics-port" in done.err


@pytest.mark.spec("6")
def test_nobody_serves_strangers_without_keys(perdure):
    done = perdure("serve", "--host", "0.0.0.0")  # noqa: S104 - refused
    assert done.code == 1
    assert "PERDURE_API_KEYS" in done.err


def test_a_port_that_is_taken_is_told(perdure):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = perdure("serve", "--port", taken.getsockname()[1])
    assert done.code == 3
    assert "port" in done.err


def test_a_database_is_migrated_as_often_as_one_likes(perdure):
    for _ in range(2):
        assert perdure("migrate", "--json").json == {"migrated": True}
