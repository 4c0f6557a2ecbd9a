"""The audit tells who changed what of a memory, and what merely came in with a file."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from perdure import Scope
from perdure.errors import DatabaseUnavailable, NotFound, Rejected
from perdure.ports import AuditFilter
from perdure.store.audit import SqlAudit
from perdure.types import IMPORTED, Actor, Moved, Operation

ann, bo, lin = Scope(user="ann"), Scope(user="bo"), Scope(user="小林")
FORGED = {
    "id": "e1", "operation": "create", "actor": "admin", "by": "key:forged", "reason": "r",
    "before": None, "after": "Plays bass", "at": "2026-01-01T00:00:00Z",
}  # fmt: skip


def history(home, item, who=ann):
    return home.items.history(who, item.id)


def noted(home, **which):
    return home.memory.audit.page("default", AuditFilter(**which), texts=True).entries


@pytest.mark.spec("9")
def test_an_entry_says_which_fields_an_edit_moved_and_who_it_was(home):
    home = home()
    item = home.items.add(ann, "Likes tea", metadata={"a": "1"})
    signed = replace(home.items, by="key:7", trace="request-1")
    until = home.now + timedelta(days=9)
    signed.edit(
        ann, item.id, kind="preference", importance=0.9, sensitivity=2, expires_at=until,
        title="茶", metadata={"a": None, "b": "2"},
    )  # fmt: skip
    signed.edit(ann, item.id, content="Likes green tea")
    signed.dismiss(ann, item.id)
    signed.delete(ann, item.id)

    made, fields, words, dismissed, deleted = history(home, item)
    assert (made.moved, made.by, made.trace) == ({}, None, None)
    assert fields.moved == {
        "title": Moved("", "茶"),
        "kind": Moved("fact", "preference"),
        "importance": Moved(0.5, 0.9),
        "sensitivity": Moved(0, 2),
        "expires_at": Moved(None, until.isoformat()),
        "metadata": Moved({"a": "1"}, {"b": "2"}),
    }
    assert (words.before, words.after, words.moved) == ("Likes tea", "Likes green tea", {})
    assert dismissed.moved == {"status": Moved("active", "dismissed")}
    assert deleted.moved == {}
    assert {(e.by, e.trace) for e in (fields, words, dismissed, deleted)} == {
        ("key:7", "request-1")
    }
    assert [e.id for e in noted(home, by="key:7")] == [
        e.id for e in (deleted, dismissed, words, fields)
    ]


@pytest.mark.spec("9")
def test_what_fields_were_is_for_whoever_may_read_memories_and_goes_with_the_text(home):
    home = home()
    item = home.items.add(ann, "Likes tea")
    home.items.edit(ann, item.id, title="Zanzibarrow", kind="preference")

    plain = home.memory.audit.page("default", AuditFilter()).entries[0]
    assert plain.moved == {"title": Moved(), "kind": Moved()}
    home.items.delete(ann, item.id)
    home.turn(31 * 86_400)
    home.tidy()
    assert [entry.moved for entry in history(home, item)] == [{}] * 3
    assert home.held("Zanzibarrow") == [0]


@pytest.mark.spec("9")
def test_fields_that_moved_come_along_in_an_export(home):
    home = home()
    item = home.items.add(ann, "Likes tea")
    home.items.edit(ann, item.id, kind="preference", metadata={"鍵": "値"})
    lines = json.loads(json.dumps(list(home.memory.export(ann))))
    home.memory.erase(ann)
    list(home.memory.import_lines(ann, lines, by="key:9"))

    assert json.loads(json.dumps(list(home.memory.export(ann)))) == lines
    edited = history(home, item)[-1]
    assert edited.moved["metadata"] == Moved({}, {"鍵": "値"})
    assert edited.imported_by == "key:9"
    smuggled = {**FORGED, "moved": {"content": {"before": "x", "after": "y"}}}
    line = {"type": "memory", "content": "Plays bass", "history": [smuggled]}
    with pytest.raises(Rejected):
        list(home.memory.import_lines(ann, [line]))


@pytest.mark.spec("6", "9")
def test_a_memory_that_came_in_without_a_history_has_one_from_then_on(home):
    home = home()
    before = home.now
    home.turn(60)
    line = {
        "type": "memory", "content": "Plays bass", "created_at": "2026-01-01T00:00:00+00:00",
    }  # fmt: skip
    list(home.memory.import_lines(ann, [line], by="key:9"))
    home.work()

    (item,) = home.items.list(ann)
    (entry,) = history(home, item)
    assert (entry.operation, entry.reason, entry.by) == (Operation.CREATE, IMPORTED, "key:9")
    assert (entry.after, entry.imported_by, entry.at > before) == ("Plays bass", None, True)
    then = home.memory.recall(ann, "Do I play bass?", as_of=before)
    assert [kept.item.id for kept in then.kept] == [item.id]  # it was known elsewhere then
    (told,) = [one for one in home.memory.export(ann) if one["type"] == "memory"]
    assert [one["reason"] for one in told["history"]] == [IMPORTED]


@pytest.mark.spec("6")
def test_a_memory_from_before_the_audit_has_an_empty_history(home):
    home = home()
    item = home.items.add(ann, "Plays bass")
    with home.parts.database.begin() as tx:
        tx.items._connection.exec_driver_sql("DELETE FROM perdure_audit_log")
    assert history(home, item) == []
    home.memory.preferences.set(ann, auto_learn=False)
    for name in ("0" * 32, "auto_learn"):  # what is no memory has no history
        with pytest.raises(NotFound):
            home.items.history(ann, name)


@pytest.mark.spec("9")
def test_an_importer_cannot_pass_for_an_admin(home):
    home = home()
    memory = {"type": "memory", "content": "Plays bass", "history": [FORGED]}
    gone = {**FORGED, "type": "history", "item": "x1", "id": "e2", "imported_by": "nobody"}
    list(home.memory.import_lines(ann, [memory, gone], by="key:9"))

    assert {(e.actor, e.by, e.imported_by) for e in noted(home, user="ann")} == {
        (Actor.ADMIN, "key:forged", "key:9")
    }
    assert noted(home, by="key:forged") == noted(home, actors={Actor.ADMIN}) == ()
    assert len(noted(home, by="key:9")) == 2


@pytest.mark.spec("8", "9")
def test_switches_leave_an_entry_where_they_change_and_none_where_they_do_not(home):
    home = home()
    mine = replace(home.memory.preferences, by="key:7", trace="request-1")
    mine.set(ann, sensitive_allowed=True, auto_learn=False)
    mine.set(ann, sensitive_allowed=True)
    mine.set(ann, sensitive_allowed=False)
    list(home.memory.import_lines(ann, [{"type": "preferences", "auto_learn": True}], by="key:9"))

    assert [(e.item, e.before, e.after, e.by, e.reason) for e in noted(home, user="ann")][::-1] == [
        ("sensitive_allowed", None, "true", "key:7", "by hand"),
        ("auto_learn", None, "false", "key:7", "by hand"),
        ("sensitive_allowed", "true", "false", "key:7", "by hand"),
        ("auto_learn", "false", "true", "key:9", "imported"),
    ]


@pytest.mark.spec("9")
def test_who_asked_for_an_erasure_stays_in_the_audit(home):
    home = home()
    home.items.add(lin, "不吃香菜")
    receipt = home.memory.erase(lin, by="key:7")
    home.memory.erase(lin, by="key:8")
    assert receipt.clean
    assert [(e.operation, e.item, e.by, e.user) for e in noted(home, user="小林")][-1:] == [
        ("erase", receipt.id, "key:7", "小林")
    ]


@pytest.mark.spec("9")
def test_what_cannot_be_noted_does_not_happen(home, monkeypatch):
    home = home()
    item = home.items.add(ann, "Likes tea")
    home.says("I live in Bergen.")
    job = home.jobs()[0]

    def broken(*_):
        raise DatabaseUnavailable

    whole = list(home.memory.export(ann))
    with monkeypatch.context() as patched:
        patched.setattr(SqlAudit, "add", broken)
        for do in (
            lambda: home.items.edit(ann, item.id, kind="preference"),
            lambda: home.memory.preferences.set(ann, sensitive_allowed=True),
            lambda: home.memory.erase(ann),
            lambda: list(home.memory.import_lines(ann, [{"type": "memory", "content": "x"}])),
            lambda: home.parts.queue.drop([job.id], by="key:7"),
        ):
            with pytest.raises(DatabaseUnavailable):
                do()
    assert list(home.memory.export(ann)) == whole
    assert job.id in {one.id for one in home.jobs()}
    assert home.parts.queue.drop([job.id, 2**70, 0], by="key:7") == 1
    assert [(e.item, e.reason) for e in noted(home, by="key:7")] == [(str(job.id), "job dropped")]
