"""How often one thing may be said: clusters of close memories, capped. Pure. Spec 4.6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from perdure.policy import TopicsPolicy
from perdure.ports import Similarity, Vectors
from perdure.recall.rank import Ranked, Sifted
from perdure.types import Dropped, Reason


def topics(
    ranked: Sequence[Ranked],
    vectors: Mapping[str, Vectors],
    similarity: Similarity,
    policy: TopicsPolicy,
) -> Sifted:
    """Drop what repeats a better ranked memory, or says too much on its topic.

    A topic is opened by its best ranked memory; others join the first one that they are close to.
    Pinned memories are never dropped, but they count. A memory without a vector is a topic of its
    own.

    Args:
        ranked: best first.
        vectors: stored vectors by memory id, one row a part of the text.
        similarity: what the cosines of their embedder mean.
        policy: how many memories a topic may have.
    """
    if not policy.enabled or len(ranked) < 2:  # noqa: PLR2004 - one memory cannot repeat itself
        return Sifted(tuple(ranked))
    close = _cosines([vectors.get(entry.item.id) for entry in ranked])
    said: list[int] = []
    topic_of: dict[int, int] = {}
    sizes: dict[int, int] = {}
    repeats: set[int] = set()
    order = sorted(range(len(ranked)), key=lambda place: not ranked[place].pinned)
    for place in order:
        topic = next(
            (topic_of[other] for other in said
             if topic_of[other] == other and close[place, other] >= similarity.topic),
            place,
        )  # fmt: skip
        same = any(close[place, other] >= similarity.same for other in said)
        if not ranked[place].pinned and (same or sizes.get(topic, 0) >= policy.per_topic):
            repeats.add(place)
            continue
        said.append(place)
        topic_of[place] = topic
        sizes[topic] = sizes.get(topic, 0) + 1
    return Sifted(
        kept=tuple(entry for place, entry in enumerate(ranked) if place not in repeats),
        dropped=tuple(_repeat(entry) for place, entry in enumerate(ranked) if place in repeats),
    )


def _repeat(entry: Ranked) -> Dropped:
    return entry.dropped(Reason.DUP_TOPIC)


def _cosines(parts: Sequence[Vectors | None]) -> NDArray[np.float32]:
    """Of every two memories, the cosine of their closest parts; -1 where a vector is missing.

    Shape (memories, memories).
    """
    result = np.full((len(parts), len(parts)), -1.0, dtype=np.float32)
    known = [place for place, rows in enumerate(parts) if rows is not None and len(rows)]
    if known:
        rows = [part for part in (parts[place] for place in known) if part is not None]
        stacked = np.concatenate(rows)
        starts = np.cumsum([0, *(len(part) for part in rows[:-1])])
        gram = stacked @ stacked.T
        closest = np.maximum.reduceat(np.maximum.reduceat(gram, starts, axis=0), starts, axis=1)
        result[np.ix_(known, known)] = closest
    return result
