"""Ranked hits before gate and budget: memories, or what was said."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from perdure.errors import (
    DatabaseUnavailable,
    ModelUnavailable,
    PerdureError,
    Rejected,
    Unavailable,
)
from perdure.observe import Meter
from perdure.ports import Vector
from perdure.recall.merge import by_id
from perdure.recall.question import Query
from perdure.recall.rank import by_relevance
from perdure.recall.search import Hits, sightings
from perdure.recall.sources import Meant, Owner, Sources
from perdure.types import Degraded, Findings, Found, Reason, whole_number

ARMS = ("semantic", "fulltext", "episodes")
"""What can be looked through: memories by meaning and by words, and what was said."""

MOST_HITS = 1_000_000
"""Of one search."""


def checked(limit: int, arms: Sequence[str], floor: float) -> None:
    """The arguments of a search can be meant.

    Raises:
        Rejected: one cannot; the error names it.
    """
    whole_number(limit, "limit", 1, MOST_HITS)
    if isinstance(arms, str) or not isinstance(arms, Collection):
        raise Rejected("Expected a list.", field="arms")
    for arm in arms:
        if arm not in ARMS:
            raise Rejected("Known are {known}.", field="arms", known=ARMS)
    if isinstance(floor, bool) or not isinstance(floor, int | float) or not 0 <= floor <= 1:
        raise Rejected("Expected a number from 0 to 1.", field="floor")


def find(sources: Sources, meter: Meter, query: Query, limit: int, floor: float) -> Findings:
    """Hits of the arms that the query's policy turns on, best first; what failed is named.

    Args:
        sources: where to read.
        meter: counts arms that failed.
        query: what to look for.
        limit: how many hits at most.
        floor: hits with a lower score are counted, not told.

    Raises:
        Unavailable: every arm failed.
    """
    knobs = query.policy.search
    by_words = knobs.fulltext or knobs.episodes
    vector: Vector | None = None
    blind: Reason | None = None
    if knobs.semantic or knobs.episodes:
        try:
            vector = _vector(sources, query)
        except PerdureError:
            if not by_words:
                raise
            blind = Reason.SEARCH_FAILED if sources.has_vectors else Reason.VECTORS_OFF
    found: list[Found] = []
    if knobs.semantic or knobs.fulltext:
        owner = sources.owner(query.scope, query.policy, query.as_of)
        memories, failed = _memories(sources, query, owner, vector)
        found += memories
        blind = blind or failed
    if knobs.episodes:
        said = sources.said(query, vector, limit)
        found += said.found
        blind = blind or said.blind
    if blind is not None:
        meter.count("recall_degraded", part="semantic", reason=blind)
    found.sort(key=lambda one: one.score, reverse=True)
    best = found[:limit]
    told = tuple(one for one in best if one.score >= floor)
    return Findings(
        hits=told,
        hidden=len(best) - len(told),
        degraded=() if blind is None else (Degraded(part="semantic", reason=blind),),
    )


def _vector(sources: Sources, query: Query) -> Vector:
    """The question's vector.

    Raises:
        Unavailable: there is none, whatever the embedder raised.
    """
    if not sources.has_vectors:
        raise Unavailable("Vectors are switched off.")
    try:
        return sources.vector(query.words, query.policy.search.last_turn)
    except PerdureError:
        raise
    except Exception as failure:
        raise ModelUnavailable from failure


def _memories(
    sources: Sources, query: Query, owner: Owner, vector: Vector | None
) -> tuple[list[Found], Reason | None]:
    """Memories that an arm finds, best first, nothing that has expired; and why none by meaning."""
    policy, knobs = query.policy, query.policy.search
    words = sources.words(query, owner) if knobs.fulltext else {}
    meant, failed = Meant(), None
    try:
        meant = sources.meaning(query, vector if knobs.semantic else None, owner, words)
    except DatabaseUnavailable:
        raise
    except Unavailable:
        if not (knobs.fulltext or knobs.episodes):
            raise
        failed = Reason.SEARCH_FAILED
    hits = Hits(dense=meant.dense, words=words, vectors=meant.vectors)
    arms = sightings(hits, owner.seen, (), query.at, knobs)
    arms.pop("structured", None)
    found = [
        Found(item=one.item, episode=None, score=one.relevance, arms=one.arms)
        for one in by_relevance(by_id(arms))
        if not (policy.item.expires and one.item.expired(query.at))
    ]
    return found, failed
