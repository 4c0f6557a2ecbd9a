"""No log line holds a word of a memory, a message or a prompt, however much is logged."""

from __future__ import annotations

import json
import logging

import pytest
import structlog

from perdure import Memory, Message, Scope
from perdure.errors import PerdureError, Rejected
from perdure.settings import load
from perdure.testing.model_server import ModelServer
from perdure.types import JobState

ann = Scope(user="ann")
SAID = ("I live in Skarvestrand.", "Owns a quilladrone", "我不吃灰菜蕨。", "hunter2-swordfish-KEY")
WORDS = ("Skarvestrand", "quilladrone", "灰菜蕨", "swordfish", "sk-hush-hush", "Zanzibarrow")


class Everything(logging.Handler):
    """Keeps every record, formatted, with its arguments and its traceback."""

    def __init__(self):
        super().__init__(logging.NOTSET)
        self.lines: list[str] = []
        self.names: set[str] = set()

    def emit(self, record):
        self.names.add(record.name)
        self.lines.append(f"{self.format(record)} {record.args!r} {record.__dict__!r}")


@pytest.fixture
def log():
    """The root logger at its most talkative, as a host may have it."""
    root, heard = logging.getLogger(), Everything()
    before = root.level
    root.addHandler(heard)
    root.setLevel(logging.DEBUG)
    yield heard
    root.setLevel(before)
    root.removeHandler(heard)


def replies(*said):
    return [json.dumps({"items": [{"content": one, "kind": "fact"} for one in said]})]


@pytest.mark.spec("9")
def test_nothing_that_was_said_stands_in_any_log(tmp_path, log):
    """A life with a model over HTTP: learning, recall, failures, edits, a move, an erasure."""
    for name in ("openai", "httpx2", "httpcore2", "httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    with ModelServer(replies("Lives in Skarvestrand") + ["not json Zanzibarrow"] * 8) as server:
        settings = load(
            {
                "PERDURE_EMBEDDER": "none",
                "PERDURE_LLM_BASE_URL": server.base_url,
                "PERDURE_LLM_API_KEY": "sk-hush-hush",
                "PERDURE_LLM_MODEL": "m",
                "PERDURE_POLICY__JOBS__BACKOFF_S": "0",
                "PERDURE_POLICY__JOBS__MAX_RETRY": "1",
            }
        )
        with Memory.open(tmp_path / "perdure.db", settings=settings, workers=False) as memory:
            life(memory)
            with memory.parts.database.read() as tx:
                states = {job.state for job in tx.jobs.page(list(JobState), limit=99)}
            assert {JobState.SUCCESS, JobState.DEAD} & states
            assert server.chats
            lines = list(memory.export(ann))
            list(memory.import_lines(Scope(user="小林"), lines))
            memory.erase(ann)
            shown = memory.metrics.text().decode() + str(memory.metrics.summary())

    assert any(name.startswith("perdure") for name in log.names)
    everything = "\n".join([*log.lines, shown])
    assert [word for word in WORDS if word in everything] == []


def life(memory):
    for said in SAID:
        memory.capture(ann, "c", [Message("user", said), Message("assistant", "Zanzibarrow!")])
    for _ in range(30):
        memory.parts.worker.run_once()
    item = memory.items.add(ann, "Owns a quilladrone")
    memory.items.edit(ann, item.id, content="Owns a red quilladrone")
    memory.recall(ann, "Where is Skarvestrand?", explain=True)
    memory.items.dismiss(ann, item.id)
    for wrong in ("Owns a red quilladrone", "quilladrone " * 200):
        with pytest.raises(PerdureError) as refused:
            memory.items.add(ann, wrong)
        assert "quilladrone" not in str(refused.value)
    with pytest.raises(Rejected) as refused:
        list(memory.import_lines(ann, [{"type": "memory", "content": 7, "kind": "quilladrone"}]))
    assert "quilladrone" not in str(refused.value)


@pytest.mark.spec("9")
@pytest.mark.parametrize("hushed", [True, False])
def test_client_libraries_write_no_line_about_a_call(hushed, tmp_path, log, monkeypatch):
    """What they write at DEBUG differs by version, and once held whole requests: so, nothing."""
    if not hushed:  # the other half proves that this test can fail
        monkeypatch.setattr("perdure.models.endpoint._TALKATIVE", ())
    clients = ("openai", "httpx2", "httpcore2")
    for name in clients:
        logging.getLogger(name).setLevel(logging.NOTSET)
    with ModelServer(replies("Lives in Skarvestrand")) as server:
        settings = load(
            {
                "PERDURE_EMBEDDER": "none",
                "PERDURE_LLM_BASE_URL": server.base_url,
                "PERDURE_LLM_MODEL": "m",
            }
        )
        with Memory.open(tmp_path / "perdure.db", settings=settings, workers=False) as memory:
            memory.capture(ann, "c", [Message("user", "I live in Skarvestrand.")])
            while memory.parts.worker.run_once():
                pass
        assert server.chats
    spoke = {name.partition(".")[0] for name in log.names} & set(clients)
    assert spoke == (set() if hushed else set(clients))


@pytest.mark.spec("9")
@pytest.mark.parametrize("said", ["Owns a quilladrone", "我不吃灰菜蕨"])
def test_the_whole_suite_is_heard(tmp_path, heard, said):
    """Whatever logger repeats what is stored fails its test; this one proves that it can."""
    settings = load({"PERDURE_EMBEDDER": "none"})
    with Memory.open(tmp_path / "perdure.db", settings=settings, workers=False) as memory:
        item = memory.items.add(ann, said)
        memory.capture(ann, "c", [Message("user", f"{said}, and more")])
        speakers = [
            lambda words: logging.getLogger("perdure.jobs").warning("kept %s", words),
            lambda words: logging.getLogger("elsewhere").error("kept", extra={}, exc_info=words),
            lambda words: structlog.get_logger("perdure.serve").warning("kept", words=words),
        ]
        assert heard.leaks() == []
        for speak, words in zip(speakers, (said, ValueError(said), said), strict=True):
            memory.items.edit(ann, item.id, title="Again")
            speak(words)
            assert heard.leaks() == [said]
