"""Whatever a life did: out, erased and in again it is the same, and once more changes nothing."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure import Memory, Message, Scope
from perdure.control.imported import counted
from perdure.errors import Duplicate, NotFound, Rejected
from perdure.ports import ItemFilter
from perdure.settings import load
from perdure.types import Status
from perdure.wiring import wire

lin = Scope(user="小林")
bo = Scope(user="bo")
EVERY = ItemFilter(statuses=frozenset(Status))
SAYS = (
    "I live in Bergen.",
    "I prefer tea.",
    "我不吃香菜。",
    "Thanks!",
    "I moved to Oslo.",
    "我住在杭州。",
)
WRITES = ("Owns a kayak", "喜欢爵士乐", "Plays `chess`\nat noon", "  Is left-handed ")


class Life:
    """One memory in a file of its own or in memory, with a clock that a test turns."""

    def __init__(self, preset="assistant", url="sqlite://", **environ):
        self.now = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
        chosen = load({"PERDURE_EMBEDDER": "none", **environ}, preset=preset)
        self.memory = Memory(wire(chosen.but(database_url=url), self.clock))
        self.items = self.memory.items
        self.said = 0

    def clock(self):
        self.now += timedelta(milliseconds=2)
        return self.now

    def work(self):
        while self.memory.parts.worker.run_once():
            pass

    def says(self, said, place=None):
        self.said += 1
        where = lin.within(project=place)
        chat = f"chat {place}"
        self.memory.capture(where, chat, [Message("user", said, id=f"m{self.said}")])
        self.work()

    def lines(self):
        return json.loads(json.dumps(list(self.memory.export(lin)), ensure_ascii=False))

    def do(self, step):
        """One step of a life; what a person may not do then is not done."""
        what, number, words = step
        ids = [item.id for item in self.items.list(lin, EVERY, limit=200)]
        one = ids[number % len(ids)] if ids else ""
        with contextlib.suppress(Rejected, Duplicate, NotFound):
            match what:
                case "says":
                    self.says(SAYS[number % len(SAYS)], words)
                case "adds":
                    self.items.add(lin, WRITES[number % len(WRITES)], metadata={"n": str(number)})
                case "edits":
                    self.items.edit(lin, one, content=f"Edited {number}", importance=0.9)
                case "dismisses":
                    self.items.dismiss(lin, one)
                case "restores":
                    self.items.restore(lin, one)
                case "deletes":
                    self.items.delete(lin, one)
                case "judges":
                    self.memory.parts.uses.note(lin, f"t{number}", [one], counts=False)
                    self.memory.feedback(lin, f"t{number}", one, "wrong_mention")
                case "switches":
                    self.memory.preferences.set(lin, sensitive_allowed=bool(number % 2))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["says", "adds", "edits", "dismisses", "restores", "deletes", "judges", "switches"]
        ),
        st.integers(0, 7),
        st.sampled_from([None, "site"]),
    ),
    max_size=14,
)


@pytest.mark.spec("9", "12.import")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_export_erase_import_is_the_same_life(steps):
    life = Life()
    try:
        for step in steps:
            life.do(step)
        before = life.lines()
        held = {item.id: item for item in life.items.list(lin, EVERY, limit=200)}
        assert life.memory.erase(lin).clean
        assert life.lines() == []

        planned = counted(life.memory.import_lines(lin, before, dry_run=True))
        assert life.lines() == []
        assert counted(life.memory.import_lines(lin, before)) == planned
        life.work()

        assert life.lines() == before
        for item in life.items.list(lin, EVERY, limit=200):
            assert item == held[item.id]

        again = counted(life.memory.import_lines(lin, before))
        assert all(outcomes.keys() == {"known"} for outcomes in again.values())
        assert life.lines() == before
    finally:
        life.memory.close()


@pytest.fixture
def life():
    one = Life()
    yield one
    one.memory.close()


@pytest.mark.spec("9", "3.4")
def test_what_was_dismissed_or_deleted_stays_so_through_a_move(life):
    life.says("I live in Bergen.")
    life.says("我不吃香菜。")
    bergen, coriander = life.items.list(lin, EVERY, limit=9).items[::-1]
    life.items.dismiss(lin, bergen.id)
    life.items.delete(lin, coriander.id)
    lines = life.lines()
    life.memory.erase(lin)
    list(life.memory.import_lines(lin, lines))

    life.memory.capture(lin, "chat None", [Message("user", "我不吃香菜。", id="m2")])
    life.says("I live in Bergen.")

    assert life.items.list(lin).items == ()
    assert not any("香菜" in json.dumps(one, ensure_ascii=False) for one in lines[3:])


@pytest.mark.spec("9", "8")
@pytest.mark.parametrize("switch", ["auto_learn", "memory_enabled"])
def test_what_was_said_and_not_learnt_from_moves_though_learning_was_switched_off(life, switch):
    life.memory.capture(lin, "chat", [Message("user", "我住在杭州。", id="m1")])
    life.memory.preferences.set(lin, **{switch: False})
    lines = life.lines()
    assert any(line.get("content") == "我住在杭州。" for line in lines)
    life.memory.erase(lin)

    reports = list(life.memory.import_lines(lin, lines))
    life.work()

    assert counted(reports)["message"] == {"kept": 1}
    assert life.lines() == lines
    assert life.items.list(lin).items == ()


@pytest.mark.spec("9")
def test_an_export_is_walled_by_its_bindings(life):
    life.says("I live in Bergen.", "site")
    life.says("I prefer tea.")
    life.items.add(lin.within(project="site"), "Builds with make", level="project")
    life.items.add(lin.within(project="other"), "Builds with cargo", level="project")
    life.items.delete(lin, life.items.add(lin, "Owns a kayak").id)

    inside = list(life.memory.export(lin.within(project="site")))

    assert {line["type"] for line in inside} == {"message", "memory"}
    assert {line["content"] for line in inside} == {"I live in Bergen.", "Builds with make"}
    assert list(life.memory.export(bo)) == []


@pytest.mark.spec("9", "12.import")
def test_lines_without_ids_are_known_the_second_time(life):
    lines = [
        {"conversation": "c", "role": "user", "content": "I prefer tea."},
        {"conversation": "c", "role": "assistant", "content": "Noted."},
        {"conversation": "c", "role": "user", "content": "Thanks!"},
        {"conversation": "c", "role": "user", "content": "Thanks!"},
    ]
    assert counted(life.memory.import_lines(lin, lines)) == {"message": {"captured": 4}}
    life.work()
    before = life.lines()

    assert counted(life.memory.import_lines(lin, lines)) == {"message": {"known": 4}}
    life.work()
    assert life.lines() == before


@pytest.mark.spec("9")
def test_what_may_not_be_kept_is_reported_as_skipped(life):
    life.memory.preferences.set(lin, memory_enabled=False)
    line = {"conversation": "c", "role": "user", "content": "I prefer tea."}
    assert counted(life.memory.import_lines(lin, [line, line])) == {"message": {"skipped": 2}}


@pytest.mark.spec("9")
def test_a_line_cannot_write_into_somebody_else_or_into_the_audit_of_the_service(life):
    kept = life.items.add(lin, "Owns a kayak")
    (line,) = life.lines()
    was = {**line, "namespace": "other", "user": "ann"}
    entry = {
        "type": "history", "item": "x1", "id": "e1", "operation": "merge", "actor": "system",
        "reason": "r", "before": None, "after": None, "at": "2026-01-01T00:00:00Z", "was": was,
    }  # fmt: skip
    list(life.memory.import_lines(bo, [entry]))
    with life.memory.parts.database.read() as tx:
        (stored,) = tx.audit.of(bo, "x1")
        assert stored.was is None  # what an undo would write is never read from a file
    for operation in ("read", "set"):
        with pytest.raises(Rejected):
            list(life.memory.import_lines(bo, [{**entry, "operation": operation}]))
    assert life.items.get(lin, kept.id).content == "Owns a kayak"


@pytest.mark.spec("9")
def test_an_export_reads_a_few_rows_at_a_time(life, monkeypatch):
    monkeypatch.setattr("perdure.control.export._CHUNK", 2)
    for number in range(5):
        life.items.add(lin, f"Owns boat {number}")
        life.says(f"I live in street {number}.")
    for item in life.items.list(lin).items[:3]:
        life.items.delete(lin, item.id)
    small = life.lines()
    monkeypatch.undo()
    assert small == life.lines()
    assert len(small) > 12


@pytest.mark.spec("9", "11")
def test_a_desktop_file_moves_too(tmp_path):
    life = Life("desktop", str(tmp_path / "memory.json"), PERDURE_POLICY__LEARN__TRIGGER_CHARS="0")
    life.says("I prefer tea.")
    life.items.add(lin, "喜欢爵士乐")
    before = life.lines()
    assert life.memory.erase(lin).clean
    list(life.memory.import_lines(lin, before))
    life.work()
    assert life.lines() == before
    assert len(json.loads((tmp_path / "memory.json").read_text("utf-8"))) == 2
    life.memory.close()
