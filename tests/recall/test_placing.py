from __future__ import annotations

import copy

import pytest

from perdure.errors import Rejected
from perdure.policy import RenderPolicy
from perdure.recall.render import layout, render
from perdure.types import Answer, Kind

RULES = {"role": "system", "content": "House rules."}
DEV = {"role": "developer", "content": "Always ask before deleting files."}
ANN = {"role": "user", "content": "Clean up my folder", "name": "ann"}


@pytest.fixture
def answer(item):
    text = render([item("不吃香菜", kind=Kind.CONSTRAINT)], layout(RenderPolicy(), "zh"))
    return Answer(text=text, kept=(), dropped=(), degraded=(), trace="t")


@pytest.mark.spec("4.9")
@pytest.mark.case("API-11")
@pytest.mark.parametrize(
    ("host", "place", "role"),
    [
        ([RULES, ANN], 1, "system"),
        ([RULES, RULES, ANN], 2, "system"),
        ([DEV, ANN], 1, "developer"),
        ([ANN], 0, "system"),
        ([], 0, "system"),
        ([ANN, RULES], 0, "system"),
    ],
)
def test_memories_stand_behind_the_hosts_own_rules(answer, host, place, role):
    """A 8 P1: after the host's own sections. No other message is touched."""
    before = copy.deepcopy(host)

    placed = answer.as_system(host)

    assert placed[place] == {"role": role, "content": answer.text}
    assert placed[:place] + placed[place + 1 :] == host == before


SKILLS, SUMMARY, SESSION = (
    {"role": "system", "content": said} for said in ("技能", "摘要", "Session of today")
)


@pytest.mark.spec("4.9")
@pytest.mark.parametrize(
    ("host", "after", "place"),
    [
        ([RULES, SKILLS, SUMMARY, SESSION, ANN], 2, 2),
        ([RULES, SKILLS, SUMMARY, SESSION, ANN], 0, 0),
        ([RULES, SKILLS, SUMMARY, SESSION, ANN], None, 4),
        ([RULES, ANN], 2, 1),  # a conversation without skills; never behind what was said
        ([ANN], 2, 0),
    ],
)
def test_a_host_says_which_of_its_own_sections_stand_before_the_memories(
    answer, host, after, place
):
    """B 6.3: rules → skills → memory → summary → session."""
    placed = answer.as_system(host, after=after)

    assert placed[place]["content"] == answer.text
    assert placed[:place] + placed[place + 1 :] == host
    assert answer.as_system(placed, after=after) == placed


@pytest.mark.spec("4.9")
@pytest.mark.parametrize("after", [-1, 1.0, True, "2"])
def test_a_place_that_cannot_be_meant_is_refused_by_name(answer, after):
    with pytest.raises(Rejected) as refused:
        answer.as_system([RULES, ANN], after=after)

    assert refused.value.field == "after"
    assert "0" in refused.value.message("zh")
    assert refused.value.message("zh") != refused.value.message("en")


@pytest.mark.spec("4.9")
@pytest.mark.point("D.7")
def test_an_agent_with_its_own_prompt_finds_them_in_the_users_last_message(answer):
    """D "验证方式" 7: the last message carries the section 相关记忆."""
    host = [RULES, ANN]

    placed = answer.as_supplement(host)

    assert placed[0] == RULES
    assert placed[1]["content"] == f"Clean up my folder\n\n{answer.text}"
    assert "相关记忆" in placed[1]["content"]
    assert placed[1]["name"] == "ann"
    assert host == [RULES, ANN]


@pytest.mark.spec("4.9")
def test_content_parts_get_one_more_part(answer):
    part = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}

    (placed,) = answer.as_supplement([{"role": "user", "content": [part]}])

    assert placed["content"] == [part, {"type": "text", "text": answer.text}]


@pytest.mark.spec("4.9")
@pytest.mark.point("D.8")
def test_nothing_is_placed_twice(answer):
    """D "验证方式" 8."""
    once = answer.as_system([RULES, ANN])
    again = answer.as_supplement([RULES, ANN])

    for placed in (
        once,
        again,
        answer.as_supplement([{"role": "user", "content": [{"type": "text", "text": "x"}]}]),
    ):
        assert answer.as_system(placed) == placed
        assert answer.as_supplement(placed) == placed


@pytest.mark.spec("4.9")
def test_a_model_that_quoted_the_block_does_not_stop_memory(answer):
    host = [ANN, {"role": "assistant", "content": answer.text}, ANN]

    assert len(answer.as_system(host)) == 4


@pytest.mark.spec("4.9")
def test_behind_tool_calls_it_is_still_the_users_message_that_carries_them(answer):
    """The part of a prompt that an agent's own steps stand behind."""
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    result = {"role": "tool", "tool_call_id": "1", "content": "done"}
    host = [DEV, ANN, {"role": "assistant", "content": "Which one?"}, ANN, call, result]

    placed = answer.as_supplement(host)

    assert [place for place, (a, b) in enumerate(zip(placed, host, strict=True)) if a != b] == [3]
    assert placed[3]["content"].endswith(answer.text)
    assert answer.as_supplement(placed) == placed


@pytest.mark.spec("4.9")
@pytest.mark.case("API-11")
def test_parts_in_the_shape_of_responses_get_a_part_of_that_shape(answer):
    (placed,) = answer.as_supplement(
        [{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}]
    )

    assert placed["content"][1] == {"type": "input_text", "text": answer.text}


@pytest.mark.spec("4.9")
def test_an_empty_answer_changes_nothing(answer):
    empty = Answer(text="", kept=(), dropped=(), degraded=(), trace="t")

    assert empty.as_system([RULES, ANN]) == [RULES, ANN]
    assert empty.as_supplement([RULES, ANN]) == [RULES, ANN]
    assert answer.as_supplement([]) == []


@pytest.mark.spec("4.9")
def test_where_the_user_says_nothing_they_get_a_message_of_their_own(answer):
    step = {"role": "assistant", "content": None}

    assert answer.as_supplement([RULES, step]) == [
        RULES,
        step,
        {"role": "user", "content": answer.text},
    ]
