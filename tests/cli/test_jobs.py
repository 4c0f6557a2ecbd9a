"""jobs: what waits or died is seen, retried, dropped; never what was said."""

from __future__ import annotations

import pytest

from perdure import Memory, Message, Scope
from perdure.settings import load
from perdure.testing.model_server import ModelServer
from perdure.types import Role


@pytest.fixture
def _dead(perdure, monkeypatch):
    """A job that a model refused for good."""
    with ModelServer(api_key="right") as server:
        monkeypatch.setenv("PERDURE_LLM_BASE_URL", server.base_url)
        monkeypatch.setenv("PERDURE_LLM_MODEL", "scripted")
        monkeypatch.setenv("PERDURE_LLM_API_KEY", "wrong")
        monkeypatch.setenv("PERDURE_POLICY__JOBS__MAX_RETRY", "0")
        with Memory.open(settings=load(), workers=False) as memory:
            memory.capture(Scope(user="ann"), "c", [Message(Role.USER, "I live in Bergen.")])
        perdure("worker", "--once")


def dead(perdure):
    return perdure("jobs", "list", "--state", "dead", "--json").json["jobs"]


@pytest.mark.spec("5", "9")
@pytest.mark.usefixtures("_dead")
def test_a_dead_job_is_listed_retried_and_dropped(perdure):
    (job,) = dead(perdure)
    assert (job["type"], job["user_id"]) == ("extract", "ann")
    listed = perdure("jobs", "list")
    assert "dead" in listed.out
    assert "Bergen" not in listed.out + str(job)

    assert perdure("jobs", "retry", job["id"]).out == "1 of 1 jobs retried.\n"
    assert dead(perdure) == []
    perdure("worker", "--once")
    assert perdure("jobs", "drop", job["id"], "--json").json == {"dropped": 1}
    assert dead(perdure) == []


def test_a_job_that_is_not_there_is_a_problem(perdure):
    done = perdure("jobs", "retry", "4711")
    assert done.code == 1
    assert "no such thing" in done.err
