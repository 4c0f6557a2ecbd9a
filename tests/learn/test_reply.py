"""The JSON of a reply is found whatever stands around it, and never made up."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import ReplyCutOff, ReplyUnusable
from perdure.learn.reply import extract_json

FENCE = "```"
FACTS = {"facts": ["Plays the oboe", "Owns a kayak"]}
WRITTEN = json.dumps(FACTS)


@pytest.mark.spec("3.3")
@pytest.mark.case("LLM-01")
@pytest.mark.parametrize(
    "reply",
    [
        WRITTEN,
        f"  \ufeff{WRITTEN}\n",
        f"{FENCE}json\n{WRITTEN}\n{FENCE}",
        f"{FENCE}JSON\n{WRITTEN}\n{FENCE}\nI extracted two facts [1].",
        f"Sure! {WRITTEN} Anything else?",
        f"{FENCE}json\n{WRITTEN}",
        f'{FENCE}sh\nif [ "$x" = 1 ]; then echo {{}}; fi\n{FENCE}\n{FENCE}json\n{WRITTEN}\n{FENCE}',
        f"{FENCE}json\n[]\n{FENCE}\nOn second thoughts:\n{FENCE}json\n{WRITTEN}\n{FENCE}",
        f'<think>Maybe {{"facts": ["Is bored"]}}?</think>\n{WRITTEN}',
        f'A draft: {{"facts": ["Is bored"]}}</think>{WRITTEN}',
        "{'facts': ['Plays the oboe', 'Owns a kayak',]}",
        '{facts: ["Plays the oboe", "Owns a kayak"]}',
        '{"facts": ["Plays the oboe", "Owns a kayak"]',
        "{“facts”: [“Plays the oboe”, “Owns a kayak”]}",
    ],
)
def test_the_same_answer_is_found_in_every_wrapping(reply):
    assert extract_json(reply) == FACTS


@pytest.mark.case("LLM-09")
def test_a_fence_inside_a_string_is_not_the_wrapper():
    snippet = f"Debugs with {FENCE}sh\nset -x\n{FENCE} and `jq '.[]'`"

    for reply in (json.dumps([snippet]), f"{FENCE}json\n{json.dumps([snippet])}\n{FENCE}"):
        assert extract_json(reply) == [snippet]


def test_a_line_break_inside_a_string_is_part_of_it():
    assert extract_json('{"facts": ["one\ntwo"]}') == {"facts": ["one\ntwo"]}


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   ",
        "Nothing to remember.",
        "[note] there is nothing",
        "null",
        "44",
        '"Likes tea"',
        "{",
    ],
)
def test_what_is_no_answer_is_never_taken_for_nothing_to_remember(reply):
    with pytest.raises(ReplyUnusable):
        extract_json(reply)


@pytest.mark.case("LLM-07")
@pytest.mark.parametrize(
    "reply",
    [
        '{"facts": ["Is renovating a farmhouse", "Kitchen must be fini',
        '{"facts": [{"content": "Wants a roof", "lines": [1]}, {"content": "Hired Odo"',
        '{"facts": ["Is renovating a farmhouse",',
        '{"facts": [{"memory": "Wants a roof"}, {"memory": "Hired',
        f'{FENCE}json\n[{{"content": "Wants a sl',
    ],
)
def test_an_end_in_the_middle_of_a_statement_is_a_reply_cut_off(reply):
    with pytest.raises(ReplyCutOff):
        extract_json(reply)


@given(st.text(alphabet=st.sampled_from('{}[]",:\\ab1 \n`<>/think'), max_size=60))
def test_no_text_breaks_the_reader(reply):
    with suppress(ReplyUnusable):
        assert isinstance(extract_json(reply), dict | list)


@given(
    st.lists(st.text(min_size=1), min_size=1, max_size=4),
    st.text(alphabet=st.characters(exclude_characters="{}[]<>"), max_size=40),
)
def test_any_list_of_texts_comes_back_from_between_chatter(facts, chatter):
    reply = f"{chatter}\n{json.dumps({'memories': facts}, ensure_ascii=False)}\n{chatter}"

    assert extract_json(reply) == {"memories": facts}


def test_brackets_without_end_are_read_in_no_time():
    with pytest.raises(ReplyUnusable):
        extract_json("[" * 50_000 + '{"a":' * 3_000)
