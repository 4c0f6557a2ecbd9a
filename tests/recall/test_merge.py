from __future__ import annotations

from dataclasses import replace

import pytest

from perdure.recall.merge import Sighting, by_hash, by_id, by_text, merge


def seen(*items, relevance=0.5):
    return [Sighting(item=one, relevance=relevance) for one in items]


@pytest.mark.spec("4.4")
def test_one_memory_found_by_three_arms_is_one_entry_and_the_later_sighting_wins(item):
    """D "验证方式" 4, by id."""
    old = item("likes tea")
    new = replace(old, content="likes green tea")

    (entry,) = merge(
        {"pinned": seen(old, relevance=0.1), "semantic": seen(old), "fulltext": seen(new)}
    )

    assert entry.item is new
    assert entry.arms == ("pinned", "semantic", "fulltext")
    assert entry.relevance == 0.5


@pytest.mark.spec("4.4")
def test_of_two_rows_with_one_hash_the_more_important_speaks_and_rows_without_hash_stay(item):
    """D "验证方式" 4, by content hash."""
    weak = replace(item("likes tea", 1, importance=0.2), content_hash="h")
    strong = replace(item("Likes tea.", 2, importance=0.9), content_hash="h")
    bare = [replace(item(f"{n}", n), content_hash="") for n in (3, 4)]

    entries = by_hash(by_id({"semantic": seen(weak, *bare), "fulltext": seen(strong)}))

    assert [entry.item.id for entry in entries] == [strong.id, *(one.id for one in bare)]
    assert entries[0].twins == (weak,)
    assert entries[0].arms == ("semantic", "fulltext")


@pytest.mark.spec("4.4")
def test_what_would_be_said_twice_is_said_once(item):
    """D "验证方式" 4, by rendered text: the same kind and content, other hashes."""
    here = replace(item("likes tea", 1), content_hash="")
    there = replace(item("likes tea", 2), content_hash="other")
    todo = replace(item("likes tea", 3, kind="todo_hint"), content_hash="")

    entries = by_text(by_id({"semantic": seen(here, there, todo)}))

    assert [(entry.item.id, len(entry.twins)) for entry in entries] == [(there.id, 1), (todo.id, 0)]


@pytest.mark.spec("4.4", "4.6")
def test_a_row_that_may_not_be_said_speaks_for_none_that_may(item):
    good, other = item("likes tea", 1, importance=0.1), item("likes tea", 2, importance=0.2)
    shut, also = item("likes tea", 3, importance=0.9), item("likes tea", 4, importance=0.8)
    arms = {"pinned": seen(shut, relevance=0.9), "semantic": seen(good, other, also)}

    entries = merge(arms, {shut.id, also.id})

    assert [(entry.item, entry.twins) for entry in entries] == [(shut, (also,)), (other, (good,))]
    assert [entry.arms for entry in entries] == [("pinned", "semantic"), ("semantic",)]
    assert entries[1].relevance == 0.5
