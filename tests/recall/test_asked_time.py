"""A question for a time: what is of it comes first, and nothing of another time poses as it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perdure.policy import ASSISTANT
from perdure.types import Kind

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
UNHURRIED = ASSISTANT.but(
    search=ASSISTANT.search.but(deadline_ms=0, vector_ms=20_000, arm_ms=20_000),
    gate=ASSISTANT.gate.but(floor=0.0, min_relevance=0.05),  # an embedder of words knows no more
    topics=ASSISTANT.topics.but(per_topic=5),
)
QUOTING = UNHURRIED.but(
    search=UNHURRIED.search.but(episodes=True),
    budget=UNHURRIED.budget.but(episodes=1),
    episodes=UNHURRIED.episodes.but(floor=0.1, around=0),
)
TRIPS = [
    (
        "Who did I visit Rome with last March?",
        "Visited Rome with Bo for a week",
        "Visited Rome with Kim for a week",
        "Is vegetarian and visited Rome hungry",
    ),
    (
        "今年三月我和谁去了罗马？",
        "和小王去罗马玩了一周",
        "和小李去罗马玩了一周",
        "去罗马的时候吃素",
    ),
]


@pytest.mark.spec("4.3", "4.6")
@pytest.mark.parametrize(("question", "then", "since", "beside"), TRIPS)
def test_what_is_of_another_time_does_not_answer_beside_what_is_of_the_asked_one(
    world, question, then, since, beside
):
    world.knows(then, age=255, confidence=0.9)
    world.knows(since, age=2, confidence=0.9)
    world.knows(beside, age=2, confidence=0.9)

    answer = world.asks(question, policy=UNHURRIED, explain=True)
    whenever = world.asks(
        question.replace("last March", "").replace("今年三月", ""), policy=UNHURRIED
    )

    assert world.reasons(answer) == {since: "OTHER_TIME"}
    assert world.said(answer)[0] == then
    assert beside in world.said(answer)  # it says something else, and when it was noted
    assert since in world.said(whenever)
    assert "noted" not in whenever.text
    assert "记于" not in whenever.text
    off = UNHURRIED.but(topics=UNHURRIED.topics.but(other_time=9.0))
    assert since in world.said(world.asks(question, policy=off))


@pytest.mark.spec("4.3", "4.8")
@pytest.mark.parametrize(
    ("question", "said", "lines"),
    [
        (
            "Who did I visit Rome with last March?",
            ("Visited Rome with Kim for a week", "Visited Rome in spring", "Rome: never by plane"),
            ["- Visited Rome with Kim for a week (noted 2026-11-28)",
             "- Visited Rome in spring (noted 2026-10-01, last confirmed 2026-11-28)",
             "- Rome: never by plane"],
        ),
        (
            "今年三月我和谁去了罗马？", ("和小李去罗马玩了一周", "春天去过罗马", "去罗马不坐飞机"),
            ["- 和小李去罗马玩了一周（记于 2026-11-28）",
             "- 春天去过罗马（记于 2026-10-01，最近确认于 2026-11-28）",
             "- 去罗马不坐飞机"],
        ),
    ],
)  # fmt: skip
def test_asked_for_a_time_each_found_memory_tells_when_it_was_noted(world, question, said, lines):
    """Nothing of that time is known; what is said instead does not look like it."""
    since, again, rule = said
    world.knows(since, age=2, confidence=0.9)
    world.knows(again, age=60, confidence=0.9, updated_at=NOW - timedelta(days=2))
    world.knows(rule, age=2, kind=Kind.CONSTRAINT)

    answer = world.asks(question, policy=UNHURRIED)

    assert len(answer.kept) == 3
    assert set(lines) < set(answer.text.splitlines())
    tight = UNHURRIED.but(budget=UNHURRIED.budget.but(bytes=len(answer.text.encode()) - 1))
    assert len(world.asks(question, policy=tight).text.encode()) < len(answer.text.encode())


@pytest.mark.spec("4.6")
@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        (
            "When is the dentist on 5 December?",
            "Goes to the dentist in Bergen on 2026-12-05",
            "Goes to the dentist in Bergen on 2026-12-19",
        ),
        ("12月5日看牙医吗？", "2026年12月5日看牙医", "2026年12月19日看牙医"),
    ],
)
def test_words_that_name_another_day_do_not_answer_for_the_asked_one(world, question, right, wrong):
    for content in (wrong, right):
        world.knows(content, confidence=0.9)

    answer = world.asks(question, policy=UNHURRIED)

    assert world.said(answer) == [right]
    assert world.reasons(answer) == {wrong: "OTHER_TIME"}


@pytest.mark.spec("4.6")
def test_a_rule_of_another_time_is_said_as_ever(world):
    world.knows("Went kayaking on the fjord", age=40, confidence=0.9)
    rule = world.knows("Went kayaking on the lake", age=1, kind=Kind.CONSTRAINT)

    answer = world.asks("Went kayaking last month?", policy=UNHURRIED)

    assert rule in [kept.item for kept in answer.kept]
    assert "OTHER_TIME" not in world.reasons(answer).values()


@pytest.mark.spec("4.3")
@pytest.mark.parametrize(
    ("question", "words"),
    [("the red kayak of last month", "a red kayak"), ("上个月的红色皮划艇", "红色皮划艇")],
)
def test_of_messages_those_of_the_asked_time_are_quoted_first_and_each_with_its_day(
    world, question, words
):
    for number in range(3):
        world.at = NOW - timedelta(days=35 if number == 1 else number)
        world.heard(f"c-{number}", f"Ann: {words}" + " really" * (number == 1))
        world.heard(f"other-{number}", "Ann: hello there", "Ann: 天气很好")
    world.at = NOW
    bland = QUOTING.but(episodes=QUOTING.episodes.but(time_bonus=0.0))

    answer = world.asks(question, policy=bland)

    assert [one.episode.conversation for one in answer.episodes] == ["c-1"]
    assert f"- 2026-10-26 Ann: {words}" in answer.text
    both = replace(bland, budget=bland.budget.but(episodes=2))
    assert len(world.asks(question, policy=both).episodes) == 2
