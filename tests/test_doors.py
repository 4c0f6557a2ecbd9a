"""Whatever a program hands to the Python doors, it is told which argument cannot be meant."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any, cast

import pytest

from perdure import AsyncMemory, ItemFilter, Memory, Message, Scope
from perdure.errors import Misconfigured, NotFound, Rejected
from perdure.ports import AuditFilter
from perdure.settings import Settings

ANN = Scope(user="ann")
HALF = "a\ud83d"
CALLS = {
    "capture": lambda m, s: m.capture(s, "c", []),
    "receipt": lambda m, s: m.receipt(s, "t"),
    "recall": lambda m, s: m.recall(s, "tea?"),
    "search": lambda m, s: m.search(s, "tea"),
    "feedback": lambda m, s: m.feedback(s, "t", "i", "useful"),
    "consolidate": lambda m, s: m.consolidate(s),
    "undo": lambda m, s: m.undo(s, "r"),
    "export": lambda m, s: list(m.export(s)),
    "import_lines": lambda m, s: list(m.import_lines(s, [])),
    "erase": lambda m, s: m.erase(s),
    "erasure": lambda m, s: m.erasure(s),
    "items.list": lambda m, s: m.items.list(s),
    "items.get": lambda m, s: m.items.get(s, "i"),
    "items.history": lambda m, s: m.items.history(s, "i"),
    "items.projects": lambda m, s: m.items.projects(s),
    "items.add": lambda m, s: m.items.add(s, "Likes tea."),
    "items.edit": lambda m, s: m.items.edit(s, "i", content="x"),
    "items.dismiss": lambda m, s: m.items.dismiss(s, "i"),
    "items.restore": lambda m, s: m.items.restore(s, "i"),
    "items.accept": lambda m, s: m.items.accept(s, "i"),
    "items.delete": lambda m, s: m.items.delete(s, "i"),
    "items.clear": lambda m, s: m.items.clear(s),
    "preferences.get": lambda m, s: m.preferences.get(s),
    "preferences.set": lambda m, s: m.preferences.set(s, auto_learn=True),
}


@pytest.fixture
def memory(tmp_path):
    settings = Settings(embedder="none")
    with Memory.open(tmp_path / "perdure.db", settings=settings, workers=False) as opened:
        yield opened


@pytest.mark.spec("1")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_nothing_is_done_for_nobody(memory, call):
    for scope in (None, "ann", {"user": "ann"}, ("default", "ann")):
        with pytest.raises(Rejected) as refused:
            call(memory, scope)
        assert refused.value.field == "scope"


@pytest.mark.spec("6")
@pytest.mark.case("API-01")
def test_a_number_is_a_number_and_names_its_argument(memory):
    for limit in ("5", None, 2.5, True, 0, -1):
        for call in (lambda n: memory.items.list(ANN, limit=n),
                     lambda n: memory.search(ANN, "tea", limit=n)):  # fmt: skip
            with pytest.raises(Rejected) as refused:
                call(limit)
            assert refused.value.field == "limit"
    for wrong in ({"after": 5}, {"which": {"status": "active"}}):
        with pytest.raises(Rejected) as refused:
            memory.items.list(ANN, **wrong)
        assert refused.value.field in wrong


@pytest.mark.spec("12.python")
@pytest.mark.parametrize("place", [5, True, b"p.db", ["p.db"], {}])
def test_what_is_no_place_makes_no_file(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Misconfigured) as refused:
        Memory.open(place, settings=Settings(embedder="none"))
    assert refused.value.field == "where"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spec("6")
def test_what_is_no_filter_deletes_nothing_and_is_told_by_name(memory):
    memory.items.add(ANN, "Likes tea.")
    nothings: list[Any] = [{}, [], "", 0, False, {"level": "project"}]
    for nothing in nothings:
        with pytest.raises(Rejected) as refused:
            memory.items.clear(ANN, nothing)
        assert refused.value.field == "which"
    assert len(memory.items.list(ANN)) == 1


@pytest.mark.spec("6")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("statuses", "active"), ("statuses", ["actve"]), ("kinds", 5), ("sources", [None]),
        ("level", "team"), ("project", HALF), ("words", 5), ("since", "2026-11-30"),
        ("until", datetime(2026, 11, 30)),  # noqa: DTZ001 - without a zone, on purpose
        ("metadata", {"theme": None}), ("metadata", ["theme"]),
    ],
)  # fmt: skip
def test_a_filter_that_cannot_be_meant_is_told_by_field(field, value):
    with pytest.raises(Rejected) as refused:
        ItemFilter(**{field: value})
    assert refused.value.field == field


@pytest.mark.spec("6")
def test_a_filter_takes_words_as_people_write_them(memory):
    memory.items.add(ANN, "Likes tea.", kind="preference")
    for level, found in (("user", 1), ("project", 0)):
        words: Any = {"statuses": ["active"], "kinds": ["preference"], "level": level}
        which = ItemFilter(**words)
        assert len(memory.items.list(ANN, which)) == found


@pytest.mark.spec("9")
@pytest.mark.parametrize(
    "wrong",
    [
        {"which": {}}, {"which": None}, {"limit": "5"}, {"limit": 0}, {"after": 5},
        {"namespace": None}, {"namespace": HALF},
    ],
)  # fmt: skip
def test_what_an_audit_cannot_mean_is_told_by_name(memory, wrong):
    given = {"namespace": "default", "which": AuditFilter()} | wrong
    with pytest.raises(Rejected) as refused:
        memory.audit.page(**given)
    assert refused.value.field in wrong
    fields: dict[str, Any] = {"user": 5, "by": HALF, "operations": "update", "since": "today"}
    for field, value in fields.items():
        with pytest.raises(Rejected) as refused:
            AuditFilter(**{field: value})
        assert refused.value.field == field


@pytest.mark.spec("4")
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("as_of", "2026-11-30"), ("as_of", 5), ("policy", "assistant"), ("policy", {}),
        ("arms", "semantic"), ("arms", None), ("arms", 5), ("limit", 10**40),
    ],
)  # fmt: skip
def test_an_argument_of_a_question_is_told_by_name(memory, argument, value):
    given = cast("Any", {argument: value})
    doors = [memory.search] + ([memory.recall] if argument in ("as_of", "policy") else [])
    for door in doors:
        with pytest.raises(Rejected) as refused:
            door(ANN, "tea", **given)
        assert refused.value.field == argument
    if argument == "policy":
        with pytest.raises(Rejected) as refused:
            memory.capture(ANN, "c", [Message("user", "I like tea.")], **given)
        assert refused.value.field == argument


@pytest.mark.case("LANG-03")
def test_half_a_character_in_an_id_is_told_by_name(memory):
    for field, call in (
        ("id", lambda i: memory.items.get(ANN, i)),
        ("id", lambda i: memory.items.history(ANN, i)),
        ("id", lambda i: memory.items.delete(ANN, i)),
        ("id", lambda i: memory.items.restore(ANN, i)),
        ("trace", lambda i: memory.receipt(ANN, i)),
        ("trace", lambda i: memory.feedback(ANN, i, "i", "useful")),
        ("run", lambda i: memory.undo(ANN, i)),
    ):
        for ident in (HALF, None, 7):
            with pytest.raises(Rejected) as refused:
                call(ident)
            assert refused.value.field == field
    with pytest.raises(NotFound):
        memory.items.get(ANN, HALF)


def test_the_door_for_asyncio_says_the_same(memory):
    door = AsyncMemory(memory)
    with pytest.raises(Rejected) as refused:
        asyncio.run(door.recall(cast("Any", None), "tea?"))
    assert refused.value.field == "scope"
