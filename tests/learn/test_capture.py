"""What one commit keeps of a turn, what it promises, and what a redelivery changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from perdure.control.receipts import receipt
from perdure.errors import NotFound
from perdure.learn.capture import capture
from perdure.policy import ASSISTANT, DESKTOP, TEAM
from perdure.types import (
    ConversationKind,
    JobState,
    JobType,
    Message,
    Mode,
    Outcome,
    Preferences,
    Reason,
    ReceiptState,
    Role,
    Scope,
    Turn,
)

ANN = Scope(user="ann")
HI = Message(Role.USER, "I live in Bergen.", id="m1")
NOTED = Message(Role.ASSISTANT, "Noted!", id="m2")


def kept(world):
    with world.database.read() as tx:
        return [line.content for line in tx.messages.since(ANN, "chat-1", 0)]


def jobs(world, receipt):
    with world.database.read() as tx:
        return tx.jobs.of(ANN, receipt.trace)


@pytest.mark.spec("3.2")
def test_a_turn_is_kept_and_promised_in_one_commit_or_not_at_all(world):
    taken = world.capture(HI, NOTED)

    assert (taken.state, taken.reason) == (ReceiptState.QUEUED, None)
    assert kept(world) == ["I live in Bergen.", "Noted!"]
    extract, embed = sorted(jobs(world, taken), key=lambda job: job.type, reverse=True)
    assert (extract.type, embed.type) == (JobType.EXTRACT, JobType.EMBED)
    assert embed.payload == {"conversation": "chat-1", "trace": taken.trace}


@pytest.mark.spec("3.2")
def test_nothing_stays_if_the_callers_transaction_fails(world):
    turn = Turn(conversation="chat-1", messages=(HI,))
    taken = []

    def fails_after_it():
        with world.database.begin() as tx:
            taken.append(capture(tx, ANN, turn, world.policy, world.switches, world.now))
            raise ConnectionError

    with pytest.raises(ConnectionError):
        fails_after_it()

    assert kept(world) == []
    assert jobs(world, taken[0]) == []


@pytest.mark.spec("3.2", "5")
def test_the_promise_carries_exactly_the_fields_of_the_event(world):
    """C 6.2: ``memory.extract.requested`` v1."""
    scope = Scope(user="ann", assistant="cook", run="r7", project="web")

    taken = world.capture(HI, NOTED, scope=scope)

    [extract] = [job for job in jobs(world, taken) if job.type is JobType.EXTRACT]
    key = extract.payload["idempotency_key"]
    assert extract.payload == {
        "user_id": "ann",
        "conversation_id": "chat-1",
        "assistant_id": "cook",
        "run_id": "r7",
        "source_message_id": "m1",
        "source_role": "user",
        "source_text": "I live in Bergen.",
        "occurred_at": "2026-11-30T09:00:01+00:00",
        "trace_id": taken.trace,
        "idempotency_key": key,
    }
    assert extract.key == key


@pytest.mark.spec("3.2")
@pytest.mark.parametrize(
    ("said", "note"), [("word " * 3_000, " … [cut]"), ("家族👨‍👩‍👧" * 3_000, " …（已截断）")]
)
def test_a_long_text_is_cut_in_the_promise_with_a_note_and_kept_whole(world, said, note):
    taken = world.capture(said)

    [extract] = [job for job in jobs(world, taken) if job.type is JobType.EXTRACT]
    text = extract.payload["source_text"]
    assert text.endswith(note)
    assert said.startswith(text.removesuffix(note))
    assert not text.removesuffix(note).endswith(("\u200d", "👨"))
    assert len(kept(world)[0]) == len(said)


@pytest.mark.spec("3.2")
def test_the_same_turn_again_is_the_same_promise(world):
    first = world.capture(HI, NOTED)
    again = world.capture(HI, NOTED)
    assert again.trace == first.trace

    world.learn()
    later = world.capture(HI, NOTED)

    assert (later.trace, later.state) == (first.trace, ReceiptState.LEARNT)
    assert [one.item for one in later.learnt] == [row.id for row in world.rows()]
    assert kept(world) == ["I live in Bergen.", "Noted!"]
    with world.database.read() as tx:
        assert len(tx.jobs.page(tuple(JobState))) == len(jobs(world, first)) == 2


@pytest.mark.spec("3.1", "3.2")
def test_what_is_delivered_again_counts_once_towards_the_trigger(world):
    world.policy = replace(DESKTOP, learn=DESKTOP.learn.but(trigger_chars=100))
    half = Message(Role.USER, "I live in Bergen and like tea. " * 2, id="h1")

    for _ in range(3):
        assert world.capture(half).reason is Reason.NOT_ENOUGH_NEW
    assert len(kept(world)) == 1

    enough = world.capture(half, Message(Role.USER, "我住在杭州，喜欢喝茶。" * 4, id="h2"))
    assert enough.reason is None
    assert world.capture(half, Message(Role.USER, "我住在杭州", id="h2")).trace == enough.trace


@pytest.mark.spec("3.1")
def test_of_a_whole_history_sent_again_only_what_is_new_has_to_say_something(world):
    world.policy = replace(world.policy, learn=world.policy.learn.but(min_user_chars=10))
    world.capture(HI, NOTED)
    world.learn()
    short = Message(Role.USER, "I ski.", id="m3")
    thanks = Message(Role.USER, "Thanks a lot, great!", id="m4")

    assert world.capture(HI, NOTED, short).reason is Reason.TOO_SHORT
    world.policy = replace(world.policy, learn=world.policy.learn.but(min_user_chars=0))
    assert world.capture(HI, NOTED, thanks, conversation="chat-1").reason is Reason.NOT_A_STATEMENT
    news = world.capture(HI, NOTED, Message(Role.USER, "I ski a lot.", id="m5"))
    assert news.reason is None
    world.learn()
    assert world.memories() == ["I live in Bergen.", "I ski a lot."]


@pytest.mark.spec("3.1")
def test_a_reply_that_comes_behind_makes_a_turn_of_what_was_said_before(world):
    world.policy = replace(world.policy, learn=world.policy.learn.but(needs_reply=True))
    assert world.capture(HI).reason is Reason.NO_REPLY

    taken = world.capture(HI, NOTED)
    world.learn()

    assert taken.reason is None
    assert world.memories() == ["I live in Bergen."]


def test_the_same_words_without_an_id_are_said_twice(world):
    first = world.capture("I live in Bergen.")
    second = world.capture("I live in Bergen.")

    assert first.trace != second.trace
    assert len(kept(world)) == 2


@pytest.mark.spec("3.1", "8")
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"mode": Mode.READ}, Reason.MODE_OFF),
        ({"kind": ConversationKind.SUBAGENT}, Reason.CONVERSATION_KIND),
    ],
)
def test_a_turn_that_nothing_may_come_of_is_not_kept(world, how, reason):
    taken = world.capture(HI, **how)

    assert (taken.state, taken.reason) == (ReceiptState.SKIPPED, reason)
    assert kept(world) == []
    left = [(job.state, job.payload) for job in jobs(world, taken)]
    assert left == ([] if reason is Reason.MODE_OFF else [(JobState.SUCCESS, {})])


@pytest.mark.spec("8")
@pytest.mark.parametrize(
    ("switch", "reason"),
    [("memory_enabled", Reason.DISABLED), ("auto_learn", Reason.AUTO_LEARN_OFF)],
)
def test_what_a_user_switched_off_is_not_kept_either(world, switch, reason):
    with world.database.begin() as tx:
        tx.users.prefer(ANN, **{switch: False})

    assert world.capture(HI).reason is reason
    assert kept(world) == []


@pytest.mark.spec("3.2", "4.3")
def test_a_turn_too_short_to_learn_from_can_still_be_quoted(world):
    world.policy = replace(world.policy, learn=world.policy.learn.but(min_user_chars=50))

    taken = world.capture(HI, NOTED)

    assert (taken.state, taken.reason) == (ReceiptState.SKIPPED, Reason.TOO_SHORT)
    assert kept(world) == ["I live in Bergen.", "Noted!"]
    [embed] = jobs(world, taken)
    assert embed.type is JobType.EMBED
    assert embed.payload["skipped"] == "TOO_SHORT"


def test_without_episodes_a_short_turn_leaves_its_reason_and_a_waiting_one_does(world):
    world.policy = replace(TEAM, defaults=Preferences())
    assert world.capture(HI, NOTED).reason is Reason.TOO_SHORT
    assert kept(world) == []

    world.policy = DESKTOP
    taken = world.capture(HI, NOTED)
    assert taken.reason is Reason.NOT_ENOUGH_NEW
    assert kept(world) == ["I live in Bergen.", "Noted!"]
    assert [(job.state, job.payload) for job in jobs(world, taken)] == [(JobState.SUCCESS, {})]


@pytest.mark.case("API-05")
def test_turns_that_only_call_tools_are_accepted(world):
    taken = world.capture(
        Message(Role.USER, "Book me a table, I'm coeliac."),
        Message(Role.ASSISTANT, None),
        Message(Role.TOOL, None),
        Message(Role.FUNCTION, "ok", name="book"),
        Message(Role.ASSISTANT, "Done."),
    )

    assert taken.state is ReceiptState.QUEUED
    assert kept(world) == ["Book me a table, I'm coeliac.", "ok", "Done."]


@pytest.mark.case("DED-05")
def test_what_recall_put_into_a_message_is_not_kept(world):
    block = '<memory source="perdure">\n- Prefers metric units\n</memory>'

    world.capture(f"{block}\n\nHow far is it?", Message(Role.ASSISTANT, block))

    assert kept(world) == ["How far is it?"]


@pytest.mark.spec("3.2")
@pytest.mark.parametrize("preset", [ASSISTANT, TEAM, DESKTOP], ids=["assistant", "team", "desktop"])
@pytest.mark.parametrize("said", ["I live in Oslo, by the sea.", "我住在奥斯陆，离海边很近。"])
def test_what_became_of_a_skipped_turn_can_be_asked_later(world, preset, said):
    world.policy = replace(preset, defaults=Preferences(auto_learn=True))
    for ended in (Outcome.FAILED, Outcome.CANCELLED):
        taken = world.capture(said, outcome=ended)

        with world.database.read() as tx:
            assert receipt(tx, ANN, taken.trace) == taken
            [row] = tx.jobs.of(ANN, taken.trace)
        assert (taken.state, taken.reason) == (ReceiptState.SKIPPED, Reason.NOT_COMPLETED)
        assert (row.state, row.payload, row.conversation) == (JobState.SUCCESS, {}, None)
    with world.database.begin() as tx:
        assert tx.jobs.forget(world.now + timedelta(days=1)) == 2  # as finished jobs are


@pytest.mark.spec("3.2")
@pytest.mark.parametrize(
    ("turn", "preset"), [("ok", TEAM), ("I live in Oslo.", DESKTOP)], ids=["team", "desktop"]
)
def test_a_turn_that_was_too_little_says_so_later_too(world, turn, preset):
    world.policy = replace(preset, defaults=Preferences(auto_learn=True))
    taken = world.capture(turn)

    with world.database.read() as tx:
        assert receipt(tx, ANN, taken.trace) == taken
    assert taken.state is ReceiptState.SKIPPED


@pytest.mark.spec("3.2", "8")
@pytest.mark.parametrize("switch", ["memory_enabled", "auto_learn"])
def test_of_those_who_switched_it_off_not_even_the_reason_stays(world, switch):
    with world.database.begin() as tx:
        tx.users.prefer(ANN, **{switch: False})
    taken = world.capture("I live in Oslo.")

    assert taken.state is ReceiptState.SKIPPED
    with world.database.read() as tx:
        assert tx.jobs.of(ANN, taken.trace) == []
        with pytest.raises(NotFound):
            receipt(tx, ANN, taken.trace)
