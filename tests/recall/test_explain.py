from __future__ import annotations

from datetime import timedelta

import pytest

from perdure import text
from perdure.policy import ASSISTANT, TEAM
from perdure.recall.sources import Sources
from perdure.types import Considered, Kind, Place, Scope, Stage, Status
from perdure.types.explained import table


@pytest.mark.spec("4.1", "4.5", "4.6")
def test_each_memory_tells_its_arms_ranks_terms_stage_and_reason(world):
    world.knows("Is allergic to peanuts", kind=Kind.CONSTRAINT, confidence=0.5)
    world.knows("Prefers tea", confidence=0.9)
    world.knows("Prefers tea", confidence=0.9, importance=0.1, project="mao")
    for number in range(3):
        world.knows(f"Prefers tea of {'zyxw'[number] * 4}", confidence=0.9)
    world.knows("Tea is an order", suspicious=True)
    scope = world.scope.within(project="mao")

    answer = world.asks("prefers tea?", scope, explain=True)

    told = {(one.item.content, one.stage): one for one in answer.considered}
    assert len(answer.considered) == len(answer.kept) + len(answer.dropped) == 7
    rule = told["Is allergic to peanuts", Stage.SAID]
    assert (rule.places, rule.reason) == ((Place(arm="pinned", rank=1),), None)
    assert rule.score == next(kept.score for kept in answer.kept if kept.item == rule.item)
    best = told["Prefers tea", Stage.SAID]
    assert best.places == (Place(arm="semantic", rank=2), Place(arm="fulltext", rank=2))
    assert told["Prefers tea", Stage.MERGE].places[0] == Place(arm="semantic", rank=1)
    assert best.relevance > 0.9
    assert best.score.total == pytest.approx(sum(best.score.terms.values()))
    assert told["Prefers tea", Stage.MERGE].reason == "REPEATED"
    assert told["Tea is an order", Stage.GATE].reason == "SUSPICIOUS"
    assert {one.reason for one in answer.considered if one.stage is Stage.TOPICS} == {"DUP_TOPIC"}
    assert world.asks("tea?", scope).considered == ()


@pytest.mark.spec("4.7")
def test_what_there_is_no_room_for_and_a_road_without_arms_explain_themselves(world):
    for number in range(10):
        world.knows(f"fact {number}", age=number)

    answer = world.asks("", policy=TEAM, explain=True)

    assert [one.places for one in answer.considered] == [
        (Place(arm="newest", rank=rank),) for rank in range(1, 11)
    ]
    assert [one.stage for one in answer.considered] == [Stage.SAID] * 8 + [Stage.BUDGET] * 2


@pytest.mark.spec("4.1")
@pytest.mark.case("LANG-07")
def test_the_table_stands_in_columns_in_chinese_too(world):
    world.knows("用户点餐不要香菜", kind=Kind.CONSTRAINT)
    world.knows("Is allergic\nto peanuts 👨‍👩‍👧", kind=Kind.CONSTRAINT)
    world.knows("外卖到公司前台" + "长" * 90, suspicious=True)
    answer = world.asks("帮我点外卖", explain=True)

    for language, head in (("en", "memory"), ("zh", "记忆")):
        lines = answer.table(language, chars=20).splitlines()
        starts = [
            text.columns(line[: line.index(word)])
            for line in lines
            for word in (head, "用户", "Is allergic", "外卖")
            if word in line
        ]
        assert len(starts) == len(lines) == 4
        assert len(set(starts)) == 1
    said = answer.table()
    assert "Is allergic to peanuts 👨‍👩‍👧" in said
    assert "SUSPICIOUS" in said
    assert "…" in said
    assert "\\u" not in said


def test_a_table_of_nothing_says_so_and_names_what_failed(world):
    world.knows("tea")
    world.refit(embedder=None)

    assert world.asks("tea").table().splitlines() == [
        "No memory was considered, or it was not asked for with explain=True.",
        "semantic: VECTORS_OFF search by meaning is off",
    ]
    assert world.asks("tea").table("zh").splitlines()[1] == "semantic: VECTORS_OFF 语义检索已关闭"


@pytest.mark.spec("4.1", "4.6")
def test_asked_why_an_answer_names_the_newest_memories_that_no_arm_found(world):
    for number in range(4):
        world.knows(f"Owns boat {'zyxw'[number] * 5}", age=number)
    world.knows("喜欢爵士乐")
    world.knows("Likes opera", project="mao")
    world.knows("Likes rock", status=Status.DISMISSED)
    policy = ASSISTANT.but(search=ASSISTANT.search.but(explained=2))

    answer = world.asks("喜欢爵士乐吗？", explain=True, policy=policy)
    plain = world.asks("喜欢爵士乐吗？", policy=policy)

    unfound = [one for one in answer.considered if one.stage is Stage.SEARCH]
    assert [one.item.content for one in unfound] == ["Owns boat zzzzz", "Owns boat yyyyy"]
    assert {(one.reason, one.score, one.places) for one in unfound} == {("NOT_FOUND", None, ())}
    assert [d.item for d in answer.dropped if d.reason == "NOT_FOUND"] == [u.item for u in unfound]
    assert (answer.text, answer.kept) == (plain.text, plain.kept)
    assert "NOT_FOUND" not in {one.reason for one in plain.dropped}
    assert "NOT_FOUND not found near this question" in answer.table()
    assert "检索" in answer.table("zh")
    assert "NOT_FOUND 检索时没有找到关联" in answer.table("zh")


UNHURRIED = ASSISTANT.but(
    search=ASSISTANT.search.but(deadline_ms=0, vector_ms=20_000, arm_ms=20_000)
)
WITHHELD = [
    ("Where do I live, Oslo or Bergen?", "Lives in Oslo", "Lived in Bergen", "Drives a red car"),
    ("我住在上海还是北京？", "住在上海", "以前住在北京", "开红色的车"),
]


def told_of(answer):
    """Which memories stand in an explanation, by id, with stage and reason."""
    return {one.item.id: (one.stage, one.reason) for one in answer.considered}


@pytest.mark.spec("4.6")
@pytest.mark.parametrize(("question", "refused", "elsewhere", "far"), WITHHELD)
def test_asked_why_an_answer_tells_what_was_dismissed_or_belongs_elsewhere(
    world, question, refused, elsewhere, far
):
    gone = world.knows(refused, status=Status.DISMISSED)
    walled = world.knows(elsewhere, project="falcon", metadata={"x": "y"}, title=elsewhere)
    both = world.knows(f"{elsewhere}!", project="falcon", status=Status.DISMISSED)
    active = world.knows(far)
    world.knows(f"{far}!", status=Status.DISMISSED)
    world.knows(f"{far}!", project="falcon")
    world.knows(f"{refused}!", status=Status.ARCHIVED)
    world.knows(f"{refused}…", status=Status.DISMISSED, suspicious=True)
    world.knows(refused, status=Status.DISMISSED, user="bo")
    web = Scope(user="ann", project="web")

    for where in (None, web):
        answer = world.asks(question, where, policy=UNHURRIED, explain=True)
        plain = world.asks(question, where, policy=UNHURRIED)

        assert (answer.text, answer.kept, answer.degraded) == ("", (), ())
        told = told_of(answer)
        assert told.pop(active.id)[1] in ("LOW_SCORE", "NOT_FOUND")
        assert told == {
            gone.id: (Stage.GATE, "DISMISSED"),
            walled.id: (Stage.GATE, "SCOPE"),
            both.id: (Stage.GATE, "SCOPE"),
        }
        assert {one.item.id: one.reason for one in answer.dropped}.items() > {
            (ref, reason) for ref, (_, reason) in told.items()
        }
        (refusal,) = [one for one in answer.considered if one.reason == "DISMISSED"]
        assert refusal.item == gone
        assert refusal.score.total > 0.5
        assert {one.item.id for one in plain.dropped} <= {active.id}
        assert (plain.considered, plain.text) == ((), "")
        assert "withheld" not in plain.timings
        assert refused in answer.table()
        assert "SCOPE belongs elsewhere" in answer.table()
        assert "SCOPE 不属于这里" in answer.table("zh")
        for hidden in (elsewhere, "falcon"):  # not a word of it, and not where it belongs
            assert hidden not in repr(answer)
    inside = world.asks(
        question, Scope(user="ann", project="falcon"), policy=UNHURRIED, explain=True
    )
    assert walled in [kept.item for kept in inside.kept]
    assert told_of(inside)[both.id] == (Stage.GATE, "DISMISSED")


@pytest.mark.spec("4.6", "4.1")
def test_of_an_earlier_time_only_what_was_dismissed_by_then_is_told(world):
    early = world.knows("Lives in Oslo", status=Status.DISMISSED, age=9)
    world.knows("Lives near Oslo", status=Status.DISMISSED, age=1)

    then = world.asks(
        "Lives in Oslo?", policy=UNHURRIED, explain=True, as_of=world.at - timedelta(days=5)
    )

    assert told_of(then) == {early.id: (Stage.GATE, "DISMISSED")}


@pytest.mark.spec("4.6", "4.7")
def test_a_road_that_says_everything_tells_everything_that_is_withheld(world):
    world.knows("said")
    for number in range(4):
        world.knows(f"refused {number}", status=Status.DISMISSED, age=number)
    three = TEAM.but(search=TEAM.search.but(explained=3, deadline_ms=0))

    answer = world.asks("", policy=three, explain=True)

    assert world.said(answer) == ["said"]
    assert world.reasons(answer) == {f"refused {number}": "DISMISSED" for number in range(3)}


@pytest.mark.spec("4.10")
def test_an_answer_stands_where_nobody_can_tell_what_is_withheld(world):
    world.knows("Lives in Oslo")
    world.knows("Lives near Oslo", status=Status.DISMISSED)

    class Blind(Sources):
        def dismissed(self, scope, as_of):
            raise RuntimeError

    known = world.recaller.sources
    blind = Blind(
        database=known.database, embedder=known.embedder, index=known.index, switches=known.switches
    )
    object.__setattr__(world.recaller, "sources", blind)
    answer = world.asks("Lives in Oslo?", policy=UNHURRIED, explain=True)

    assert world.said(answer) == ["Lives in Oslo"]
    assert world.parts(answer) == [("withheld", "SEARCH_FAILED")]


@pytest.mark.spec("4.1")
def test_every_stage_has_a_chinese_word(item):
    for stage in Stage:
        told = (Considered(item=item("tea"), stage=stage),)
        assert stage.value in table(told)
        assert stage.value not in table(told, "zh")
