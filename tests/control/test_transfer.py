"""A user's data goes out as lines and comes in again; conversations of others are learnt from."""

from __future__ import annotations

import json

import pytest

from perdure import Memory, Scope
from perdure.errors import NotFound, Rejected
from perdure.ports import ItemFilter
from perdure.settings import load
from perdure.types import Status

ann = Scope(user="ann")
bo = Scope(user="bo")
every = ItemFilter(statuses=set(Status))


@pytest.fixture
def memory(tmp_path):
    settings = load({"PERDURE_EMBEDDER": "none"})
    url = f"sqlite:///{tmp_path / 'perdure.db'}"
    with Memory.open(settings=settings.but(database_url=url)) as opened:
        yield opened


def said(content, role="user", conversation="chat-1", **more):
    return {"conversation": conversation, "role": role, "content": content, **more}


def learn(memory, who, lines):
    reports = list(memory.import_lines(who, lines))
    for report in reports:
        if report.receipt is not None:
            memory.wait(report.receipt)
    return reports


@pytest.mark.spec("12.import")
def test_a_conversation_file_is_learnt_from_turn_by_turn(memory):
    reports = learn(
        memory,
        ann,
        [
            said("I live in Bergen.", time="2026-11-01T09:00:00+01:00"),
            said("Nice!", "assistant"),
            said("I prefer tea.", id="m3"),
            said("我不吃香菜。", conversation="对话"),
        ],
    )

    assert [report.outcome for report in reports] == ["captured"] * 4
    assert [report.receipt is not None for report in reports] == [False, True, True, True]
    assert {item.origin.conversation for item in memory.items.list(ann)} == {"chat-1", "对话"}


@pytest.mark.spec("9", "12.import")
def test_an_export_comes_back_unchanged_for_the_same_and_for_another_user(memory):
    learn(memory, ann, [said("I live in Bergen."), said("I prefer tea."), said("Hi", "assistant")])
    by_hand = memory.items.add(ann, "Owns `a kayak`\n```sh\nset -x\n```", metadata={"a": "b"})
    memory.items.edit(ann, by_hand.id, kind="fact")
    memory.items.dismiss(ann, memory.items.list(ann).items[-1].id)
    lines = json.loads(json.dumps(list(memory.export(ann)), ensure_ascii=False))

    again = list(memory.import_lines(ann, lines))
    assert {report.outcome for report in again} == {"known"}

    list(memory.import_lines(bo, lines))
    copied = json.loads(json.dumps(list(memory.export(bo))))
    assert [without_ids(line) for line in copied] == [without_ids(line) for line in lines]


def without_ids(line):
    """Ids are unique in the whole store, so another user's copy has its own."""
    return {key: value for key, value in line.items() if key not in ("id", "history")} | {
        "history": [
            {k: v for k, v in entry.items() if k != "id"} for entry in line.get("history", ())
        ]
    }


@pytest.mark.spec("12.import")
@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("text", "line 2, line"),
        ({}, "line 2, type"),
        ({"type": "poem"}, "line 2, type"),
        ({"role": "user", "content": "x"}, "line 2, conversation"),
        (said("x", role="wizard"), "line 2, role"),
        (said(None), "line 2, content"),
        (said("x", time="yesterday"), "line 2, time"),
        (said("x", time="2026-11-01T09:00:00"), "line 2, time"),
        ({"type": "memory"}, "line 2, content"),
        ({"type": "memory", "content": "x", "kind": "wish"}, "line 2, kind"),
        ({"type": "memory", "content": "x", "created_at": "soon"}, "line 2, created_at"),
        ({"type": "memory", "content": "x", "history": "old"}, "line 2, history"),
    ],
)
def test_a_line_that_cannot_be_meant_is_named_with_its_field(memory, line, field):
    with pytest.raises(Rejected) as refused:
        list(memory.import_lines(ann, [{"type": "memory", "content": "First"}, line]))
    assert refused.value.field == field
    assert [item.content for item in memory.items.list(ann)] == ["First"]


@pytest.mark.spec("9")
def test_a_line_cannot_smuggle_in_a_row_to_be_brought_back(memory):
    """What an undo would write is made where the run was made, never read from a file."""
    learn(memory, ann, [said("I prefer tea.")])
    [line] = [one for one in memory.export(ann) if one["type"] == "memory"]
    assert all("was" not in entry for entry in line["history"])
    [item] = memory.items.list(ann)
    foreign = {"id": "x", "namespace": "default", "user": "bo", "content": "Owes ann money",
               "content_hash": "x", "created_at": line["created_at"],
               "updated_at": line["updated_at"]}  # fmt: skip
    smuggled = {"id": "e", "operation": "merge", "actor": "system", "reason": "tidied up",
                "before": "x", "after": line["content"], "at": line["updated_at"],
                "trace": "run", "was": foreign}  # fmt: skip
    memory.items.delete(ann, item.id)

    learn(memory, ann, [{**line, "history": [*line["history"], smuggled]}])

    [back] = memory.items.list(ann)
    assert [entry.was for entry in memory.items.history(ann, back.id)] == [None] * 3
    with pytest.raises(NotFound):
        memory.undo(ann, "run")
    assert memory.items.list(bo).items == ()


@pytest.mark.spec("5", "12.import")
def test_many_lines_are_embedded_in_few_requests(home):
    """One job for a hundred lines, so that an endpoint is asked a handful of times."""
    home = home()
    lines = [{"type": "memory", "content": f"Likes tea number {n}"} for n in range(149)]
    lines.append({"type": "memory", "content": "Plays the oboe"})
    lines[70:70] = [said(f"你好 {n}", learnt=True) for n in range(60)]
    reports = list(home.memory.import_lines(ann, lines))
    assert [report.line for report in reports] == list(range(1, 211))
    assert [report.outcome for report in reports] == ["stored"] * 70 + ["kept"] * 60 + [
        "stored"
    ] * 80

    asked: list[int] = []
    embed = home.embedder.embed

    def count(texts, action):
        asked.append(len(texts))
        return embed(texts, action)

    home.embedder.embed = count
    home.work()
    assert asked == [100, 100, 10]
    found = home.memory.search(ann, "oboe", arms=["semantic"])
    assert found[0].content == "Plays the oboe"
    assert home.memory.search(ann, "你好", arms=["episodes"])


@pytest.mark.spec("6")
def test_a_memory_that_came_without_a_history_begins_with_its_import(memory):
    learn(memory, ann, [{"type": "memory", "content": "Lives in Bergen"}])
    (item,) = memory.items.list(ann)

    (entry,) = memory.items.history(ann, item.id)
    assert (entry.operation, entry.after, entry.by) == ("create", "Lives in Bergen", "user")
    for stranger in (bo, Scope(user="ann", namespace="other")):
        with pytest.raises(NotFound):
            memory.items.history(stranger, item.id)


@pytest.mark.spec("12.import")
@pytest.mark.parametrize("number", [0, 1764500000, "2026", "1764500000", "1e3", True])
def test_a_number_is_no_time_in_a_line(memory, number):
    """ "2026" was taken for seconds after 1970, so that the memory had expired."""
    kept = {"type": "memory", "content": "Likes tea"}
    change = {"id": "e1", "operation": "update", "actor": "user", "reason": "", "before": "x",
              "after": "y", "trace": None}  # fmt: skip
    verdict = {"type": "feedback", "trace": "t", "item": "i", "verdict": "useful"}
    for line in (
        {**kept, "expires_at": number}, {**kept, "created_at": number},
        {**kept, "history": [{**change, "at": number}]}, {**verdict, "at": number},
        {"type": "tombstone", "content_hash": "h", "at": number},
    ):  # fmt: skip
        with pytest.raises(Rejected) as refused:
            list(memory.import_lines(ann, [line]))
        assert "ISO 8601" in str(refused.value)
    assert len(memory.items.list(ann, every)) == 0


# ── the limit ────────────────────────────────────────────────────────────────────────────────────


def six():
    lines = [{"type": "memory", "content": f"Likes number {n}"} for n in range(6)]
    return [lines[0] | {"status": "dismissed"}, *lines[1:]]


@pytest.mark.spec("3.6", "9")
@pytest.mark.parametrize("batch", ["100", "2"], ids=["in one go", "in three goes"])
def test_an_import_sets_aside_what_is_over_the_limit_and_loses_nothing(home, batch):
    """A dry run tells the same, also where the file is written piece by piece."""
    memory = home(
        PERDURE_POLICY__CAPACITY__ACTIVE_LIMIT="2", PERDURE_POLICY__JOBS__REPAIR_BATCH=batch
    ).memory

    def outcomes(**how):
        return [one.outcome for one in memory.import_lines(ann, six(), **how)]

    wanted = ["stored", "stored", "stored", "set_aside", "set_aside", "set_aside"]
    assert outcomes(dry_run=True) == wanted
    assert list(memory.items.list(ann, every)) == []
    assert outcomes() == wanted
    assert {item.content for item in memory.items.list(ann)} == {
        "Likes number 1", "Likes number 2",
    }  # fmt: skip
    aside = list(memory.items.list(ann, ItemFilter(statuses={Status.ARCHIVED})))
    assert [item.content[-1] for item in sorted(aside, key=lambda one: one.content)] == list("345")
    notes = memory.items.history(ann, aside[0].id)
    assert (notes[-1].operation, notes[-1].actor) == ("archive", "system")
    assert outcomes() == ["known"] * 6


@pytest.mark.spec("3.6", "11")
def test_where_the_oldest_leave_first_an_import_lets_them_leave(home):
    memory = home(
        "desktop",
        PERDURE_POLICY__CAPACITY__ACTIVE_LIMIT="10",
        PERDURE_POLICY__JOBS__REPAIR_BATCH="5",
    ).memory
    lines = [{"type": "memory", "content": f"Likes number {n}"} for n in range(12)]
    for dry_run in (True, False):
        reports = memory.import_lines(ann, lines, dry_run=dry_run)
        assert {one.outcome for one in reports} == {"stored"}
    assert len(list(memory.items.list(ann))) == 10
