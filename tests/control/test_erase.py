"""An erased user is gone from every place, proven by a search, also where a process died."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading

import pytest

from perdure import AsyncMemory, Memory, Message, Scope
from perdure.errors import Erased, NotFound, Rejected
from perdure.ports import Corpus
from perdure.settings import load
from perdure.store.erasures import _PLACES
from perdure.store.schema import metadata
from perdure.types import JobState, JobType, Reason, ReceiptState

ann = Scope(user="ann")
bo = Scope(user="bo")
lin = Scope(user="小林")
WORDS = ("Bergen", "kayak", "香菜", "tea", "Oslo")

DIES = """
import os, sys
from perdure import Memory, Scope
from perdure.ports import Corpus
from perdure.settings import load
from perdure.store.erasures import SqlErasures
from perdure.store.database import SqlDatabase

where, place = sys.argv[1:]
memory = Memory.open(where, settings=load({"PERDURE_EMBEDDER": "none"}), workers=False)
wipe, purge = SqlErasures.wipe, SqlDatabase.purge

def stop(*_):
    print("there", flush=True)
    sys.stdin.read()

if place == "before any row goes":
    SqlErasures.wipe = stop
elif place == "before the commit":
    SqlErasures.wipe = lambda *of: (wipe(*of), stop())
else:
    SqlDatabase.purge = stop
memory.erase(Scope(user="ann"))
"""


def live(home):
    """A life that leaves something in every table that knows its users."""
    for who, city in ((ann, "Bergen"), (bo, "Oslo")):
        home.says(f"I live in {city}. I prefer tea.", who)
        kept = home.items.add(who, "Owns a kayak")
        home.items.edit(who, kept.id, content="Owns a red kayak")
        home.items.delete(who, home.items.add(who, "不吃香菜").id)
        home.memory.preferences.set(who, sensitive_allowed=True)
        answer = home.memory.recall(who, "Where do I live?")
        home.memory.feedback(who, answer.trace, answer.kept[0].item.id, "useful")
    home.work()
    home.memory.capture(ann, "chat-1", [Message("user", "I moved to Bergen with a kayak.")])


def rows(home, who):
    with home.parts.database.read() as tx:
        return {place: count for place, count in tx.erasures.held(who).items() if count}


@pytest.mark.spec("9")
def test_nothing_of_an_erased_user_is_left_in_any_place(home):
    home = home()
    live(home)
    theirs, others = rows(home, ann), rows(home, bo)
    assert {"memories", "messages", "vectors", "texts", "jobs", "audit_log"} < theirs.keys()
    assert {"tombstones", "deletions", "feedback", "users", "conversations"} < theirs.keys()

    receipt = home.memory.erase(ann, by="ann herself")

    assert receipt.clean
    assert {place: n for place, n in receipt.removed.items() if n} == theirs
    assert rows(home, ann) == {}
    assert rows(home, bo) == others
    assert home.held("Bergen", "Oslo")[0] == 0 < home.held("Oslo")[0]
    assert home.memory.erasure(ann).by == "ann herself"
    with home.parts.database.read() as tx:
        terms = tx.connection.exec_driver_sql("SELECT count(*) FROM perdure_terms").scalar()
        assert terms == sum(len(tx.fulltext.refs(bo, corpus)) for corpus in Corpus)


def test_every_table_that_names_a_user_is_searched():
    named = {t.name.removeprefix("perdure_") for t in metadata.sorted_tables if "user_id" in t.c}
    assert named - _PLACES.keys() == {"erasures"}


@pytest.mark.spec("9")
def test_the_bytes_of_an_erased_user_are_gone_from_the_disk(home):
    home = home()
    live(home)
    files = [home.file, home.file.with_name("home.db-wal")]
    assert any("Bergen" in file.read_bytes().decode("utf-8", "replace") for file in files)

    home.memory.erase(ann)
    home.memory.erase(bo)

    for file in files:
        held = file.read_bytes().decode("utf-8", "replace")
        assert [word for word in WORDS if word in held] == []


@pytest.mark.spec("9")
def test_what_is_said_after_the_erasure_is_new(home):
    home = home()
    live(home)
    home.memory.erase(ann)

    home.says("I live in Bergen.")
    home.items.add(ann, "不吃香菜")

    assert sorted(home.contents()) == ["Lives in Bergen", "不吃香菜"]
    assert not home.memory.erasure(ann).clean
    assert home.memory.erasure(ann).removed["memories"] > 0
    assert home.memory.erase(ann).clean


@pytest.mark.spec("9", "5")
def test_a_running_job_of_an_erased_user_writes_nothing(home, monkeypatch):
    home = home()
    inside, go_on = threading.Event(), threading.Event()
    thinks = home.parts.worker._handlers[JobType.EXTRACT]

    def slow(job):
        effect = thinks(job)
        inside.set()
        assert go_on.wait(30)
        return effect

    monkeypatch.setitem(home.parts.worker._handlers, JobType.EXTRACT, slow)
    taken = home.memory.capture(lin, "c", [Message("user", "我不吃香菜。")])
    worker = threading.Thread(target=home.work)
    worker.start()
    assert inside.wait(30)
    assert home.memory.erase(lin).clean
    go_on.set()
    worker.join()

    assert home.memory.erasure(lin).clean
    assert home.parts.meter.read("jobs", outcome="fenced") >= 1
    with pytest.raises(NotFound):
        home.memory.receipt(lin, taken.trace)


@pytest.mark.spec("9")
def test_an_event_of_before_that_comes_late_is_not_learnt_from(home):
    """As from a broker: the job is made after the erasure, of a turn captured before."""
    home = home()
    taken = home.memory.capture(ann, "c", [Message("user", "I live in Bergen.", id="m1")])
    with home.parts.database.read() as tx:
        (job,) = [j for j in tx.jobs.of(ann, taken.trace) if j.type is JobType.EXTRACT]
    home.turn(1)
    home.memory.erase(ann)
    home.turn(1)
    home.memory.capture(ann, "c", [Message("user", "I live in Bergen.", id="m1")])
    with home.parts.database.begin() as tx:
        tx.jobs.take_away(ann)
        tx.jobs.promise(_as_promise(job), home.clock())
    home.work()

    after = home.memory.receipt(ann, taken.trace)
    assert (after.state, after.reason) == (ReceiptState.SKIPPED, Reason.ERASED)
    assert home.contents() == []


def _as_promise(job):
    from perdure.types import Promise  # noqa: PLC0415 - only here

    return Promise(
        type=job.type, namespace=job.namespace, user=job.user, key=job.key, payload=job.payload,
        trace=job.trace, conversation=job.conversation,
    )  # fmt: skip


@pytest.mark.spec("9")
@pytest.mark.parametrize(
    "place", ["before any row goes", "before the commit", "before the disk is clean"]
)
def test_an_erasure_goes_on_after_its_process_was_killed(tmp_path, place):
    where = tmp_path / "perdure.db"
    settings = load({"PERDURE_EMBEDDER": "none"})
    with Memory.open(where, settings=settings) as memory:
        memory.wait(memory.capture(ann, "c", [Message("user", "I live in Bergen.")]))
        memory.items.add(bo, "Owns a kayak")
        memory.capture(ann, "c", [Message("user", "I prefer tea.")])
    script = [sys.executable, "-c", DIES, str(where), place]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as dying:
        assert dying.stdout is not None
        assert dying.stdout.readline() == b"there\n"
        dying.send_signal(signal.SIGKILL)

    with Memory.open(where, settings=settings, workers=False) as memory:
        assert memory.erasure(ann).done_at is None
        with memory.parts.database.read() as tx:  # whoever ran one is fenced from the first on
            jobs = [job.type for job in tx.jobs.page(list(JobState)) if job.user == "ann"]
        assert jobs == [JobType.ERASE]
        while memory.parts.worker.run_once():
            pass
        receipt = memory.erasure(ann)
        assert receipt.clean
        assert receipt.removed["memories"] == 1
        assert receipt.removed["jobs"] >= 1
        assert [item.content for item in memory.items.list(bo)] == ["Owns a kayak"]
        with memory.parts.database.read() as tx:
            left = [job.type for job in tx.jobs.page(list(JobState)) if job.user == "ann"]
        assert left == [JobType.ERASE]
    assert b"Bergen" not in where.read_bytes()


@pytest.mark.spec("9")
def test_nobody_is_erased_in_part(home):
    home = home()
    live(home)
    with pytest.raises(Rejected) as refused:
        home.memory.erase(ann.within(project="site"))
    assert refused.value.field == "project"
    with pytest.raises(NotFound):
        home.memory.erasure(ann)
    assert rows(home, ann)


@pytest.mark.spec("9", "11")
def test_a_desktop_file_is_empty_after_its_person_is_erased(tmp_path):
    where = tmp_path / "memory.json"
    where.write_text('[{"content": "Owns a kayak"', "utf-8")  # cut short: kept aside
    with Memory.open(where, preset="desktop") as memory:
        memory.items.add(lin, "不吃香菜")
        memory.items.add(lin, "Lives in Bergen")
        assert len(list(tmp_path.glob("*unreadable*"))) == 1

        receipt = memory.erase(lin)

        assert receipt.clean
        assert receipt.removed["memories"] == 2
    assert json.loads(where.read_text("utf-8")) == []
    held = "".join(file.read_text("utf-8") for file in tmp_path.iterdir())
    assert [word for word in WORDS if word in held] == []
    with Memory.open(where, preset="desktop") as memory:
        assert memory.erasure(lin).clean


@pytest.mark.spec("12.asyncio")
def test_both_doors_erase(home):
    import asyncio  # noqa: PLC0415 - only here

    home = home()
    live(home)

    async def forget():
        door = AsyncMemory(home.memory)
        await door.erase(ann)
        return await door.erasure(ann)

    assert asyncio.run(forget()).clean


# ── what happens at the same time ────────────────────────────────────────────────────────────────


@pytest.mark.spec("9")
def test_an_erasure_answers_for_everything_up_to_its_end(home, monkeypatch):
    """What the user says between the wipe and the end goes as well, and so does what began it."""
    home = home()
    live(home)
    purge = type(home.parts.database).purge

    def meanwhile(database):
        monkeypatch.setattr(type(database), "purge", purge)
        home.memory.capture(ann, "chat-2", [Message("user", "I moved to Bergen with a kayak.")])
        home.memory.preferences.set(ann, sensitive_allowed=True)
        with pytest.raises(Erased):
            home.items.add(ann, "Owns a kayak")
        purge(database)

    monkeypatch.setattr(type(home.parts.database), "purge", meanwhile)
    receipt = home.memory.erase(ann)
    home.work()

    assert receipt.clean
    assert home.memory.erasure(ann).clean
    assert rows(home, ann) == {}
    assert receipt.removed["users"] == 2
    assert home.held("Bergen") == [0]
    assert b"Bergen" not in home.file.read_bytes()


@pytest.mark.spec("9")
def test_what_began_before_an_erasure_writes_nothing_after_it(home, monkeypatch):
    """A memory whose vector took long, an import of many lines, and a model that is still asked."""
    home = home()
    embed = home.embedder.embed

    def slow(texts, action):
        monkeypatch.setattr(home.embedder, "embed", embed)
        home.memory.erase(ann)
        return embed(texts, action)

    monkeypatch.setattr(home.embedder, "embed", slow)
    with pytest.raises(Erased):
        home.items.add(ann, "Owns a kayak")
    assert home.memory.erasure(ann).clean
    home.turn(1)

    said = {"conversation": "c", "type": "message"}
    lines = [{"type": "memory", "content": "Owns a kayak"},
             {**said, "role": "user", "content": "I live in Bergen."},
             {**said, "role": "assistant", "content": "Noted."},
             {**said, "role": "user", "content": "I prefer tea."}]  # fmt: skip
    taking = home.memory.import_lines(ann, lines)
    assert next(taking).outcome == "stored"
    assert home.contents() == ["Owns a kayak"]
    home.memory.erase(ann)
    with pytest.raises(Erased):
        list(taking)
    home.work()
    assert rows(home, ann) == {}
    home.turn(1)
    again = list(home.memory.import_lines(ann, lines))
    assert again[0].outcome == "stored"


@pytest.mark.spec("9")
def test_two_who_erase_at_once_count_each_row_once(home, monkeypatch):
    home = home()
    live(home)
    theirs = rows(home, ann)
    both = threading.Barrier(2, timeout=20)
    purge = type(home.parts.database).purge

    def together(database):
        both.wait()
        purge(database)

    monkeypatch.setattr(type(home.parts.database), "purge", together)
    receipts = []
    threads = [
        threading.Thread(target=lambda: receipts.append(home.memory.erase(ann))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len({one.id for one in receipts}) == 1
    receipt = home.memory.erasure(ann)
    assert receipt.clean
    assert {place: n for place, n in receipt.removed.items() if n} == theirs
    assert home.parts.meter.read("memory_erased") == 1
