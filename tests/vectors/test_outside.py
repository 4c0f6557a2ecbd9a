"""Vectors outside SQL: jobs write them, SQL is the truth, and a host may be away for a while."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perdure import Message, Scope
from perdure.control.erase import Eraser
from perdure.errors import VectorsUnavailable
from perdure.observe import Meter
from perdure.policy import JobsPolicy
from perdure.ports import Corpus, ItemFilter, VectorEntry
from perdure.testing.fakes import FakeHost
from perdure.testing.samples import NOW, unit
from perdure.types import JobState, Role
from perdure.vectors.fill import Filler, stamp
from perdure.vectors.outside import Fuse, OutsideIndex

ANN = Scope(user="ann")
MEMORIES, EPISODES = Corpus.MEMORIES, Corpus.EPISODES
OUTSIDE = {"vector_index": "milvus", "vector_url": "http://127.0.0.1:1"}


@pytest.fixture
def memory(house):
    return house.open(**OUTSIDE)


@pytest.mark.spec("2", "5")
def test_a_row_says_pending_until_its_vector_is_there(house, memory):
    item = memory.items.add(ANN, "Plays the oboe")
    assert house.status(item) == "pending"
    assert house.embedder.asked == []  # nobody waits for it
    assert house.host.refs(ANN, MEMORIES) == {}

    house.work()

    assert house.status(item) == "synced"
    assert house.finds("oboe") == ["Plays the oboe"]
    with house.parts.database.read() as tx:
        assert tx.vectors.dimension("fake: words") == 1024


@pytest.mark.spec("3.4", "5")
def test_the_embedder_is_told_what_it_is_for(house, memory):
    item = memory.items.add(ANN, "Turned 36 in spring")
    house.work()
    memory.items.edit(ANN, item.id, content="Turned 37 in spring")
    house.pass_by(1)
    house.work()
    house.finds("how old")
    assert [action for action, _ in house.embedder.asked] == ["add", "update", "search"]


@pytest.mark.spec("5")
@pytest.mark.case("STO-01")
def test_edits_and_deletes_reach_sql_words_and_vectors_alike(house, memory):
    old = memory.items.add(ANN, "Turned 36 in spring")
    diary = memory.items.add(ANN, "Keeps a diary under the bed")
    house.work()

    memory.items.edit(ANN, old.id, content="Turned 37 in spring")
    memory.items.delete(ANN, diary.id)
    assert list(house.finds("diary")) == []  # at once, since hits are read again from SQL
    assert house.status(old) == "pending"
    house.work()
    house.pass_by(70)
    house.work()

    assert house.host.refs(ANN, MEMORIES) == {old.id: stamp(memory.items.get(ANN, old.id))}
    assert house.finds("Turned 37 in spring") == ["Turned 37 in spring"]
    assert list(memory.search(ANN, "36 diary", arms=["fulltext"])) == []
    assert not any(one.state is JobState.DEAD for one in house.jobs())


@pytest.mark.spec("5")
@pytest.mark.case("STO-01")
def test_while_the_host_refuses_writes_changes_are_queued_and_old_text_is_never_shown(
    house, memory
):
    item = memory.items.add(ANN, "Turned 36 in spring")
    house.work()
    house.host.away = True
    memory.items.edit(ANN, item.id, content="Turned 37 in spring")
    house.work()
    assert house.status(item) == "pending"
    answer = memory.recall(ANN, "When in spring did I turn so old? 37")
    assert "36" not in answer.text
    assert [(one.part, str(one.reason)) for one in answer.degraded] == [
        ("semantic", "SEARCH_FAILED")
    ]

    house.host.away = False
    house.pass_by(60)
    house.work()
    assert house.status(item) == "synced"
    assert memory.recall(ANN, "When in spring did I turn so old? 37").degraded == ()


@pytest.mark.spec("4.3", "4.10", "5")
def test_what_is_said_while_the_host_is_away_is_found_by_words_at_once_and_by_meaning_later(
    house, memory
):
    house.host.away = True
    for number in range(3):
        said = [Message(Role.USER, f"我住在卑尔根, number {number}. I like the oboe.")]
        memory.capture(ANN, f"c{number}", said)
    house.work()
    assert memory.search(ANN, "卑尔根", arms=["episodes"])
    assert [one for one in house.embedder.asked if one[0] == "add" and "number" in one[1]] == []
    waiting = house.jobs(JobState.FAILED, JobState.PENDING)
    assert waiting
    assert {job.retry_count for job in waiting} == {0}  # the wait uses up no try

    for _ in range(50):  # much longer than all tries together
        house.pass_by(40)
        house.work()
    assert house.jobs(JobState.DEAD) == []
    house.host.away = False
    house.pass_by(40)
    house.work()
    assert len(house.host.refs(ANN, EPISODES)) == 3
    assert house.jobs(JobState.FAILED, JobState.PENDING) == []


@pytest.mark.spec("5")
def test_a_host_that_lost_rows_or_kept_others_is_mended_within_a_sweep(house, memory):
    kept, lost, stale = (memory.items.add(ANN, f"Likes tea number {n}") for n in range(3))
    memory.capture(ANN, "c", [Message(Role.USER, "Thanks!")])
    house.work()
    house.host.remove(ANN, MEMORIES, [lost.id])
    (said,) = house.host.refs(ANN, EPISODES)
    house.host.remove(ANN, EPISODES, [said])
    for ref, corpus in (("ghost", MEMORIES), (stale.id, MEMORIES), ("999", EPISODES)):
        entry = VectorEntry(ref=ref, vectors=unit(*[1.0] * 1024), stamp="of another text")
        house.host.write(ANN, corpus, [entry])

    for _ in range(25):
        house.pass_by(3600)
        house.upkeep()

    items = {one.id: one for one in memory.items.list(ANN)}
    assert items.keys() == {kept.id, lost.id, stale.id}
    assert house.host.refs(ANN, MEMORIES) == {ref: stamp(one) for ref, one in items.items()}
    assert house.host.refs(ANN, EPISODES).keys() == {said}
    assert {house.status(one) for one in items.values()} == {"synced"}


@pytest.mark.spec("5")
def test_everybody_s_turn_comes_once_in_a_sweep_and_not_all_at_once(house, memory):
    for n in range(60):
        memory.items.add(Scope(user=f"user {n}"), "Likes tea")
    house.work()
    house.host.asked = 0
    turns = []
    for _ in range(24):
        house.pass_by(3600)
        turns.append(len(house.parts.reconciler.due(house.now, int(house.now.timestamp() // 3600))))
    assert sum(turns) == 60
    assert max(turns) < 12
    assert house.host.asked == 0  # whose turn it is, is no question to the host


@pytest.mark.spec("3.5", "5")
def test_what_is_learnt_is_pending_until_a_job_has_sent_it_and_is_compared_by_then(house, memory):
    def learn(said):
        receipt = memory.capture(ANN, said, [Message(Role.USER, said)])
        steps = 0
        while not memory.receipt(ANN, receipt.trace).learnt and steps < 9:
            steps += house.parts.worker.run_once()
        return memory.receipt(ANN, receipt.trace).learnt[0].item

    first = learn("I live in Oslo.")
    with house.parts.database.read() as tx:
        (row,) = tx.items.get(ANN, [first])
        noted = tx.vectors.refs(ANN, MEMORIES)
    assert str(row.vector_status) == "pending"
    assert house.host.refs(ANN, MEMORIES).keys() == noted == set()
    house.pass_by(1)
    house.work()
    assert house.host.refs(ANN, MEMORIES) == {first: stamp(row)}

    house.pass_by(5)
    assert learn("I moved to Bergen.") == first
    with house.parts.database.read() as tx:
        (row,) = tx.items.get(ANN, [first])
        assert tx.vectors.refs(ANN, MEMORIES) == set()
    assert "Bergen" in row.content
    assert str(row.vector_status) == "pending"
    house.pass_by(5)
    house.work()
    assert house.host.refs(ANN, MEMORIES) == {first: stamp(row)}


def test_what_changes_while_it_is_sent_is_sent_once_more(house, memory):
    item, gone = memory.items.add(ANN, "Lives in Oslo"), memory.items.add(ANN, "Likes tea")
    edit, delete = memory.items.edit, memory.items.delete
    send = house.host.write

    def meanwhile(scope, corpus, entries):
        house.host.write = send
        edit(ANN, item.id, content="Lives in Bergen")
        delete(ANN, gone.id)
        house.pass_by(1)
        house.work()  # whoever edits is quicker
        send(scope, corpus, entries)

    house.host.write = meanwhile
    house.work()
    house.pass_by(1)
    house.work()
    now = memory.items.get(ANN, item.id)
    assert house.host.refs(ANN, MEMORIES)[item.id] == stamp(now)
    house.pass_by(70)
    house.work()
    assert house.host.refs(ANN, MEMORIES) == {item.id: stamp(now)}
    assert house.status(now) == "synced"


@pytest.mark.spec("2", "5")
def test_a_vector_that_could_not_be_made_is_failed_and_tried_again_by_reconciling(house, memory):
    item = memory.items.add(ANN, "Likes tea")
    house.embedder.away = True
    for _ in range(7):
        house.work()
        house.pass_by(200)
    assert house.status(item) == "failed"
    assert [job.type.value for job in house.jobs(JobState.DEAD)] == ["embed"]

    house.embedder.away = False
    house.pass_by(3600)
    house.upkeep()
    assert house.status(item) == "synced"


@pytest.mark.spec("9")
def test_scrubbed_and_cleared_memories_leave_no_vector(house, memory):
    for n in range(3):
        memory.items.add(ANN, f"Likes tea number {n}")
    other = memory.items.add(Scope(user="bo"), "Likes tea")
    house.work()
    memory.items.clear(ANN)
    house.pass_by(70)
    house.work()
    assert house.host.refs(ANN, MEMORIES) == {}
    assert house.host.refs(Scope(user="bo"), MEMORIES).keys() == {other.id}
    with house.parts.database.read() as tx:
        assert tx.vectors.refs(ANN, MEMORIES) == set()


@pytest.mark.spec("9")
def test_messages_that_are_no_longer_kept_leave_no_vector(house):
    memory = house.open(**OUTSIDE, policy__capture__keep_messages_s="7200")
    memory.capture(ANN, "c", [Message(Role.USER, "I play the oboe.")])
    house.work()
    assert house.host.refs(ANN, EPISODES)
    house.pass_by(3 * 3600)
    house.upkeep()
    house.pass_by(70)
    house.work()
    assert house.host.refs(ANN, EPISODES) == {}


def test_a_restored_memory_gets_its_vector_again(house, memory):
    item = memory.items.add(ANN, "Likes tea")
    house.work()
    memory.items.delete(ANN, item.id)
    house.pass_by(70)
    house.work()
    memory.items.restore(ANN, item.id)
    house.work()
    assert house.finds("tea") == ["Likes tea"]


# ── a host in peace ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.spec("4.10", "5")
def test_not_each_recall_waits_for_a_dead_host_and_it_is_noticed_when_it_is_back(house, memory):
    memory.items.add(ANN, "Plays the oboe")
    house.work()
    house.host.away = True
    house.host.asked = 0
    for _ in range(20):
        assert memory.recall(ANN, "oboe").degraded
    assert house.host.asked == 1
    assert house.parts.vectors_now() == "unavailable"
    for _ in range(600):
        house.pass_by(1)
        memory.recall(ANN, "oboe")
    assert house.host.asked < 30

    house.host.away = False
    house.pass_by(30)
    assert memory.recall(ANN, "oboe").degraded == ()
    assert house.parts.vectors_now() == "on"


def test_one_asks_first_while_others_are_told_to_wait():
    now = [0.0]
    fuse = Fuse(lambda: now[0])

    def ask(fails):
        with fuse.asking():
            if fails:
                raise VectorsUnavailable

    def together():
        with fuse.asking(), fuse.asking():  # both on their way before either fails
            raise VectorsUnavailable

    with pytest.raises(VectorsUnavailable) as first:
        together()
    assert first.value.retry_after == 1.0
    with pytest.raises(VectorsUnavailable) as refused:
        ask(fails=False)
    assert refused.value.retry_after == 1.0
    now[0] = 1.0
    with fuse.asking(), pytest.raises(VectorsUnavailable):
        ask(fails=False)  # while the first one finds out
    ask(fails=False)
    for wait in (1, 2, 4, 8, 16, 30, 30):
        with pytest.raises(VectorsUnavailable) as failed:
            ask(fails=True)
        assert failed.value.retry_after == wait
        now[0] += wait


def test_a_scope_with_nothing_to_send_asks_nobody(house, memory):
    index = house.parts.index
    house.host.away = True
    index.send(ANN, MEMORIES, [])
    index.discard(ANN, MEMORIES, [])
    with house.parts.database.begin() as tx:
        index.remove(tx, ANN, MEMORIES, [])
        assert index.get(tx, ANN, MEMORIES, []) == {}
    assert house.jobs() == []
    assert house.host.asked == 0


def test_a_filter_that_shows_nothing_removes_nothing(house, memory):
    item = memory.items.add(ANN, "Likes tea")
    house.work()
    assert memory.items.clear(ANN, replace(ItemFilter(), statuses=frozenset())) == 0
    house.pass_by(70)
    house.work()
    assert house.host.refs(ANN, MEMORIES).keys() == {item.id}


@pytest.mark.spec("9")
def test_what_is_sent_while_its_user_is_erased_does_not_stay_there(house, memory):
    """The erasure has searched the host already when the vector comes."""
    memory.items.add(ANN, "Lives in Oslo")
    memory.capture(ANN, "chat", [Message(Role.USER, "我住在卑尔根，喜欢喝茶。")])
    send = house.host.write

    def late(scope, corpus, entries):
        house.host.write = send
        house.pass_by(1)
        assert memory.erase(ANN).clean
        send(scope, corpus, entries)

    house.host.write = late
    house.work()

    assert house.host.refs(ANN, MEMORIES) == house.host.refs(ANN, EPISODES) == {}
    assert memory.erasure(ANN).clean


# ── an erased user ───────────────────────────────────────────────────────────────────────────────


class Killed(BaseException):
    """No `Exception`: what happens to a process, not to a job."""


@pytest.fixture
def left_outside(house, memory, monkeypatch):
    """A worker sends vectors of a user who is erased meanwhile, and dies right then."""
    memory.items.add(ANN, "Plays the oboe")
    write = house.host.write

    def late(*what):
        memory.erase(ANN)
        write(*what)

    def die(*_):
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr(house.host, "write", late)
        dying.setattr(Filler, "_take_back", die)
        with pytest.raises(Killed):
            house.work()
    assert len(house.host.refs(ANN, MEMORIES)) == 1


@pytest.mark.spec("5", "9")
@pytest.mark.usefixtures("left_outside")
def test_vectors_that_a_dead_process_left_outside_are_told_and_removed(house, memory):
    told = memory.erasure(ANN)
    assert not told.clean
    assert {place: n for place, n in told.found.items() if n} == {"outside_memories": 1}
    assert memory.erasure(ANN).clean
    assert house.host.refs(ANN, MEMORIES) == {}


@pytest.mark.spec("5", "9")
@pytest.mark.usefixtures("left_outside")
def test_vectors_that_a_dead_process_left_outside_go_also_where_nobody_asks(house, memory):
    house.work()
    assert len(house.host.refs(ANN, MEMORIES)) == 1
    house.pass_by(house.parts.settings.policy.jobs.erase_again_s + 1)
    house.work()
    assert house.host.refs(ANN, MEMORIES) == {}
    assert memory.erasure(ANN).clean
    assert house.jobs(JobState.DEAD) == []


@pytest.mark.spec("9")
def test_what_came_back_after_an_erasure_keeps_its_vectors(house, memory):
    """Ids of an export are older than the erasure; what was brought back loses nothing by that."""
    old = memory.items.add(ANN, "Plays the oboe")
    house.work()
    lines = list(memory.export(ANN))
    house.pass_by(60)
    assert memory.erase(ANN).removed["outside_memories"] == 1
    house.pass_by(60)
    list(memory.import_lines(ANN, lines))
    house.work()
    memory.items.edit(ANN, old.id, content="Plays the oboe d'amore")
    house.pass_by(1)
    house.work()
    assert house.host.refs(ANN, MEMORIES) == {old.id: stamp(memory.items.get(ANN, old.id))}
    assert memory.erasure(ANN).found["outside_memories"] == 1
    assert house.finds("amore") == ["Plays the oboe d'amore"]


@pytest.mark.spec("5", "9")
def test_vectors_of_the_embedder_before_go_with_their_user(database):
    hosts = [FakeHost(), FakeHost()]
    indexes = [OutsideIndex(host, "words", clock=lambda: NOW) for host in hosts]
    row = VectorEntry(ref="m1", vectors=unit(1.0, 0.0))
    for host in hosts:
        host.write(ANN, MEMORIES, [row])
        host.write(Scope(user="bo"), MEMORIES, [row])
    eraser = Eraser(
        database=database, indexes=indexes, policy=JobsPolicy(), clock=lambda: NOW, meter=Meter()
    )
    assert eraser.erase(ANN, "ann").removed["outside_memories"] == 2
    assert eraser.look(ANN).clean
    for host in hosts:
        assert host.refs(ANN, MEMORIES) == {}
        assert len(host.refs(Scope(user="bo"), MEMORIES)) == 1
