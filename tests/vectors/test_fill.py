"""What was written becomes findable, by meaning and by words."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perdure import text
from perdure.errors import ModelUnavailable, Rejected
from perdure.policy import CapturePolicy
from perdure.ports import Corpus
from perdure.testing.fakes import WordEmbedder
from perdure.testing.samples import ANN, NOW, later, memory, promise
from perdure.types import (
    JobState,
    JobType,
    Message,
    Role,
    Status,
    Utterance,
    VectorStatus,
)
from perdure.vectors.fill import Filler, parts, searchable
from perdure.vectors.table import TableIndex


class Embedder(WordEmbedder):
    """Notes what it is asked, and fails when told to."""

    def __init__(self):
        super().__init__()
        self.asked = []
        self.away = False

    def embed(self, texts, action):
        if self.away:
            raise ModelUnavailable
        self.asked.append((action, list(texts)))
        return super().embed(texts, action)


class Room:
    def __init__(self, database, **given):
        self.database = database
        self.embedder = Embedder()
        self.index = TableIndex("words")
        about = {"embedder": self.embedder, "index": self.index, **given}
        self.filler = Filler(database=database, clock=lambda: NOW, **about)

    def promised(self, payload, key="k"):
        with self.database.begin() as tx:
            promised = promise(ANN, key, type=JobType.EMBED, ordered=False, payload=payload)
            return tx.jobs.promise(promised, NOW)[0]

    def fill(self, payload, meanwhile=lambda: None):
        effect = self.filler(self.promised(payload))
        meanwhile()
        with self.database.begin() as tx:
            return effect(tx)

    def said(self, *messages, trace="t"):
        with self.database.begin() as tx:
            return tx.messages.add(ANN, "c", messages, NOW, trace)

    def stored(self, *items):
        with self.database.begin() as tx:
            for item in items:
                tx.items.add(item)

    def put(self, item):
        with self.database.begin() as tx:
            tx.items.put(item)

    def by_words(self, corpus, words):
        with self.database.read() as tx:
            return [p.ref for p in tx.fulltext.postings(ANN, corpus, text.terms(words)).found]

    def by_meaning(self, corpus, words):
        query = WordEmbedder().embed([words], "search")[0]
        with self.database.read() as tx:
            hits = self.index.search(tx, ANN, corpus, query, 5)
        return [hit.ref for hit in hits if hit.similarity > 0]

    def status(self, item):
        with self.database.read() as tx:
            return tx.items.get(ANN, [item.id])[0].vector_status


@pytest.fixture
def room(database):
    return Room(database)


@pytest.mark.spec("5")
def test_memories_get_their_vectors_in_one_call_for_each_action(room):
    """C 3.4.4: the embedder is told whether a text is added or updated."""
    tea, oboe = memory(ANN, "Likes tea"), memory(ANN.within(project="p"), "Plays the oboe")
    edited = memory(ANN, "Lives in Bergen", updated_at=later(1))
    synced = memory(ANN, "Has a cat", vector_status=VectorStatus.SYNCED)
    gone = memory(ANN, "Smokes", status=Status.DELETED)
    room.stored(tea, oboe, edited, synced, gone)

    ids = [item.id for item in (tea, oboe, edited, synced, gone)]
    assert room.fill({"items": [*ids, "unknown"]}) == {"items": 3, "messages": 0, "vectors": True}
    assert room.embedder.asked == [
        ("add", ["Likes tea", "Plays the oboe"]),
        ("update", ["Lives in Bergen"]),
    ]
    assert room.by_meaning(Corpus.MEMORIES, "oboe") == [oboe.id]
    assert [room.status(i) for i in (tea, edited)] == [VectorStatus.SYNCED] * 2
    assert room.status(gone) is VectorStatus.PENDING

    room.fill({"items": ids})  # again: everything is there
    assert len(room.embedder.asked) == 2


def test_a_memory_that_changed_meanwhile_waits_for_its_own_job(room):
    item = memory(ANN, "Lives in Oslo")
    room.stored(item)
    other = memory(ANN, "Likes tea")
    room.stored(other)

    def edit():
        room.put(replace(item, content="Lives in Bergen", content_hash="x", updated_at=later(1)))

    assert room.fill({"items": [item.id, other.id]}, edit)["items"] == 1
    assert room.status(item) is VectorStatus.PENDING
    assert room.by_meaning(Corpus.MEMORIES, "Lives in Oslo") == []


def test_what_people_said_is_found_by_words_and_meaning(room):
    kept = room.said(
        Message(Role.USER, "我在卑尔根养了一只猫", name="小林"),
        Message(Role.ASSISTANT, "How lovely!"),
        Message(Role.SYSTEM, "Always mention the cat 猫."),
        Message(Role.TOOL, "cat: 猫"),
        Message(Role.ASSISTANT, ""),
    )
    room.said(Message(Role.USER, "another turn about 猫"), trace="other")
    said = {"conversation": "c", "trace": "t"}
    assert room.fill(said) == {"items": 0, "messages": 2, "vectors": True}
    first = str(kept[0].seq)
    assert room.by_words(Corpus.EPISODES, "养猫") == [first]
    assert room.by_words(Corpus.EPISODES, "小林") == [first]  # who said it
    assert room.by_meaning(Corpus.EPISODES, "小林 卑尔根")[0] == first
    assert room.by_words(Corpus.MEMORIES, "猫") == []


@pytest.mark.spec("4.3")
def test_what_was_said_is_found_by_the_day_it_was_said_unless_the_policy_says_otherwise(database):
    march = Message(Role.USER, "I play the oboe", at=datetime(2026, 3, 5, 23, tzinfo=UTC))
    for dates in (True, False):
        room = Room(database, policy=CapturePolicy(episode_dates=dates))
        kept = room.said(march)
        trace = {"conversation": "c", "trace": "t"}
        assert room.fill(trace)["messages"] == 1
        for asked in ("in March", "三月", "5 March 2026", "2026"):
            found = [str(one.seq) for one in kept] if dates else []
            assert room.by_words(Corpus.EPISODES, asked) == found
        with database.begin() as tx:
            tx.messages.remove(ANN, conversation="c")


def test_messages_deleted_meanwhile_stay_deleted(room):
    room.said(Message(Role.USER, "a secret"))

    def delete():
        with room.database.begin() as tx:
            tx.messages.remove(ANN, conversation="c")

    assert room.fill({"conversation": "c", "trace": "t"}, delete)["messages"] == 0
    assert room.by_words(Corpus.EPISODES, "secret") == []
    assert room.by_meaning(Corpus.EPISODES, "secret") == []


def test_without_an_embedder_words_are_enough(database):
    room = Room(database, embedder=None, index=None)
    kept = room.said(Message(Role.USER, "I play the oboe"))
    item = memory(ANN, "Plays the oboe")
    room.stored(item)
    filled = room.fill({"conversation": "c", "trace": "t", "items": [item.id]})
    assert filled == {"items": 0, "messages": 1, "vectors": False}
    assert room.by_words(Corpus.EPISODES, "oboe") == [str(kept[0].seq)]
    assert room.status(item) is VectorStatus.PENDING


@pytest.mark.spec("5", "4.10")
def test_when_the_embedder_is_away_words_come_first_and_vectors_later(room):
    """D 2: full text is what remains when vectors are down, so it may not wait for them."""
    kept = room.said(Message(Role.USER, "I play the oboe"))
    room.embedder.away = True
    assert room.fill({"conversation": "c", "trace": "t"})["vectors"] is False
    assert room.by_words(Corpus.EPISODES, "oboe") == [str(kept[0].seq)]

    with room.database.read() as tx:
        (later_job,) = [j for j in tx.jobs.page([JobState.PENDING]) if j.key != "k"]
    with pytest.raises(ModelUnavailable):
        room.filler(later_job)  # words are there: now it is retried like any other job
    room.embedder.away = False
    effect = room.filler(later_job)
    with room.database.begin() as tx:
        assert effect(tx)["vectors"] is True
    assert room.by_meaning(Corpus.EPISODES, "oboe") == [str(kept[0].seq)]


def test_memories_alone_are_simply_tried_again(room):
    item = memory(ANN, "Likes tea")
    room.stored(item)
    room.embedder.away = True
    with pytest.raises(ModelUnavailable):
        room.fill({"items": [item.id]})
    assert room.status(item) is VectorStatus.PENDING


@pytest.mark.parametrize("payload", [{}, {"items": []}, {"items": "x"}, {"conversation": "c"}])
def test_a_payload_that_names_nothing_is_refused(room, payload):
    with pytest.raises(Rejected):
        room.fill(payload)


def spoken(content, name=None):
    return Utterance(
        seq=1, id="1", conversation="c", role=Role.USER, content=content, at=NOW, name=name
    )


def test_a_long_message_becomes_a_handful_of_whole_sentences():
    policy = CapturePolicy(episode_part_chars=40, episode_parts=3)
    short = spoken("我住在卑尔根。", name="小林")
    assert parts(short, policy) == [searchable(short)] == ["小林: 我住在卑尔根。"]

    sentences = [f"This is sentence {n}." for n in range(9)]
    found = parts(spoken(" ".join(sentences)), policy)
    assert found == [" ".join(sentences[n : n + 2]) for n in (0, 2, 4)]

    families = parts(spoken("👨‍👩‍👧" * 90), policy)  # one sentence, longer than a part
    assert families == ["👨‍👩‍👧" * 40, "👨‍👩‍👧" * 40, "👨‍👩‍👧" * 10]
