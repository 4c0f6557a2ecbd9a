"""Meets candidates with what is stored: embeds what is new, finds what is near, and decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from perdure.errors import Unavailable
from perdure.learn.decide import compare
from perdure.learn.extract import Ask
from perdure.learn.near import Meaning, Near, read_near
from perdure.learn.reading import Reading
from perdure.learn.rule import decide_by_rule
from perdure.learn.shown import Numbering, home, level_of
from perdure.learn.weigh import Words, weigh, weigh_proposed
from perdure.observe import Meter
from perdure.policy import Policy
from perdure.ports import Database, EmbedAction, Embedder, VectorIndex, Vectors
from perdure.prompts import decide as prompt
from perdure.types import (
    Action,
    Candidate,
    Decision,
    MemoryItem,
    Reason,
    Refused,
    Status,
    content_hash,
)

ByContent: TypeAlias = Mapping[str, Vectors]
"""Vectors of statements, shape (1, dimension) each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """What the candidates do, and what they were compared with."""

    decisions: tuple[Decision, ...]
    refused: tuple[Refused, ...] = ()
    shown: Numbering[MemoryItem] = field(default_factory=Numbering)
    vectors: ByContent = field(default_factory=dict)
    prompt: str | None = None
    """Version of the second question, if it was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """One turn's candidates and what they need; no transaction is open while a model is asked."""

    database: Database
    embedder: Embedder | None
    """None: memories get no vectors here, and are compared by their words."""
    index: VectorIndex | None
    meter: Meter
    ask: Ask | None
    """Asks the model that learns; None: code decides alone."""
    reading: Reading
    """What was said, and what is known."""
    words: Words
    policy: Policy

    def decide(self, candidates: Sequence[Candidate]) -> Met:
        """What the candidates, as the screen let them pass, do to what is stored.

        What holds word for word is settled without asking anybody; what held once is compared like
        what is new, since something else may hold now. Each such text is embedded once, all of
        them in one request.

        Raises:
            ReplyUnusable: the second call cannot be read; nothing may be stored then.
            ModelUnavailable: the model does not answer; the same.
            DatabaseUnavailable: the database does not answer.
        """
        fresh, back = self._fresh(candidates)
        vectors = self._embedded([*fresh, *back])
        near = self._near([*fresh, *back], vectors)
        like = [one.candidate for one in near if one.like_dismissed and one.candidate not in back]
        met = self._decided(
            [candidate for candidate in candidates if candidate not in like],
            [one for one in near if one.candidate not in like],
        )
        refused = (Refused(candidate=one, reason=Reason.LIKE_DISMISSED) for one in like)
        return replace(met, refused=(*refused, *met.refused), vectors=vectors)

    def _decided(self, candidates: Sequence[Candidate], near: Sequence[Near]) -> Met:
        strategy = self.policy.decide.strategy
        if self.ask is None and strategy != "exact":
            ruled = decide_by_rule(candidates, self.reading.active, self.policy)
            return Met(decisions=ruled.decisions, refused=ruled.refused, shown=ruled.shown)
        if strategy != "two_call" or self.ask is None:
            shown, where = self.reading.shown, home(self.reading.scope, self.policy)
            held = weigh_proposed(candidates, shown, self.words, where, self.policy)
            return Met(decisions=held.decisions, refused=held.refused, shown=shown)
        compared = compare(self.ask, near, self.policy)
        if compared.skipped:
            self.meter.count("memory_reply_entries_skipped", compared.skipped)
        weighed = weigh(compared, self.words, self.policy)
        new = [one.candidate for one in near]
        stored = (Decision(action=Action.ADD, candidate=c) for c in candidates if c not in new)
        return Met(
            decisions=(*stored, *weighed.decisions),
            refused=weighed.refused,
            shown=compared.shown,
            prompt=prompt.VERSION if compared.asked else None,
        )

    # ── what is new, its vectors, and what is near it ────────────────────────────────────────────

    def _fresh(self, candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
        """The candidates that write words which are not stored yet, and those which held once.

        Those are asked about only where a second call is.
        """
        where = home(self.reading.scope, self.policy)
        writing = [one for one in candidates if one.proposed is not Action.TOUCH]
        how = self.policy.item.normalisation
        by_hash = {
            content_hash(where, level_of(one, where), one.content, how): one for one in writing
        }
        with self.database.read() as tx:
            stored = {key: tx.items.by_hash(where, key) for key in by_hash}
        asks = self.ask is not None and self.policy.decide.strategy == "two_call"
        fresh = [one for key, one in by_hash.items() if stored[key] is None]
        back = [
            by_hash[key]
            for key, row in stored.items()
            if asks and row is not None and self._left(row)
        ]
        return fresh, back

    def _left(self, row: MemoryItem) -> bool:
        """It does not hold, and nobody refused it."""
        return row.status is not Status.DISMISSED and not row.current(self.reading.at)

    def _embedded(self, fresh: Sequence[Candidate]) -> ByContent:
        """One vector a text, from one request; none if that must wait."""
        texts = list(dict.fromkeys(one.content for one in fresh))
        if self.embedder is None or not texts:
            return {}
        rewords = all(one.proposed is Action.UPDATE for one in fresh)
        purpose: EmbedAction = "update" if rewords else "add"
        try:
            rows = self.embedder.embed(texts, purpose)
        except Unavailable:
            self.meter.count("memory_embedding_late", len(texts))
            return {}
        return {
            content: np.asarray(row, dtype=np.float32)[np.newaxis, :]
            for content, row in zip(texts, rows, strict=True)
        }

    def _near(self, fresh: Sequence[Candidate], vectors: ByContent) -> tuple[Near, ...]:
        """What is near the new statements, where that is asked for."""
        policy = self.policy.decide
        if not fresh or not (policy.strategy == "two_call" or policy.guard_dismissed):
            return ()
        meaning = None
        if self.index is not None and self.embedder is not None:
            by_content = {content: rows[0] for content, rows in vectors.items()}
            meaning = Meaning(self.index, self.embedder.similarity, by_content)
        known = self.reading.active
        with self.database.read() as tx:
            return read_near(
                tx, self.reading.scope, fresh, known,
                meaning=meaning, policy=policy, at=self.reading.at,
            )  # fmt: skip
