"""Operations in a real browser: jobs that died, and run-time values in two tabs."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import expect

from perdure import Memory
from perdure.settings import Settings
from perdure.types import JobType, Promise

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def dead(service):
    """Writes a job that died, as a worker of another process would; gives its id."""
    settings = Settings(embedder="none", workers=False)

    def dead(user, key, type_=JobType.CLEANUP):
        with Memory.open(service.place / "perdure.db", settings=settings) as memory:
            at = memory.parts.clock()
            promise = Promise(type=type_, namespace="default", user=user, key=key, payload={},
                              trace="t", max_retry=0)  # fmt: skip
            with memory.parts.database.begin() as tx:
                job, _ = tx.jobs.promise(promise, at)
                taken = tx.jobs.claim(at, 60, [type_])
                assert taken
                assert taken.id == job.id
                tx.jobs.bury(taken, "ModelUnavailable: it did not answer", at)
        return job.id

    return dead


def state(service, job):
    key = {"Authorization": f"Bearer {service.key}"}
    asked = {"state": ["pending", "processing", "success", "failed", "dead"]}
    found = service.api.get("/admin/jobs", params=asked, headers=key).json()["jobs"]
    return next((one["state"] for one in found if one["id"] == job), None)


@pytest.mark.spec("7")
def test_a_dead_job_says_why_and_is_tried_again_where_it_stands(service, visit, dead):
    job = dead("retry", "retried")
    page = visit("x", "operations", admin=True)
    row = page.locator(f"#row-{job}")
    expect(row).to_contain_text("dead")
    expect(row).to_contain_text("ModelUnavailable: it did not answer")
    row.get_by_role("button", name=f"Retry job {job}").click()
    expect(row.get_by_role("button", name="Retry")).to_have_count(0)
    expect(row).not_to_contain_text("dead")

    until = time.monotonic() + 60
    while state(service, job) != "success" and time.monotonic() < until:
        time.sleep(0.05)
    assert state(service, job) == "success"


@pytest.mark.spec("7")
def test_a_dead_job_is_dropped_once_it_was_confirmed(service, visit, dead):
    job = dead("drop", "dropped")
    page = visit("x", "operations", admin=True)
    drop = page.get_by_role("button", name=f"Drop job {job}")
    page.once("dialog", lambda dialog: dialog.dismiss())
    drop.click()
    assert state(service, job) == "dead"
    page.once("dialog", lambda dialog: dialog.accept())
    drop.click()
    expect(page.locator(f"#row-{job}")).to_have_text(f"Job {job} was dropped.")
    assert state(service, job) is None


@pytest.mark.spec("7", "8")
def test_run_time_values_are_set_in_two_tabs_and_no_change_is_lost(service, visit):
    first, second = (visit("x", "operations/settings", admin=True) for _ in range(2))
    first.get_by_label("Facts in one answer").fill("many")
    first.get_by_role("button", name="Save").click()
    expect(first.locator("#wrong-budget-fact")).to_contain_text("Expected a whole number")
    first.get_by_label("Facts in one answer").fill("3")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_text("Saved.")).to_be_visible()
    expect(first.locator("#wrong-budget-fact")).to_be_hidden()

    second.get_by_label("To-dos in one answer").fill("1")
    second.get_by_role("button", name="Save").click()
    expect(second.get_by_text("Saved.")).to_be_visible()
    expect(second.get_by_label("Facts in one answer")).to_have_value("3")
    first.get_by_label("To-dos in one answer").fill("2")
    first.get_by_role("button", name="Save").click()
    expect(first.locator("#wrong-budget-todo_hint")).to_contain_text("changed meanwhile: 1.")
    expect(first.get_by_label("To-dos in one answer")).to_have_value("2")
    first.get_by_label("To-dos in one answer").fill("")
    first.get_by_label("Facts in one answer").fill("")
    first.get_by_label("Learn from conversations").select_option(label="off")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_text("Saved.")).to_be_visible()
    shown = service.api.get("/memory/settings", params={"user_id": "of default"}).json()
    assert shown["auto_learn"] is False
    first.get_by_label("Learn from conversations").select_option("")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_label("Learn from conversations")).to_have_value("")
    first.reload()
    expect(first.get_by_label("Facts in one answer")).to_have_value("")


@pytest.mark.spec("7")
def test_latency_is_drawn_once_something_was_asked(service, visit):
    service.api.post("/memory/context", json={"user_id": "ann", "query": "Which tea?"})
    page = visit("x", "operations", admin=True)
    chart = page.get_by_role("figure", name="Time of an answer")
    expect(chart.get_by_role("row")).to_have_count(2)
    expect(chart).to_contain_text("this process")
    assert chart.locator("rect").last.evaluate("bar => bar.getBoundingClientRect().width") > 0
