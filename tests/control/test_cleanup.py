"""What is overdue goes: expired memories are set aside, deleted text is scrubbed for good."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from perdure import Message, Scope
from perdure.errors import Duplicate, NotFound
from perdure.ports import Corpus
from perdure.testing.samples import memory as row
from perdure.types import Actor, AuditEntry, JobState, JobType, Operation, Status

ann, bo = Scope(user="ann"), Scope(user="bo")
DAY = 86_400
MONTH = 30 * DAY


def message(content, **about):
    return Message("user", content, **about)


def ran(home):
    return home.jobs(JobType.CLEANUP)


def last(home, item, who=ann):
    entry = home.items.history(who, item.id)[-1]
    return entry.operation, entry.actor, entry.reason


# ── expired ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("2", "9")
@pytest.mark.case("TIME-05")
def test_what_expired_is_archived_with_an_entry_and_nothing_else_is_touched(home):
    home = home()
    parked = home.items.add(ann, "Is parked on level -3", expires_at=home.now + timedelta(hours=16))
    car = home.items.add(ann, "Drives a red car")
    home.tidy()
    assert home.items.get(ann, parked.id).status is Status.ACTIVE
    assert ran(home) == []

    home.turn(17 * 3_600)
    home.tidy()

    assert home.contents() == ["Drives a red car"]
    assert home.contents(ann, Status.ARCHIVED) == ["Is parked on level -3"]
    assert list(home.memory.search(ann, "parked level")) == []
    assert last(home, parked) == (Operation.ARCHIVE, Actor.SYSTEM, "expired")
    assert home.items.get(ann, car.id).updated_at == car.updated_at
    assert [job.result["archived"] for job in ran(home)] == [1]
    assert home.parts.meter.read("memory_cleaned", what="archived") == 1


@pytest.mark.case("TIME-05")
@pytest.mark.parametrize("cleaned", [True, False])
def test_a_memory_whose_expiry_is_cleared_lives_again_cleaned_or_not(home, cleaned):
    home = home()
    parked = home.items.add(ann, "Is parked on level -3", expires_at=home.now + timedelta(hours=1))
    home.turn(2 * 3_600)
    if cleaned:
        home.tidy()

    home.items.edit(ann, parked.id, expires_at=None)

    assert home.items.get(ann, parked.id).status is Status.ACTIVE
    assert [hit.content for hit in home.memory.search(ann, "parked")] == ["Is parked on level -3"]
    home.turn(DAY)
    home.tidy()
    assert home.contents() == ["Is parked on level -3"]


@pytest.mark.case("TIME-05")
@pytest.mark.parametrize("cleaned", [True, False])
def test_an_expired_statement_can_be_written_again_by_hand(home, cleaned):
    home = home()
    soon = home.now + timedelta(hours=1)
    first = home.items.add(ann, "Is parked on level -3", expires_at=soon)
    home.turn(2 * 3_600)
    if cleaned:
        home.tidy()

    again = home.items.add(ann, "Is parked on level -3")

    assert (again.id, again.expires_at) == (first.id, None)
    home.tidy()
    assert home.contents() == ["Is parked on level -3"]


def test_what_is_restored_after_its_time_is_not_set_aside_again(home):
    home = home()
    parked = home.items.add(ann, "Is parked on level -3", expires_at=home.now + timedelta(hours=1))
    home.turn(2 * 3_600)
    home.tidy()
    home.items.restore(ann, parked.id)
    home.turn(DAY)
    home.tidy()
    assert home.items.get(ann, parked.id).status is Status.ACTIVE


@pytest.mark.spec("2")
@pytest.mark.parametrize("preset", ["team", "desktop"])
def test_where_nothing_expires_nothing_is_archived(home, preset):
    """A 11.5: no TTL; a row that carries a time, from an import say, keeps its place."""
    home = home(preset)
    item = row(ann, "Is parked here", expires_at=home.now + timedelta(hours=1))
    with home.parts.database.begin() as tx:
        tx.items.add(item)
    home.turn(DAY)
    home.tidy()
    assert home.items.get(ann, item.id).status is Status.ACTIVE
    assert ran(home) == []


@pytest.mark.spec("3.5")
@pytest.mark.case("STO-05")
def test_neither_side_writes_back_what_it_read_before(home):
    """STO-05: a change meanwhile stands, whoever is slower: the cleaning, or who read before it."""
    home = home()
    soon = home.now + timedelta(hours=1)
    parked = home.items.add(ann, "Is parked on level -3", expires_at=soon)
    lent = home.items.add(ann, "Has lent out the ladder", expires_at=soon)
    home.turn(2 * 3_600)
    home.parts.upkeep.run_once()
    with home.parts.database.begin() as tx:
        job = tx.jobs.claim(home.now, 30, [JobType.CLEANUP])
    effect = home.parts.cleaner(job)
    home.items.edit(ann, parked.id, expires_at=home.now + timedelta(days=9))

    with home.parts.database.begin() as tx:
        tx.jobs.finish(job, effect(tx), home.now)

    assert home.items.get(ann, parked.id).status is Status.ACTIVE
    assert home.items.get(ann, lent.id).status is Status.ARCHIVED
    with home.parts.database.begin() as tx:
        stale = replace(lent, content="Has lent out two ladders")
        assert not tx.items.put(stale, shown=lent.updated_at)


# ── deleted ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("3.4", "9")
def test_a_deleted_text_is_scrubbed_from_everything_once_its_time_has_passed(home):
    home = home()
    home.says("I live in Trondheim.")
    (item,) = home.items.list(ann)
    home.items.edit(ann, item.id, content="Lives in Stavanger now")
    kept = home.items.add(ann, "Owns a kayak")
    theirs = home.items.add(bo, "Lives in Stavanger now")
    home.items.delete(ann, item.id)
    with home.parts.database.begin() as tx:
        tx.messages.remove(ann, conversation="chat-1")  # its retention is another matter

    home.turn(MONTH - 60)
    home.tidy()
    assert home.held("Trondheim")[0] > 0
    home.items.delete(bo, theirs.id)
    home.turn(3_600)
    home.tidy()
    assert home.items.history(ann, item.id)[0].after is None
    assert home.items.history(bo, theirs.id)[0].after == "Lives in Stavanger now"
    home.turn(MONTH)
    home.tidy()

    assert home.held("Trondheim", "trondheim", "Stavanger", "stavanger") == [0, 0, 0, 0]
    history = home.items.history(ann, item.id)
    assert [entry.operation for entry in history] == ["create", "update", "delete"]
    assert {text for entry in history for text in (entry.before, entry.after)} == {None}
    assert [e.after for e in home.items.history(ann, kept.id)] == ["Owns a kayak"]
    with home.parts.database.read() as tx:
        assert tx.items.get(ann, [item.id]) == []
        assert tx.vectors.refs(ann, Corpus.MEMORIES) == {kept.id}
        assert tx.items.buried_messages(ann, item.origin.messages)
    assert home.parts.meter.read("memory_cleaned", what="scrubbed") == 2


@pytest.mark.spec("3.4")
def test_what_was_scrubbed_does_not_come_back_from_what_was_said_before(home):
    home = home()
    said = {"at": home.now, "id": "m1"}
    home.says("I live in Trondheim.", **said)
    (item,) = home.items.list(ann)
    home.items.delete(ann, item.id)
    home.turn(MONTH + 60)
    home.tidy()

    home.memory.capture(ann, "chat-2", [message("I live in Trondheim.", **said)])
    home.work()
    assert home.contents() == []

    home.says("I live in Trondheim.")  # said after the deletion: it is true again
    assert len(home.contents()) == 1


@pytest.mark.spec("3.4", "9")
@pytest.mark.parametrize("cleaned", [True, False])
def test_a_delete_can_be_undone_until_its_text_is_scrubbed_and_not_after(home, cleaned):
    home = home()
    back, gone = home.items.add(ann, "Likes tea"), home.items.add(ann, "Likes coffee")
    for item in (back, gone):
        home.items.delete(ann, item.id)
    home.turn(MONTH - 60)
    home.tidy()
    home.items.restore(ann, back.id)
    home.turn(3_600)
    if cleaned:
        home.tidy()

    with pytest.raises(NotFound):
        home.items.restore(ann, gone.id)
    assert home.contents() == ["Likes tea"]
    assert [hit.content for hit in home.memory.search(ann, "tea")] == ["Likes tea"]
    before = [entry.before for entry in home.items.history(ann, back.id)]
    assert before == [None, "Likes tea", "Likes tea"]
    again = home.items.add(ann, "Likes coffee")
    assert again.id != gone.id
    home.tidy()
    assert home.contents() == ["Likes coffee", "Likes tea"]


@pytest.mark.spec("3.4")
def test_where_the_row_goes_at_once_its_history_goes_ten_minutes_later(home):
    """In `team`; also when the same statement was written again meanwhile, as another memory."""
    home = home("team")
    first = home.items.add(ann, "Likes Trondheim")
    home.items.edit(ann, first.id, content="Likes Stavanger")
    home.items.delete(ann, first.id)
    second = home.items.add(ann, "Likes Stavanger")
    home.turn(540)
    home.tidy()
    assert home.held("Trondheim")[0] > 0

    home.turn(3_600)
    home.tidy()

    assert home.held("Trondheim", "trondheim") == [0, 0]
    assert home.contents() == ["Likes Stavanger"]
    assert [entry.after for entry in home.items.history(ann, second.id)] == ["Likes Stavanger"]


def test_where_nothing_can_be_undone_a_delete_leaves_no_text(home):
    home = home("desktop")
    item = home.items.add(ann, "Likes Trondheim")
    home.items.delete(ann, item.id)
    assert home.held("Trondheim") == [0]
    assert [e.operation for e in home.items.history(ann, item.id)] == ["create", "delete"]
    home.turn(DAY)
    home.tidy()
    assert home.held("trondheim") == [0]  # nor do the lists of search terms


@pytest.mark.spec("9")
def test_what_is_gone_is_overwritten_in_the_file(home):
    home = home()
    home.items.add(ann, "Owns a kayak")
    item = home.items.add(ann, "Lives in Trondheim " + "by the river " * 20)
    home.items.delete(ann, item.id)
    home.turn(MONTH + 60)
    home.tidy()
    home.memory.close()
    assert b"Owns a kayak" in home.file.read_bytes()
    assert b"rondheim" not in home.file.read_bytes()


# ── messages and jobs ────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("3.2", "9")
def test_messages_go_with_their_vectors_and_terms_when_their_time_is_up(home):
    home = home(PERDURE_POLICY__CAPTURE__KEEP_MESSAGES_S=str(7 * DAY))
    home.says("The ferry to Svolvær leaves at nine.")
    home.says("The same, of years ago.", at=home.now - timedelta(days=900))  # brought in today
    home.turn(3 * DAY)
    home.says("The ferry came late.")
    home.turn(5 * DAY)
    home.tidy()

    with home.parts.database.read() as tx:
        places = {str(seq) for seq, *_ in tx.messages.outline(ann)}
        kept = tx.messages.by_seq(ann, map(int, places))
        assert [one.content for one in kept] == ["The ferry came late."]
        assert tx.vectors.refs(ann, Corpus.EPISODES) == places
        assert tx.fulltext.refs(ann, Corpus.EPISODES) == places
    assert [job.result["messages"] for job in ran(home)] == [2]


@pytest.mark.spec("9")
def test_a_job_keeps_no_words_once_it_is_over(home):
    """The event's ``source_text`` (C 6.2) is there for whoever has to do the work, not longer."""
    home = home()
    receipt = home.memory.capture(ann, "chat-1", [message("I live in Trondheim.")])
    assert [j.payload["source_text"] for j in home.jobs(JobType.EXTRACT)] == [
        "I live in Trondheim."
    ]
    home.work()
    (job,) = home.jobs(JobType.EXTRACT)
    assert job.state is JobState.SUCCESS
    assert "source_text" not in job.payload
    assert home.memory.receipt(ann, receipt.trace).learnt
    assert home.memory.capture(ann, "chat-1", [message("I live in Trondheim.")]).trace


@pytest.mark.spec("9")
def test_a_job_whose_worker_died_on_it_loses_its_words_at_the_next_cleaning(home):
    home = home(PERDURE_POLICY__JOBS__MAX_RETRY="0")
    home.memory.capture(ann, "chat-1", [message("I live in Trondheim.")])
    home.items.delete(ann, home.items.add(ann, "Likes tea").id)
    with home.parts.database.begin() as tx:
        assert tx.jobs.claim(home.now, 30, [JobType.EXTRACT]) is not None
    home.turn(MONTH + 60)
    home.tidy()
    (job,) = home.jobs(JobType.EXTRACT)
    assert job.state is JobState.DEAD
    assert "source_text" not in job.payload


# ── who is cleaned, and when ─────────────────────────────────────────────────────────────────────


@pytest.mark.spec("5")
def test_one_job_for_each_owner_and_period_however_many_ask(home):
    home = home()
    for who in (ann, bo, Scope(user="小林", namespace="other")):
        home.items.add(who, "Is parked here", expires_at=home.now + timedelta(hours=1))
    home.items.add(Scope(user="ann", namespace="other"), "Drives a red car")
    home.turn(2 * 3_600)
    promised = [p for _ in range(3) for p in home.parts.cleaner.due(home.now, 7)]
    with home.parts.database.begin() as tx:
        new = [tx.jobs.promise(one, home.now)[1] for one in promised]
    assert new == [True] * 3 + [False] * 6
    owners = {(job.namespace, job.user) for job in ran(home)}
    assert owners == {("default", "ann"), ("default", "bo"), ("other", "小林")}
    home.work()
    assert home.parts.cleaner.due(home.now, 8) == []


@pytest.mark.spec("8")
def test_each_namespace_is_cleaned_by_its_own_numbers(home):
    home = home()
    other = Scope(user="ann", namespace="other")
    home.parts.runtime.set("other", "item.scrub_after_s", 60)
    for who in (ann, other):
        home.items.delete(who, home.items.add(who, "Likes Trondheim").id)
    home.turn(3_600)
    home.tidy()
    assert [(job.namespace, job.result["scrubbed"]) for job in ran(home)] == [("other", 1)]


def test_a_time_that_is_never_over_is_no_error(home):
    home = home(PERDURE_POLICY__ITEM__SCRUB_AFTER_S="99999999999999")
    item = home.items.add(ann, "Likes tea")
    home.items.delete(ann, item.id)
    home.turn(MONTH)
    home.tidy()
    assert home.items.restore(ann, item.id).status is Status.ACTIVE


@pytest.mark.spec("3.7", "9")
def test_what_a_consolidation_took_out_is_let_go_once_it_cannot_be_undone(home):
    home = home()
    into, gone = home.items.add(ann, "Likes green tea"), row(ann, "Likes tea")
    merged = AuditEntry(
        id="e", item=into.id, namespace="default", user="ann", operation=Operation.MERGE,
        actor=Actor.SYSTEM, reason="tidied up", before=gone.content, after=into.content,
        at=home.clock(), trace="run", was=gone,
    )  # fmt: skip
    with home.parts.database.begin() as tx:
        tx.audit.add([merged])

    def kept():
        return [entry.was for entry in home.items.history(ann, into.id) if entry.id == "e"]

    home.turn(MONTH - DAY)
    home.tidy()
    assert kept() == [gone]

    home.turn(2 * DAY)
    home.tidy()
    assert kept() == [None]
    assert [job.result["merged"] for job in ran(home)] == [1]


# ── a delete is taken back ───────────────────────────────────────────────────────────────────────


@pytest.mark.spec("3.4", "3.6")
def test_in_team_a_delete_is_taken_back_within_its_time_and_then_never(home):
    home = home("team")
    old = home.items.add(ann, "Likes tea", kind="preference", metadata={"k": "v"}, importance=0.9)
    home.items.delete(ann, old.id)
    home.turn(9 * 60)
    home.tidy()

    back = home.items.restore(ann, old.id)
    assert (back.kind, back.metadata, back.importance) == (old.kind, old.metadata, old.importance)
    assert home.contents() == ["Likes tea"]
    assert [hit.content for hit in home.memory.search(ann, "tea", arms=["fulltext"])] == [
        "Likes tea"
    ]
    with home.parts.database.read() as tx:
        assert tx.items.buried(ann, [old.content_hash]) == {}
    home.turn(DAY)
    home.tidy()
    assert home.contents() == ["Likes tea"]
    assert home.items.history(ann, old.id)[0].after == "Likes tea"

    home.items.delete(ann, old.id)
    home.turn(11 * 60)
    with pytest.raises(NotFound):
        home.items.restore(ann, old.id)
    home.turn(3_600)
    home.tidy()
    with pytest.raises(NotFound, match="nothing of it is kept"):
        home.items.restore(ann, old.id)
    history = home.items.history(ann, old.id)
    assert [e for e in history if (e.before, e.after, e.was) != (None, None, None)] == []


def test_a_delete_is_taken_back_only_by_its_owner_and_where_nothing_took_its_place(home):
    home = home("team")
    web = Scope(user="ann", project="web")
    old = home.items.add(web, "Builds with pnpm", level="project")
    home.items.delete(web, old.id)
    for stranger in (bo, ann, Scope(user="ann", project="other")):
        with pytest.raises(NotFound):
            home.items.restore(stranger, old.id)

    again = home.items.add(web, "Builds with pnpm", level="project")
    with pytest.raises(Duplicate) as same:
        home.items.restore(web, old.id)
    assert same.value.item == again.id
