"""Where memories are looked for: pinned rows, vectors, words; and how two arms agree. Spec 4.3."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from perdure import text
from perdure.policy import Policy, SearchPolicy
from perdure.ports import Corpus, Postings, Similarity, Transaction, Vector, VectorIndex, Vectors
from perdure.recall.gate import barred
from perdure.recall.merge import Sighting
from perdure.recall.rank import PINNED
from perdure.types import Kind, MemoryItem, Preferences, Scope

# ── words ────────────────────────────────────────────────────────────────────────────────────────


def rarity(texts: int, having: int) -> float:
    """How much it says that a text has a term: BM25's inverse document frequency."""
    return math.log(1 + (texts - having + 0.5) / (having + 0.5))


def bm25(query: Collection[str], postings: Postings, k1: float, b: float) -> dict[str, float]:
    """Okapi BM25 of every text that has a term; each distinct query term counts once."""
    having = Counter(term for posting in postings.found for term in posting.counts)
    gains = {
        term: (k1 + 1) * rarity(postings.texts, having[term])
        for term in sorted(set(query))
        if having[term]
    }
    scores: dict[str, float] = {}
    for posting in postings.found:
        length = posting.length / postings.average_length if postings.average_length else 1.0
        damping = k1 * (1 - b + b * length)
        scores[posting.ref] = sum(
            gain * count / (count + damping)
            for term, gain in gains.items()
            if (count := posting.counts.get(term, 0))
        )
    return scores


def by_words(query: Collection[str], postings: Postings, policy: SearchPolicy) -> dict[str, float]:
    """Relevance 0..1 by words alone: the share of the question's weight that a text holds.

    Of Chinese the pairs carry the weight, since each character stands in its pairs again. A long
    question is not asked to be held in full; ``words_full`` is enough.
    """
    having = Counter(term for posting in postings.found for term in posting.counts)
    carrying = {term for term in query if len(term) > 1} or set(query)
    full = sum(rarity(postings.texts, having[term]) for term in sorted(carrying))
    full = min(full, policy.words_full) or 1.0
    scores = bm25(query, postings, policy.bm25_k1, policy.bm25_b)
    return {ref: min(1.0, score / full) for ref, score in scores.items() if score > 0}


# ── two arms that agree ──────────────────────────────────────────────────────────────────────────


def fuse(
    dense: Mapping[str, float] | None, words: Mapping[str, float], policy: SearchPolicy
) -> dict[str, float]:
    """Relevance 0..1 of everything that either arm found.

    Words add to what the vector says and never take away: 1 - (1 - dense)(1 - weight * words).
    Without vectors (None) words speak alone.
    """
    if dense is None:
        return dict(words)
    return {
        ref: 1 - (1 - dense.get(ref, 0.0)) * (1 - policy.words_weight * words.get(ref, 0.0))
        for ref in [*dense, *(ref for ref in words if ref not in dense)]
    }


def best(relevance: Mapping[str, float], limit: int | None = None) -> list[str]:
    """The most relevant first, ties by newer id."""
    newest = sorted(relevance, reverse=True)
    return sorted(newest, key=lambda ref: -relevance[ref])[:limit]


# ── the arms, each for one user ──────────────────────────────────────────────────────────────────


def pinned(
    items: Iterable[MemoryItem], at: datetime, scope: Scope, user: Preferences, policy: Policy
) -> list[MemoryItem]:
    """What comes whatever the question: unexpired constraints, then sure preferences. D 1.

    Preferences that may not be said take no place from others; the first of them come along, so
    that the gate tells why.

    Where preferences fill their limit, the last one chosen yields to one that the question asks
    for and that ranks higher. It stands last of them, so that the text before it stays the same.
    """
    knobs, limits = policy.search, (policy.budget.preference, policy.search.pinned_preferences)
    most = min(limit for limit in limits if limit is not None)
    alive = items
    if policy.item.expires:
        alive = (item for item in items if item.expires_at is None or not item.expired(at))
    rules: list[MemoryItem] = []
    sure: list[MemoryItem] = []
    for item in alive:
        if item.kind is Kind.CONSTRAINT:
            rules.append(item)
        elif item.kind is Kind.PREFERENCE and item.confidence >= knobs.pinned_confidence:
            sure.append(item)
    sure.sort(key=lambda item: (item.importance, item.id), reverse=True)
    chosen: list[MemoryItem] = []
    withheld: list[MemoryItem] = []
    for item in sure:
        if len(chosen) == most:
            break
        fate = chosen if barred(item, at, scope, user, policy) is None else withheld
        fate.append(item)
    return rules + chosen + withheld[:most]


def semantic(
    tx: Transaction,
    scope: Scope,
    vector: Vector,
    limit: int,
    *,
    index: VectorIndex,
    similarity: Similarity,
) -> dict[str, float]:
    """Relevance by vector, best first."""
    hits = index.search(tx, scope, Corpus.MEMORIES, vector, limit)
    found = {hit.ref: similarity.relevance(hit.similarity) for hit in hits}
    return {ref: relevance for ref, relevance in found.items() if relevance > 0}


def fulltext(tx: Transaction, scope: Scope, words: str, policy: SearchPolicy) -> dict[str, float]:
    """Relevance by words."""
    query = set(text.terms(words))
    if not query:
        return {}
    return by_words(query, tx.fulltext.postings(scope, Corpus.MEMORIES, query), policy)


# ── what the arms found, together ────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """What vectors and words say of one user's memories, by id."""

    dense: Mapping[str, float] | None = None
    """None: vectors did not answer."""
    words: Mapping[str, float] = field(default_factory=dict)
    vectors: Mapping[str, Vectors] = field(default_factory=dict)
    """Stored vectors of what was found."""


def sightings(
    hits: Hits,
    seen: Mapping[str, MemoryItem],
    pins: Sequence[MemoryItem],
    at: datetime,
    policy: SearchPolicy,
) -> dict[str, list[Sighting]]:
    """The memories that each arm found, as the active rows have them now.

    What was deleted, dismissed or bound elsewhere vanishes here, whatever an index still holds.
    Where vectors are wanted and did not answer, the newest rows take their place (D 2).

    Args:
        hits: what the indexes say.
        seen: the active rows that the scope may see, newest first.
        pins: what comes whatever the question.
        at: now.
        policy: which arms search, and how far.
    """
    relevance = fuse(hits.dense, hits.words, policy)

    since = at - timedelta(days=policy.recent_days)

    def of(refs: Iterable[str], *, recent: bool = False) -> list[Sighting]:
        known = ((ref, seen[ref]) for ref in refs if ref in seen)
        wanted = (
            Sighting(item=item, relevance=relevance.get(ref, 0.0))
            for ref, item in known
            if item.kind in policy.kinds and not (recent and item.updated_at < since)
        )
        return list(islice(wanted, policy.per_arm))

    arms: dict[str, list[Sighting]] = {}
    if policy.pinned:
        arms[PINNED] = [Sighting(item=item, relevance=relevance.get(item.id, 0.0)) for item in pins]
    if hits.dense is not None:
        arms["semantic"] = of(best(hits.dense), recent=policy.recent_days > 0)
    elif policy.semantic or policy.mode == "legacy":
        arms["structured"] = of(seen)
    if policy.fulltext:
        arms["fulltext"] = of(best(hits.words))
    return arms
