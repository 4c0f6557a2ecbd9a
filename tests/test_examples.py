"""The examples run as they stand and do what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perdure.testing.model_server import ModelServer

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name, typed="", **settings):
    return subprocess.run(
        [sys.executable, EXAMPLES / name],
        input=typed,
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONUTF8": "1", "PERDURE_EMBEDDER": "none"} | settings,
        timeout=60,
        check=False,
    )


@pytest.mark.spec("12.python")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("quickstart.py", ["<memory", "orwegian", "(from chat-1)"]),
        ("own_transaction.py", ["chats: 1", "memories: ['Does not eat fish']"]),
        ("async_quickstart.py", ["ann: ", "eat meat", "小林: ", "不吃香菜"]),
    ],
)
def test_an_example_shows_what_is_remembered(name, said):
    ran = run(name)
    assert ran.returncode == 0, ran.stderr
    for words in said:
        assert words in ran.stdout


@pytest.mark.spec("4.9", "12.python")
def test_a_chat_gives_the_model_what_it_learnt_a_line_before():
    with ModelServer(rule=lambda request: "ok" if "messages" in request.body else "") as server:
        ran = run(
            "chat_loop.py",
            "I don't eat meat.\nWhat shall we cook?\n",
            PERDURE_LLM_BASE_URL=server.base_url,
            PERDURE_LLM_MODEL="scripted",
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.count("ok") == 2
        asked = [chat.body["messages"][-1]["content"] for chat in server.chats]
        assert "What shall we cook?" in asked
    assert "Set PERDURE_LLM_BASE_URL" in run("chat_loop.py").stderr
