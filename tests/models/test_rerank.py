"""A second opinion over a real socket, in each shape of a ranking, and the extra's wrapper."""

from __future__ import annotations

import importlib.util
import json
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from perdure.errors import (
    Misconfigured,
    MissingExtra,
    ModelBusy,
    ModelUnavailable,
    Unavailable,
)
from perdure.memory import Memory
from perdure.models.endpoint import Patience
from perdure.models.rerank import EndpointReranker, FastEmbedReranker, RerankCallPolicy, shares
from perdure.observe import Meter
from perdure.ports import Reranker
from perdure.settings import load
from perdure.testing.model_server import Fault, ModelReply, ModelServer, busy, failing
from perdure.types import Scope
from perdure.wiring import reranker_of

SMALL = RerankCallPolicy(chars=10, timeout_s=0.5)


@contextmanager
def reranking(rerank=None, *, meter=None, **server_options):
    """A reranker and the server that it talks to."""
    with ModelServer(rerank=rerank, **server_options) as server:
        reranker = EndpointReranker(
            server.base_url, "k", "judge", meter=meter or Meter(), policy=SMALL,
            patience=Patience(backoff_s=0.01),
        )  # fmt: skip
        yield reranker, server
        reranker.close()


@pytest.mark.spec("4.6")
def test_opinions_come_back_in_the_order_of_the_texts_and_the_request_has_the_common_shape():
    meter = Meter()
    with reranking(meter=meter) as (reranker, server):
        port: Reranker = reranker
        opinions = port.rerank("茶 tea", ["a boat", "茶 tea", "长" * 20, " "])
        assert port.rerank("tea", []) == []
        (sent,) = server.requests
    assert opinions[1] == max(opinions) > 0.9
    assert sent.path == "/v1/rerank"
    assert sent.body == {
        "model": "judge",
        "query": "茶 tea",
        "documents": ["a boat", "茶 tea", "长" * 9, "-"],
        "top_n": 4,
    }
    assert sent.headers["authorization"] == "Bearer k"
    assert b"\\u" not in sent.raw
    assert meter.read("model_calls", purpose="rerank", outcome="ok") == 1


@pytest.mark.parametrize(
    "reply",
    [
        {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]},
        {"data": [{"index": 0, "relevance_score": 0.2}, {"index": 1, "relevance_score": 0.9}]},
        [{"index": 1, "score": 0.9}, {"index": 0, "score": 0.2}],
        {"results": [{"index": 1, "relevance_score": 0.9, "document": {"text": "x"}},
                     {"index": 0, "relevance_score": 0.2}], "meta": {}},
    ],
)  # fmt: skip
def test_each_shape_of_a_ranking_is_read(reply):
    with reranking(lambda _: json.dumps(reply)) as (reranker, _):
        assert reranker.rerank("q", ["a", "b"]) == [0.2, 0.9]


def test_raw_scores_keep_their_order_and_a_text_that_was_left_out_is_the_least():
    reply = {"results": [{"index": 2, "score": 7.5}, {"index": 0, "score": -3}]}
    with reranking(lambda _: json.dumps(reply)) as (reranker, _):
        first, second, third = reranker.rerank("q", ["a", "b", "c"])
    assert 0 <= first == second < third <= 1
    assert shares([-1e9, 0.0, 1e9]) == [0.0, 0.5, 1.0]
    assert shares([0.0, 1.0]) == [0.0, 1.0]


@pytest.mark.parametrize(
    "wrong",
    [
        "not json", "[]", "{}", "null", '{"results": []}',
        '{"results": [{"index": 5, "score": 1}]}',
        '{"results": [{"index": 0}]}', '{"results": [{"index": 0, "score": "NaN"}]}', "[" * 9_000,
    ],
)  # fmt: skip
def test_what_is_no_ranking_is_an_endpoint_that_does_not_answer(wrong):
    meter = Meter()
    with reranking(lambda _: wrong, meter=meter) as (reranker, _):
        with pytest.raises(ModelUnavailable) as failed:
            reranker.rerank("a secret question", ["a secret"])
        assert "secret" not in str(failed.value)
    assert meter.read("model_calls", purpose="rerank", outcome="model_unavailable") == 1


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (failing(), ModelUnavailable),
        (busy("60"), ModelBusy),
        (ModelReply(fault=Fault.HANG), ModelUnavailable),
        (ModelReply(fault=Fault.DRIP), ModelUnavailable),
        (ModelReply(status=401), Misconfigured),
        (ModelReply(status=404, content="no such model"), Misconfigured),
        (ModelReply(status=422, content="bad"), Misconfigured),
    ],
)
def test_a_failure_is_sorted_and_tried_only_once(reply, error):
    with reranking(lambda _: reply) as (reranker, server):
        with pytest.raises(error):
            reranker.rerank("q", ["a"])
        assert len(server.requests) == 1


@pytest.mark.spec("4.6", "4.10")
def test_a_deployment_with_a_rerank_endpoint_uses_it_and_goes_on_without(tmp_path):
    """C 3.4.5: if it fails the order before it stands, and a reason code and a counter say so."""
    orders = [1.0, 0.0]

    def opinion(request):
        if not orders:
            return failing()
        texts = request.body["documents"]
        scores = [orders[0] if "second" in said else 1 - orders[0] for said in texts]
        return json.dumps({"results": [{"index": n, "score": s} for n, s in enumerate(scores)]})

    with ModelServer(rerank=opinion) as server:
        settings = load(
            {
                "PERDURE_DATABASE_URL": f"sqlite:///{tmp_path / 'p.db'}",
                "PERDURE_RERANK_BASE_URL": server.base_url,
                "PERDURE_RERANK_API_KEY": "k",
                "PERDURE_RERANK_MODEL": "judge",
                "PERDURE_POLICY__RERANK__TIMEOUT_MS": "5000",
                "PERDURE_POLICY__SEARCH__DEADLINE_MS": "0",
            }
        )
        with Memory.open(settings=settings, workers=False) as memory:
            ann = Scope(user="ann")
            for content in ("The first boat is red", "The second boat is green"):
                memory.items.add(ann, content)

            def said():
                return [kept.item.content.split()[1] for kept in memory.recall(ann, "boat?").kept]

            assert said() == ["second", "first"]
            orders.pop(0)
            assert said() == ["first", "second"]
            orders.pop(0)
            assert len(said()) == 2
            assert memory.parts.meter.read("recall_degraded", reason="RERANK_FAILED") == 1


@pytest.mark.spec("4.6", "4.10")
def test_where_none_is_configured_none_is_asked_and_none_is_missed(tmp_path):
    url = f"sqlite:///{tmp_path / 'p.db'}"
    with Memory.open(settings=load({"PERDURE_DATABASE_URL": url}), workers=False) as memory:
        for content in ("The first boat is red", "The second boat is green"):
            memory.items.add(Scope(user="ann"), content)
        memory.recall(Scope(user="ann"), "boat?")

        assert memory.parts.recaller.reranker is None
        assert memory.parts.meter.read("model_calls") == 0
        assert memory.parts.meter.read("recall_degraded", part="rerank") == 0


def test_without_an_address_there_is_no_reranker_and_settings_that_clash_stop_the_start():
    assert reranker_of(load({}), Meter()) is None
    off = {"PERDURE_RERANKER": "none", "PERDURE_RERANK_BASE_URL": "http://127.0.0.1:1"}
    assert reranker_of(load(off), Meter()) is None
    with pytest.raises(Misconfigured) as wrong:
        reranker_of(load({"PERDURE_RERANK_BASE_URL": "http://127.0.0.1:1"}), Meter())
    assert wrong.value.field == "PERDURE_RERANK_MODEL"


@pytest.mark.skipif(importlib.util.find_spec("fastembed") is not None, reason="it is installed")
def test_a_missing_extra_is_named():
    with pytest.raises(MissingExtra, match=r"perdure\[fastembed\]"):
        FastEmbedReranker()
    with pytest.raises(MissingExtra):
        reranker_of(load({"PERDURE_RERANKER": "fastembed"}), Meter())


def test_a_cross_encoder_loads_once_and_its_raw_scores_become_shares(monkeypatch):
    loaded = []

    class TextCrossEncoder:
        def __init__(self, model_name):
            if model_name == "offline":
                raise ValueError(model_name)
            loaded.append(model_name)

        @staticmethod
        def list_supported_models():
            return [{"model": "Known"}, {"model": "offline"}]

        def rerank(self, query, documents):
            return (float(len(said) - 5) for said in documents)

    monkeypatch.setitem(
        sys.modules,
        "fastembed.rerank.cross_encoder",
        SimpleNamespace(TextCrossEncoder=TextCrossEncoder),
    )
    reranker: Reranker = FastEmbedReranker("known")
    assert loaded == []
    few, many = reranker.rerank("q", ["a", "长长长长长长长长长"])
    assert (loaded, few < 0.5 < many) == (["known"], True)
    FastEmbedReranker("known").warm()
    with pytest.raises(Misconfigured):
        FastEmbedReranker("unknown")
    with pytest.raises(Unavailable):
        FastEmbedReranker("offline").warm()
