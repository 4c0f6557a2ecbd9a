"""Sample users, memories and promises that contract tests are made of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from perdure import text
from perdure.ports import Vectors
from perdure.types import JobType, Level, MemoryItem, Promise, Scope, content_hash, new_id

NOW = datetime(2026, 3, 10, 9, 0, 0, 123456, tzinfo=UTC)
ANN = Scope(user="ann")
BO = Scope(user="bo")
AWKWARD = (
    "nw-toolkit", "auth0|5f7c", "first last", "o'neill\"; --", "léa@ex.org", "小林", "a+b=c/d",
    "A", "a", " a ", "a\u200b", "á", "a\u0301", "%", "_", "*", "team_a", "teamXa", "\\", "x" * 255,
)  # fmt: skip
"""User ids that must work and stay apart."""


def later(seconds: float) -> datetime:
    """A time after `NOW`."""
    return NOW + timedelta(seconds=seconds)


def memory(scope: Scope, content: str, **about: Any) -> MemoryItem:
    """A memory of this scope, ready to be added."""
    at = about.setdefault("created_at", NOW)
    level = Level.PROJECT if scope.project else Level.USER
    fields: dict[str, Any] = {
        "id": new_id(at),
        "namespace": scope.namespace,
        "user": scope.user,
        "content": content,
        "content_hash": content_hash(scope, level, content, "fold"),
        "normalized_content": text.normalise(content),
        "level": level,
        "project": scope.project,
        "assistant": scope.assistant,
        "run": scope.run,
        "conversation": scope.conversation,
        "updated_at": at,
    }
    return MemoryItem(**{**fields, **about})


def unit(*numbers: float) -> Vectors:
    """One vector of length 1, as a row."""
    row = np.array([numbers], dtype=np.float32)
    return np.asarray(row / np.linalg.norm(row), dtype=np.float32)


def contents(items: Sequence[MemoryItem]) -> list[str]:
    """What they say, in their order."""
    return [item.content for item in items]


def promise(scope: Scope, key: str, **about: Any) -> Promise:
    """A promise to learn from something."""
    fields: dict[str, Any] = {
        "type": JobType.EXTRACT,
        "namespace": scope.namespace,
        "user": scope.user,
        "key": key,
        "payload": {"text": "见面 at 9 — “quoted”"},
        "trace": f"trace-{key}",
        "max_retry": 2,
    }
    return Promise(**{**fields, **about})
