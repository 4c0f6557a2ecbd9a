"""What comes first, and why: two named formulas and two orders of time. Pure. Spec 4.5."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from perdure import text
from perdure.policy import Policy, RankPolicy
from perdure.recall.intent import Intent
from perdure.recall.merge import Merged
from perdure.recall.when import Span, written
from perdure.types import Dropped, Kept, Kind, MemoryItem, Reason, Scope, Score

PINNED = "pinned"
"""The arm whose rows come whatever the question."""
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A memory in its place, with the score that put it there."""

    item: MemoryItem
    score: Score
    relevance: float = 0.0
    arms: tuple[str, ...] = ()
    floored: bool = False
    """Its formula has a floor."""

    @property
    def pinned(self) -> bool:
        """It comes whatever the question."""
        return PINNED in self.arms

    def kept(self) -> Kept:
        """As the answer says it."""
        return Kept(item=self.item, score=self.score, arms=self.arms)

    def dropped(self, reason: Reason) -> Dropped:
        """As the answer leaves it out."""
        return Dropped(item=self.item, reason=reason, score=self.score, arms=self.arms)


@dataclass(frozen=True, slots=True)
class Sifted:
    """What a stage lets pass, best first, and what it withholds, each with a reason."""

    kept: tuple[Ranked, ...]
    dropped: tuple[Dropped, ...] = ()


def rank(
    merged: Iterable[Merged],
    at: datetime,
    scope: Scope,
    intent: Intent,
    policy: Policy,
    *,
    times: Sequence[Span] = (),
) -> list[Ranked]:
    """Best first; ties by newer id.

    Args:
        merged: what was found.
        at: now.
        scope: where it is asked.
        intent: what sort of message is answered.
        policy: the weights.
        times: the time that the question names, if it does.
    """
    ranked = [_ranked(entry, at, scope, intent, policy, times=times) for entry in merged]
    return _best_first(ranked)


def by_time(items: Iterable[MemoryItem], arm: str) -> list[Ranked]:
    """No scores: ``newest`` has first what was confirmed last, ``oldest`` what was made last.

    The latter says the oldest first and drops it first.
    """
    rows = sorted(
        items,
        key=lambda i: (i.updated_at if arm == "newest" else i.created_at, i.id),
        reverse=True,
    )
    return [Ranked(item=item, score=Score(terms={}), arms=(arm,)) for item in rows]


def by_relevance(merged: Iterable[Merged]) -> list[Ranked]:
    """By similarity to the question alone."""
    return _best_first(
        [
            Ranked(
                item=entry.item,
                score=Score(terms={"relevance": entry.relevance}),
                relevance=entry.relevance,
                arms=entry.arms,
            )
            for entry in merged
        ]
    )


def recency(item: MemoryItem, at: datetime, half_life_days: float) -> float:
    """1 for a memory confirmed now, a half after each half life; 0 without a half life."""
    if not half_life_days:
        return 0.0
    age = max(0.0, (at - item.updated_at).total_seconds())
    return float(0.5 ** (age / _DAY_S / half_life_days))


def _best_first(ranked: list[Ranked]) -> list[Ranked]:
    ranked.sort(key=lambda r: r.item.id, reverse=True)
    ranked.sort(key=lambda r: r.score.total, reverse=True)
    return ranked


def of_time(item: MemoryItem, times: Sequence[Span]) -> bool:
    """It was learnt or confirmed at one of these times, or its words name one."""
    if any(span.holds(item.created_at) or span.holds(item.updated_at) for span in times):
        return True
    if not times:
        return False
    words, days = set(text.terms(item.content)), written(item.content)
    return any(span.named_by(words) or any(map(span.meets, days)) for span in times)


def _ranked(
    entry: Merged,
    at: datetime,
    scope: Scope,
    intent: Intent,
    policy: Policy,
    *,
    times: Sequence[Span],
) -> Ranked:
    knobs = policy.rank
    formula = knobs.pinned if PINNED in entry.arms else knobs.searched
    if formula == "typed":
        terms = _typed(entry.item, at, scope, knobs)
    else:
        terms = _relevance(entry, at, knobs)
        if intent is Intent.CHAT:
            terms["chat"] = policy.intent.chat_relevance * entry.relevance
        if of_time(entry.item, times):
            terms["time"] = knobs.time_weight
    if intent is Intent.TASK and entry.item.kind is Kind.CONSTRAINT:
        terms["task"] = policy.intent.task_constraint
    return Ranked(
        item=entry.item,
        score=Score(terms=terms),
        relevance=entry.relevance,
        arms=entry.arms,
        floored=formula == "relevance",
    )


def _relevance(entry: Merged, at: datetime, knobs: RankPolicy) -> dict[str, float]:
    """C 8.2, and by policy the type weight."""
    item = entry.item
    terms = {
        "relevance": knobs.relevance_weight * entry.relevance,
        "confidence": knobs.confidence_weight * item.confidence,
        "recency": knobs.recency_weight * recency(item, at, knobs.half_life_days),
        "explicit": knobs.explicit_weight * item.explicit,
    }
    if knobs.type_weight_on_searched:
        terms["type"] = _type_weights(knobs)[item.kind]
    return terms


def _typed(item: MemoryItem, at: datetime, scope: Scope, knobs: RankPolicy) -> dict[str, float]:
    """D 4."""
    same = scope.conversation is not None and item.origin.conversation == scope.conversation
    return {
        "type": _type_weights(knobs)[item.kind],
        "importance": knobs.typed_importance * item.importance,
        "confidence": knobs.typed_confidence * item.confidence,
        "recency": knobs.typed_recency * recency(item, at, knobs.half_life_days),
        "explicit": knobs.typed_explicit * item.explicit,
        "same_conversation": knobs.typed_same_conversation * same,
    }


def _type_weights(knobs: RankPolicy) -> Mapping[Kind, float]:
    return {
        Kind.CONSTRAINT: knobs.constraint_weight,
        Kind.PREFERENCE: knobs.preference_weight,
        Kind.TODO_HINT: knobs.todo_hint_weight,
        Kind.FACT: knobs.fact_weight,
    }
