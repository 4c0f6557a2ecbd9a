"""Operations without a browser: run-time values, what charts cover, jobs one by one."""

from __future__ import annotations

import html
import re

import pytest

from perdure import Scope
from perdure.pages.charts import amount, bars, largest_first, seconds
from perdure.pages.tune import GROUPS, NAMES
from perdure.pages.words import WORDS
from perdure.types import JobType, Permission, Promise, Spend

LOOKS, SETS, MENDS = Permission.ADMIN_READ, Permission.SETTINGS_WRITE, Permission.JOBS_WRITE
PATH = "/pages/operations/settings"


@pytest.fixture
def sets(admin):
    """The pages of an admin who may set run-time values."""
    return admin(LOOKS, SETS)


def form(pages):
    """The fields of the form as they are shown."""
    page = pages.get(PATH).text
    fields = dict(re.findall(r'<input[^>]* name="([^"]+)" value="([^"]*)"', page))
    for name, options in re.findall(
        r'<select[^>]* name="([^"]+)".*?>(.*?)</select>', page, re.DOTALL
    ):
        chosen = re.search(r'value="([^"]*)" selected', options)
        fields[name] = chosen[1] if chosen else ""
    return {name: html.unescape(value) for name, value in fields.items()}


def save(pages, fields, **changes):
    sent = fields | {name.replace("__", "."): value for name, value in changes.items()}
    return pages.send_form("operations/settings", sent, source="values")


def wrong(page):
    """What stands beside each field."""
    found = re.findall(r'id="wrong-([\w-]+)" role="alert">([^<]+)<', page.text)
    return {name.replace("-", ".", 1): said for name, said in found}


@pytest.mark.spec("7", "8")
def test_values_are_set_and_taken_back_and_hold_at_once(sets):
    fields = form(sets)
    assert {name for name in fields if not name.startswith("was:")} == set(NAMES)
    saved = save(
        sets, fields, learn__extraction_model="qwen2.5:7b", defaults__auto_learn="false",
        capacity__active_limit="50", cost__user_month="none", render__form="flat",
    )  # fmt: skip
    assert "Saved." in saved.text
    policy = sets.memory.parts.policy_of("default")
    assert policy.learn.extraction_model == "qwen2.5:7b"
    assert not sets.memory.preferences.get(Scope(user="new")).auto_learn
    assert (policy.capacity.active_limit, policy.render.form) == (50, "flat")
    values = sets.memory.parts.runtime.values("default")
    assert values["capacity.active_limit"] == 50
    again = form(sets)
    assert again["capacity.active_limit"] == "50"
    save(sets, again, capacity__active_limit="", defaults__auto_learn="")
    assert sets.memory.parts.policy_of("default").capacity.active_limit == 2_000
    assert "capacity.active_limit" not in sets.memory.parts.runtime.values("default")
    assert sets.memory.preferences.get(Scope(user="new")).auto_learn


@pytest.mark.spec("7", "8")
def test_what_a_value_cannot_be_is_told_beside_its_field_and_nothing_is_saved(sets):
    refused = save(sets, form(sets), capacity__active_limit="many", cost__user_month="-1",
                   render__form="html", learn__extraction_model="good")  # fmt: skip
    assert refused.status_code == 422
    assert wrong(refused) == {
        "capacity.active_limit": "Expected a whole number, 0 or more.",
        "cost.user_month": "Expected a number, 0 or more. “none” means no limit.",
        "render.form": "Expected one of the list.",
    }
    assert 'value="many"' in refused.text
    assert 'value="good"' in refused.text
    assert sets.memory.parts.runtime.values("default") == {}
    large = save(sets, form(sets), budget__fact="9" * 20)
    assert wrong(large) == {"budget.fact": "Expected 2147483647 or less."}
    chinese = sets.send_form("operations/settings?lang=zh", form(sets) | {"budget.fact": "多"})
    assert "应为不小于 0 的整数" in chinese.text


@pytest.mark.spec("7", "8")
def test_two_tabs_that_set_values_lose_no_change(sets):
    first, second = form(sets), form(sets)
    save(sets, first, budget__fact="3")
    other = save(sets, second, budget__preference="4")
    assert other.status_code == 200
    assert sets.memory.parts.runtime.values("default") == {
        "budget.fact": 3, "budget.preference": 4,
    }  # fmt: skip
    late = save(sets, second, budget__fact="9", budget__constraint="1")
    assert late.status_code == 412
    assert "changed meanwhile: 3." in wrong(late)["budget.fact"]
    assert 'value="9"' in late.text
    assert sets.memory.parts.runtime.values("default")["budget.fact"] == 3
    assert "budget.constraint" not in sets.memory.parts.runtime.values("default")
    shown = dict(re.findall(r'name="(was:[^"]+)" value="([^"]*)"', late.text))
    assert save(sets, second | shown, budget__fact="9").status_code == 200
    assert sets.memory.parts.runtime.values("default")["budget.fact"] == 9


@pytest.mark.spec("7", "9")
def test_looking_and_setting_are_in_the_audit_and_need_their_permissions(admin):
    pages = admin(LOOKS)
    shown = pages.get(PATH).text
    assert "may read these and not set them" in shown
    assert shown.count("<fieldset") == shown.count("disabled>") == len(GROUPS)
    fields = form(pages)
    assert save(pages, fields, budget__fact="3").status_code == 403
    assert pages.memory.parts.runtime.values("default") == {}
    pages = admin(LOOKS, SETS)
    save(pages, fields, budget__fact="3")
    entries = pages.get("/api/v1/admin/audit?item_id=budget.fact").json()["entries"]
    assert [(one["before"], one["after"]) for one in entries] == [(None, "3")]
    assert entries[0]["by"].startswith("key:")
    looks = pages.get("/api/v1/admin/audit?operation=read").json()["entries"]
    assert "settings" in {one["reason"] for one in looks}
    assert admin(MENDS).get(PATH).status_code == 403


@pytest.mark.spec("7")
def test_values_set_elsewhere_are_shown_and_a_form_that_is_none_is_refused(sets):
    sets.memory.parts.runtime.set("default", "gate.floor", 0.6)
    assert "gate.floor" in sets.get(PATH).text
    assert sets.send_form("operations/settings", {"budget.fact": "3"}).status_code == 422
    assert sets.send_form("operations/settings", form(sets)).text.count("Nothing was changed") == 1


def test_every_value_has_a_name_and_its_choices_words_in_both_languages():
    assert {name.replace(".", "_") for name in NAMES} <= WORDS.keys()
    assert {f"values_{group}" for group in GROUPS} <= WORDS.keys()


# ── charts ───────────────────────────────────────────────────────────────────────────────────────


def figure(page, name):
    """What stands in a chart: its bars, each with its number; and whose figures they are."""
    (inside,) = re.findall(
        rf'<figure class="card" id="chart-{name}".*?</figure>', page.text, re.DOTALL
    )
    rows = re.findall(r'scope="row">(.*?)</th>.*?class="number">(.*?)</td>', inside, re.DOTALL)
    (covers,) = re.findall(r'covers">(.*?)</span>', inside)
    return dict(rows), covers


@pytest.mark.spec("7", "10")
def test_the_queue_and_the_cost_are_those_of_the_namespace_alone(admin):
    pages = admin(LOOKS)
    parts = pages.memory.parts
    month = f"{parts.clock():%Y-%m}"
    with parts.database.begin() as tx:
        for namespace, jobs, tokens in (("default", 1, 1_234_567), ("shop", 3, 9)):
            for number in range(jobs):
                tx.jobs.promise(
                    Promise(type=JobType.CLEANUP, namespace=namespace, user="ann", payload={},
                            key=f"k{number}", trace="t"), parts.clock(),
                )  # fmt: skip
            spent = Spend(month=month, model="m", purpose="extract", tokens_in=tokens, cost=0.25)
            tx.spend.add(namespace, None, spent)
    page = pages.get("/pages/operations")
    queue, covers = figure(page, "queue")
    assert (queue["waiting"], covers) == ("1", "namespace default, now")
    tokens, covers = figure(page, "tokens")
    assert (tokens["read"], covers) == ("1,234,567", "namespace default, this month")
    assert figure(page, "cost")[0] == {"extract": "0.25"}


@pytest.mark.spec("7", "10")
def test_latency_is_drawn_as_median_and_95th_percentile_of_the_namespace(admin):
    pages = admin(LOOKS)
    assert "Nothing yet." in pages.get("/pages/operations").text
    meter = pages.memory.parts.meter
    for milliseconds in [8] * 90 + [900] * 10:
        meter.within("default").time("recall_seconds", milliseconds / 1000)
        meter.within("default").time("memory_readable_seconds", milliseconds / 10)
        meter.within("shop").time("recall_seconds", 60)
    page = pages.get("/pages/operations")
    times, covers = figure(page, "recall")
    assert times == {"P50": "8 ms", "P95": "900 ms"}
    assert covers == "namespace default, in this process since it began"
    assert figure(page, "readable")[0].keys() == {"P50", "P95"}


def test_numbers_beside_bars_can_be_read():
    assert [amount(n) for n in (0, 3.0, 1_234_567, 0.125)] == ["0", "3", "1,234,567", "0.125"]
    assert [seconds(s) for s in (0.0042, 1.25, 90)] == ["4 ms", "1.2 s", "1.5 min"]
    pieces = bars(largest_first({"a": 1, "b": 4, "c": 0}))
    assert [(p.name, p.length) for p in pieces] == [("b", 100.0), ("a", 25.0), ("c", 0.0)]
    assert bars({}) == []
