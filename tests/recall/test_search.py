from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from perdure import text
from perdure.policy import ASSISTANT, SearchPolicy
from perdure.ports import Posting, Postings
from perdure.recall.search import Hits, best, bm25, by_words, fuse, pinned, sightings
from perdure.types import Kind, Preferences, Scope

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
ANN = Scope(user="ann")


def postings(query, *texts):
    """What an index would say of these texts."""
    split = [text.terms(one) for one in texts]
    wanted = set(text.terms(query))
    return Postings(
        texts=len(texts),
        average_length=sum(map(len, split)) / len(split),
        found=tuple(
            Posting(
                ref=str(n), length=len(have), counts={t: have.count(t) for t in wanted & {*have}}
            )
            for n, have in enumerate(split)
            if wanted & {*have}
        ),
    )


def words(query, *texts):
    return by_words(set(text.terms(query)), postings(query, *texts), SearchPolicy())


@pytest.mark.spec("4.3")
def test_bm25_is_okapis():
    found = postings("tea", "tea tea cup", "cup", "tea")

    scores = bm25(["tea", "tea", "moon"], found, k1=0.9, b=0.5)

    rarity = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    assert scores["0"] == pytest.approx(rarity * 1.9 * 2 / (2 + 0.9 * (0.5 + 0.5 * 3 / (5 / 3))))
    assert scores["2"] == pytest.approx(rarity * 1.9 * 1 / (1 + 0.9 * (0.5 + 0.5 * 1 / (5 / 3))))
    assert set(scores) == {"0", "2"}


@pytest.mark.spec("4.3")
@pytest.mark.case("LANG-05")
def test_words_are_found_in_each_spelling_and_chinese_by_two_characters():
    texts = (
        "Met Zoe\u0308 at Cafe\u0301 Nijmegen",
        "会員番号はＫＬＭ４５６",
        "帮她点外卖",
        "Sells tea",
    )

    assert best(words("Caf\u00e9", *texts)) == ["0"]
    assert best(words("KLM456", *texts)) == ["1"]
    assert best(words("外卖", *texts)) == ["2"]
    assert words("and of the", *texts) == {}


@pytest.mark.spec("4.3", "4.6")
def test_relevance_by_words_is_the_share_of_the_question_that_a_text_holds():
    texts = (
        "Prefers black coffee",
        "Drives a red car",
        "Meets the design team on Tuesday",
        "x",
        "y",
    )

    all_of_it = words("black coffee", *texts)["0"]
    half_of_it = words("black bicycle", *texts)["0"]
    little = words("Explain how bicycles, trains, boats and black holes work", *texts)["0"]

    assert 0.9 < all_of_it <= 1
    assert words("帮我点个外卖", "用户点外卖不要香菜", "住在上海", *texts)["0"] > 0.3
    assert 0.25 < half_of_it < 0.65
    assert little < 0.2
    found = postings("red car or bicycle", *texts)
    enough = by_words(["red", "bicycl"], found, SearchPolicy(words_full=0.5))
    assert enough == {"1": 1.0}  # a long question is not asked to be held in full


@pytest.mark.spec("4.3")
def test_words_add_to_meaning_and_speak_alone_where_vectors_are_down():
    policy = SearchPolicy(words_weight=0.5)

    together = fuse({"a": 0.4, "b": 0.4}, {"b": 0.6, "c": 1.0}, policy)

    assert together == pytest.approx({"a": 0.4, "b": 1 - 0.6 * 0.7, "c": 0.5})
    assert fuse(None, {"b": 0.6}, policy) == {"b": 0.6}
    assert best(together) == ["b", "c", "a"]
    assert best({"1": 0.5, "2": 0.5}) == ["2", "1"]


@pytest.mark.spec("4.3")
def test_constraints_come_first_then_sure_preferences_by_importance(item):
    """D 1: unexpired constraints, then preferences with confidence >= 0.8 up to their limit."""
    rules = [item(f"rule {n}", n, kind=Kind.CONSTRAINT, confidence=0.1) for n in (1, 2)]
    late = item("late", 3, kind=Kind.CONSTRAINT, expires_at=NOW)
    likes = [item(f"like {n}", 10 + n, kind=Kind.PREFERENCE, importance=n / 10) for n in range(7)]
    unsure = item("unsure", 30, kind=Kind.PREFERENCE, confidence=0.79, importance=1.0)
    fact = item("fact", 31, importance=1.0)

    def pins(policy=ASSISTANT):
        everything = [late, fact, unsure, *likes, *rules]
        return [one.content for one in pinned(everything, NOW, ANN, Preferences(), policy)]

    def most(search, budget):
        return ASSISTANT.but(
            search=ASSISTANT.search.but(pinned_preferences=search),
            budget=ASSISTANT.budget.but(preference=budget),
        )

    assert pins() == ["rule 1", "rule 2", "like 6", "like 5", "like 4", "like 3", "like 2"]
    assert pins(most(3, 5)) == pins()[:5]
    assert len(pins(most(9, 7))) == 9
    assert pins(most(5, 0)) == ["rule 1", "rule 2"]


@pytest.mark.spec("4.3")
def test_what_is_gone_or_hidden_vanishes_whatever_an_index_still_holds(item):
    """C 11.2."""
    here = item("here", 1)
    hits = Hits(dense={"gone": 0.9, here.id: 0.5}, words={"gone": 1.0})

    arms = sightings(hits, {here.id: here}, [], NOW, SearchPolicy())

    assert {arm: [one.item for one in found] for arm, found in arms.items()} == {
        "pinned": [], "semantic": [here], "fulltext": [],
    }  # fmt: skip


@pytest.mark.spec("4.3")
def test_without_vectors_the_newest_rows_and_words_take_their_place(item):
    """D 2, D "验证方式" 5."""
    rows = {str(n): item(str(n), n) for n in range(3)}

    arms = sightings(Hits(words={"2": 0.5}), rows, [], NOW, SearchPolicy(per_arm=2))

    assert [one.item.content for one in arms["structured"]] == ["0", "1"]
    assert [(one.item.content, one.relevance) for one in arms["fulltext"]] == [("2", 0.5)]
    assert "semantic" not in arms


@pytest.mark.spec("4.3")
def test_kinds_and_age_narrow_the_search_and_no_kinds_find_nothing(item):
    old, new = item("old", 1, age=31), item("new", 2, age=29, kind=Kind.TODO_HINT)
    rows, hits = {old.id: old, new.id: new}, Hits(dense={old.id: 0.9, new.id: 0.8})

    def found(**knobs):
        arms = sightings(hits, rows, [], NOW, SearchPolicy(**knobs))
        return [one.item.content for one in arms["semantic"]]

    assert found() == ["old", "new"]
    assert found(recent_days=30) == ["new"]
    assert found(kinds=("fact",)) == ["old"]
    assert found(kinds=()) == []
    assert NOW - old.updated_at == timedelta(days=31)
