from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perdure.policy import TopicsPolicy
from perdure.ports import Similarity
from perdure.recall.topics import topics

SIMILARITY = Similarity(unrelated=0.0, topic=0.5, same=0.95)


def at(*degrees):
    """Unit vectors in the plane, one a part."""
    radians = np.deg2rad(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def sift(entries, vectors, **knobs):
    by_id = {
        entry.item.id: rows
        for entry, rows in zip(entries, vectors, strict=True)
        if rows is not None
    }
    return topics(entries, by_id, SIMILARITY, TopicsPolicy(**knobs))


@pytest.mark.spec("4.6")
def test_a_third_memory_on_one_topic_is_nagging(item, ranked):
    """C 8.3.4: at most two of one topic."""
    entries = ranked(*(item(str(n), n) for n in range(4)))

    sifted = sift(entries, [at(0), at(30), at(50), at(150)])

    assert [entry.item.content for entry in sifted.kept] == ["0", "1", "3"]
    assert [(one.item.content, one.reason) for one in sifted.dropped] == [("2", "DUP_TOPIC")]


@pytest.mark.spec("4.6")
def test_of_two_wordings_of_one_statement_the_best_ranked_stays(item, ranked):
    """D "验证方式" 4: the same thing said twice is injected once."""
    entries = ranked(item("likes tea", 1), item("is fond of tea", 2))

    assert sift(entries, [at(0), at(10)]).kept == (entries[0],)


@pytest.mark.spec("4.6")
def test_pinned_rows_are_never_dropped_but_they_count(item, ranked):
    first, second, third, searched = ranked(*(item(str(n), n) for n in range(4)))
    pinned = [replace(entry, arms=("pinned",)) for entry in (first, second, third)]

    sifted = sift([searched, *pinned], [at(0), at(2), at(4), at(6)])

    assert sifted.kept == tuple(pinned)
    assert [one.item for one in sifted.dropped] == [searched.item]


def test_a_memory_without_a_vector_is_a_topic_of_its_own(item, ranked):
    entries = ranked(*(item(str(n), n) for n in range(4)))

    assert len(sift(entries, [None, None, None, at(0)]).kept) == 4


def test_a_text_of_several_parts_is_as_close_as_its_closest_part(item, ranked):
    entries = ranked(item("long", 1), item("short", 2))

    assert len(sift(entries, [at(0, 170), at(172)]).kept) == 1
    assert len(sift(entries, [at(0, 170), at(90)]).kept) == 2


def test_without_a_cap_nothing_is_dropped(item, ranked):
    entries = ranked(item("a", 1), item("b", 2))

    assert sift(entries, [at(0), at(0)], enabled=False).dropped == ()
