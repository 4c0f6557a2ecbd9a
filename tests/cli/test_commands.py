"""What all commands have in common: help with examples, exit codes, errors without traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from perdure.cli import app
from perdure.cli.given import anywhere

COMMANDS = [
    "calibrate",
        "demo", "serve", "worker", "migrate", "recall", "reindex", "items", "import", "export",
    "jobs list", "jobs retry", "jobs drop", "keys create", "keys list", "keys revoke", "doctor",
]  # fmt: skip


def test_these_are_the_commands():
    def names(command):
        inner = getattr(command, "commands", {})
        below = [f"{n} {further}".strip() for n, one in inner.items() for further in names(one)]
        return below or [""]

    assert sorted(names(get_command(app))) == sorted(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_shows_examples_and_can_answer_programs(perdure, name):
    shown = perdure(*name.split(), "--help")
    assert shown.code == 0
    assert f"perdure {name}" in shown.out.split("Examples")[1]
    assert "--json" in shown.out


def test_options_of_every_command_may_stand_before_or_behind_its_name(perdure):
    perdure("--database", "a.db", "migrate")
    for words in (("--database", "a.db", "items", "ann"), ("items", "ann", "--database=a.db"),
                  ("items", "--database", "a.db", "ann")):  # fmt: skip
        assert perdure(*words, "--json").json["total"] == 0
    assert not Path("perdure.db").stat().st_size
    perdure("items", "ann", "--create", "--database", "b.db")
    assert Path("b.db").exists()
    assert anywhere(["recall", "ann", "--", "--preset", "x"])[-3:] == ["--", "--preset", "x"]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["items"], "USER"),
        (["items", ""], "user"),
        (["items", "x" * 256], "user"),
        (["items", "ann", "--namespace", " "], "namespace"),
        (["--preset", "huge", "items", "ann"], "preset"),
        (["items", "ann", "--limit", "0"], "limit"),
        (["items", "ann", "--kind", "rumour"], "kind"),
        (["import", "nowhere.jsonl"], "user"),
        (["dance"], "dance"),
        (["jobs", "retry", "one"], "ID"),
        (["serve", "--port", "70000"], "port"),
    ],
)
def test_a_command_line_that_cannot_be_meant_ends_with_2_and_names_the_word(perdure, words, name):
    done = perdure(*words)
    assert done.code == 2
    assert name in done.err
    assert done.out == ""
    assert "Traceback" not in done.err


def test_a_problem_ends_with_1_and_one_sentence(perdure, monkeypatch, tmp_path):
    (tmp_path / "broken.db").write_text("this is no database, " * 100, "utf-8")
    done = perdure("--database", "broken.db", "items", "ann")
    assert (done.code, done.out) == (1, "")
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("perdure: ")
    assert (tmp_path / "broken.db").read_text("utf-8").startswith("this is no database")

    monkeypatch.setenv("PERDURE_PRESETT", "team")
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    done = perdure("items", "ann")
    assert done.code == 1
    assert "PERDURE_PRESETT: 没有这个名称；可用的有：" in done.err


def test_a_part_that_does_not_answer_ends_with_3(perdure):
    done = perdure("--database", "sqlite:////nowhere/at/all/x.db", "--create", "items", "ann")
    assert done.code == 3
    assert len(done.err.splitlines()) == 1


@pytest.mark.case("LANG-03")
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["items", "a\udcff"], "USER"),
        (["recall", "ann", "\ud83d"], "QUESTION"),
        (["--database", "\udcfe.db", "items", "ann"], "--database"),
        (["import", "x.jsonl", "--user", "\udcff"], "--user"),
        (["demo", "--question", "\udcff"], "--question"),
    ],
)
def test_half_a_character_is_a_usage_error_that_names_the_argument(perdure, words, name):
    done = perdure(*words)
    assert done.code == 2
    assert name in done.err


@pytest.mark.case("LANG-03")
def test_bytes_that_are_no_text_do_not_break_the_command_line():
    command = [sys.executable.encode(), b"-m", b"perdure", b"items", b"a\xff"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"USER" in done.stderr
    assert b"Traceback" not in done.stderr


def test_the_version_is_said(perdure):
    assert perdure("--version").out.startswith("perdure 0.")


@pytest.mark.parametrize("words", [["items", "ann"], ["export", "ann"], ["jobs", "list"],
                                   ["keys", "list"], ["recall", "ann", "tea?"]])  # fmt: skip
def test_a_mistyped_database_is_named_and_no_file_is_made(perdure, monkeypatch, words):
    done = perdure("--database", "perdrue.db", *words)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("perdure: --database: ")
    assert "perdrue.db" in done.err
    monkeypatch.setenv("PERDURE_DATABASE_URL", "sqlite:///perdrue.db")
    assert "PERDURE_DATABASE_URL" in perdure(*words).err
    assert not Path("perdrue.db").exists()


def test_an_error_says_where_and_what_and_nothing_else(perdure):
    done = perdure("jobs", "list", "--database", "postgres://ann@127.0.0.1/x")
    assert done.err == (
        "perdure: database_url: Known are sqlite+pysqlite, mariadb+pymysql, mysql+pymysql, "
        "postgresql+psycopg.\n"
    )


@pytest.mark.parametrize("heavy", ["fastapi", "uvicorn", "jwt", "openai"])
def test_a_command_that_serves_nobody_does_not_wait_for_what_serving_loads(heavy):
    looks = f"import sys, perdure.cli; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", looks], check=False).returncode == 0
