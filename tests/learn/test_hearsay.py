"""Without a model: what is somebody else's, not so, or said in jest is not taken for the user's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perdure.learn.basic import extract_basic
from perdure.types import Kind

pytestmark = pytest.mark.spec("3.3")


@pytest.fixture
def ann(world):
    """A world that learns by rules, as Perdure does without a model, also what is sensitive."""
    world.basic = extract_basic
    consents = replace(world.policy.defaults, sensitive_allowed=True)
    world.policy = replace(world.policy, defaults=consents)
    return world


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("我朋友小王住在上海，在谷歌上班。", []),
        ("我认识一个人，住在北京。", []),
        ("我大学同学在北京，住在朝阳区。", []),
        ("我有个表哥，在北京开了一家餐厅。", ["有个表哥"]),
        ("我养了一只猫，很喜欢晒太阳。", ["养了一只猫"]),
        ("我大儿子9岁，喜欢足球。", ["大儿子9岁", "大儿子喜欢足球"]),
        ("My neighbour's son is 5.", []),
        ("My colleague's wife is a doctor.", []),
        # the person goes on speaking of themselves
        ("我有两个孩子，在谷歌上班。", ["有两个孩子", "在谷歌上班"]),
        ("我养了一只猫，叫豆豆。", ["养了一只猫，叫豆豆"]),
        ("我在学校当老师，住在北京。", ["在学校当老师", "住在北京"]),
        ("我讨厌老板，不吃香菜。", ["讨厌老板", "不吃香菜"]),
        ("我养猫，不吃鱼。", ["不吃鱼"]),
        ("我和老婆住在杭州，都不吃猪肉。", ["和老婆住在杭州", "都不吃猪肉"]),
        ("My neighbour is loud, and I am a nurse.", ["Is a nurse"]),
    ],
)
def test_what_somebody_else_does_is_not_the_users(ann, said, kept):
    ann.says(said)

    assert sorted(ann.memories()) == sorted(kept)


@pytest.mark.parametrize(
    "said",
    [
        "我没说我吃素。",
        "我不觉得我喜欢爵士。",
        "我差点搬到上海。",
        "我差一点买了房。",
        "我嫁给工作了。",
        "我对星期一过敏。",
        "I'm allergic to Mondays.",
        "I am married to my job.",
        "I have two left feet.",
        "My phone is dead.",
        "My salary is too low.",
        "I turned 30 pages.",
        "I have a job interview.",
    ],
)
def test_what_is_not_so_or_not_for_long_is_not_kept(ann, said):
    ann.says(said)

    assert ann.memories() == []


@pytest.mark.parametrize(
    "said",
    [
        "I'm allergic to peanuts.",
        "I am married to Bo.",
        "我对花生过敏。",
        "My phone is an iPhone.",
        "My salary is 5,000.",
    ],
)
def test_what_only_looks_like_a_jest_is_kept(ann, said):
    ann.says(said)

    assert len(ann.memories()) == 1


@pytest.mark.parametrize(
    ("said", "content", "kind"),
    [
        ("我五月毕业了。", "2026年5月毕业了", Kind.FACT),
        ("我从今年开始吃素了。", "从2026年开始吃素了", Kind.CONSTRAINT),
        ("我五月就要毕业了。", "2027年5月就要毕业了", Kind.TODO_HINT),
        ("我下周四飞北京了。", "2026年12月10日飞北京了", Kind.TODO_HINT),
    ],
)
def test_what_has_happened_is_no_plan(ann, said, content, kind):
    ann.says(said)

    assert [(row.content, row.kind) for row in ann.rows()] == [(content, kind)]


@pytest.mark.spec("3.4")
@pytest.mark.parametrize(
    ("first", "then", "stored"),
    [
        ("I smoke.", "I quit smoking last month.", "Quit smoking in October 2026"),
        ("I quit smoking.", "I started smoking again.", "Started smoking again"),
        ("I cannot drive.", "I can drive now.", "Can drive now"),
        ("I have no siblings.", "I have a brother.", "Has a brother"),
        ("I don't have kids.", "I have two daughters.", "Has two daughters"),
        ("I'm unemployed.", "I work at IKEA now.", "Works at IKEA now"),
        ("My shoe size is 41.", "My shoe size is 42.", "Shoe size is 42"),
        ("My bedtime is at ten.", "My bedtime is at 11 now.", "Bedtime is at 11 now"),
        ("我不能吃海鲜。", "我现在能吃海鲜了。", "现在能吃海鲜了"),
        ("我讨厌香菜。", "我现在喜欢吃香菜了。", "现在喜欢吃香菜了"),
        ("我抽烟。", "我上个月戒烟了。", "2026年10月戒烟了"),
        ("我失业了。", "我在华为上班。", "在华为上班"),
        ("我没有孩子。", "我有两个女儿。", "有两个女儿"),
        ("我家养了一只猫。", "我家养了两只猫。", "家养了两只猫"),
    ],
)
def test_what_cannot_hold_any_more_gives_way(ann, first, then, stored):
    ann.says(first)

    ann.says(then, conversation="later")

    assert ann.memories() == [stored]


@pytest.mark.spec("3.4")
@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("I have no kids.", "I have a cat."),
        ("I have no kids.", "My sister has a son."),
        ("I don't have a dog.", "I have a cat."),
        ("I smoke.", "I quit drinking."),
        ("I cannot eat nuts.", "I can eat fish again."),
        ("我不喜欢吃兔子。", "我喜欢兔子。"),
        ("我没有孩子。", "我姐有两个女儿。"),
        ("我不能喝酒。", "我现在能喝咖啡了。"),
    ],
)
def test_what_may_hold_beside_it_stays(ann, first, then):
    ann.says(first)

    ann.says(then, conversation="later")

    assert len(ann.memories()) == 2
