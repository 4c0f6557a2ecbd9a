"""import and export: JSON lines in, JSON lines out, and the same again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perdure import Memory, Scope

LINES = [
    {"conversation": "c1", "role": "user", "content": "I live in Bergen.", "id": "m1",
     "time": "2026-11-28T09:00:00Z"},
    {"conversation": "c1", "role": "assistant", "content": "Noted.", "id": "m2"},
    {"conversation": "c1", "role": "user", "content": "I don't eat meat.", "id": "m3"},
    {"type": "memory", "content": "Likes jazz", "kind": "preference"},
]  # fmt: skip


def written(lines, name="in.jsonl"):
    Path(name).write_text("\n".join(json.dumps(line) for line in lines) + "\n\n", "utf-8")
    return name


def told(perdure, user, *before):
    return {item["content"] for item in perdure(*before, "items", user, "--json").json["items"]}


@pytest.mark.spec("9", "12.import")
def test_conversations_are_learnt_from_and_memories_come_back(perdure):
    done = perdure("import", written(LINES), "--user", "ann", "--json")
    assert done.code == 0
    assert done.json["lines"] == 4
    assert (done.json["captured"], done.json["stored"]) == (3, 1)
    assert told(perdure, "ann") == {"Lives in Bergen", "Does not eat meat", "Likes jazz"}

    again = perdure("import", "in.jsonl", "--user", "ann")
    assert again.code == 0
    assert again.out == "4 lines: 4 known.\n"
    assert len(told(perdure, "ann")) == 3


@pytest.mark.spec("9")
def test_what_was_exported_comes_back_unchanged(perdure):
    perdure("import", written(LINES), "--user", "小林")
    before = perdure("export", "小林")
    lines = [json.loads(line) for line in before.out.splitlines()]
    assert {line["type"] for line in lines} == {"message", "memory"}

    assert perdure("export", "小林", "--out", "out.jsonl", "--json").json["lines"] == len(lines)
    perdure("--database", "other.db", "--create", "import", "out.jsonl", "--user", "小林")
    assert perdure("--database", "other.db", "export", "小林").out == before.out


def test_without_waiting_a_worker_learns_later(perdure):
    perdure("import", written(LINES[:1]), "--user", "ann", "--no-wait")
    assert told(perdure, "ann") == set()
    assert perdure("worker", "--once", "--json").json["done"] >= 1
    assert told(perdure, "ann") == {"Lives in Bergen"}


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        (b'{"conversation": "c", "role": "user", "content": "x"}\n{"role"', "line 2"),
        (b'{"conversation": "c", "role": "wizard", "content": "x"}', "line 1, role"),
        (b'{"conversation": "c", "role": "user", "content": null}', "line 1, content"),
        (b'{"conversation": "c", "role": "user", "content": "x", "time": "noon"}', "line 1, time"),
        (b'{"conversation": "\\ud83d", "role": "user", "content": "x"}', "line 1, conversation"),
        (b'{"role": "user", "content": "x"}', "line 1, conversation"),
        (b"[1]\n", "line 1"),
        (b'\n{"role": "user"}', "line 1"),
        (b'"\xff"', "line 1"),
        (b"[" * 100_000, "line 1"),
        (b'{"type": "rumour"}', "line 1, type"),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_meant_is_named(perdure, raw, where):
    Path("bad.jsonl").write_bytes(raw)
    done = perdure("import", "bad.jsonl", "--user", "ann")
    assert done.code == 1
    assert done.err.startswith(f"perdure: {where}: ")
    assert len(done.err.splitlines()) == 1


def test_files_that_cannot_be_read_or_written_are_named(perdure):
    assert "nowhere.jsonl" in perdure("import", "nowhere.jsonl", "--user", "ann").err
    done = perdure("export", "ann", "--out", "no/such/folder/x.jsonl")
    assert done.code == 1
    assert "no/such/folder" in done.err
    before = set(Path().iterdir())
    Path("taken").mkdir()
    assert perdure("export", "ann", "--out", "taken").code == 1
    assert set(Path().iterdir()) == before | {Path("taken")}, "a half export was left"
    Path("empty.jsonl").write_bytes(b"\n\n")
    assert perdure("import", "empty.jsonl", "--user", "ann", "--json").json == {"lines": 0}


@pytest.mark.spec("9", "12.import")
def test_a_dry_run_tells_what_would_happen_and_changes_nothing(perdure):
    file = written(LINES)
    perdure("import", written(LINES[3:], "before.jsonl"), "--user", "ann")
    before = perdure("export", "ann").out

    done = perdure("import", file, "--user", "ann", "--dry-run", "--json")
    assert (done.code, done.json) == (0, {"lines": 4, "captured": 3, "known": 1})
    assert perdure("export", "ann").out == before
    spoken = perdure("import", file, "--user", "ann", "--dry-run")
    assert spoken.out == "4 lines: 3 captured, 1 known.\n"
    assert "Nothing was changed." in spoken.err
    assert perdure("import", file, "--user", "ann", "--json").json["captured"] == 3


@pytest.mark.spec("12.import")
@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([{"id": "1", "memory": "Likes tea"}], '{"type": "memory", "content": "…"}'),
        ({"results": [{"id": "1", "memory": "Likes tea"}]}, "mem0"),
        ([{"id": "1", "content": "Likes tea", "createdAt": 1, "sourceScope": "global"}],
         "perdure --database memory.json --preset desktop export USER"),
        ([{"role": "user", "content": "Likes tea"}], "one JSON array"),
    ],
    ids=["mem0", "mem0 results", "desktop", "array"],
)  # fmt: skip
@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_of_another_program_is_told_what_to_do_with_it(perdure, value, told, indent):
    Path("memory.json").write_text(json.dumps(value, indent=indent), "utf-8")
    done = perdure("import", "memory.json", "--user", "ann")
    assert done.code == 1
    assert done.err.startswith("perdure: line 1: ")
    assert told in done.err
    assert "tea" not in done.err
    assert not Path("perdure.db").exists() or perdure("export", "ann").out == ""


@pytest.mark.spec("11", "12.import")
def test_what_is_told_of_a_desktop_file_brings_it_in(perdure):
    with Memory.open("memory.json", preset="desktop", workers=False) as memory:
        memory.items.add(Scope(user="ann"), "Likes tea")
    lines = perdure("--database", "memory.json", "--preset", "desktop", "export", "ann").out
    Path("out.jsonl").write_text(lines, "utf-8")
    assert perdure("import", "out.jsonl", "--user", "ann", "--json").json["stored"] == 1
    assert told(perdure, "ann") == {"Likes tea"}
