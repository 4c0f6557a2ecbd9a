"""Without a model: a new answer to a question that has one answer only replaces the old one."""

from __future__ import annotations

import pytest

from perdure.learn.basic import extract_basic
from perdure.learn.basic.single import Answer, answer
from perdure.types import Action, Scope, Status

ANN = Scope(user="ann")


@pytest.fixture
def ann(world):
    """A world that learns by rules, as Perdure does without a model."""
    world.basic = extract_basic
    return world


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("Lives in Oslo", Answer("home", "oslo")),
        ("Has moved to Bergen in October 2026", Answer("home", "bergen")),
        ("Lives in New York now", Answer("home", "new york")),
        ("Wants to be called Annie", Answer("called", "annie")),
        ("Favourite colour is blue", Answer("favouritecolour", "blue")),
        ("2026年10月搬到了成都", Answer("home", "成都")),
        ("现在住在成都", Answer("home", "成都")),
        ("希望被叫作小林", Answer("called", "小林")),
        ("生日是5月3日", Answer("生日", "5月3日")),
        ("Lives with their husband in Oslo", None),
        ("Lives in Oslo with two kids", None),
        ("Moved to a new job", None),
        ("Moved to Linux in 2024", None),
        ("搬到楼上了", None),
        ("Likes Oslo", None),
        ("Works at Spotify now", Answer("work", "spotify")),
        ("Works at night", None),
        ("Sister moved to Paris", Answer("sisterhome", "paris")),
        ("Daughter is called Mia", None),
        ("Laptop is a ThinkPad", Answer("laptopa", "thinkpad")),
        ("Dentist appointment is on 2026-12-04", Answer("dentistappointmentondate", "2026-12-04")),
        ("Has a friend who is a doctor", None),
        ("在谷歌工作", Answer("work", "谷歌")),
        ("在杭州工作", Answer("workplace", "杭州")),
        ("在家工作", None),
        ("女儿五岁了", Answer("女儿age", "五")),
        ("电脑是 ThinkPad", Answer("电脑是", "thinkpad")),
    ],
)
def test_it_is_known_what_has_one_answer_only(statement, found):
    assert answer(statement) == found


@pytest.mark.spec("3.4")
@pytest.mark.parametrize(
    ("first", "then", "old", "new"),
    [
        ("I live in Oslo.", "I moved to Bergen.", "Lives in Oslo", "Moved to Bergen"),
        ("Call me Ann.", "Please call me Annie.", "Wants to be called Ann",
         "Wants to be called Annie"),
        ("Answer me in Norwegian.", "From now on answer me in English.",
         "Wants answers in Norwegian", "Wants answers in English"),
        ("我住在杭州。", "我搬到成都了。", "住在杭州", "搬到成都了"),
        ("叫我小林。", "以后叫我阿林。", "希望被叫作小林", "希望被叫作阿林"),
    ],
)  # fmt: skip
def test_a_plain_correction_replaces_what_was_believed_and_keeps_it(ann, first, then, old, new):
    ann.says(first)
    assert ann.memories() == [old]

    told = ann.says(then, conversation="later")

    [row] = ann.rows()
    assert ([one.action for one in told.learnt], row.content) == ([Action.UPDATE], new)
    assert ann.history(row.id)[-1] == ("update", old, new)


def test_where_it_is_not_sure_both_stay(ann):
    ann.says("I live in Oslo.")
    ann.says("I moved to a bigger flat.", conversation="2")
    ann.says("I live with my husband in Bergen.", conversation="3")
    ann.says("I prefer tea.", conversation="4")
    ann.says("I prefer coffee.", conversation="5")

    assert {"Lives in Oslo", "Prefers tea", "Prefers coffee"} <= set(ann.memories())


def test_what_a_person_wrote_stays_beside_the_new_statement(ann):
    mine = ann.items.add(ANN, "Lives in Oslo")

    ann.says("I moved to Bergen.")

    assert mine in ann.rows()
    assert ann.memories() == ["Lives in Oslo", "Moved to Bergen"]
    assert ann.rows(Status.ARCHIVED) == []


@pytest.mark.spec("3.4")
@pytest.mark.parametrize(
    ("old", "new"),
    [("Is single", "Got married to Bo in June 2026"), ("Is vegetarian", "Is pescatarian now"),
     ("单身", "2026年10月结婚了")],
)  # fmt: skip
def test_one_has_one_partner_and_one_diet_at_a_time(old, new):
    first, second = answer(old), answer(new)

    assert first is not None
    assert second is not None
    assert (first.topic, first.value) != (second.topic, second.value)
    assert first.topic == second.topic
    assert answer("Is single-minded") is None
