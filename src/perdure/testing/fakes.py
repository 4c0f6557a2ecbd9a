"""Parts that are none: a chat model by script, an embedder that counts words, a vector host."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from perdure import text
from perdure.errors import Misconfigured, VectorsUnavailable
from perdure.ports import (
    Corpus,
    EmbedAction,
    Hit,
    Question,
    Reply,
    Similarity,
    Vector,
    VectorEntry,
    Vectors,
)
from perdure.types import Scope

Line: TypeAlias = str | Mapping[str, Any] | Sequence[Any] | Reply | Exception
"""One answer: a text, something to be written as JSON, a whole reply, or an error to raise."""
Rule: TypeAlias = Callable[[Question], Line]
"""Answers by what is asked."""


class AskedWhileOpen(BaseException):
    """A model was asked while a transaction was open.

    Not an `Exception`, so that the worker's job boundary cannot hide it from the test.
    """


class ScriptOver(BaseException):
    """A model was asked more often than the test expects. No `Exception`, for the same reason."""


def never() -> bool:
    """No transaction is ever open."""
    return False


class ScriptedChat:
    """A `ChatModel` that answers by script, in order, and keeps what it was asked.

    >>> chat = ScriptedChat({"items": []}, ModelBusy(retry_after=2.0))  # doctest: +SKIP
    >>> chat = ScriptedChat(rule=lambda question: "[]")  # doctest: +SKIP
    """

    def __init__(
        self,
        *script: Line | Rule,
        rule: Rule | None = None,
        while_open: Callable[[], bool] = never,
        name: str = "scripted",
    ) -> None:
        """Write the script.

        Args:
            script: the answers in order; a rule among them answers once.
            rule: answers whatever comes after the script.
            while_open: says whether this thread has a transaction open; then asking fails.
            name: the model's name.
        """
        self.name = name
        self.asked: list[Question] = []
        self._script = list(script)
        self._rule = rule
        self._while_open = while_open
        self._lock = Lock()

    def ask(self, question: Question, model: str | None = None) -> Reply:
        """The next answer of the script.

        Raises:
            AskedWhileOpen: a transaction is open.
            ScriptOver: there is no answer left and no rule.
        """
        if self._while_open():
            raise AskedWhileOpen(question.purpose)
        with self._lock:
            self.asked.append(question)
            line = self._script.pop(0) if self._script else self._rule
        if callable(line):
            line = line(question)
        if line is None:
            raise ScriptOver(question.purpose)
        if isinstance(line, Exception):
            raise line
        if isinstance(line, Reply):
            return line
        said = line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)
        return Reply(
            text=said,
            model=model or self.name,
            tokens_in=sum(text.model_tokens(m["content"]) for m in question.messages),
            tokens_out=text.model_tokens(said),
        )


def word_vector(said: str, dimension: int) -> Vector:
    """A text as the words in it: texts that share words are near, whatever the order.

    The same in every process. Two words may share a place where ``dimension`` is small.
    """
    row = np.zeros(dimension, dtype=np.float32)
    for term in text.terms(said):
        row[int.from_bytes(hashlib.sha256(term.encode()).digest()[:4], "big") % dimension] += 1.0
    if not row.any():
        row[0] = 1.0
    even: Vector = row / np.linalg.norm(row)
    return even


class FakeHost:
    """A `ports.VectorHost` in a dict, which can go away and come back."""

    name = "fake"

    def __init__(self) -> None:
        self.away = False
        self.asked = 0
        """How often anybody asked, answered or not."""
        self._rows: dict[tuple[str, str, Corpus], dict[str, VectorEntry]] = {}
        self._lock = Lock()

    def ping(self) -> None:
        """Do nothing, if it answers."""
        self._of(Scope(user="nobody"), Corpus.MEMORIES)

    def write(self, scope: Scope, corpus: Corpus, entries: Sequence[VectorEntry]) -> None:
        """Replace the vectors of these refs."""
        rows = self._of(scope, corpus)
        rows.update((entry.ref, entry) for entry in entries)

    def search(self, scope: Scope, corpus: Corpus, query: Vector, limit: int) -> list[Hit]:
        """The nearest texts by cosine, best first, one hit a ref; the best part speaks."""
        best: dict[str, float] = {}
        for ref, entry in self._of(scope, corpus).items():
            if entry.vectors.shape[1] != len(query):
                raise Misconfigured(
                    "The embedder {model} gives {given} numbers; stored are {stored}. "
                    "Make the vectors anew: perdure reindex.",
                    model=self.name,
                    given=len(query),
                    stored=entry.vectors.shape[1],
                )
            best[ref] = float(np.clip((entry.vectors @ query).max(), 0.0, 1.0))
        nearest = sorted(best, key=lambda ref: (-best[ref], ref))[:limit]
        return [Hit(ref=ref, similarity=best[ref]) for ref in nearest]

    def get(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> dict[str, Vectors]:
        """The stored vectors of these refs."""
        rows = self._of(scope, corpus)
        return {ref: rows[ref].vectors for ref in refs if ref in rows}

    def refs(self, scope: Scope, corpus: Corpus) -> dict[str, str]:
        """Everything of the owner, each with its stamp."""
        return {ref: entry.stamp for ref, entry in self._of(scope, corpus).items()}

    def remove(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Delete."""
        rows = self._of(scope, corpus)
        for ref in refs:
            rows.pop(ref, None)

    def clear(self) -> None:
        """Delete everything."""
        self.ping()
        self._rows.clear()

    def close(self) -> None:
        """Nothing to give back."""

    def _of(self, scope: Scope, corpus: Corpus) -> dict[str, VectorEntry]:
        with self._lock:
            self.asked += 1
            if self.away:
                raise VectorsUnavailable
            return self._rows.setdefault((*scope.owner, corpus), {})


class WordEmbedder:
    """An `Embedder` that knows nothing but words; deterministic, instant, any language."""

    similarity = Similarity(unrelated=0.1, topic=0.5, same=0.95, answer=0.6)

    def __init__(
        self,
        dimension: int = 256,
        *,
        model: str = "words",
        while_open: Callable[[], bool] = never,
    ) -> None:
        """Choose its size.

        Args:
            dimension: numbers a text.
            model: its name, as stored at each vector.
            while_open: says whether this thread has a transaction open; then embedding fails.
        """
        self.model = model
        self.dimension = dimension
        self._while_open = while_open

    def embed(self, texts: Sequence[str], action: EmbedAction) -> Vectors:
        """One row a text, shape (len(texts), dimension).

        Raises:
            AskedWhileOpen: a transaction is open.
        """
        if self._while_open():
            raise AskedWhileOpen(action)
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, said in enumerate(texts):
            rows[row] = word_vector(said, self.dimension)
        return rows
