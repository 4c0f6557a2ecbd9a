"""Runs commands: here in this process, or, where it matters, as a process of their own."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import structlog

from perdure.cli import main

TALKS = Path(__file__).parent


@dataclass
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def _search_by_words(monkeypatch):
    """Quick; what needs vectors says so."""
    monkeypatch.setenv("PERDURE_EMBEDDER", "none")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(autouse=True)
def _a_database_is_there(tmp_path, _no_settings_of_this_machine):
    """Empty; commands that only look refuse a file that is not there."""
    (tmp_path / "perdure.db").touch()


@pytest.fixture
def perdure(capsys):
    """Runs one command in this process."""

    def run(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        said = capsys.readouterr()
        return Done(int(ended.value.code or 0), said.out, said.err)

    before = list(logging.getLogger().handlers)
    yield run
    logging.getLogger().handlers[:] = before
    structlog.reset_defaults()


@pytest.fixture
def started():
    """Starts commands as processes of their own; whatever still runs is ended."""
    running = []

    def start(*words, **more):
        process = subprocess.Popen(
            [sys.executable, "-m", "perdure", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=os.environ | more,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()
