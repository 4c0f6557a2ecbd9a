"""Embeddings over a real socket, and the wrapper of the extra."""

from __future__ import annotations

import importlib.util
import sys
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from perdure.errors import (
    Misconfigured,
    MissingExtra,
    ModelBusy,
    ModelUnavailable,
    PerdureError,
    TooLarge,
    Unavailable,
)
from perdure.models.embed import EmbedPolicy, FastEmbed, OpenAIEmbedder
from perdure.models.endpoint import Patience
from perdure.models.rows import Prefixes
from perdure.observe import Meter
from perdure.ports import Embedder
from perdure.testing.model_server import Fault, ModelReply, ModelServer, busy, failing

SMALL = EmbedPolicy(batch=3, chars=10, timeout_s=2.0, search_timeout_s=0.5)


@contextmanager
def embedding(*script, policy=SMALL, prefixes=None, meter=None, **server_options):
    """An embedder and the server that it talks to."""
    with ModelServer(embeddings=script, **server_options) as server:
        embedder = OpenAIEmbedder(
            server.base_url,
            None,
            "vectors",
            meter=meter or Meter(),
            policy=policy,
            prefixes=prefixes,
            patience=Patience(backoff_s=0.01),
        )
        yield embedder, server
        embedder.close()


def test_many_texts_go_in_batches_and_come_back_in_order_at_length_1():
    meter = Meter()
    texts = ["tea", "coffee", "茶", "数据库", "tea"]
    with embedding(embed=lambda said: [3.0 * len(said), 4.0], meter=meter) as (embedder, server):
        port: Embedder = embedder
        assert embedder.dimension == 0
        rows = port.embed(texts, "add")
    assert rows.shape == (5, embedder.dimension) == (5, 2)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0)
    assert rows[:, 0].argsort(kind="stable").tolist() == [2, 0, 3, 4, 1]
    assert [request.body["input"] for request in server.requests] == [texts[:3], texts[3:]]
    assert meter.read("model_calls", purpose="embed", model="vectors") == 2
    assert meter.read("model_tokens", purpose="embed", direction="in") > 0


def test_no_text_needs_no_request():
    with embedding() as (embedder, server):
        assert embedder.embed([], "add").shape == (0, 0)
        assert server.requests == []


def test_each_action_has_its_prefix_and_long_blank_and_broken_texts_become_bearable():
    prefixes = Prefixes(search="query: ", add="passage: ")
    with embedding(prefixes=prefixes) as (embedder, server):
        embedder.embed(["tea"], "search")
        embedder.embed(["\ud83d" + "长" * 20, " \n", "123456789👨‍👩‍👧"], "update")
        search, update = (request.body["input"] for request in server.requests)
    assert search == ["query: tea"]
    assert update == ["passage: \ufffd" + "长" * 8, "passage: -", "passage: 123456789"]


def test_a_model_that_changes_its_dimension_is_named_with_both_numbers():
    with embedding(embed=lambda said: [1.0] * len(said)) as (embedder, _):
        embedder.embed(["four"], "add")
        with pytest.raises(Misconfigured, match=r"4 numbers .* 7") as caught:
            embedder.embed(["seven77"], "add")
        assert caught.value.field == "PERDURE_EMBEDDING_MODEL"
        assert embedder.dimension == 4


@pytest.mark.parametrize(
    ("reply", "kind", "field"),
    [
        (busy("20"), ModelBusy, None),
        (ModelReply(status=401), Misconfigured, "PERDURE_EMBEDDING_API_KEY"),
        (ModelReply(status=404, content="no such model"), Misconfigured, "PERDURE_EMBEDDING_MODEL"),
        (ModelReply(status=404), Misconfigured, "PERDURE_EMBEDDING_BASE_URL"),
        (ModelReply(status=413), TooLarge, None),
        (ModelReply(fault=Fault.HTML), ModelUnavailable, None),
        (ModelReply(content="a chat"), ModelUnavailable, None),
    ],
)
def test_what_goes_wrong_is_sorted_as_for_chats(reply, kind, field):
    with embedding(reply) as (embedder, _), pytest.raises(PerdureError) as caught:
        embedder.embed(["secret"], "add")
    assert (type(caught.value), caught.value.field) == (kind, field)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("row", [[0.0, 0.0], [float("nan"), 1.0], []])
def test_rows_without_a_direction_are_no_answer(row):
    with embedding(embed=lambda _: row) as (embedder, _), pytest.raises(ModelUnavailable):
        embedder.embed(["a"], "add")


@pytest.mark.case("API-09")
def test_a_dripping_endpoint_ends_in_time_sooner_while_somebody_waits():
    drip = ModelReply(fault=Fault.DRIP)
    with embedding(drip, drip) as (embedder, _):
        took = []
        for action in ("search", "add"):
            began = time.monotonic()
            with pytest.raises(ModelUnavailable):
                embedder.embed(["a"], action)
            took.append(time.monotonic() - began)
    assert SMALL.search_timeout_s - 0.05 < took[0] < took[1] < SMALL.timeout_s + 3


def test_a_search_is_tried_once_and_an_addition_again():
    with embedding(failing(503), failing(503)) as (embedder, server):
        with pytest.raises(ModelUnavailable):
            embedder.embed(["a"], "search")
        assert len(server.requests) == 1
        assert embedder.embed(["a"], "add").shape == (1, 64)


@pytest.mark.skipif(importlib.util.find_spec("fastembed") is not None, reason="it is installed")
def test_a_missing_extra_is_named():
    with pytest.raises(MissingExtra, match=r"perdure\[fastembed\]"):
        FastEmbed("some-model")


def test_fastembed_loads_once_and_gives_unit_rows(monkeypatch):
    loaded = []

    class TextEmbedding:
        def __init__(self, model_name):
            if model_name == "offline":
                raise ValueError(model_name)
            loaded.append(model_name)

        @staticmethod
        def list_supported_models():
            return [{"model": "Known"}, {"model": "offline"}]

        def embed(self, texts, batch_size):
            return (np.array([len(said), 1.0, batch_size]) for said in texts)

    monkeypatch.setitem(sys.modules, "fastembed", SimpleNamespace(TextEmbedding=TextEmbedding))
    embedder = FastEmbed("known", prefixes=Prefixes(add="passage: "))
    port: Embedder = embedder
    assert (loaded, port.dimension) == ([], 0)
    embedder.warm()
    rows = port.embed(["a", ""], "add")
    assert (loaded, port.dimension) == (["known"], 3)
    assert np.allclose(rows[0], rows[1])  # a blank text is sent as one sign
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0)
    with pytest.raises(Misconfigured):
        FastEmbed("unknown")
    with pytest.raises(Unavailable):
        FastEmbed("offline").warm()
