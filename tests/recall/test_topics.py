from __future__ import annotations

import tracemalloc
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
@pytest.mark.point("D.4")
def test_of_two_wordings_of_one_statement_the_best_ranked_stays(item, ranked):
    """D "验证方式" 4: the same thing said twice is injected once."""
    entries = ranked(item("likes tea", 1), item("is fond of tea", 2))

    assert sift(entries, [at(0), at(10)]).kept == (entries[0],)


@pytest.mark.spec("4.6")
def test_pinned_rows_are_never_dropped_and_what_they_say_is_said(item, ranked):
    pinned = [
        replace(entry, arms=("pinned",)) for entry in ranked(*(item(str(n), n) for n in (1, 2, 3)))
    ]
    same, other = ranked(item("the same in other words", 4), item("another topic", 5))

    sifted = sift([same, *pinned, other], [at(2), at(0), at(2), at(4), at(120)])

    assert sifted.kept == (*pinned, other)
    assert [(one.item.content, one.reason) for one in sifted.dropped] == [
        ("the same in other words", "DUP_TOPIC")
    ]


@pytest.mark.spec("4.6")
def test_one_place_of_a_topic_is_the_questions_however_many_are_pinned(item, ranked):
    pinned = [
        replace(entry, arms=("pinned",)) for entry in ranked(*(item(str(n), n) for n in (1, 2, 3)))
    ]
    searched = ranked(*(item(f"searched {n}", 10 + n) for n in range(3)))
    angles = [at(30), at(-31), at(55)]

    def kept(pins, **knobs):
        vectors = [*angles, *[at(0)] * len(pins)]
        left = sift([*searched, *pins], vectors, **knobs).kept
        return [entry.item.content for entry in left if not entry.pinned]

    assert kept([]) == ["searched 0", "searched 1", "searched 2"]  # 0 and 2 are one topic
    assert kept(pinned[:1]) == ["searched 0", "searched 1"]
    assert kept(pinned) == ["searched 0", "searched 1"]
    assert kept(pinned, per_topic=3) == ["searched 0", "searched 1"]
    assert kept(pinned, per_topic=0) == []


def test_thousands_of_pinned_rows_cost_one_product_with_what_was_searched(item, ranked):
    dice = np.random.default_rng(3)
    entries = ranked(*(item(str(n), n) for n in range(5_050)))
    entries = [
        replace(entry, arms=("pinned",)) if place >= 50 else entry
        for place, entry in enumerate(entries)
    ]
    rows = dice.standard_normal((len(entries), 64)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    tracemalloc.start()
    sifted = sift(entries, list(rows[:, None]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(sifted.kept) + len(sifted.dropped) == len(entries)
    assert peak < 20_000_000  # 5,050 by 5,050 cosines alone would be 100 MB


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
