"""A second opinion on how well texts answer a question, by an endpoint or by fastembed."""

from __future__ import annotations

import importlib
import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from threading import Lock
from typing import Any, Self

from perdure.errors import (
    Misconfigured,
    MissingExtra,
    ModelUnavailable,
    PerdureError,
    Unavailable,
)
from perdure.models.endpoint import Endpoint, Patience, Refused, now, tokens_of
from perdure.models.rows import bearable
from perdure.observe import Meter
from perdure.policy import Group
from perdure.ports import Account, Clock, Used

FASTEMBED_RERANKER = "BAAI/bge-reranker-base"
"""English and Chinese; 1 GB. On a CPU it needs a higher ``rerank.timeout_ms``."""
_MODEL = "PERDURE_RERANK_MODEL"
_BLANK = "-"  # sent for a text without a sign in it; endpoints refuse those


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankCallPolicy(Group):
    """How texts are sent."""

    chars: int = 2_000  # of one text; what is longer is cut
    timeout_s: float = 2.0  # of one request; somebody waits for it, so it is tried once


class EndpointReranker:
    """A `Reranker` behind an endpoint in the shape of Cohere or Jina. Share it between threads.

    Sends ``model``, ``query``, ``documents`` and ``top_n`` to ``/rerank`` below its address.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        model: str | None,
        *,
        meter: Meter,
        policy: RerankCallPolicy | None = None,
        patience: Patience | None = None,
        clock: Clock = now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            base_url: up to and without ``/rerank``.
            api_key: None where the endpoint wants none.
            model: the reranking model.
            meter: counts ``model_calls``, and ``model_tokens`` where the endpoint tells them, with
                ``purpose="rerank"``.
            policy: sizes and times.
            patience: how long a connection may take.
            clock: tells how far away a ``Retry-After`` date is.
            sleep: waits for seconds.

        Raises:
            Misconfigured: the address, the key or the model cannot be one.
        """
        self._endpoint = Endpoint(
            base_url,
            api_key,
            setting="PERDURE_RERANK",
            patience=patience,
            clock=clock,
            sleep=sleep,
        )
        if not model or not model.strip():
            raise Misconfigured("Name a reranking model of the endpoint.", field=_MODEL)
        self.model = model
        self._meter = meter
        self._policy = policy or RerankCallPolicy()
        self.account: Account | None = None

    def on(self, account: Account) -> Self:
        """The same reranker; what it uses goes on this account, where the endpoint tells it."""
        paid = copy(self)
        paid.account = account
        return paid

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """One number in 0..1 a text, in the order of the texts.

        Raises:
            Unavailable: the endpoint does not answer now, or with something else.
            Misconfigured: it refuses the key, the model or the request.
        """
        if not texts:
            return []
        body = {
            "model": self.model,
            "query": _sent(question, self._policy),
            "documents": [_sent(said, self._policy) for said in texts],
            "top_n": len(texts),
        }
        labels = {"model": self.model, "purpose": "rerank"}
        try:
            end = self._endpoint.end(self._policy.timeout_s)
            got = self._endpoint.post("/rerank", body, end, tries=1)
            if isinstance(got, Refused):
                raise self._endpoint.refusal(got, _MODEL)
            opinions, tokens = self._read(got, len(texts))
        except PerdureError as error:
            self._meter.count("model_calls", 1, outcome=error.code, **labels)
            raise
        self._meter.count("model_calls", 1, outcome="ok", **labels)
        if tokens is not None:
            self._meter.count("model_tokens", tokens, direction="in", **labels)
            if self.account is not None:
                self.account(Used(model=self.model, purpose="rerank", tokens=tokens))
        return opinions

    def _read(self, reply: bytes, wanted: int) -> tuple[list[float], int | None]:
        """The opinions in the order of the texts, and the tokens counted.

        A text that was left out gets the least opinion.
        """
        payload: Any = None
        try:
            payload = json.loads(reply)
            rows = payload if isinstance(payload, list) else _results(payload)
            found = {int(row["index"]): float(_opinion(row)) for row in rows}
        except (ValueError, TypeError, LookupError, RecursionError):
            found = {}
        if not found or not found.keys() <= set(range(wanted)):
            raise ModelUnavailable(
                "{where} answers with something that is no ranking.", where=self._endpoint.where
            )
        least = min(found.values())
        return shares(found.get(place, least) for place in range(wanted)), tokens_of(payload)


class FastEmbedReranker:
    """A `Reranker` of the extra ``fastembed``; its cross-encoder runs in this process.

    Loads on the first question, or by `warm`, and may download the model then.
    """

    def __init__(self, model: str | None = None, policy: RerankCallPolicy | None = None) -> None:
        """Find the extra; the model itself loads later.

        Args:
            model: as fastembed names it; None takes one that knows English and Chinese.
            policy: sizes.

        Raises:
            MissingExtra: the extra is not installed.
            Misconfigured: fastembed does not know the model.
        """
        try:
            rerank = importlib.import_module("fastembed.rerank.cross_encoder")
        except ImportError:
            raise MissingExtra("fastembed") from None
        self._load = rerank.TextCrossEncoder
        self.model = model or FASTEMBED_RERANKER
        known = {str(each["model"]).lower() for each in self._load.list_supported_models()}
        if self.model.lower() not in known:
            raise Misconfigured("fastembed does not know this model.", field=_MODEL)
        self._policy = policy or RerankCallPolicy()
        self._lock = Lock()
        self._loaded: Any = None

    def warm(self) -> None:
        """Load the model now."""
        self.rerank(_BLANK, [_BLANK])

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """One number in 0..1 a text, in the order of the texts.

        Raises:
            Unavailable: the model cannot be loaded now.
        """
        if not texts:
            return []
        asked = _sent(question, self._policy)
        ready = [_sent(said, self._policy) for said in texts]
        return [_logistic(float(one)) for one in self._ready().rerank(asked, ready)]

    def _ready(self) -> Any:
        with self._lock:
            if self._loaded is None:
                try:
                    self._loaded = self._load(model_name=self.model)
                except (ValueError, OSError):  # a download that fails ends as either
                    raise Unavailable("fastembed cannot fetch its model now.") from None
            return self._loaded


def shares(opinions: Iterable[float]) -> list[float]:
    """The opinions in 0..1, in the same order of size; some endpoints give raw scores.

    Raises:
        ModelUnavailable: one is no number.
    """
    given = list(opinions)
    if not all(map(math.isfinite, given)):
        raise ModelUnavailable("The reranker answers with opinions that are no numbers.")
    return given if all(0 <= one <= 1 for one in given) else [_logistic(one) for one in given]


def _logistic(score: float) -> float:
    """A raw score as 0..1, a higher one still higher."""
    return 0.5 * (1 + math.tanh(score / 2))


def _sent(said: str, policy: RerankCallPolicy) -> str:
    return bearable(said, policy.chars).strip() or _BLANK


def _results(payload: Any) -> Any:
    """The list of opinions, by either of its names."""
    return payload["results"] if "results" in payload else payload["data"]


def _opinion(row: Any) -> Any:
    return row["relevance_score"] if "relevance_score" in row else row["score"]
