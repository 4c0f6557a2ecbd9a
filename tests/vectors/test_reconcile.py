"""Rows, terms and vectors agree again, whatever happened to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from perdure import text
from perdure.errors import ModelUnavailable
from perdure.observe import Meter
from perdure.policy import ASSISTANT, TEAM
from perdure.ports import Corpus, VectorEntry
from perdure.testing.fakes import WordEmbedder
from perdure.testing.samples import ANN, BO, NOW, later, memory, unit
from perdure.types import JobState, JobType, Message, Role, Status, VectorStatus
from perdure.vectors.fill import Filler
from perdure.vectors.reconcile import Reconciler
from perdure.vectors.table import TableIndex

MEMORIES, EPISODES = Corpus.MEMORIES, Corpus.EPISODES


class Workshop:
    """A store, and the jobs that mend it, done when a test says so."""

    def __init__(self, database, embedder=None, policy=ASSISTANT):
        self.database = database
        self.policy = policy
        self.meter = Meter()
        self.asked: list[str] = []
        self.use(embedder or WordEmbedder())

    def use(self, embedder):
        """From now on this embedder, as after a restart."""
        ask, self.embedder = embedder.embed, embedder
        embedder.embed = lambda texts, action: (self.asked.extend(texts), ask(texts, action))[1]  # type: ignore[func-returns-value]
        self.index = TableIndex(embedder.model)
        about: dict[str, Any] = {
            "database": self.database,
            "embedder": embedder,
            "index": self.index,
        }
        clock = lambda: NOW  # noqa: E731 - shorter than a method
        self.handlers: dict[JobType, Any] = {
            JobType.EMBED: Filler(**about, clock=clock, policy=self.policy.capture),
            JobType.RECONCILE: Reconciler(
                **about, clock=clock, policy_of=lambda _: self.policy, meter=self.meter
            ),
        }
        self.reconciler = self.handlers[JobType.RECONCILE]

    def promise(self, period=1):
        with self.database.begin() as tx:
            return [tx.jobs.promise(p, NOW)[0] for p in self.reconciler.due(NOW, period)]

    def work(self):
        """Do what there is to do; returns what reconciling found."""
        found: list[Any] = []
        while True:
            with self.database.begin() as tx:
                job = tx.jobs.claim(NOW, 30, list(self.handlers))
            if job is None:
                return found
            effect = self.handlers[job.type](job)
            with self.database.begin() as tx:
                result = effect(tx)
                tx.jobs.finish(job, result, NOW)
            if job.type is JobType.RECONCILE:
                found.append(result)

    def mend(self, period=1):
        self.promise(period)
        return self.work()

    def store(self, *items):
        with self.database.begin() as tx:
            for item in items:
                tx.items.add(item)

    def say(self, *said, scope=ANN, trace="t"):
        with self.database.begin() as tx:
            return tx.messages.add(scope, "c", said, NOW, trace)

    def refs(self, corpus, scope=ANN):
        with self.database.read() as tx:
            return tx.fulltext.refs(scope, corpus), set(self.index.refs(tx, scope, corpus))

    def by_meaning(self, words):
        with self.database.read() as tx:
            query = WordEmbedder().embed([words], "search")[0]
            return [h.ref for h in self.index.search(tx, ANN, MEMORIES, query, 1)]


@pytest.fixture
def shop(database):
    return Workshop(database)


@pytest.mark.spec("5")
def test_what_is_missing_is_made_and_what_has_no_row_goes(shop):
    """STO-01, the repair: ghosts go, and what nobody could find is found again. C 7.2.4."""
    tea = memory(ANN, "Likes tea")
    failed = memory(ANN, "Plays the oboe", vector_status=VectorStatus.FAILED)
    lost = memory(ANN, "喜欢喝咖啡", vector_status=VectorStatus.SYNCED)
    gone = memory(ANN, "Smokes", status=Status.DELETED)
    shop.store(tea, failed, lost, gone, memory(BO, "Likes tea"))
    (hello, _, _) = shop.say(
        Message(Role.USER, "hello"), Message(Role.TOOL, "42"), Message(Role.USER, "")
    )
    with shop.database.begin() as tx:
        for ref, corpus in (("ghost", MEMORIES), (gone.id, MEMORIES), ("999", EPISODES)):
            tx.fulltext.index(ANN, corpus, {ref: ["ghost"]})
            tx.vectors.write(ANN, corpus, "old", [VectorEntry(ref=ref, vectors=unit(1, 0))])

    promised = shop.promise()
    assert sorted(job.user for job in promised) == ["ann", "bo"]
    assert shop.work() == [
        {"orphans": 3, "terms": 3, "vectors": 3, "messages": 1},
        {"orphans": 0, "terms": 1, "vectors": 1, "messages": 0},
    ]

    living = {item.id for item in (tea, failed, lost)}
    assert shop.refs(MEMORIES) == (living, living)
    assert shop.refs(EPISODES) == ({str(hello.seq)}, {str(hello.seq)})
    with shop.database.read() as tx:
        assert tx.vectors.refs(ANN, MEMORIES) == living
        assert {i.vector_status for i in tx.items.get(ANN, living)} == {VectorStatus.SYNCED}
        found = tx.fulltext.postings(ANN, MEMORIES, text.terms("咖啡")).found
    assert [p.ref for p in found] == [lost.id]
    assert shop.by_meaning("oboe") == [failed.id]
    assert shop.promise(2) == []
    assert shop.meter.read("memory_reconciled", what="orphans") == 3


def test_what_may_come_back_keeps_what_finds_it(shop):
    """A dismissed or archived memory is restored as it was, and others are compared with it."""
    items = [
        memory(ANN, content, status=status)
        for content, status in (("Likes tea", Status.DISMISSED), ("Likes golf", Status.ARCHIVED))
    ]
    shop.store(*items)
    shop.mend()
    ids = {item.id for item in items}
    assert shop.refs(MEMORIES) == (ids, ids)


@pytest.mark.spec("5")
def test_a_vector_of_what_a_memory_said_before_is_made_anew(shop):
    item = memory(ANN, "Likes tea")
    shop.store(item)
    shop.mend()
    with shop.database.begin() as tx:
        new = replace(item, content="Plays the oboe", updated_at=later(1))
        tx.items.put(replace(new, vector_status=VectorStatus.PENDING))
    shop.mend(2)
    assert shop.by_meaning("oboe") == [item.id]
    assert shop.asked == ["Likes tea", "Plays the oboe"]


def test_a_new_embedder_makes_its_own_vectors_in_the_background(shop):
    """STO-03: another dimension, then the first one again; no text is lost, no vectors mixed."""
    telescope = memory(ANN, "Owns a telescope")
    shop.store(telescope)
    (said,) = shop.say(Message(Role.USER, "stars"))
    shop.mend()
    shop.use(WordEmbedder(64, model="other"))
    assert shop.refs(MEMORIES)[1] == set()

    shop.mend()

    assert shop.refs(MEMORIES)[1] == {telescope.id}
    assert shop.refs(EPISODES)[1] == {str(said.seq)}
    shop.use(WordEmbedder())
    assert shop.promise() == []
    assert shop.by_meaning("telescope") == [telescope.id]


def test_long_work_is_done_in_portions(shop):
    shop.policy = ASSISTANT.but(jobs=ASSISTANT.jobs.but(repair_batch=2))
    shop.store(*(memory(ANN, f"fact {n}") for n in range(5)))
    shop.say(*(Message(Role.USER, f"said {n}") for n in range(3)))
    shop.mend()
    with shop.database.read() as tx:
        done = [job for job in tx.jobs.page([JobState.SUCCESS]) if job.type is JobType.EMBED]
    sizes = [(len(j.payload.get("items", ())), len(j.payload.get("messages", ()))) for j in done]
    assert sorted(sizes) == [(0, 1), (0, 2), (1, 0), (2, 0), (2, 0)]
    assert [len(refs) for refs in (*shop.refs(MEMORIES), *shop.refs(EPISODES))] == [5, 5, 3, 3]


def test_an_embedder_that_is_away_leaves_work_for_the_next_time(shop):
    item = memory(ANN, "Likes tea")
    shop.store(item)
    shop.promise()
    ask = shop.embedder.embed

    def away(_texts, _action):
        raise ModelUnavailable

    shop.embedder.embed = away
    with pytest.raises(ModelUnavailable):
        shop.work()
    with shop.database.begin() as tx:  # the job of the vector dies of it
        (running,) = tx.jobs.page([JobState.PROCESSING])
        assert shop.reconciler.due(NOW, 2) == []
        held = tx.jobs.claim(later(99), 30, [JobType.EMBED])
        assert held is not None
        assert held.id == running.id
        tx.jobs.bury(held, "model_unavailable", later(99))
    shop.embedder.embed = ask
    shop.mend(2)
    assert shop.refs(MEMORIES) == ({item.id}, {item.id})


def test_where_conversations_are_not_searched_they_get_nothing(database):
    shop = Workshop(database, policy=TEAM)
    shop.store(memory(ANN, "Likes tea"))
    shop.say(Message(Role.USER, "hello"))
    assert [found["messages"] for found in shop.mend()] == [0]
    assert shop.refs(EPISODES) == (set(), set())
    assert shop.promise(2) == []


def test_without_an_embedder_words_are_enough(shop):
    item = memory(ANN, "Likes tea")
    shop.store(item)
    alone = Reconciler(
        database=shop.database, embedder=None, index=None, policy_of=lambda _: ASSISTANT,
        clock=lambda: NOW, meter=Meter(),
    )  # fmt: skip
    shop.handlers = {JobType.RECONCILE: alone}
    shop.reconciler = alone
    assert [found["terms"] for found in shop.mend()] == [1]
    assert shop.refs(MEMORIES) == ({item.id}, set())
    assert shop.promise(2) == []


@pytest.mark.spec("5")
def test_everything_can_be_made_anew_for_everybody(shop):
    """C 7.2.4: SQL is the truth, and vectors can be rebuilt."""
    mine, theirs = memory(ANN, "Likes tea"), memory(BO, "Likes tea")
    shop.store(mine, theirs)
    shop.say(Message(Role.USER, "hello"))
    shop.mend()
    with shop.database.begin() as tx:  # as an older version might have written them
        tx.fulltext.index(ANN, MEMORIES, {mine.id: ["wrong"]})
        tx.vectors.write(
            ANN, MEMORIES, "words", [VectorEntry(ref=mine.id, vectors=unit(*[1] * 256))]
        )
    shop.asked.clear()

    assert shop.reconciler.rebuild(NOW) == 2
    shop.work()

    assert sorted(shop.asked) == ["Likes tea", "Likes tea", "hello"]
    with shop.database.read() as tx:
        assert tx.fulltext.postings(ANN, MEMORIES, ["wrong"]).found == ()
        assert tx.fulltext.postings(ANN, MEMORIES, ["tea"]).found
    assert shop.promise(3) == []
