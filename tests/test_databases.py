"""The known faults of stores, through the front door on each database."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from perdure import Memory, Message, Scope
from perdure.errors import Rejected
from perdure.learn.spending import Spending
from perdure.ports import Corpus, Question, VectorEntry
from perdure.settings import load
from perdure.store import schema
from perdure.store.database import SqlDatabase
from perdure.store.dialects import Addition
from perdure.store.erasures import SqlErasures
from perdure.testing.fakes import ScriptedChat, WordEmbedder
from perdure.testing.samples import AWKWARD, NOW, unit
from perdure.types import ReceiptState
from perdure.vectors.table import TableIndex
from perdure.wiring import wire

START = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
MEMORIES = Corpus.MEMORIES


class Homes:
    """Opens one database again and again, with this or that embedder; jobs run when told to."""

    def __init__(self, url, monkeypatch):
        self.url = url
        self.monkeypatch = monkeypatch
        self.now = START
        self.memory: Any = None

    def clock(self):
        self.now += timedelta(microseconds=1)
        return self.now

    def open(self, embedder):
        self.close()
        self.monkeypatch.setattr(
            "perdure.wiring.running.embedder_of", lambda _settings, _meter: embedder
        )
        self.memory = Memory(wire(load({}).but(database_url=self.url), self.clock))
        return self.memory

    def work(self):
        """Everything that is promised, and what upkeep asks for."""
        self.memory.parts.upkeep.run_once()
        while self.memory.parts.worker.run_once():
            pass

    def found(self, scope, words):
        return [one.content for one in self.memory.search(scope, words)]

    def close(self):
        if self.memory is not None:
            self.memory.close()


@pytest.fixture
def homes(database_url, monkeypatch):
    homes = Homes(database_url, monkeypatch)
    yield homes
    homes.close()


@pytest.mark.spec("5", "9")
@pytest.mark.case("STO-01")
def test_an_edit_and_a_delete_reach_rows_vectors_and_terms(homes):
    """By hand and by learning; that the vectors live elsewhere and refuse is void for a table."""
    two = Scope(user="u-two")
    memory = homes.open(WordEmbedder())
    age = memory.items.add(two, "Turned 36 in spring")
    diary = memory.items.add(two, "Keeps a diary under the bed")
    homes.work()
    memory.items.edit(two, age.id, content="Turned 37 in spring")
    memory.items.delete(two, diary.id)

    assert homes.found(two, "turned spring") == ["Turned 37 in spring"]
    assert homes.found(two, "diary") == homes.found(two, "36") == []
    homes.work()
    assert homes.found(two, "37") == ["Turned 37 in spring"]
    with memory.parts.database.read() as tx:
        assert tx.vectors.refs(two, MEMORIES) == tx.fulltext.refs(two, MEMORIES) == {age.id}
        assert tx.owners.unfindable("default", model="words", episodes=True) == []

    with memory.parts.database.begin(two) as tx:  # what a fault could leave behind
        tx.vectors.remove(two, MEMORIES, [age.id])
        tx.fulltext.index(two, MEMORIES, {"ghost": ["diary"]})
        assert tx.owners.unfindable("default", model="words", episodes=True) == [two]
    homes.now += timedelta(days=1)
    homes.open(WordEmbedder())
    homes.work()
    with homes.memory.parts.database.read() as tx:
        assert tx.vectors.refs(two, MEMORIES) == tx.fulltext.refs(two, MEMORIES) == {age.id}
    assert memory.parts.meter.read("memory_reconciled", what="orphans") == 0
    assert homes.memory.parts.meter.read("memory_reconciled", what="orphans") == 1


@pytest.mark.spec("5")
@pytest.mark.case("STO-03")
def test_another_embedder_finds_by_words_at_once_and_by_meaning_soon(homes):
    """Of another length, and then of the same length under another name."""
    dim = Scope(user="u-dim")
    memory = homes.open(WordEmbedder(384, model="m1"))
    memory.items.add(dim, "Owns a telescope")
    memory.items.add(dim, "Plays the viola")
    homes.work()
    for size, name, newer in ((768, "m2", "Sails a dinghy"), (384, "m3", "Bakes rye bread")):
        homes.now += timedelta(days=1)
        memory = homes.open(WordEmbedder(size, model=name))
        assert homes.found(dim, "telescope") == ["Owns a telescope"]
        memory.items.add(dim, newer)
        homes.work()
        assert homes.found(dim, "telescope") == ["Owns a telescope"]
        assert homes.found(dim, newer)[0] == newer
        with memory.parts.database.read() as tx:
            assert tx.vectors.read(dim, MEMORIES, name).matrix.shape[1] == size
            assert len(tx.vectors.read(dim, MEMORIES, name).refs) == memory.items.list(dim).total
            assert tx.owners.unfindable("default", model=name, episodes=True) == []


@pytest.mark.spec("1", "9")
@pytest.mark.case("ISO-01")
def test_clearing_a_part_takes_only_that_part(homes):
    ada, ben = Scope(user="ada"), Scope(user="ben")
    parts = (ada.within(project="p2"), ada.within(assistant="a1"))
    memory = homes.open(WordEmbedder())
    memory.items.add(ada, "fact number 0")
    memory.items.add(ben, "fact number 1")
    memory.items.add(parts[0], "fact number 2", level="project")
    memory.items.add(parts[1], "fact number 3")
    for scope in (ada, ben):
        memory.capture(scope, "c", [Message("user", "I like tea with milk.")])
    homes.work()
    rest = {who: sorted(homes.found(who, "fact tea milk")) for who in (ada, ben)}
    assert len(rest[ada]) == len(rest[ben]) == 2

    assert [memory.items.clear(part) for part in parts] == [1, 1]
    assert [memory.items.clear(part) for part in parts] == [0, 0]

    assert {who: sorted(homes.found(who, "fact tea milk")) for who in rest} == rest
    for who, contents in rest.items():
        items = list(memory.items.list(who))
        assert sorted(item.content for item in items) == contents
        with memory.parts.database.read() as tx:
            living = {item.id for item in items}
            assert tx.vectors.refs(who, MEMORIES) == tx.fulltext.refs(who, MEMORIES) == living
            assert len(tx.messages.outline(who)) == 1


@pytest.mark.spec("4.3")
@pytest.mark.case("API-03")
def test_a_score_is_a_similarity_on_every_database(database_url):
    """Vectors at cosine 1.0, 0.46, 0.02 and -0.5; the same numbers wherever they lie."""
    query = unit(1, 0)
    cosines = {"coins": 1.0, "wifi": 0.46, "heights": 0.02, "opposite": -0.5}
    database = SqlDatabase.open(database_url, clock=lambda: NOW)
    index = TableIndex("m")
    scope = Scope(user="u-thr")
    with database.begin(scope) as tx:
        entries = [
            VectorEntry(ref=ref, vectors=unit(c, float(np.sqrt(1 - c * c))))
            for ref, c in cosines.items()
        ]
        index.upsert(tx, scope, MEMORIES, entries)
    with database.read() as tx:
        hits = index.search(tx, scope, MEMORIES, query[0], 10)
    database.close()
    assert [hit.ref for hit in hits] == list(cosines)
    assert [hit.similarity for hit in hits] == pytest.approx([1.0, 0.46, 0.02, 0.0], abs=1e-3)


@pytest.mark.spec("4.3")
@pytest.mark.case("API-03")
def test_a_floor_hides_what_is_below_and_one_that_cannot_be_meant_is_refused(homes):
    thr = Scope(user="u-thr")
    memory = homes.open(WordEmbedder())
    for content in ("Collects Roman coins", "Keeps coins in a jar", "Is afraid of heights"):
        memory.items.add(thr, content)
    homes.work()
    query = "Collects Roman coins"
    scores = [one.score for one in memory.search(thr, query)]
    assert len(set(scores)) == len(scores) >= 2
    assert all(0 <= score <= 1 for score in scores)
    for floor, kept in ((0, len(scores)), (0.7, 1), (scores[1], 2)):
        assert len(memory.search(thr, query, floor=floor)) == kept
    for wrong in (1.5, -0.2):
        with pytest.raises(Rejected):
            memory.search(thr, query, floor=wrong)


@pytest.mark.spec("1", "9")
@pytest.mark.case("ISO-05", "ISO-07")
def test_every_id_works_in_every_operation_and_sees_only_its_own(homes):
    memory = homes.open(WordEmbedder())
    scopes = {user: Scope(user=user) for user in AWKWARD}
    for number, scope in enumerate(scopes.values()):
        memory.items.add(scope, f"Likes tea of sort {number}")
        memory.capture(scope, "c", [Message("user", f"My name is Ann{number}.")])
    homes.work()
    for number, scope in enumerate(scopes.values()):
        own = f"Likes tea of sort {number}"
        assert homes.found(scope, "tea")[0] == own
        assert own in [item.content for item in memory.items.list(scope)]
        exported = [line for line in memory.export(scope) if line["type"] == "message"]
        assert [line["content"] for line in exported] == [f"My name is Ann{number}."]
    for scope in list(scopes.values())[::2]:
        memory.items.clear(scope)
    for number, scope in enumerate(scopes.values()):
        left = [item.content for item in memory.items.list(scope)]
        assert (left == []) is (number % 2 == 0)
        assert bool(homes.found(scope, "tea")) is (number % 2 == 1)
    for user in ("team%", "_ed", "__", "%%", "tea", "A ", "a\u200b\u200b"):
        assert list(memory.items.list(Scope(user=user))) == []
    with pytest.raises(Rejected):
        Scope(user="x" * 5_000)


@pytest.mark.spec("2")
def test_a_long_text_of_any_script_comes_back_whole(homes):
    """Longer than MySQL's TEXT, which ends at 65,535 bytes; and with what PostgreSQL refuses."""
    memory = homes.open(WordEmbedder())
    ann = Scope(user="ann")
    long = "卑尔根👨‍👩‍👧 is far. " * 9_000
    memory.capture(ann, "c", [Message("user", f"{long}\x00 end", id="m")], mode="on")
    (line,) = [line for line in memory.export(ann) if line["type"] == "message"]
    assert line["content"] == f"{long} end"


@pytest.mark.spec("9")
def test_an_erased_user_is_gone_and_the_receipt_says_so(homes):
    """Also where whoever holds a user leaves a row for it: the one who ends the erasure does."""
    memory = homes.open(WordEmbedder())
    memory.items.add(Scope(user="ann"), "Likes tea")
    memory.capture(Scope(user="ann"), "chat", [Message("user", "我住在卑尔根，喜欢喝茶。")])
    homes.work()

    receipt = memory.erase(Scope(user="ann"))

    assert not any(receipt.found.values())
    assert receipt.clean
    assert memory.erasure(Scope(user="ann")).clean


@pytest.mark.spec("6")
def test_a_key_that_is_given_back_while_another_request_asks_for_it_is_taken(homes, monkeypatch):
    """The one that asks finds the key taken, and nobody who has it."""
    memory = homes.open(WordEmbedder())
    database, ann = memory.parts.database, Scope(user="ann")
    added = []

    def late(addition, connection, row):
        added.append(row)
        return None if len(added) == 1 else write(addition, connection, row)

    write = Addition.write
    monkeypatch.setattr(Addition, "write", late)
    with database.begin() as tx:
        assert tx.requests.claim(ann, "once", "print", START, 60) is None
    monkeypatch.undo()
    with database.begin() as tx:
        assert tx.requests.claim(ann, "once", "print", START, 60) is not None


@pytest.mark.spec("6")
def test_only_the_request_that_has_a_key_answers_it_or_gives_it_back(homes):
    """One that stood still too long has lost its key; what it would write is taken back."""
    database, ann = homes.open(WordEmbedder()).parts.database, Scope(user="ann")
    late = START + timedelta(seconds=61, microseconds=1)
    with database.begin() as tx:
        assert tx.requests.claim(ann, "once", "print", START, 60) is None
        assert tx.requests.claim(ann, "once", "print", late, 60) is None  # the first is given up
    with database.begin() as tx:
        assert not tx.requests.answered(ann, "once", START, "old")
        tx.requests.release(ann, "once", START)
        assert tx.requests.answered(ann, "once", late, "new")
        assert not tx.requests.answered(ann, "once", late, "again")
        tx.requests.release(ann, "once", late)
    with database.begin() as tx:
        kept = tx.requests.claim(ann, "once", "print", late, 60)
    assert kept is not None
    assert kept.ref == "new"


@pytest.mark.spec("3.3")
def test_a_turn_from_the_first_day_of_the_calendar_is_learnt_from(homes):
    """A host whose clock is that wrong has no job that fails again and again."""
    memory = homes.open(WordEmbedder())
    first = datetime.min.replace(tzinfo=UTC)
    taken = memory.capture(Scope(user="ann"), "chat", [Message("user", "I like tea.", at=first)])
    homes.work()

    assert memory.receipt(Scope(user="ann"), taken.trace).state is ReceiptState.LEARNT


# ── an erased user leaves no row ─────────────────────────────────────────────────────────────────


def users(database):
    with database.read() as tx:
        return tx.connection.execute(select(schema.users.c.user_id)).scalars().all()


@pytest.mark.spec("9")
def test_whoever_only_holds_a_user_leaves_no_row_of_them(homes):
    memory, ann = homes.open(WordEmbedder()), Scope(user="ann")
    database = memory.parts.database
    with database.begin(ann):
        pass
    assert users(database) == []
    memory.preferences.set(ann, auto_learn=False)
    with database.begin(ann):
        pass
    assert users(database) == ["ann"]

    assert memory.erase(ann).removed["users"] == 1
    assert users(database) == []
    memory.parts.uses.note(ann, "t", ["gone"])
    memory.parts.uses.write()
    assert memory.erase(ann).removed["users"] == 0
    assert users(database) == []


@pytest.mark.spec("9")
def test_those_who_hold_a_user_without_a_row_follow_one_another(homes):
    database = homes.open(WordEmbedder()).parts.database
    ann, inside, most = Scope(user="ann"), [], []

    def hold():
        with database.begin(ann):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.01)
            inside.pop()

    threads = [threading.Thread(target=hold) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most == [1] * 8
    assert users(database) == []


@pytest.mark.spec("9", "10")
def test_what_a_model_cost_is_not_written_beside_an_erasure(homes, monkeypatch):
    """Whether the user was erased meanwhile is asked while nobody can erase them."""
    memory, ann = homes.open(WordEmbedder()), Scope(user="ann")
    parts, since, erased = memory.parts, SqlErasures.since, threading.Event()

    def erase():
        memory.erase(ann)
        erased.set()

    eraser = threading.Thread(target=erase)

    def late(store, scope, at):
        found = since(store, scope, at)
        monkeypatch.undo()
        eraser.start()
        assert not erased.wait(0.2)
        return found

    monkeypatch.setattr(SqlErasures, "since", late)
    spending = Spending(
        chat=ScriptedChat("{}"), model=None, database=parts.database, scope=ann,
        policy=parts.policy_of("default").cost, clock=parts.clock, meter=parts.meter,
    )  # fmt: skip
    asked = ({"role": "user", "content": "x"},)
    spending.ask(Question(purpose="extract", version="1", messages=asked))
    eraser.join(30)
    assert memory.erasure(ann).clean
    assert memory.costs.of(ann) == []
    assert [one.calls for one in memory.costs.together("default")] == [1]
