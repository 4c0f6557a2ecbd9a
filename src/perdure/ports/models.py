"""What answers, compares and judges: a chat model, an embedder, a reranker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from perdure.types import Scope

Vector: TypeAlias = NDArray[np.float32]
"""Shape (dimension,), length 1."""

Vectors: TypeAlias = NDArray[np.float32]
"""Shape (texts, dimension), each row of length 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to a chat model, ready to be sent."""

    purpose: str
    """What it is asked for; counted with its tokens."""
    version: str
    """Of the prompt; stored with what it made."""
    messages: tuple[Mapping[str, str], ...]
    schema: Mapping[str, Any] | None = None
    """JSON schema of the reply, sent where the endpoint offers it."""
    timeout_s: float = 60.0
    """Of the whole call, not of each byte."""
    temperature: float = 0.0
    top_p: float = 0.1
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a chat model answered, as it came."""

    text: str
    model: str
    cut_off: bool = False
    """The token limit ended it."""
    tokens_in: int = 0
    tokens_out: int = 0


class ChatModel(Protocol):
    """Answers one question. Never retries over its time, never logs a text."""

    name: str

    def ask(self, question: Question, model: str | None = None) -> Reply:
        """The reply.

        Args:
            question: what to ask.
            model: another model of the same endpoint.

        Raises:
            ModelBusy: the endpoint asks us to slow down; ``retry_after`` says how long.
            ModelUnavailable: no answer in time, or an answer that is no answer.
            ReplyUnusable: the model answered without a text.
            TooLarge: the question is longer than the model can take.
            Misconfigured: the endpoint refuses the key, the model or the request.
        """
        ...


_ANSWERED = 0.75  # relevance of a memory that answers the question; the rest tells good from best


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """What the cosines of one embedder mean. Thresholds never carry over to another."""

    unrelated: float
    """Cosine that means nothing; becomes relevance 0."""
    same: float
    """Cosine from which two texts are one statement; becomes relevance 1."""
    topic: float
    """Cosine from which two memories are about one topic."""
    answer: float | None = None
    """Cosine that a question reaches with a memory that answers it well; becomes relevance 0.75.
    None: a straight line from ``unrelated`` to ``same``."""

    def relevance(self, cosine: float) -> float:
        """A cosine of this embedder as 0..1; up to ``same``, a nearer text is always more."""
        if self.answer is None:
            share = (cosine - self.unrelated) / (self.same - self.unrelated)
        elif cosine < self.answer:
            share = _ANSWERED * (cosine - self.unrelated) / (self.answer - self.unrelated)
        else:
            share = _ANSWERED + (1 - _ANSWERED) * (cosine - self.answer) / (self.same - self.answer)
        return min(1.0, max(0.0, share))


EmbedAction: TypeAlias = Literal["add", "search", "update"]


class Embedder(Protocol):
    """Turns texts into vectors of length 1."""

    model: str
    similarity: Similarity

    @property
    def dimension(self) -> int:
        """Numbers a text; 0 until an embedder that learns it has seen its first rows."""
        ...

    def embed(self, texts: Sequence[str], action: EmbedAction) -> Vectors:
        """One row a text, shape (len(texts), dimension).

        Raises:
            Unavailable: it does not answer now.
        """
        ...


class Reranker(Protocol):
    """Gives a second opinion on how well texts answer a question."""

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """One number in 0..1 a text.

        Raises:
            Unavailable: it does not answer now.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What one call of an endpoint used, as the endpoint tells it."""

    model: str
    purpose: str
    tokens: int
    """That went in; nothing is written by these models."""


Account: TypeAlias = Callable[[Used], None]
"""Gets told what was used on it. It is quick, and never fails."""


class Ledger(Protocol):
    """Keeps the accounts of users with models."""

    def account(self, scope: Scope) -> Account:
        """The account of one user."""
        ...


@runtime_checkable
class Paid(Protocol):
    """An embedder or reranker that somebody pays for."""

    def on(self, account: Account) -> Self:
        """The same one; what it uses goes on this account."""
        ...


Model = TypeVar("Model")


def on_account(model: Model, ledger: Ledger | None, scope: Scope) -> Model:
    """The model, on a user's account where it costs anything."""
    return model.on(ledger.account(scope)) if ledger and isinstance(model, Paid) else model
