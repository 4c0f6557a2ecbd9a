"""Forty memories of one made-up person in English and Chinese, and questions; benches share them.

A line of ``notes.jsonl`` is ``{"kind", "en", "zh", "asks"}``: a memory in both languages, and a
question that it answers. Lines without a memory are questions that no memory answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from typing import Any

from measures import read
from perdure import Kind, Memory, Scope
from perdure.settings import load
from perdure.types import VectorStatus

LANGUAGES = ("en", "zh")
AT = datetime(2026, 11, 30, 9, tzinfo=UTC)


@dataclass(frozen=True)
class Note:
    """A memory, if there is one, and a question."""

    kind: Kind | None
    said: Mapping[str, str]
    asks: Mapping[str, str]


def notes() -> list[Note]:
    """All of them, in the order of the file."""
    return [
        Note(
            kind=Kind(line["kind"]) if "kind" in line else None,
            said={language: line[language] for language in LANGUAGES if language in line},
            asks=line["asks"],
        )
        for line in read(Path(__file__).with_suffix(".jsonl"))
    ]


@contextmanager
def opened(embedder: Any = "bundled") -> Iterator[Memory]:
    """An empty memory in a folder of its own; nothing is ever late."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'notes.db'}"
        settings = load({"PERDURE_POLICY__SEARCH__DEADLINE_MS": "0"}).but(
            database_url=url, embedder=embedder
        )
        patient = settings.policy.search.but(vector_ms=60_000, arm_ms=60_000, deadline_ms=0)
        settings = settings.but(policy=settings.policy.but(search=patient))
        with Memory.open(settings=settings) as memory:
            yield memory


def remember(memory: Memory, scope: Scope, said: Sequence[tuple[Kind, str]], **more: Any) -> None:
    """Memories as learning leaves them: not asked for, of many ages; waits for their vectors."""
    lines = [
        {
            "type": "memory",
            "kind": kind.value,
            "content": content,
            "confidence": 0.75,
            "source": "auto",
            "created_at": (AT - timedelta(days=5 * place)).isoformat(),
            "updated_at": (AT - timedelta(days=5 * place)).isoformat(),
            **more,
        }
        for place, (kind, content) in enumerate(said)
    ]
    for told in memory.import_lines(scope, lines):
        assert told.outcome in ("stored", "known"), told
    memory.parts.notify()
    while any(item.vector_status is not VectorStatus.SYNCED for item in listed(memory, scope)):
        sleep(0.02)


def listed(memory: Memory, scope: Scope) -> list[Any]:
    """All active memories."""
    return list(memory.items.list(scope, limit=1_000))
