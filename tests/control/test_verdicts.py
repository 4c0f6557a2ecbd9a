"""A user's word on a memory that was said: kept, counted, and stronger than what was learnt."""

from __future__ import annotations

import asyncio
import time
from dataclasses import fields
from datetime import timedelta

import pytest

from perdure import AsyncMemory, Message, Scope
from perdure.control.uses import Uses
from perdure.control.verdicts import Verdicts
from perdure.errors import ContentTooLong, LimitReached, ModelUnavailable, NotFound, Rejected
from perdure.ports import Corpus
from perdure.testing.fakes import WordEmbedder
from perdure.types import Actor, Operation, Status, VectorStatus, Verdict

ann, bo = Scope(user="ann"), Scope(user="bo")
DAY = 86_400


def learnt(home, said="I live in Trondheim."):
    """A memory of what was said, as an inference leaves it."""
    home.says(said)
    (item,) = home.items.list(ann)
    assert item.machine_written
    return item


def said(home, item, *traces):
    """Answers with these traces said the memory."""
    for trace in traces:
        home.parts.uses.note(ann, trace, [item.id], counts=False)


def corrected(home, item, text, trace="answer-1"):
    said(home, item, trace)
    return home.memory.feedback(ann, trace, item.id, "correction", text=text)


@pytest.mark.spec("6")
def test_a_verdict_is_kept_and_counted_once_and_changes_nothing_else(home):
    """C 10.1: the hit rate and the wrong mention rate are made of these."""
    home = home()
    item = learnt(home)
    said(home, item, "answer-1", "answer-2")
    for _ in range(2):
        assert home.memory.feedback(ann, "answer-1", item.id, "useful").id == item.id
    home.memory.feedback(ann, "answer-1", item.id, Verdict.WRONG_MENTION)
    home.memory.feedback(ann, "answer-2", item.id, "useful")

    with home.parts.database.read() as tx:
        given = [(one.trace, one.verdict) for one in tx.feedback.of(ann, item.id)]
    assert given == [
        ("answer-1", "useful"), ("answer-1", "wrong_mention"), ("answer-2", "useful"),
    ]  # fmt: skip
    read = home.parts.meter.read
    assert [read("memory_feedback", verdict=v) for v in Verdict] == [2, 1, 0]
    assert home.items.get(ann, item.id).updated_at == item.updated_at


@pytest.mark.spec("3.4")
def test_a_correction_replaces_what_was_believed_and_keeps_the_history(home):
    """C 13.2.2: a correction is asked for, sure, and no machine's to change."""
    home = home()
    item = learnt(home)
    now = corrected(home, item, "  Lives in Bergen, not by the sea ")

    assert now == home.items.get(ann, item.id)
    assert (now.id, now.content) == (item.id, "Lives in Bergen, not by the sea")
    assert (now.explicit, now.confidence, now.importance) == (True, 1.0, 1.0)
    assert (now.protected, now.status, now.origin) == (True, Status.ACTIVE, item.origin)
    entry = home.items.history(ann, item.id)[-1]
    assert (entry.operation, entry.actor, entry.trace) == (
        Operation.UPDATE, Actor.USER, "answer-1",
    )  # fmt: skip
    assert (entry.before, entry.after) == (item.content, now.content)
    assert list(home.memory.search(ann, "Trondheim", arms=["fulltext"])) == []
    assert [hit.content for hit in home.memory.search(ann, "Bergen")] == [now.content]


@pytest.mark.spec("3.4")
def test_older_material_cannot_bring_back_what_was_corrected_and_news_can(home):
    home = home()
    when = {"at": home.now, "id": "m1"}
    home.says("I live in Trondheim.", **when)
    (item,) = home.items.list(ann)
    corrected(home, item, "Lives in Bergen")

    home.memory.capture(ann, "chat-2", [Message("user", "I live in Trondheim.", **when)])
    home.work()
    assert home.contents() == ["Lives in Bergen"]

    home.turn(DAY)
    home.says("I live in Trondheim.")
    assert sorted(home.contents()) == ["Lives in Bergen", item.content]


@pytest.mark.spec("3.4")
def test_older_material_cannot_bring_back_what_was_edited_away_and_news_can(home):
    home = home()
    said = {"at": home.now, "id": "m1"}
    home.says("I live in Trondheim.", **said)
    (item,) = home.items.list(ann)
    home.items.edit(ann, item.id, content="Lives in Bergen")

    home.memory.capture(ann, "chat-2", [Message("user", "I live in Trondheim.", **said)])
    home.work()
    assert home.contents() == ["Lives in Bergen"]

    home.items.edit(ann, item.id, content=item.content)
    home.items.edit(ann, item.id, title="Home")
    assert home.contents() == [item.content]
    home.items.edit(ann, item.id, content="Lives in Bergen")
    home.turn(31 * DAY)
    home.tidy()
    assert home.contents() == ["Lives in Bergen"]
    assert home.items.history(ann, item.id)[0].after == item.content
    home.says("I live in Trondheim.")
    assert sorted(home.contents()) == ["Lives in Bergen", item.content]


def test_a_corrected_memory_is_not_scrubbed_with_what_it_said(home):
    home = home()
    item = learnt(home)
    corrected(home, item, "Lives in Bergen")
    home.turn(31 * DAY)
    home.tidy()
    assert home.contents() == ["Lives in Bergen"]
    assert home.items.history(ann, item.id)[0].after == item.content


def test_a_correction_sent_twice_is_one(home):
    home = home()
    item = learnt(home)
    first = corrected(home, item, "Lives in Bergen")
    assert corrected(home, item, "Lives in Bergen") == first
    assert len(home.items.history(ann, item.id)) == 2
    assert home.parts.meter.read("memory_feedback") == 1


def test_a_correction_that_is_delivered_late_again_does_not_undo_what_was_written_since(home):
    home = home()
    item = learnt(home)
    corrected(home, item, "Lives in Bergen")
    edited = home.items.edit(ann, item.id, content="Lives in Voss")

    assert corrected(home, item, "Lives in Bergen") == edited
    assert corrected(home, item, "Lives in Oslo").content == "Lives in Oslo"
    assert corrected(home, item, "Lives in Bergen").content == "Lives in Bergen"
    assert home.parts.meter.read("memory_feedback") == 1


def test_a_correction_that_led_to_another_memory_leads_there_again(home):
    home = home()
    true = home.items.add(ann, "Lives in Bergen")
    home.says("I live in Trondheim.")
    (wrong,) = (item for item in home.items.list(ann) if item.id != true.id)
    first = corrected(home, wrong, "lives in BERGEN")

    assert corrected(home, wrong, "lives in BERGEN") == first
    with pytest.raises(NotFound):
        corrected(home, wrong, "Lives in Oslo")
    assert home.contents() == ["Lives in Bergen"]
    assert len(home.items.history(ann, true.id)) == 2


@pytest.mark.parametrize("other", [Status.ACTIVE, Status.DISMISSED, Status.DELETED])
def test_where_another_memory_says_what_is_true_that_one_stands(home, other):
    home = home()
    true = home.items.add(ann, "Lives in Bergen")
    if other is Status.DISMISSED:
        home.items.dismiss(ann, true.id)
    if other is Status.DELETED:
        home.items.delete(ann, true.id)
    home.says("I live in Trondheim.")
    (wrong,) = (item for item in home.items.list(ann) if item.id != true.id)

    now = corrected(home, wrong, "lives in BERGEN")

    assert home.contents() == [now.content]
    assert now.content == ("lives in BERGEN" if other is Status.DELETED else "Lives in Bergen")
    assert now.status is Status.ACTIVE
    with home.parts.database.read() as tx:
        assert tx.items.buried(ann, [wrong.content_hash])
        assert not tx.items.buried(ann, [now.content_hash])


def test_a_correction_brings_back_what_was_set_aside_where_it_fits(home):
    home = home(PERDURE_POLICY__CAPACITY__ACTIVE_LIMIT="1")
    item = home.items.add(ann, "Parked on level 3", expires_at=home.now + timedelta(hours=1))
    home.turn(DAY)
    home.tidy()
    now = corrected(home, item, "Parked on level 4")
    assert (now.status, now.expires_at) == (Status.ACTIVE, None)

    home.items.dismiss(ann, item.id)
    home.items.add(ann, "Likes tea")
    with pytest.raises(LimitReached):
        corrected(home, item, "Parked on level 5", "answer-2")
    assert home.items.get(ann, item.id).content == "Parked on level 4"
    with home.parts.database.read() as tx:  # nothing of what was refused is kept
        assert [one.trace for one in tx.feedback.of(ann, item.id)] == ["answer-1"]


def test_a_correction_that_cannot_be_embedded_now_is_not_found_by_what_was_wrong(home):
    home = home()
    item = learnt(home)

    def away(*_):
        raise ModelUnavailable

    home.embedder.embed = away
    corrected(home, item, "Lives in Bergen")
    with home.parts.database.read() as tx:
        assert tx.vectors.refs(ann, Corpus.MEMORIES) == set()
    assert home.items.get(ann, item.id).vector_status is VectorStatus.PENDING
    home.embedder.embed = WordEmbedder().embed
    home.work()
    assert home.items.get(ann, item.id).vector_status is VectorStatus.SYNCED


@pytest.mark.spec("6", "9")
@pytest.mark.parametrize(
    ("given", "error", "field"),
    [
        ({"verdict": "nice"}, Rejected, "verdict"),
        ({"verdict": None}, Rejected, "verdict"),
        ({"verdict": "correction"}, Rejected, "text"),
        ({"verdict": "correction", "text": " "}, Rejected, "text"),
        ({"verdict": "correction", "text": "长" * 501}, ContentTooLong, "text"),
        ({"verdict": "useful", "text": "Lives in Bergen"}, Rejected, "text"),
        ({"trace": ""}, Rejected, "trace"),
        ({"trace": "x" * 65}, Rejected, "trace"),
        ({"item": "unknown"}, NotFound, "id"),
        ({"scope": bo}, NotFound, "id"),
        ({"scope": Scope(user="ann", namespace="other")}, NotFound, "id"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name_and_leaves_nothing(home, given, error, field):
    home = home()
    item = learnt(home)
    said(home, item, "t")
    call = {"scope": ann, "trace": "t", "item": item.id, "verdict": "useful", **given}
    with pytest.raises(error) as refused:
        home.memory.feedback(**call)
    assert refused.value.field == field
    assert home.contents() == [item.content]
    assert home.contents(bo) == []
    with home.parts.database.read() as tx:
        assert tx.feedback.of(call["scope"], item.id) == []


def test_a_deleted_memory_takes_no_verdict(home):
    home = home()
    item = learnt(home)
    home.items.delete(ann, item.id)
    with pytest.raises(NotFound):
        corrected(home, item, "Lives in Bergen")


@pytest.mark.spec("12.asyncio")
def test_the_asyncio_door_has_the_same_verb(home):
    home = home()
    item = learnt(home)
    said(home, item, "t")

    async def correct():
        memory = AsyncMemory(home.memory)
        return await memory.feedback(ann, "t", item.id, "correction", text="住在卑尔根")

    assert asyncio.run(correct()).content == "住在卑尔根"


@pytest.mark.spec("6", "10")
def test_only_what_an_answer_said_to_its_user_is_judged(home):
    """Verdicts on made-up traces would make the rates say anything."""
    home = home()
    item, other = learnt(home), home.items.add(ann, "不吃香菜")
    answer = home.memory.recall(ann, "Where do I live?")
    then = home.memory.recall(ann, "Where do I live?", as_of=home.now)
    assert item.id in {kept.item.id for kept in answer.kept}
    home.parts.uses.note(bo, "of-bo", [item.id])
    home.parts.uses.note(ann, "without", [other.id])

    for trace in ("made-up", "of-bo", "without"):
        for verdict, text in (("wrong_mention", None), ("correction", "Lives in Bergen")):
            with pytest.raises(NotFound) as refused:
                home.memory.feedback(ann, trace, item.id, verdict, text=text)
            assert refused.value.field == "trace"
    assert home.parts.meter.read("memory_feedback") == 0
    assert item.content in home.contents()
    for one in (answer, then):
        assert home.memory.feedback(ann, one.trace, item.id, "useful").id == item.id
    assert home.memory.metrics.summary()["memory_retrieval_hit_rate"] == 1.0
    home.memory.feedback(ann, answer.trace, item.id, "wrong_mention")
    assert home.memory.metrics.summary()["memory_retrieval_hit_rate"] == pytest.approx(2 / 3)


@pytest.mark.spec("6")
def test_the_newest_answers_of_each_user_can_be_judged_also_after_a_restart(home):
    home = home(PERDURE_POLICY__ITEM__JUDGED_ANSWERS="2")
    item = learnt(home)
    answers = [home.memory.recall(ann, "Where do I live?") for _ in range(3)]
    home.parts.uses.write()
    again = Verdicts(
        **{f.name: getattr(home.parts.verdicts, f.name) for f in fields(Verdicts)}
        | {"uses": Uses(home.parts.database, home.parts.policy_of, home.clock)}
    )
    with pytest.raises(NotFound):
        again.give(ann, answers[0].trace, item.id, "useful")
    for one in answers[1:]:
        assert again.give(ann, one.trace, item.id, "useful").id == item.id


@pytest.mark.spec("4.11", "9")
def test_what_was_noted_before_an_erasure_is_not_written_after_it(home):
    home = home()
    item = learnt(home)
    home.memory.recall(ann, "Where do I live?")
    home.memory.erase(ann)
    home.parts.uses.write()
    assert home.memory.erasure(ann).clean
    assert home.held(item.id) == [0]


@pytest.mark.spec("4.11")
def test_uses_are_written_a_little_later_where_no_worker_runs(home):
    """As in a service beside which another process works."""
    home = home()
    item = learnt(home)
    home.memory.recall(ann, "Where do I live?")
    until = time.monotonic() + 60
    while not home.items.get(ann, item.id).use_count and time.monotonic() < until:
        time.sleep(0.02)
    assert home.items.get(ann, item.id).use_count == 1
