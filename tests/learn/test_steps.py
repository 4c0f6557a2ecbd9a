"""From a captured turn to rows, history and vectors, on a real SQLite file."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from perdure.errors import (
    DatabaseUnavailable,
    ModelBusy,
    ModelUnavailable,
    Rejected,
    ReplyCutOff,
    ReplyUnusable,
)
from perdure.policy import ASSISTANT, DESKTOP, TEAM
from perdure.ports import Corpus, Reply, VectorEntry
from perdure.store.items import SqlItems
from perdure.testing.fakes import WordEmbedder
from perdure.types import (
    Action,
    Job,
    JobState,
    JobType,
    Kind,
    Level,
    Message,
    Preferences,
    Reason,
    ReceiptState,
    Role,
    Scope,
    Source,
    Status,
    Switches,
    VectorStatus,
)

ANN = Scope(user="ann")
FENCE = "```"
OPTED_IN = Preferences(auto_learn=True)
TEAM_ON = replace(TEAM, defaults=OPTED_IN)


@pytest.fixture(autouse=True)
def _one_call(world):
    """These stories are told with one call; those with two have a file of their own."""
    decide = world.policy.decide.but(strategy="one_call")
    world.policy = replace(world.policy, decide=decide)


def fact(content="", action="insert", existing=None, **more):
    return {"content": content, "action": action, "existing": existing, "lines": [1], **more}


def knows(world, *contents):
    """The machine learnt these before, each in a turn of its own."""
    for content in contents:
        world.answers([fact(content)])
        world.says(content)
    assert set(contents) <= set(world.memories())


def exchange(said, replied="Understood, noted."):
    return Message(Role.USER, said), Message(Role.ASSISTANT, replied)


def reasons(receipt):
    return [note.reason for note in receipt.refused]


# ── the whole way ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("1", "2", "3", "3.5")
@pytest.mark.point("C12.2.3")
def test_a_turn_becomes_a_row_with_its_origin_its_history_and_its_vector(embedded):
    embedded.answers({"memories": [fact("Lives in Bergen", kind="fact", confidence=0.9)]})

    told = embedded.says(Message(Role.USER, "I moved to Bergen.", id="m1"))

    [row] = embedded.rows()
    assert (told.state, told.model) == (ReceiptState.LEARNT, "scripted")
    assert [(one.action, one.item) for one in told.learnt] == [(Action.ADD, row.id)]
    assert (row.source, row.kind, row.confidence) == (Source.AUTO, Kind.FACT, 0.9)
    assert (row.origin.conversation, row.origin.messages) == ("chat-1", ("m1",))
    assert (row.origin.trace, row.origin.prompt) == (told.trace, "extract-2")
    assert (row.assistant, row.run, row.conversation) == (None, None, None)
    assert embedded.history(row.id) == [("create", None, "Lives in Bergen")]
    assert row.vector_status is VectorStatus.SYNCED
    assert embedded.searchable() == {row.id}


@pytest.mark.spec("3.3")
def test_without_a_model_the_basic_extractor_learns_and_says_that_it_is_it(world):
    told = world.says("I live in Bergen.")

    assert world.memories() == ["I live in Bergen."]
    assert told.model == "basic"
    assert world.rows()[0].origin.model == "basic"


@pytest.mark.spec("3.4")
def test_real_ids_never_reach_the_model(world):
    knows(world, "Lives in Oslo")
    chat = world.answers([fact("Lives in Bergen", "update", 1)])

    world.says("I moved to Bergen.")

    sent = "".join(message["content"] for message in chat.asked[-1].messages)
    assert '"1": "Lives in Oslo"' in sent
    assert world.rows()[0].id not in sent


@pytest.mark.spec("3.4")
@pytest.mark.point("A10.6.2", "C12.1.2")
def test_a_changed_fact_is_one_memory_with_the_old_one_in_its_history(embedded):
    knows(embedded, "Works in Oslo")
    [old] = embedded.rows()
    embedded.answers([fact("Works in Bergen now", "update", 1, kind="fact")])

    embedded.says("I work in Bergen now.")

    [row] = embedded.rows()
    assert (row.id, row.content, row.created_at) == (old.id, "Works in Bergen now", old.created_at)
    assert row.content_hash != old.content_hash
    assert row.updated_at > old.updated_at
    assert set(old.origin.messages) < set(row.origin.messages)
    assert embedded.history(row.id)[-1] == ("update", "Works in Oslo", "Works in Bergen now")
    with embedded.database.read() as tx:
        vectors = tx.vectors.read(ANN, Corpus.MEMORIES, "words")
    assert np.allclose(vectors.matrix, WordEmbedder().embed(["Works in Bergen now"], "add"))


@pytest.mark.point("A10.6.1")
def test_a_touch_moves_the_time_and_nothing_else(world):
    """A 10.6: ``touch`` refreshes ``updated_at`` of that row alone and adds none."""
    knows(world, "Drinks oat milk", "Cycles to work")
    before = world.rows()
    world.answers([fact("", "touch", 2)])  # the list is newest first: 2 is the oat milk

    told = world.says("Oat milk again, please.")

    after = world.rows()
    assert [one.action for one in told.learnt] == [Action.TOUCH]
    assert [row.content for row in after] == ["Drinks oat milk", "Cycles to work"]
    assert after[0].updated_at > before[0].updated_at
    assert after[1] == before[1]


@pytest.mark.point("A10.6.3")
def test_a_reworded_statement_that_is_another_rows_only_touches_its_target(world):
    """A 10.6: an update whose hash collides falls back to a touch; nothing is lost."""
    knows(world, "Likes tea", "Likes green tea")
    world.answers([fact("Likes tea", "update", 1)])  # 1 is the green tea

    told = world.says("Tea is what I like.")

    assert world.memories() == ["Likes tea", "Likes green tea"]
    assert [one.action for one in told.learnt] == [Action.TOUCH]


@pytest.mark.case("LLM-05")
@pytest.mark.spec("3.4")
def test_a_number_that_was_never_shown_changes_nothing_and_the_rest_is_applied(world):
    """The case's check for a stored "Cycles" is void: an unknown reference drops its candidate."""
    knows(world, "Has a spare key at the neighbour's", "Drives a blue van")
    world.answers(
        [
            fact("No longer drives a van", "update", 1),
            fact("Cycles for daily transport", "update", 12),
            fact("Has a spare key", "touch", -1),
            fact("Takes fencing classes"),
        ]
    )

    told = world.says("The van is gone, I cycle now. Also I started fencing classes.")

    assert world.memories() == [
        "Has a spare key at the neighbour's",
        "No longer drives a van",
        "Takes fencing classes",
    ]
    assert reasons(told) == [Reason.UNKNOWN_REFERENCE, Reason.UNKNOWN_REFERENCE]


@pytest.mark.spec("3.4")
@pytest.mark.point("A10.6.4")
def test_what_a_person_wrote_or_refused_cannot_be_named_and_so_not_changed(world):
    """A 10.6: a reference to a manual, dismissed or missing row drops the candidate."""
    world.items.add(ANN, "Is a vegetarian")
    knows(world, "Likes jazz")
    [row] = [row for row in world.rows() if row.machine_written]
    world.items.dismiss(ANN, row.id)
    chat = world.answers([fact("Eats meat", "update", 1), fact("Likes jazz", "touch", 2)])

    told = world.says("I eat meat and like jazz.")

    sent = chat.asked[-1].messages[1]["content"]
    assert "vegetarian" not in sent
    assert '"refused": [\n"Likes jazz"\n]' in sent
    assert reasons(told) == [Reason.UNKNOWN_REFERENCE, Reason.UNKNOWN_REFERENCE]
    assert world.memories() == ["Is a vegetarian"]


@pytest.mark.point("A10.6.5")
def test_new_words_for_a_dismissed_statement_are_not_blocked_by_code(world):
    """A 10.6: only the exact statement is held back; A D3: and never revived."""
    world.policy = TEAM_ON
    world.answers([fact("Prefers answers in Chinese")])
    world.says(*exchange("Please always answer me in Chinese from now on."))
    [row] = world.rows()
    world.items.dismiss(ANN, row.id)
    world.answers([fact("Prefers answers in Chinese"), fact("Wants Chinese answers")])

    told = world.says(*exchange("As I said: I want answers in Chinese, always."))

    assert world.memories() == ["Wants Chinese answers"]
    assert reasons(told) == [Reason.DISMISSED]


@pytest.mark.point("A10.6.6")
def test_a_comparison_that_fails_falls_back_to_exact_words(world, monkeypatch):
    """A 10.6: if the comparison set cannot be read, extraction goes on by exact hash."""
    knows(world, "Lives in Bergen")

    def broken(*_):
        raise DatabaseUnavailable

    monkeypatch.setattr(SqlItems, "active", broken)
    world.answers([fact("Lives in Bergen"), fact("Owns a boat")])

    told = world.says("I live in Bergen and own a boat.")

    assert [one.action for one in told.learnt] == [Action.TOUCH, Action.ADD]
    assert world.memories() == ["Lives in Bergen", "Owns a boat"]


@pytest.mark.spec("3.4")
def test_of_many_memories_one_call_is_shown_those_nearest_to_what_was_said(embedded):
    decide = embedded.policy.decide.but(shown_nearest=2)
    embedded.policy = replace(embedded.policy, decide=decide)
    knows(embedded, "Drinks oat milk", "Cycles to work", "Plays the cello")
    chat = embedded.answers([fact("", "touch", 1)])
    embedded.capture(Message(Role.USER, "Oat milk is what I drink.", id="m"), conversation="c")
    with embedded.database.begin() as tx:  # the job that embeds what was said came first
        [line] = tx.messages.by_id(ANN, "c", ["m"])
        vectors = WordEmbedder().embed([line.content], "add")
        entry = VectorEntry(ref=str(line.seq), vectors=vectors)
        embedded.index.upsert(tx, ANN, Corpus.EPISODES, [entry])

    embedded.learn()

    sent = chat.asked[-1].messages[1]["content"]
    assert '"1": "Drinks oat milk"' in sent
    assert sent.count("cello") + sent.count("Cycles") == 1


# ── replies of every shape ───────────────────────────────────────────────────────────────────────

OBOE = '{"facts": ["Has played the oboe since age nine"]}'


@pytest.mark.case("LLM-01")
@pytest.mark.parametrize(
    "reply",
    [
        f"{FENCE}json\n{OBOE}\n{FENCE}\n\nNote: I extracted one fact from the message.",
        f"{FENCE}\n{OBOE}\n{FENCE}",
        f"Here is what I found:\n{FENCE}json\n{OBOE}\n{FENCE}",
        f"{FENCE}JSON\n{OBOE}\n{FENCE}",
        f'{FENCE}sh\n[ "$a" = 1 ] && echo {{}}\n{FENCE}\n{FENCE}json\n{OBOE}\n{FENCE}',
        f"{FENCE}json\n{OBOE}",
    ],
)
def test_a_good_answer_is_kept_whatever_is_wrapped_around_it(world, reply):
    world.answers(reply)

    world.says("I've played the oboe since I was nine.")

    assert world.memories() == ["Has played the oboe since age nine"]


@pytest.mark.case("LLM-03")
def test_odd_entries_never_lose_the_good_ones(world):
    facts = [
        {"fact": "Owns a kayak"},
        {"text": "Bakes rye bread", "confidence": 0.9},
        ["Commutes by tram", ["Collects stamps"]],
        None,
        44,
        "",
        {"Shoe size is 44": True},
    ]
    world.answers({"facts": facts})

    world.says(
        "I own a kayak, I bake rye bread, I commute by tram and I collect stamps; my shoe size"
        " is 44."
    )

    assert world.memories() == [
        "Owns a kayak",
        "Bakes rye bread",
        "Commutes by tram",
        "Collects stamps",
        "Shoe size is 44",
    ]
    assert world.meter.read("memory_reply_entries_skipped") == 3


@pytest.mark.case("LLM-09")
def test_a_snippet_with_a_fence_in_it_is_stored_byte_for_byte(world):
    snippet = f"{FENCE}sh\nset -x; trap 'echo fail' ERR\n{FENCE}"
    content = f"Calls this debug line `bootsnip`: {snippet}"
    world.answers({"facts": [content]})

    world.says(f"Remember my usual debug line: {snippet} and that I call it `bootsnip`.")

    [row] = world.rows()
    assert row.content == content
    assert row.explicit
    assert world.history(row.id) == [("create", None, content)]


@pytest.mark.case("LLM-07")
def test_a_reply_that_is_cut_off_is_asked_for_again_in_halves(world):
    said = (
        "House update. We are renovating a farmhouse. I want a slate roof."
        " I hired a carpenter named Odo."
    )
    cut = Reply(text='{"facts": ["Is renovating a farmhouse", "Wants a sl', model="m", cut_off=True)
    chat = world.answers(
        cut, {"facts": ["Is renovating a farmhouse"]}, {"facts": ["Hired a carpenter named Odo"]}
    )

    world.says(said)

    assert world.memories() == ["Is renovating a farmhouse", "Hired a carpenter named Odo"]
    sent = [question.messages[1]["content"] for question in chat.asked]
    assert len(set(sent)) == 3
    assert all('"1": "[user ' in text for text in sent)


def test_a_reply_that_is_always_cut_off_is_never_stored_in_part(world):
    cut = Reply(text='{"facts": ["Kitchen must be fini', model="m", cut_off=True)
    world.answers(*[cut] * 7)
    world.capture("The kitchen must be finished by May. The roof by June.")

    with pytest.raises(ReplyCutOff):
        world.learn()

    assert world.memories() == []


@pytest.mark.case("API-07")
@pytest.mark.spec("3.3")
def test_nothing_said_calls_no_model_and_an_invented_reply_is_refused(world):
    invented = {"facts": ["Name is John", "Is a software engineer", "Loves pizza"]}
    chat = world.answers(*[invented] * 9)
    empty = [
        Message(Role.USER, ""),
        Message(Role.USER, "   \n\t"),
        Message(Role.SYSTEM, "You are helpful."),
        Message(Role.ASSISTANT, "Hello!"),
        Message(Role.ASSISTANT, None),
    ]

    receipts = [world.says(message) for message in empty]
    assert all(r.state is ReceiptState.SKIPPED and r.reason is not None for r in receipts)
    assert chat.asked == []

    assert world.says("👍").reason is Reason.NOT_A_STATEMENT
    assert chat.asked == []
    told = world.says("Do it!")
    assert reasons(told) == [Reason.UNSUPPORTED] * 3
    assert world.memories() == []


@pytest.mark.case("LANG-03")
def test_half_an_emoji_becomes_a_sign_and_both_messages_are_learnt_from(world):
    chat = world.answers({"facts": ["Has a parrot named Pim", "Pim is five years old"]})

    world.says("I adopted a parrot \ud83d and named it Pim", "Pim is five years old")

    assert world.memories() == ["Has a parrot named Pim", "Pim is five years old"]
    assert "parrot \ufffd and" in chat.asked[0].messages[1]["content"]


@pytest.mark.case("DED-05")
def test_what_recall_put_into_the_prompt_is_never_learnt_again(world):
    """A guard; the whole loop through the proxy is tested there."""
    world.items.add(ANN, "Prefers metric units")
    before = world.rows()
    facts = ["Prefers metric units", "Is learning Basque", "Name is Tessa"]
    chat = world.answers({"facts": facts}, {"facts": facts})
    block = '<memory source="perdure">\n- Prefers metric units\n- Is learning Basque\n</memory>'

    for said in ("go on", "Do it, please", f"{block}\nDo it, please"):
        world.says(
            Message(Role.SYSTEM, f"You are Tessa, a tax assistant.\n{block}"),
            Message(Role.USER, said),
            Message(Role.ASSISTANT, "As you prefer metric units, that is 12 km."),
        )

    assert world.rows() == before
    assert all("Basque" not in q.messages[1]["content"] for q in chat.asked)


@pytest.mark.case("LANG-01")
def test_a_chinese_turn_is_asked_about_in_chinese_and_kept_in_chinese(world):
    """A guard for the language; a reply that spells names in letters is refused."""
    chat = world.answers(
        {
            "memories": [
                fact("叫沈知微,在晨曦木作做家具设计"),
                fact("Shen Zhiwei works at Chenxi Woodwork"),
            ]
        }
    )

    told = world.says("我叫沈知微，在晨曦木作做家具设计，下个月要去泉州看展。")

    assert world.memories() == ["叫沈知微,在晨曦木作做家具设计"]
    assert reasons(told) == [Reason.UNSUPPORTED]
    assert "长期记忆" in chat.asked[0].messages[0]["content"]


@pytest.mark.case("TIME-01")
def test_relative_dates_are_counted_from_the_message_and_not_from_today(world):
    world.now = datetime(2026, 9, 1, tzinfo=UTC)
    chat = world.answers({"facts": ["Flew to Reykjavik in the week of 15 May 2023"]})
    said = "I flew to Reykjavik last week and start at the bakery tomorrow."

    world.says(Message(Role.USER, said, at=datetime(2023, 5, 24, 10, tzinfo=UTC)))

    sent = "".join(message["content"] for message in chat.asked[0].messages)
    assert "2023-05-24" in sent
    assert "2026" not in sent
    assert world.memories() == ["Flew to Reykjavik in the week of 15 May 2023"]


# ── deleted, dismissed, changed meanwhile ────────────────────────────────────────────────────────


@pytest.mark.case("DED-09")
@pytest.mark.spec("3.4")
@pytest.mark.parametrize("preset", ["assistant", "team"])
def test_a_deleted_memory_comes_back_only_by_a_later_word_of_the_user(world, preset):
    if preset == "team":
        world.policy = TEAM_ON
    at = world.now
    knows_it = "I am recovering from a long flight to Lima."
    old = Message(Role.USER, knows_it, id="m1", at=at)
    noted = Message(Role.ASSISTANT, "Get well!")
    world.answers(*[[fact("Is recovering from a long flight to Lima")]] * 3)
    world.says(old, noted)
    [row] = world.rows()
    world.items.delete(ANN, row.id)

    again = world.says(old, noted, conversation="a re-fed transcript")
    assert reasons(again) == [Reason.DELETED_EARLIER]
    assert world.memories() == []

    world.answers([fact("Is recovering from a long flight to Lima")])
    world.says(Message(Role.USER, f"Once more: {knows_it}", id="m9"), noted, conversation="chat-2")
    [back] = world.rows()
    assert back.content == "Is recovering from a long flight to Lima"
    with world.database.read() as tx:
        assert tx.items.buried(ANN, [back.content_hash]) == {}


@pytest.mark.case("DED-09")
@pytest.mark.spec("3.4")
@pytest.mark.parametrize("preset", ["assistant", "team"])
def test_a_queued_turn_from_before_a_deletion_does_not_say_it_again_in_other_words(world, preset):
    if preset == "team":
        world.policy = TEAM_ON
    noted = Message(Role.ASSISTANT, "Noted!")
    world.answers([fact("Lives in Oslo")], [fact("Is based in Oslo"), fact("Owns a kayak")])
    world.says(Message(Role.USER, "I live in Oslo, by the fjord.", id="m1"), noted)
    queued = world.capture(
        Message(Role.USER, "I am based in Oslo and I own a kayak.", id="m2"), noted,
        conversation="chat-2",
    )  # fmt: skip
    [row] = world.rows()
    world.items.delete(ANN, row.id)

    world.learn()

    assert reasons(world.told(queued)) == [Reason.DELETED_EARLIER]
    assert world.memories() == ["Owns a kayak"]


def test_what_was_deleted_and_taken_back_stands_in_nobodys_way(world):
    world.answers([fact("Lives in Oslo")], [fact("Is based in Oslo")])
    world.says(Message(Role.USER, "I live in Oslo, by the fjord.", id="m1"))
    world.capture(Message(Role.USER, "I am based in Oslo.", id="m2"), conversation="chat-2")
    [row] = world.rows()
    world.items.delete(ANN, row.id)
    world.items.restore(ANN, row.id)

    world.learn()

    assert "Is based in Oslo" in world.memories()


@pytest.mark.case("STO-05")
@pytest.mark.spec("3.5")
def test_what_a_person_changes_while_the_model_thinks_stands(world):
    """A guard for the learning path; consolidation has its own test."""
    knows(world, "Likes tea", "Likes cocoa")
    tea, cocoa = world.rows()
    world.answers([fact("Likes strong tea", "update", 2), fact("Likes dark cocoa", "update", 1)])
    world.capture("I like strong tea and dark cocoa.")

    def meanwhile():
        world.items.edit(ANN, tea.id, content="Likes black tea")
        world.items.delete(ANN, cocoa.id)
        world.items.add(ANN, "Bought a piano")

    [job] = world.learn(meanwhile)

    assert sorted(world.memories()) == ["Bought a piano", "Likes black tea"]
    with world.database.read() as tx:
        [done] = [j for j in tx.jobs.of(ANN, job.trace) if j.type is JobType.EXTRACT]
    assert [r["reason"] for r in done.result["refused"]] == ["DELETED_EARLIER", "DELETED_EARLIER"]


def test_an_archived_statement_that_is_made_again_is_active_again(embedded):
    knows(embedded, "Collects stamps")
    [row] = embedded.rows()
    with embedded.database.begin() as tx:
        tx.items.put(replace(row, status=Status.ARCHIVED))
    embedded.answers([fact("collects  STAMPS")])

    embedded.says("I collect stamps.")

    [back] = embedded.rows()
    assert back.id == row.id
    assert embedded.history(row.id)[-1][0] == "restore"


# ── capacity ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("3.6")
@pytest.mark.point("A10.6.7")
def test_at_the_limit_the_oldest_machine_written_row_makes_room_and_can_be_restored(world):
    """A 10.6, D14: one for one; what is set aside comes back by hand."""
    world.policy = replace(world.policy, capacity=world.policy.capacity.but(active_limit=3))
    world.items.add(ANN, "Is a vegetarian")
    knows(world, "Likes jazz", "Likes chess")
    world.answers([fact("Likes opera")])

    world.says("I like opera.")

    assert sorted(world.memories()) == ["Is a vegetarian", "Likes chess", "Likes opera"]
    [aside] = world.rows(Status.ARCHIVED)
    assert aside.content == "Likes jazz"
    assert world.history(aside.id)[-1][0] == "archive"
    [opera] = [row for row in world.rows() if row.content == "Likes opera"]
    world.items.delete(ANN, opera.id)
    assert world.items.restore(ANN, aside.id).status is Status.ACTIVE


@pytest.mark.point("A10.6.8")
def test_where_only_a_person_wrote_nothing_makes_room(world):
    """A 10.6, D14: a group of manual rows alone; the new statement is given up."""
    world.policy = replace(world.policy, capacity=world.policy.capacity.but(active_limit=1))
    world.items.add(ANN, "Is a vegetarian")
    world.answers([fact("Likes opera")])

    told = world.says("I like opera.")

    assert reasons(told) == [Reason.CAPACITY]
    assert world.memories() == ["Is a vegetarian"]


# ── presets ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("3.1", "3.3")
@pytest.mark.point("A8.5", "A8.6", "A8.7", "A8.8", "A8.9", "A8.12")
def test_the_team_preset_gives_up_where_its_note_says_so(world):
    """A 8: short message, not opted in, bad JSON, empty list, more than 3, more than 120."""
    world.policy = TEAM
    chat = world.answers()
    assert world.says(*exchange("I always deploy on Tuesdays.")).reason is Reason.AUTO_LEARN_OFF
    world.policy = TEAM_ON
    assert world.capture(*exchange("Deploy Tuesdays.")).reason is Reason.TOO_SHORT
    assert chat.asked == []

    said = exchange("I always deploy on Tuesdays, with Anna, in the morning, by hand.")
    four = [fact(f"Deploys {n}") for n in ("on Tuesdays", "by hand", "with Anna", "always")]
    world.answers("{not json at all", [], four, [fact("Deploys " * 20), fact("Deploys by hand")])

    told = world.says(*said)
    assert (told.state, told.reason) == (ReceiptState.SKIPPED, Reason.REPLY_UNUSABLE)
    assert told.error == "reply_unusable"
    assert world.says(*said).refused == ()
    assert reasons(world.says(*said)) == [Reason.TOO_MANY_ITEMS] * 4
    assert world.memories() == []
    assert reasons(world.says(*said)) == [Reason.TOO_LONG]
    assert world.memories() == ["Deploys by hand"]


def test_the_team_preset_shows_the_last_exchange_alone(world):
    world.policy = TEAM_ON
    chat = world.answers([fact("Deploys on Tuesdays")])

    world.says(
        Message(Role.USER, "What do you think of monads?"),
        Message(Role.ASSISTANT, "They are burritos."),
        *exchange("We always deploy on Tuesdays, remember."),
    )

    assert "monads" not in chat.asked[0].messages[1]["content"]
    assert "Tuesdays" in chat.asked[0].messages[1]["content"]


@pytest.mark.spec("3.3")
@pytest.mark.parametrize(
    ("project", "level"), [("web", Level.PROJECT), (None, Level.USER), ("robot-7", Level.USER)]
)
@pytest.mark.point("A8.14")
def test_a_project_statement_needs_a_project_that_is_one(world, project, level):
    """A 8: without a valid project key it becomes the user's; channels count as none."""
    world.policy = replace(world.policy, item=world.policy.item.but(channel_projects=("robot-*",)))
    scope = Scope(user="ann", project=project)
    world.answers([fact("The project uses pnpm", type="project")])

    world.says("The project uses pnpm, not npm.", scope=scope)

    [row] = world.rows()
    assert (row.level, row.project) == (level, project if level is Level.PROJECT else None)


@pytest.mark.spec("3.1", "3.4")
def test_the_desktop_learns_from_everything_new_once_there_is_enough(world):
    """B 6.4 and B 8: the trigger, the merged list, and ids and times that stay."""
    world.policy = DESKTOP
    chat = world.answers([{"content": "用户偏好使用 zsh"}])
    assert world.capture("我偏好 zsh。").reason is Reason.NOT_ENOUGH_NEW

    world.says("再说一次:我偏好使用 zsh。" + "这里是很长的一段话。" * 400)

    [zsh] = world.rows()
    assert "我偏好 zsh。" in chat.asked[0].messages[1]["content"]
    assert world.capture("好的").reason is Reason.NOT_ENOUGH_NEW

    chat = world.answers([{"content": "用户偏好使用 zsh"}, {"content": "项目使用 pnpm"}])
    world.says("我们的项目使用 pnpm。" + "另外还有很长的一段。" * 400)
    assert world.rows()[0] == zsh
    assert world.memories() == ["用户偏好使用 zsh", "项目使用 pnpm"]
    sent = chat.asked[0].messages[1]["content"]
    assert '"known": [\n"用户偏好使用 zsh"\n]' in sent
    assert "再说一次" not in sent


@pytest.mark.spec("3.3")
def test_the_desktop_tries_an_unusable_reply_again_after_the_next_turn(world):
    """B 7: the watermark stays, so nothing that was said is lost."""
    world.policy = DESKTOP
    world.answers("I could not find anything, sorry.")
    told = world.says("我偏好使用 zsh。" + "这里是很长的一段话。" * 400)
    assert (told.state, told.reason) == (ReceiptState.SKIPPED, Reason.REPLY_UNUSABLE)
    assert (told.error, world.memories()) == ("reply_unusable", [])

    chat = world.answers([{"content": "用户偏好使用 zsh"}])
    world.says("继续")

    assert world.memories() == ["用户偏好使用 zsh"]
    assert "我偏好使用 zsh。" in chat.asked[0].messages[1]["content"]


@pytest.mark.spec("3.3")
def test_the_assistant_preset_tries_again_and_never_reports_nothing_to_remember(world):
    world.answers("I could not find anything, sorry.")
    taken = world.capture("I live in Bergen.")

    with pytest.raises(ReplyUnusable):
        world.learn()

    assert world.told(taken).state is ReceiptState.RUNNING  # the worker postpones it
    assert world.meter.read("memory_json_parse_fail") == 1


# ── failures and switches ────────────────────────────────────────────────────────────────────────


@pytest.mark.case("API-09")
@pytest.mark.parametrize("error", [ModelBusy(retry_after=20.0), ModelUnavailable()])
def test_a_model_that_does_not_answer_leaves_the_promise_to_the_worker(world, error):
    """A guard; waiting and retrying are the worker's."""
    world.answers(error)
    world.capture("I live in Bergen.")

    with pytest.raises(type(error)):
        world.learn()

    assert world.memories() == []


@pytest.mark.spec("3.5", "5")
def test_an_embedder_that_is_down_costs_the_vector_and_not_the_memory(embedded):
    class Down(WordEmbedder):
        def embed(self, texts, action):
            raise ModelUnavailable

    embedded.embedder = Down()
    embedded.answers([fact("Lives in Bergen")])
    taken = embedded.capture("I live in Bergen.")
    embedded.learn()

    [row] = embedded.rows()
    assert row.vector_status is VectorStatus.PENDING
    with embedded.database.read() as tx:
        later = [j for j in tx.jobs.of(ANN, taken.trace) if "items" in j.payload]
    assert [(j.type, j.payload) for j in later] == [(JobType.EMBED, {"items": [row.id]})]


@pytest.mark.case("COST-01")
def test_each_new_text_is_embedded_once_and_a_repeated_one_not_at_all(embedded):
    """A guard for learning: two model calls and two embedding calls at most, however many facts."""
    asked = []

    class Counting(WordEmbedder):
        def embed(self, texts, action):
            asked.append((list(texts), action))
            return super().embed(texts, action)

    embedded.embedder = Counting()
    hobbies = [f"Hobby: {name}" for name in ("hiking", "chess", "pottery", "birding")]
    said = "My hobbies: hiking, chess, pottery, birding."
    chat = embedded.answers({"facts": hobbies}, {"facts": hobbies})

    embedded.says(said)
    embedded.says(said)

    assert asked == [(hobbies, "add")]
    assert len(chat.asked) == 2
    assert embedded.memories() == hobbies


@pytest.mark.spec("8")
def test_a_switch_that_goes_off_while_the_model_thinks_stops_the_write(world):
    world.answers([fact("Lives in Bergen")])
    taken = world.capture("I live in Bergen.")

    def off():
        with world.database.begin() as tx:
            tx.users.prefer(ANN, memory_enabled=False)

    world.learn(off)

    assert world.memories() == []
    told = world.told(taken)
    assert (told.state, told.reason) == (ReceiptState.SKIPPED, Reason.DISABLED)


@pytest.mark.spec("3.1", "3.3")
@pytest.mark.parametrize("preset", [ASSISTANT, TEAM, DESKTOP], ids=["assistant", "team", "desktop"])
@pytest.mark.parametrize(
    ("said", "statement"),
    [("I suffer from depression since spring.", "Suffers from depression"),
     ("我从春天开始得了抑郁症，一直在吃药治疗，医生说还要半年左右。", "得了抑郁症")],
)  # fmt: skip
def test_consent_that_is_taken_back_while_the_model_thinks_stops_what_is_delicate(
    world, preset, said, statement
):
    consents = Preferences(auto_learn=True, sensitive_allowed=True)
    learn = preset.learn.but(trigger_chars=min(10, preset.learn.trigger_chars))
    world.policy = replace(preset, defaults=consents, learn=learn)
    world.answers([fact(statement, sensitivity=2)])
    taken = world.capture(Message("user", said), Message("assistant", "I see."))

    def off():
        with world.database.begin() as tx:
            tx.users.prefer(ANN, sensitive_allowed=False)

    world.learn(off)

    assert world.memories() == []
    assert reasons(world.told(taken)) == [Reason.SENSITIVE_NOT_LEARNT]


@pytest.mark.spec("3.1", "8")
@pytest.mark.parametrize(
    ("said", "asked", "beside"),
    [("Remember that I like tea. I own a red boat.", "Likes tea", "Owns a red boat"),
     ("记住我喜欢喝茶。我有一条红船。", "喜欢喝茶", "有一条红船")],
)  # fmt: skip
def test_learning_that_goes_off_while_the_model_thinks_leaves_what_was_asked_for(
    world, said, asked, beside
):
    world.answers([fact(asked), fact(beside)])
    taken = world.capture(said)

    def off():
        with world.database.begin() as tx:
            tx.users.prefer(ANN, auto_learn=False)

    world.learn(off)

    assert world.memories() == [asked]
    assert reasons(world.told(taken)) == [Reason.AUTO_LEARN_OFF]


@pytest.mark.spec("8")
@pytest.mark.parametrize("part", ["enabled", "learn"])
def test_a_deployment_switch_stops_jobs_that_were_promised_before(world, part):
    chat = world.answers()
    taken = world.capture("I live in Bergen.")
    world.switches = Switches(**{part: False})

    world.learn()

    assert world.told(taken).reason is Reason.DISABLED
    assert chat.asked == []


@pytest.mark.spec("8", "3.3")
def test_with_automatic_learning_off_only_what_was_asked_for_is_learnt(world):
    with world.database.begin() as tx:
        tx.users.prefer(ANN, auto_learn=False)
    world.answers([fact("Is allergic to nuts"), fact("Lives in Bergen")])

    assert world.capture("I live in Bergen.").reason is Reason.AUTO_LEARN_OFF
    told = world.says("I live in Bergen. Please remember that I am allergic to nuts.")

    assert world.memories() == ["Is allergic to nuts"]
    assert reasons(told) == [Reason.AUTO_LEARN_OFF]
    assert world.rows()[0].explicit


@pytest.mark.spec("3.3")
def test_what_a_model_calls_explicit_is_believed_only_if_the_user_asked(world):
    world.answers([fact("Has been diagnosed with asthma", sensitivity=2, explicit=True)])
    told = world.says("I was diagnosed with asthma as a child.")
    assert reasons(told) == [Reason.SENSITIVE_NOT_LEARNT]

    world.answers([fact("Has been diagnosed with asthma", sensitivity=2)])
    world.says("Remember that I was diagnosed with asthma as a child.", conversation="chat-2")
    assert world.memories() == ["Has been diagnosed with asthma"]


def test_a_job_with_a_payload_that_is_not_ours_is_rejected(world):
    job = Job(
        id=1,
        type=JobType.EXTRACT,
        namespace="default",
        user="ann",
        key="k",
        payload={"conversation_id": 7},
        trace="t",
        state=JobState.PROCESSING,
    )

    with pytest.raises(Rejected) as caught:
        world.learner(job)

    assert caught.value.field == "conversation_id"


@pytest.mark.spec("3.2")
def test_messages_kept_only_until_they_are_learnt_are_gone_afterwards(world):
    world.policy = replace(world.policy, capture=world.policy.capture.but(keep_messages_s=0))
    world.answers([fact("Lives in Bergen")])

    world.says("I live in Bergen.")

    assert world.memories() == ["Lives in Bergen"]
    with world.database.read() as tx:
        assert tx.messages.outline(ANN) == []


@pytest.mark.spec("3.2", "3.3")
def test_of_an_endless_message_the_beginning_is_learnt_from_and_soon(world):
    with world.database.begin() as tx:
        tx.users.prefer(ANN, auto_learn=False)
    chat = world.answers(lambda _: [fact("Lives in Bergen")], *[[]] * 9)

    told = world.says("Remember that I live in Bergen. " + "记得，please, (Tell me, 'x' " * 30_000)

    assert (world.memories(), told.truncated) == (["Lives in Bergen"], 1)
    assert 1 < len(chat.asked) <= 8
    sent = [question.messages[1]["content"] for question in chat.asked]
    assert max(map(len, sent)) < 30_000
    assert sum(map(len, sent)) < 110_000


@pytest.mark.spec("3.2", "3.3")
@pytest.mark.parametrize(
    ("filler", "end", "learnt"),
    [
        ("The weather stays mild in most of the country. ", "I am allergic to peanuts.",
         "Is allergic to peanuts"),
        ("全国大部分地区天气温和。", "我对花生过敏。", "对花生过敏"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("preset", [ASSISTANT, TEAM_ON, DESKTOP], ids=lambda one: one.preset)
def test_the_end_of_a_long_message_is_learnt_from_too(world, preset, filler, end, learnt):
    world.policy = preset

    def reply(question):
        found = end in question.messages[1]["content"]
        return {"memories": [{"content": learnt}] if found else []}

    for chars, calls in ((9_000, 1), (30_000, 2)):
        chat = world.answers(*[reply] * calls)
        long = filler * (chars // len(filler)) + end

        told = world.says(*exchange(long), conversation=f"of {chars} characters")

        assert (world.memories(), told.truncated) == ([learnt], 0)
        assert len(chat.asked) == calls


@pytest.mark.parametrize(("word", "times"), [("word ", 2_000), ("词", 10_000)])
def test_one_endless_sentence_is_torn_between_words(world, word, times):
    world.policy = replace(world.policy, learn=world.policy.learn.but(input_chars=4_000))
    chat = world.answers(*[[]] * 4)

    told = world.says(word * times + "Bergen")

    sent = [question.messages[1]["content"] for question in chat.asked]
    assert (len(sent), told.truncated) == (4, 0)
    assert max(map(len, sent)) < 5_000
    lines = "".join(one[one.index('"lines"') :] for one in sent)  # what overlaps is context
    assert lines.count(word.strip()) == times
    assert "Bergen" in sent[-1]


def test_context_explains_and_is_no_source(world):
    chat = world.answers([fact("Goes climbing on Tuesdays")], [fact("Goes climbing on Tuesdays")])
    world.says("I go climbing on Tuesdays.", Message(Role.ASSISTANT, "Nice."))
    [row] = world.rows()

    told = world.says("Great, thanks, now the report.")

    sent = chat.asked[-1].messages[1]["content"]
    context = sent[sent.index('"context"') : sent.index('"lines"')]
    assert "I go climbing on Tuesdays." in context
    assert "thanks" not in context
    assert reasons(told) == [Reason.UNSUPPORTED]
    assert world.rows() == [row]
