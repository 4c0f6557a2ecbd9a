"""How often one thing may be said: clusters of close memories, capped. Pure. Spec 4.6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from perdure.policy import TopicsPolicy
from perdure.ports import Similarity, Vectors
from perdure.recall.rank import Ranked, Sifted
from perdure.types import ItemId, Reason


def topics(
    ranked: Sequence[Ranked],
    vectors: Mapping[str, Vectors],
    similarity: Similarity,
    policy: TopicsPolicy,
    *,
    then: Collection[ItemId] = (),
) -> Sifted:
    """Drop what repeats a better ranked memory, or says too much on its topic.

    A topic is opened by its best ranked searched memory; others join the first one that they are
    close to. Pinned memories are never dropped. What they say is said, and they count on a topic,
    but one place of each topic is the question's, however many of them there are. A memory
    without a vector is a topic of its own. Where a time is asked about, what is of it answers;
    what says nearly the same of another time would pass for the answer too, and is dropped.

    Args:
        ranked: best first.
        vectors: stored vectors by memory id, one row a part of the text.
        similarity: what the cosines of their embedder mean.
        policy: how many memories a topic may have.
        then: ids of those that are of the time that is asked about.
    """
    searched = [entry for entry in ranked if not entry.pinned]
    if not policy.enabled or not searched or len(ranked) == 1:
        return Sifted(tuple(ranked))
    parts = [vectors.get(entry.item.id) for entry in searched]
    fixed = [entry for entry in ranked if entry.pinned]
    pins = [vectors.get(entry.item.id) for entry in fixed]
    close, pinned = _cosines(parts, parts), _cosines(parts, pins)
    nearest = pinned.max(axis=1, initial=-1.0)
    room = np.maximum(policy.per_topic - (pinned >= similarity.topic).sum(axis=1), 1)
    if not policy.per_topic:
        room[:] = 0
    limit = similarity.topic + policy.other_time * (similarity.same - similarity.topic)
    rivals = np.concatenate([close, pinned], axis=1)[:, _places([*searched, *fixed], then)]
    late = rivals.max(axis=1, initial=-1.0) >= limit
    late[_places(searched, then)] = False
    said: list[int] = []
    sizes: Counter[int] = Counter()
    for place in np.flatnonzero(~late).tolist():
        topic = next((first for first in sizes if close[place, first] >= similarity.topic), place)
        same = max(nearest[place], close[place, said].max(initial=-1.0)) >= similarity.same
        if not same and sizes[topic] < room[topic]:
            said.append(place)
            sizes[topic] += 1
    kept = {searched[place].item.id for place in said}
    return Sifted(
        kept=tuple(entry for entry in ranked if entry.pinned or entry.item.id in kept),
        dropped=tuple(
            entry.dropped(Reason.OTHER_TIME if late[place] else Reason.DUP_TOPIC)
            for place, entry in enumerate(searched)
            if entry.item.id not in kept
        ),
    )


def _places(entries: Sequence[Ranked], which: Collection[ItemId]) -> list[int]:
    return [place for place, entry in enumerate(entries) if entry.item.id in which]


def _cosines(
    left: Sequence[Vectors | None], right: Sequence[Vectors | None]
) -> NDArray[np.float32]:
    """Of every two memories, the cosine of their closest parts; -1 where a vector is missing.

    Shape (left, right).
    """
    result = np.full((len(left), len(right)), -1.0, dtype=np.float32)
    known, rows, starts = _stacked(left)
    others, columns, ends = _stacked(right)
    if known and others:
        gram = rows @ columns.T
        closest = np.maximum.reduceat(np.maximum.reduceat(gram, starts, axis=0), ends, axis=1)
        result[np.ix_(known, others)] = closest
    return result


def _stacked(parts: Sequence[Vectors | None]) -> tuple[list[int], Vectors, NDArray[np.intp]]:
    """Who has vectors, these below each other, and the row where each begins."""
    known = [place for place, rows in enumerate(parts) if rows is not None and len(rows)]
    rows = [part for part in (parts[place] for place in known) if part is not None]
    starts = np.cumsum([0, *(len(part) for part in rows[:-1])])
    return known, np.concatenate(rows) if rows else np.empty((0, 0), np.float32), starts
