"""The demo shows the whole way, on conversations it was written for and on others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.cells import cell_len

from perdure.testing.model_server import ModelServer

HERE = Path(__file__).parent
ENGLISH, CHINESE = HERE / "talk.en.jsonl", HERE / "talk.zh.jsonl"


def contents(person):
    return {item["content"] for item in person["learnt"]}


def reasons(person):
    return {reason for note in person["refused"] for reason in note["reasons"]}


@pytest.mark.spec("12.demo")
def test_the_demo_learns_refuses_recalls_and_forgets_in_two_languages(perdure, monkeypatch):
    """C day 3: remember a preference, it works in the next conversation, delete it, it is gone."""
    monkeypatch.setenv("PERDURE_EMBEDDER", "bundled")
    told = perdure("demo", "--json").json
    assert [person["user_id"] for person in told["people"]] == ["ann", "小林"]
    for person, said in zip(told["people"], ("Does not eat meat", "不吃香菜"), strict=True):
        assert said in person["context"]["text"]
        assert {"SECRET", "NOT_ABOUT_USER", "HYPOTHETICAL", "QUESTION"} <= reasons(person)
        assert person["gone"]
        assert person["deleted"] in person["context"]["text"]
        assert person["deleted"] not in person["after"]
        assert person["context"]["dropped"]
        assert person["models"] == ["basic"]
        assert set(person["timings_ms"]) == {"capture", "learn", "recall"}
    assert [line.partition("=")[0] for line in told["connect"]] == [
        "PERDURE_LLM_BASE_URL", "PERDURE_LLM_API_KEY", "PERDURE_LLM_MODEL",
    ]  # fmt: skip
    assert told["serve"] == "perdure serve"


@pytest.mark.spec("12.demo")
def test_the_demo_leaves_nothing_behind(perdure, tmp_path):
    before = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert perdure("demo").code == 0
    assert {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == before


@pytest.mark.spec("12.demo")
@pytest.mark.parametrize(
    ("file", "known", "why", "secret"),
    [
        (
            ENGLISH,
            {"Lives in Tromsø", "Plays the cello", "Does not drink coffee"},
            {"SECRET", "NOT_ABOUT_USER", "HYPOTHETICAL", "QUESTION"},
            "Winter",
        ),
        (
            CHINESE,
            {"住在成都", "平时喜欢打羽毛球", "不吃辣"},
            {"SECRET", "NOT_ABOUT_USER", "QUESTION"},
            "Panda",
        ),
    ],
)
def test_it_plays_conversations_that_it_was_not_written_for(perdure, file, known, why, secret):
    (person,) = perdure("demo", "--file", file, "--json").json["people"]
    assert known <= contents(person)
    assert why <= reasons(person)
    assert not any(secret in content for content in contents(person))
    assert secret not in str(person["refused"])
    assert person["question"] == json.loads(file.read_text("utf-8").splitlines()[-1])["content"]
    assert person["gone"]

    shown = perdure("demo", "--file", file).out
    for said in known:
        assert said in shown


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("file", [None, ENGLISH, CHINESE])
def test_it_keeps_within_the_terminal_and_its_frames_stand_upright(
    perdure, monkeypatch, width, file
):
    monkeypatch.setenv("COLUMNS", str(width))
    shown = perdure("demo", *(["--file", file] if file else [])).out.splitlines()
    assert max(map(cell_len, shown)) <= width
    frames = [line for line in shown if line.startswith(("╭", "│", "╰"))]
    assert frames
    assert {cell_len(line) for line in frames} == {width}


def test_another_question_can_be_asked(perdure):
    (person,) = perdure("demo", "--file", CHINESE, "--question", "我住在哪里？", "--json").json[
        "people"
    ]
    assert person["question"] == "我住在哪里？"
    assert any("住在成都" in kept["content"] for kept in person["context"]["kept"])


def test_a_model_that_is_configured_learns_and_is_named(perdure, monkeypatch):
    reply = {"memories": [{"content": "Plays the cello", "kind": "fact", "action": "insert"}]}
    with ModelServer(rule=lambda _: reply) as server:
        monkeypatch.setenv("PERDURE_LLM_BASE_URL", server.base_url)
        monkeypatch.setenv("PERDURE_LLM_MODEL", "scripted")
        told = perdure("demo", "--file", ENGLISH, "--json").json
        shown = perdure("demo", "--file", ENGLISH).out
    assert told["people"][0]["models"] == ["scripted"]
    assert contents(told["people"][0]) == {"Plays the cello"}
    assert "The model scripted learnt this." in shown
    assert "built-in" not in shown


def test_a_model_that_does_not_answer_is_told_and_ends_with_3(perdure, monkeypatch):
    monkeypatch.setenv("PERDURE_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("PERDURE_LLM_MODEL", "none")
    monkeypatch.setenv("PERDURE_POLICY__JOBS__MAX_RETRY", "0")
    done = perdure("demo", "--file", CHINESE)
    assert done.code == 3
    assert "模型没有响应" in done.out


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        ("", "file"),
        ("[]", "line 1"),
        ('{"conversation": "c", "role": "user"}', "line 1, content"),
        ('{"conversation": "c", "role": "user", "content": "x", "user": 7}', "line 1, user"),
        ('{"conversation": "c", "role": "assistant", "content": "x"}', "c"),
    ],
)
def test_a_file_that_cannot_be_played_is_refused_in_one_sentence(perdure, raw, where):
    Path("bad.jsonl").write_text(raw, "utf-8")
    done = perdure("demo", "--file", "bad.jsonl")
    assert done.code == 1
    assert done.err.startswith(f"perdure: {where}: ")
    assert len(done.err.splitlines()) == 1


def test_one_question_alone_teaches_nothing_and_says_so(perdure):
    Path("short.jsonl").write_text('{"conversation": "c", "role": "user", "content": "Hi?"}')
    done = perdure("demo", "--file", "short.jsonl")
    assert done.code == 0
    assert "Nothing." in done.out
