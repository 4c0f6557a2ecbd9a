"""Without a model: a second job, another child and a nearer name of a home are told apart."""

from __future__ import annotations

import pytest

from perdure.learn.basic import extract_basic
from perdure.types import Action, Scope

pytestmark = pytest.mark.spec("3.4")

ANN = Scope(user="ann")


@pytest.fixture
def ann(world):
    """A world that learns by rules, as Perdure does without a model."""
    world.basic = extract_basic
    return world


@pytest.mark.parametrize(
    ("first", "then", "stored"),
    [
        ("I work at Google.", "I work at a bakery too.", "Also works at a bakery"),
        ("I work at Google.", "I work at a bakery, as well!", "Also works at a bakery"),
        ("I work at Google.", "Besides that, I work at a bakery.", "Also works at a bakery"),
        ("I work at Google.", "I additionally work at a bakery.", "Additionally works at a bakery"),
        ("I work at Google.", "I have a second job at a bakery.", "Has a second job at a bakery"),
        ("I work as a nurse.", "I work as a tutor too.", "Also works as a tutor"),
        ("I live in Berlin.", "I live in Lisbon as well.", "Also lives in Lisbon"),
        ("My favourite colour is blue.", "My favourite colour is green too.",
         "Favourite colour is also green"),
        ("My wife works at Volvo.", "My wife works at a gym too.", "Wife also works at a gym"),
        ("我在谷歌上班。", "我也在面包店上班。", "也在面包店上班"),
        ("我在谷歌上班。", "另外，我在面包店上班。", "另外在面包店上班"),
        ("我在谷歌上班。", "我还兼职在面包店上班。", "还兼职在面包店上班"),
        ("我在谷歌上班。", "我兼职做面包师。", "兼职做面包师"),
    ],
)  # fmt: skip
def test_what_is_said_to_be_a_further_one_stands_beside_the_first(ann, first, then, stored):
    ann.says(first)
    [old] = ann.memories()

    ann.says(then, conversation="later")

    assert set(ann.memories()) == {old, stored}


def test_a_further_job_outlasts_the_change_of_the_first_one_until_it_is_denied(ann):
    ann.says("I work at Google.")
    ann.says("I also work at a bakery.", conversation="2")

    ann.says("I now work at Spotify.", conversation="3")
    assert set(ann.memories()) == {"Also works at a bakery", "Now works at Spotify"}

    ann.says("I no longer work at a bakery.", conversation="4")
    assert set(ann.memories()) == {"No longer works at a bakery", "Now works at Spotify"}


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("My son is 5.", "My son is 9."),
        ("My son is 9.", "My son is 5 now."),
        ("My son is 5.", "My other son is 9."),
        ("My twin brother lives in Oslo.", "My brother lives in Rome."),
        ("My sister lives in Lyon.", "My sister lives in Paris."),
        ("My cat is 3.", "My cat is eleven."),
        ("I have a son who is 5.", "I have another son who is 9."),
        ("My daughter Mia is 5.", "My daughter Lea is 6."),
        ("我儿子5岁。", "我儿子9岁。"),
        ("我儿子5岁。", "我另一个儿子9岁。"),
        ("我女儿五岁。", "我的第二个女儿两岁。"),
        ("我家猫叫豆豆。", "我家另一只猫叫花花。"),
        ("我家老大9岁。", "我家老二8岁。"),
        ("我姐姐住在北京。", "我姐姐住在上海。"),
    ],
)
def test_two_children_siblings_or_pets_stand_side_by_side(ann, first, then):
    ann.says(first)

    ann.says(then, conversation="later")

    assert len(ann.memories()) == 2


@pytest.mark.parametrize(
    ("first", "then", "stored"),
    [
        ("My son is 5.", "My son is 6 now.", "Son is 6 now"),
        ("My son is 5.", "My son turned 6 in May.", "Son turned 6 in May 2026"),
        ("My son is 5.", "My son is 9 now.", "Son is 9 now"),
        ("My younger son is 5.", "My younger son is 9.", "Younger son is 9"),
        ("My daughter Mia is 5.", "My daughter Mia is 6.", "Daughter Mia is 6"),
        ("My wife is 34.", "My wife is 38.", "Wife is 38"),
        ("我儿子5岁。", "我儿子6岁。", "儿子6岁"),
        ("我儿子5岁。", "我儿子9岁了。", "儿子9岁了"),
        ("我家老大9岁。", "我家老大10岁了。", "老大10岁了"),
        ("我老婆在银行上班。", "我老婆在学校上班。", "老婆在学校上班"),
    ],
)
def test_one_child_grows_and_one_wife_changes_her_job(ann, first, then, stored):
    ann.says(first)

    ann.says(then, conversation="later")

    assert ann.memories() == [stored]


def test_of_children_told_in_one_breath_each_is_kept(ann):
    ann.says("My younger son is 5, my older son is 9.")
    ann.says("我大儿子9岁，喜欢画画，小儿子5岁。我有两个女儿，老大8岁，老二3岁。", conversation="2")

    assert set(ann.memories()) == {
        "Younger son is 5", "Older son is 9",
        "大儿子9岁", "大儿子喜欢画画", "小儿子5岁", "有两个女儿", "老大8岁", "老二3岁",
    }  # fmt: skip


def test_children_of_somebody_else_are_not_kept(ann):
    ann.says("我同事有两个儿子，大儿子9岁，小儿子5岁。")

    assert ann.memories() == []


@pytest.mark.parametrize(
    ("first", "then", "stored"),
    [
        ("I live in Berlin.", "I live in Kreuzberg, Berlin.", "Lives in Kreuzberg, Berlin"),
        ("I live in Berlin.", "I live in the east of Berlin.", "Lives in the east of Berlin"),
        ("I live in Berlin.", "I live in Berlin, near the river.",
         "Lives in Berlin, near the river"),
        ("I live in Kreuzberg, Berlin.", "I moved to Hamburg.", "Moved to Hamburg"),
        ("I live in Kreuzberg, Berlin.", "I live in Mitte, Berlin now.",
         "Lives in Mitte, Berlin now"),
        ("I live in Berlin.", "I moved from Berlin to Munich.", "Moved from Berlin to Munich"),
        ("我住在北京。", "我住在北京海淀区，离地铁很近。", "住在北京海淀区，离地铁很近"),
        ("我住在杭州。", "我住在浙江杭州。", "住在浙江杭州"),
        ("我住在北京海淀区。", "我搬到上海了。", "搬到上海了"),
    ],
)  # fmt: skip
def test_the_nearer_name_of_a_home_and_a_new_home_take_the_place_of_the_old(
    ann, first, then, stored
):
    ann.says(first)

    ann.says(then, conversation="later")

    assert ann.memories() == [stored]


@pytest.mark.parametrize(
    ("first", "then", "stored"),
    [
        ("I live in Kreuzberg, Berlin.", "I live in Berlin.", "Lives in Kreuzberg, Berlin"),
        ("I live in Berlin.", "I still live in Berlin.", "Lives in Berlin"),
        ("I work at Google in Oslo.", "I work for Google.", "Works at Google in Oslo"),
        ("我住在北京海淀区。", "我住在北京。", "住在北京海淀区"),
        ("我在谷歌上班。", "我一直在谷歌上班。", "在谷歌上班"),
    ],
)
def test_what_is_known_more_precisely_is_only_touched(ann, first, then, stored):
    ann.says(first)

    told = ann.says(then, conversation="later")

    assert ann.memories() == [stored]
    assert [one.action for one in told.learnt] == [Action.TOUCH]


def test_what_a_person_wrote_of_a_home_is_touched_too(ann):
    ann.items.add(ANN, "Lives in Kreuzberg, Berlin")

    ann.says("I live in Berlin.")

    assert ann.memories() == ["Lives in Kreuzberg, Berlin"]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("I live in Kreuzberg, Berlin.", "I moved to Berlin."),  # from elsewhere, who knows
        ("I live in Berlin.", "I live in Berlin in winter."),
        ("I live in Oslo.", "I have lived in Oslo since 2019."),
        ("I moved to Bergen in October.", "I live in Bergen, near the harbour."),
        ("我十月搬到了杭州。", "我住在杭州西湖区。"),
    ],
)
def test_where_the_wording_does_not_tell_both_stay(ann, first, then):
    ann.says(first)

    ann.says(then, conversation="later")

    assert len(ann.memories()) == 2


def test_a_street_is_not_in_the_town_it_is_named_after(ann):
    ann.says("我住在南京路。")

    ann.says("我住在南京。", conversation="later")

    assert ann.memories() == ["住在南京"]
