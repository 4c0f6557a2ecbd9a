"""Run-time values: what an admin saw is what is changed, and all of it or nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from perdure import ASSISTANT, Memory
from perdure.control.runtime import Runtime
from perdure.errors import Stale
from perdure.settings import Settings
from perdure.store.database import SqlDatabase
from perdure.testing.samples import NOW


@pytest.fixture
def runtime(tmp_path):
    settings = Settings(embedder="none", workers=False)
    with Memory.open(tmp_path / "perdure.db", settings=settings) as memory:
        yield memory.parts.runtime


@pytest.mark.spec("7", "8")
def test_a_value_that_was_set_since_it_was_shown_is_not_overwritten(runtime):
    shown = {"gate.floor": None, "budget.fact": None}
    runtime.change("default", {"gate.floor": 0.6}, shown=shown)
    with pytest.raises(Stale) as late:
        runtime.change("default", {"budget.fact": 3, "gate.floor": 0.7}, shown=shown)
    assert late.value.field == "gate.floor"
    assert runtime.values("default") == {"gate.floor": 0.6}
    runtime.change("default", {"budget.fact": 3}, shown=shown)
    runtime.change("default", {"gate.floor": None}, shown={"gate.floor": 0.6})
    assert runtime.values("default") == {"budget.fact": 3}


@pytest.mark.spec("8")
def test_a_value_is_taken_back_also_where_the_deployment_has_none(runtime):
    runtime.set("default", "cost.user_month", 5)

    assert runtime.set("default", "cost.user_month", None).cost.user_month is None
    assert runtime.values("default") == {}


@pytest.mark.spec("8")
def test_a_value_that_only_another_release_takes_is_left_out_and_may_be_taken_back(runtime):
    with runtime.database.begin() as tx:
        tx.runtime.put("default", "gate.of_old", 1)
        tx.runtime.put("default", "budget.fact", 10**30)
        tx.runtime.put("default", "gate.floor", 0.6)

    policy = runtime.policy_of("default")

    assert (policy.gate.floor, policy.budget.fact) == (0.6, ASSISTANT.budget.fact)
    assert runtime.set("default", "budget.fact", None).gate.floor == 0.6


@pytest.mark.spec("8")
def test_of_two_who_set_the_same_new_value_at_once_one_is_told(database_url):
    database = SqlDatabase.open(database_url, clock=lambda: NOW)
    together = Barrier(2)

    def set_to(fact):
        runtime = Runtime(database, ASSISTANT, lambda: NOW)
        together.wait(20)
        try:
            runtime.change("shop", {"budget.fact": fact}, shown={"budget.fact": None})
        except Stale:
            return None
        return fact

    with ThreadPoolExecutor(2) as both:
        done = [one for one in both.map(set_to, (3, 4)) if one is not None]
    with database.read() as tx:
        assert [tx.runtime.get("shop")] == [{"budget.fact": one} for one in done]
    database.close()
