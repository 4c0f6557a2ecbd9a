"""What a model is told, how a long input is divided, and what code knows better than the reply."""

from __future__ import annotations

import json

import pytest

from perdure.learn.extract import Told, extract, halves, heard, question, shortened
from perdure.learn.shown import Numbering
from perdure.policy import ASSISTANT, DESKTOP, TEAM
from perdure.ports import Reply
from perdure.testing.fakes import ScriptedChat
from perdure.types import Action, Kind, Level, MemoryItem


def stored(content, at, **more):
    return MemoryItem(
        id="1" * 32,
        namespace="default",
        user="ann",
        content=content,
        content_hash="h",
        created_at=at,
        updated_at=at,
        **more,
    )


def sent(chat):
    return [q.messages[1]["content"] for q in chat.asked]


@pytest.mark.spec("3.3")
def test_the_policy_sets_what_one_call_may_cost(line):
    asked = question(Told(said=(line("Hi there"),)), TEAM)

    assert (asked.timeout_s, asked.temperature, asked.top_p) == (30.0, 0.0, 0.1)
    assert question(Told(said=(line("Hi"),)), DESKTOP).timeout_s == 180.0
    assert asked.schema is not None


@pytest.mark.parametrize(("said", "word"), [("I like tea", "memory"), ("我喜欢喝茶", "记忆")])
def test_the_rules_are_in_the_users_language_whatever_the_assistant_speaks(line, said, word):
    asked = question(Told(said=(line(said), line("Bonjour 你好", role="assistant"))), ASSISTANT)

    assert word in asked.messages[0]["content"]


def test_only_what_user_and_assistant_said_is_heard(line):
    block = '<memory source="perdure">x</memory>'
    lines = [
        line("Be nice.", role="system"),
        line(f"Hello {block}"),
        line(block),
        line("{}", role="tool"),
        line("Hi!", role="assistant"),
    ]

    assert [heard_line.content for heard_line in heard(lines)] == ["Hello", "Hi!"]


def test_a_long_text_is_shortened_with_a_note_and_a_short_one_is_not():
    assert len(shortened("x" * 9_000, 8_000)) == 8_000
    assert shortened("x" * 9_000, 8_000).endswith("x … [cut]")
    assert shortened("short", 8_000) == "short"


@pytest.mark.case("DED-13")
def test_halves_are_cut_between_lines_or_sentences_and_keep_the_speaker(line):
    several = (line("one"), line("two", role="assistant"), line("three" * 9))
    first, second = halves(several)
    assert (first, second) == (several[:2], several[2:])

    long = line("We checked a weld. " * 10 + "I decided to quit smoking.", name="Ann")
    (one,), (two,) = halves((long,))
    assert one.content.endswith("weld.")
    assert two.content.endswith("I decided to quit smoking.")
    assert {one.speaker, two.speaker} == {"Ann"}
    assert {one.id, two.id} == {long.id}

    assert halves((line("One sentence, however long it is"),)) == ()
    assert halves(()) == ()


@pytest.mark.case("DED-13")
def test_a_long_input_is_asked_about_in_parts_each_with_speaker_and_date(line):
    policy = ASSISTANT.turned({"learn": {"input_chars": 3_000}}, "test")
    said = "We checked another weld on the bridge. " * 160 + "I decided to sell my motorbike."
    chat = ScriptedChat(rule=lambda q: ["Sells a motorbike"] if "motorbike" in str(q) else [])

    found = extract(chat.ask, Told(said=(line(said),)), policy)

    assert len(chat.asked) == 4
    assert all("[user 2026-11-30" in part and len(part) < 3_500 for part in sent(chat))
    assert [c.content for c in found.candidates] == ["Sells a motorbike"]


@pytest.mark.case("LLM-07")
def test_the_same_request_is_never_sent_twice_and_halving_ends(line):
    cut = Reply(text='["Wants a sl', model="m", cut_off=True)
    chat = ScriptedChat(cut, cut, ["A b"], ["C d"], ["E f"])

    found = extract(chat.ask, Told(said=(line("One. Two. Three. Four."),)), ASSISTANT)

    assert len(set(sent(chat))) == len(chat.asked) == 5
    assert [c.content for c in found.candidates] == ["A b", "C d", "E f"]


def test_a_reply_that_was_cut_off_behind_a_whole_entry_is_not_taken_for_all(line):
    cut = Reply(text='[{"content": "Likes tea"}', model="m", cut_off=True)
    chat = ScriptedChat(cut, ["Likes tea"], ["Likes jam"])

    found = extract(chat.ask, Told(said=(line("I like tea. I like jam."),)), ASSISTANT)

    assert [c.content for c in found.candidates] == ["Likes tea", "Likes jam"]


@pytest.mark.spec("3.3")
def test_sources_are_message_ids_and_an_assistants_line_alone_is_none(line):
    user, robot, more = line("I like tea"), line("Tea it is", role="assistant"), line("and jam")
    replies = [
        {"content": "Likes tea", "lines": [1]},
        {"content": "Likes jam", "lines": [3, 3, 99]},
        {"content": "Has tea", "lines": [2]},
        {"content": "Eats"},
    ]
    chat = ScriptedChat(replies)

    found = extract(chat.ask, Told(said=(user, robot, more)), ASSISTANT)

    assert [c.messages for c in found.candidates] == [
        (user.id,),
        (more.id,),
        (user.id,),
        (user.id, more.id),
    ]


@pytest.mark.spec("3.3")
def test_explicit_is_what_the_user_asked_for_and_not_what_a_model_claims(line):
    plain = ScriptedChat([{"content": "Likes tea", "explicit": True}])
    asked = ScriptedChat(["Likes tea", "Lives in Oslo"])

    [claimed] = extract(plain.ask, Told(said=(line("I like tea."),)), ASSISTANT).candidates
    said = line("I live in Oslo. Please remember that I like tea.")
    found = extract(asked.ask, Told(said=(said,)), ASSISTANT).candidates

    assert not claimed.explicit
    assert [c.explicit for c in found] == [True, False]


def test_a_touch_without_words_takes_those_of_its_row(line):
    row = stored("Uses pnpm", line("x").at, level=Level.PROJECT, kind=Kind.CONSTRAINT)
    told = Told(said=(line("pnpm again"),), known=Numbering((row,)))
    chat = ScriptedChat([{"action": "touch", "existing": 1}])

    [candidate] = extract(chat.ask, told, TEAM).candidates

    assert (candidate.content, candidate.level) == ("Uses pnpm", Level.PROJECT)
    assert (candidate.proposed, candidate.about) == (Action.TOUCH, 1)


def test_where_no_actions_are_asked_for_none_are_believed(line):
    told = Told(said=(line("I use zsh"),), known=Numbering((stored("Uses fish", line("x").at),)))
    chat = ScriptedChat([{"content": "Uses zsh", "action": "update", "existing": 1}])

    [candidate] = extract(chat.ask, told, DESKTOP).candidates

    assert (candidate.proposed, candidate.about) == (None, None)
    assert json.loads(sent(chat)[0])["known"] == ["Uses fish"]
