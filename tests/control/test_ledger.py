"""What embedding and reranking use goes on the account of the user for whom it was asked."""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack

import pytest

from perdure import Memory, Message, Scope
from perdure.models.endpoint import tokens_of
from perdure.settings import load
from perdure.testing.model_server import ModelReply, ModelServer, ranking
from perdure.types import Reason, ReceiptState

ann = Scope(user="ann")
bo = Scope(user="bo")
lin = Scope(user="小林")


def ranked(request):
    """As Jina tells what it read."""
    return json.dumps({**json.loads(ranking(request)), "usage": {"total_tokens": 40}})


def facts(_):
    return ModelReply(content=json.dumps({"facts": [{"content": "Lives in Bergen"}]}))


@pytest.fixture
def endpoint():
    """Embeds, reranks and learns, and tells what that used."""
    with ModelServer(rule=facts, rerank=ranked) as server:
        yield server


@pytest.fixture
def shop(tmp_path, monkeypatch, endpoint):
    """Opens a memory whose models are all behind one endpoint that wants money."""
    monkeypatch.setattr("perdure.control.ledger._LATER_S", 0.01)
    with ExitStack() as stack:

        def build(**environ):
            settings = load(
                {
                    "PERDURE_EMBEDDER": "openai",
                    "PERDURE_EMBEDDING_BASE_URL": endpoint.base_url,
                    "PERDURE_EMBEDDING_MODEL": "e",
                    "PERDURE_RERANK_BASE_URL": endpoint.base_url,
                    "PERDURE_RERANK_MODEL": "r",
                    "PERDURE_POLICY__COST__PRICES": "e=2/0,r=3/0,m=5/5",
                    **environ,
                }
            )
            memory = Memory.open(tmp_path / "perdure.db", settings=settings, workers=False)
            return stack.enter_context(memory)

        yield build


def spent(memory, scope, purpose, calls):
    """What stands on an account once so many calls are written down."""
    until = time.monotonic() + 60
    while True:
        found = [one for one in memory.costs.of(scope) if one.purpose == purpose]
        if sum(one.calls for one in found) >= calls or time.monotonic() > until:
            return found
        time.sleep(0.01)


def work(memory):
    while memory.parts.worker.run_once():
        pass


@pytest.mark.spec("10")
def test_what_is_embedded_and_reranked_is_written_down_by_user_at_its_price(shop, endpoint):
    memory = shop()
    for content in ("Owns a red kayak", "Paddles a kayak in Bergen"):
        memory.items.add(ann, content)
    memory.items.add(bo, "Owns a red kayak")
    memory.recall(ann, "Which kayak is mine?")

    (embedded,) = spent(memory, ann, "embed", 3)
    (reranked,) = spent(memory, ann, "rerank", 1)
    (others,) = spent(memory, bo, "embed", 1)
    asked = [one.body["input"] for one in endpoint.requests if "input" in one.body]
    told = [sum(map(len, texts)) // 4 for texts in asked]  # as the server counts them
    assert embedded.calls + others.calls == len(told)
    assert embedded.tokens_in + others.tokens_in == sum(told)
    assert embedded.cost == pytest.approx(2 * embedded.tokens_in / 1_000_000)
    assert (reranked.model, reranked.tokens_in, reranked.tokens_out) == ("r", 40, 0)
    assert reranked.cost == pytest.approx(3 * 40 / 1_000_000)
    together = {one.purpose: one for one in memory.costs.together("default")}
    assert together["embed"].tokens_in == sum(told)
    assert memory.parts.meter.read("model_cost", purpose="rerank") == pytest.approx(reranked.cost)
    assert memory.parts.meter.read("model_tokens", purpose="rerank") == 40


@pytest.mark.spec("10")
def test_learning_and_indexing_embed_on_the_account_of_whoever_spoke(shop, endpoint):
    memory = shop(PERDURE_POLICY__CAPTURE__EPISODES="true")
    memory.capture(lin, "c", [Message("user", "I live in Bergen. I prefer tea.")])
    work(memory)
    asked = sum("input" in one.body for one in endpoint.requests)
    (embedded,) = spent(memory, lin, "embed", asked)
    assert embedded.calls == asked >= 2


@pytest.mark.spec("10")
def test_a_month_spent_on_embedding_stops_learning_and_not_recall(shop, endpoint):
    memory = shop(
        PERDURE_LLM_BASE_URL=endpoint.base_url, PERDURE_LLM_MODEL="m",
        PERDURE_POLICY__COST__USER_MONTH="0.00001",
    )  # fmt: skip
    memory.items.add(ann, "Owns a red kayak that is called Moss and leaks a little")
    spent(memory, ann, "embed", 1)
    waits = memory.capture(ann, "c", [Message("user", "I live in Bergen.")])
    work(memory)
    receipt = memory.receipt(ann, waits.trace)
    assert (receipt.state, receipt.reason) == (ReceiptState.QUEUED, Reason.COST_CAP)
    assert "kayak" in memory.recall(ann, "What is my kayak called?").text
    fine = memory.capture(bo, "c", [Message("user", "I live in Bergen.")])
    work(memory)
    assert memory.receipt(bo, fine.trace).state is ReceiptState.LEARNT


@pytest.mark.spec("9", "10")
def test_what_an_erased_user_had_used_is_only_in_the_sum_of_all(shop, monkeypatch):
    memory = shop()
    monkeypatch.setattr("perdure.control.ledger._LATER_S", 0.5)
    memory.items.add(ann, "Owns a red kayak")
    assert memory.erase(ann).clean
    until = time.monotonic() + 60
    while not memory.costs.together("default") and time.monotonic() < until:
        time.sleep(0.05)
    assert [one.purpose for one in memory.costs.together("default")] == ["embed"]
    assert memory.costs.of(ann) == []
    assert memory.erasure(ann).clean


@pytest.mark.spec("10")
def test_what_cannot_be_written_down_now_is_with_the_next(shop, monkeypatch):
    from perdure.errors import DatabaseUnavailable  # noqa: PLC0415 - only here
    from perdure.store.spend import SqlSpend  # noqa: PLC0415 - the same

    memory = shop()
    tried = threading.Event()

    def full(*_):
        tried.set()
        raise DatabaseUnavailable

    with monkeypatch.context() as broken:
        broken.setattr(SqlSpend, "add", full)
        memory.recall(ann, "Which kayak is mine?")
        memory.items.add(ann, "Owns a red kayak")
        assert tried.wait(20)
    memory.items.add(ann, "Owns a blue canoe")
    (embedded,) = spent(memory, ann, "embed", 2)
    assert embedded.calls == 2


@pytest.mark.parametrize(
    ("payload", "tokens"),
    [
        ({"usage": {"prompt_tokens": 7, "total_tokens": 9}}, 7),
        ({"usage": {"total_tokens": 9}}, 9),
        ({"meta": {"tokens": {"input_tokens": 5.0}, "billed_units": {"search_units": 1}}}, 5),
        ({"usage": {"total_tokens": "many"}}, None),
        ({"usage": {"total_tokens": -1}}, None),
        ({"usage": None, "meta": [1]}, None),
        ([{"index": 0, "score": 1}], None),
    ],
)
def test_tokens_are_read_in_any_usual_shape(payload, tokens):
    assert tokens_of(payload) == tokens
