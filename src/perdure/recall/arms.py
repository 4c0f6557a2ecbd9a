"""The search arms of one recall, side by side, each with its deadline. Spec 4.3, 4.10."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perdure.ports import Vector
from perdure.recall.course import Course, Started
from perdure.recall.question import Query
from perdure.recall.search import Hits
from perdure.recall.sources import Meant, Owner, Said, Sources
from perdure.types import Found, ItemId, MemoryItem, Reason

_WIDER = 4  # a time is asked for: so many times more is looked through for what is of it


@dataclass(frozen=True, slots=True)
class Looked:
    """What the arms found."""

    hits: Hits
    said: Sequence[Found] = ()
    vector: Vector | None = None
    """Of the question, if it was searched with."""


def look(
    sources: Sources, query: Query, owner: Owner, pins: Sequence[MemoryItem], course: Course
) -> Looked:
    """What the arms find. An arm that fails or is late is left out, and the answer names it.

    Words are looked up while the question is embedded; then memories and earlier conversations are
    searched by meaning at the same time.
    """
    policy, knobs = query.policy, query.policy.search
    quotes = policy.budget.episodes if knobs.episodes else 0
    most = quotes * (_WIDER if query.times else 1)
    by_words, by_meaning = bool(owner.seen and knobs.fulltext), bool(owner.seen and knobs.semantic)
    if not query.words.whole or not (by_words or by_meaning or quotes):
        return Looked(Hits(dense={}))
    arm_s = knobs.arm_ms / 1000
    reading: Started[dict[ItemId, float]] | None = None
    if by_words:
        reading = course.start("fulltext", lambda: sources.words(query, owner), arm_s)
    asking = _asking(sources, query, course) if by_meaning or quotes else None
    vector = course.arm(asking, "semantic", None)
    words = course.arm(reading, "fulltext", {})

    near, ids = (vector if by_meaning else None), [item.id for item in pins]
    comparing: Started[Meant] | None = None
    if owner.seen and sources.has_vectors:
        comparing = course.start(
            "semantic",
            lambda: sources.meaning(query, near, owner, words, ids),
            arm_s,
            asks=owner.anew is not None,
        )
    quoting: Started[Said] | None = None
    if quotes:
        quoting = course.start(
            "episodes", lambda: sources.said(query, vector, most, elsewhere=True), arm_s
        )
    meant = course.arm(comparing, "semantic", Meant())
    said = course.arm(quoting, "episodes", Said())
    if said.blind is not None:
        course.degrade("semantic", said.blind)
    loud = [one for one in said.found if one.score >= policy.episodes.floor]
    return Looked(
        Hits(dense=meant.dense, words=words, vectors=meant.vectors),
        _of_the_time(loud, query)[:quotes],
        near,
    )


def _of_the_time(said: Sequence[Found], query: Query) -> list[Found]:
    """What was said at the time that the question names, then what was said at another time."""
    times = query.times

    def elsewhen(one: Found) -> bool:
        return one.episode is None or not any(span.holds(one.episode.at) for span in times)

    return sorted(said, key=elsewhen)


def _asking(sources: Sources, query: Query, course: Course) -> Started[Vector | None] | None:
    """The question's vector, on its way; no transaction is open meanwhile."""
    if not sources.has_vectors:
        course.degrade("semantic", Reason.VECTORS_OFF)
        return None
    knobs = query.policy.search
    return course.start(
        "embed",
        lambda: sources.vector(query.words, knobs.last_turn),
        knobs.vector_ms / 1000,
        asks=True,
    )
