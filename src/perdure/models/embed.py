"""Turns texts into vectors by an OpenAI-compatible endpoint, or by fastembed where installed."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from threading import Lock
from typing import Any, Self

import numpy as np

from perdure import text
from perdure.errors import (
    Misconfigured,
    MissingExtra,
    ModelUnavailable,
    PerdureError,
    Unavailable,
)
from perdure.models.endpoint import Endpoint, Patience, Refused, now, tokens_of
from perdure.models.rows import BLANK, Dimension, Prefixes, unit
from perdure.observe import Meter
from perdure.policy import Group
from perdure.ports import Account, Clock, EmbedAction, Similarity, Used, Vectors

FASTEMBED_MODEL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
_MODEL = "PERDURE_EMBEDDING_MODEL"

USUAL = Similarity(unrelated=0.2, topic=0.5, same=0.92, answer=0.55)
"""A careful guess for models whose cosines spread over 0..1, as most hosted ones do. Models that
crowd everything above 0.7, such as the E5 family, need their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedPolicy(Group):
    """How texts are sent."""

    batch: int = 64  # texts of one request
    chars: int = 2_000  # of one text; the caller splits, what is longer is cut
    timeout_s: float = 30.0  # of one request
    search_timeout_s: float = 2.0  # while somebody waits for an answer; then it is tried once


class OpenAIEmbedder:
    """An `Embedder` behind an OpenAI-compatible endpoint. Share it between threads."""

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        model: str | None,
        *,
        meter: Meter,
        similarity: Similarity = USUAL,
        prefixes: Prefixes | None = None,
        policy: EmbedPolicy | None = None,
        patience: Patience | None = None,
        clock: Clock = now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            base_url: up to and with ``/v1``; None means OpenAI's own.
            api_key: None where the endpoint wants none.
            model: the embedding model.
            meter: counts ``model_calls`` and ``model_tokens`` with ``purpose="embed"``.
            similarity: what this model's cosines mean.
            prefixes: what the model wants to read before each text.
            policy: sizes and times.
            patience: how often and how long a request is tried.
            clock: tells how far away a ``Retry-After`` date is.
            sleep: waits for seconds.

        Raises:
            Misconfigured: the address, the key or the model cannot be one.
        """
        self._endpoint = Endpoint(
            base_url,
            api_key,
            setting="PERDURE_EMBEDDING",
            patience=patience,
            clock=clock,
            sleep=sleep,
        )
        if not model or not model.strip():
            raise Misconfigured("Name an embedding model of the endpoint.", field=_MODEL)
        self.model = model
        self.similarity = similarity
        self._meter = meter
        self._prefixes = prefixes or Prefixes()
        self._policy = policy or EmbedPolicy()
        self._dimension = Dimension(_MODEL, model)
        self.account: Account | None = None

    def on(self, account: Account) -> Self:
        """The same embedder; what it uses goes on this account, where the endpoint tells it."""
        paid = copy(self)
        paid.account = account
        return paid

    @property
    def dimension(self) -> int:
        """Numbers a text; 0 until the first texts were embedded."""
        return self._dimension.value

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def embed(self, texts: Sequence[str], action: EmbedAction) -> Vectors:
        """One row a text, shape (len(texts), dimension), length 1.

        Raises:
            Unavailable: the endpoint does not answer now, or with something else.
            Misconfigured: it refuses the key, the model or the request, or the dimension changed.
        """
        ready = self._prefixes.ready(texts, action, self._policy.chars)
        size = self._policy.batch
        batches = [ready[at : at + size] for at in range(0, len(ready), size)]
        if not batches:
            return np.empty((0, self.dimension), dtype=np.float32)
        return np.concatenate([self._batch(batch, action) for batch in batches])

    def _batch(self, texts: list[str], action: EmbedAction) -> Vectors:
        waiting = action == "search"
        policy = self._policy
        end = self._endpoint.end(policy.search_timeout_s if waiting else policy.timeout_s)
        body = {"model": self.model, "input": texts, "encoding_format": "float"}
        labels = {"model": self.model, "purpose": "embed"}
        try:
            got = self._endpoint.post("/embeddings", body, end, tries=1 if waiting else None)
            if isinstance(got, Refused):
                raise self._endpoint.refusal(got, _MODEL)
            rows, tokens = self._read(got, len(texts))
        except PerdureError as error:
            self._meter.count("model_calls", 1, outcome=error.code, **labels)
            raise
        self._meter.count("model_calls", 1, outcome="ok", **labels)
        if tokens is not None and self.account is not None:
            self.account(Used(model=self.model, purpose="embed", tokens=tokens))
        tokens = sum(map(text.model_tokens, texts)) if tokens is None else tokens
        self._meter.count("model_tokens", tokens, direction="in", **labels)
        return self._dimension.hold(rows)

    def _read(self, reply: bytes, wanted: int) -> tuple[Vectors, int | None]:
        """The rows in the order of the texts, and the tokens counted."""
        try:
            payload = json.loads(reply)
            data = sorted(payload["data"], key=lambda row: int(row["index"]))
            rows = np.asarray([row["embedding"] for row in data], dtype=np.float64)
        except (ValueError, TypeError, LookupError, RecursionError):
            rows = np.empty(0)
            payload = {}
        if rows.ndim != 2 or len(rows) != wanted or not rows.shape[1]:  # noqa: PLR2004 - a table
            raise ModelUnavailable(
                "{where} answers with something that is no row of numbers a text.",
                where=self._endpoint.where,
            )
        return unit(rows), tokens_of(payload)


class FastEmbed:
    """An `Embedder` of the extra ``fastembed``; its model runs in this process.

    Loads on the first texts, or by `warm`, and may download the model then.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        similarity: Similarity = USUAL,
        prefixes: Prefixes | None = None,
        policy: EmbedPolicy | None = None,
    ) -> None:
        """Find the extra; the model itself loads later.

        Args:
            model: as fastembed names it; None takes a small one that knows 50 languages.
            similarity: what this model's cosines mean.
            prefixes: what the model wants to read before each text.
            policy: sizes.

        Raises:
            MissingExtra: the extra is not installed.
            Misconfigured: fastembed does not know the model.
        """
        try:
            self._load = importlib.import_module("fastembed").TextEmbedding
        except ImportError:
            raise MissingExtra("fastembed") from None
        self.model = model or FASTEMBED_MODEL
        known = {str(each["model"]).lower() for each in self._load.list_supported_models()}
        if self.model.lower() not in known:
            raise Misconfigured("fastembed does not know this model.", field=_MODEL)
        self.similarity = similarity
        self._prefixes = prefixes or Prefixes()
        self._policy = policy or EmbedPolicy()
        self._dimension = Dimension(_MODEL, self.model)
        self._lock = Lock()
        self._loaded: Any = None

    @property
    def dimension(self) -> int:
        """Numbers a text; 0 until the model is loaded."""
        return self._dimension.value

    def warm(self) -> None:
        """Load the model now."""
        self.embed([BLANK], "search")

    def embed(self, texts: Sequence[str], action: EmbedAction) -> Vectors:
        """One row a text, shape (len(texts), dimension), length 1.

        Raises:
            Unavailable: the model cannot be loaded now.
        """
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        ready = self._prefixes.ready(texts, action, self._policy.chars)
        rows = np.asarray(list(self._ready().embed(ready, batch_size=self._policy.batch)))
        return self._dimension.hold(unit(rows))

    def _ready(self) -> Any:
        with self._lock:
            if self._loaded is None:
                try:
                    self._loaded = self._load(model_name=self.model)
                except (ValueError, OSError):  # a download that fails ends as either
                    raise Unavailable("fastembed cannot fetch its model now.") from None
            return self._loaded
