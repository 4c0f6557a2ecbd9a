"""A user's world for recall: a real SQLite file, its vectors, an embedder that knows words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from perdure import text
from perdure.observe import Meter
from perdure.policy import ASSISTANT, Policy
from perdure.ports import Corpus, Embedder, Reranker, VectorEntry, VectorIndex
from perdure.recall.answer import Recaller
from perdure.recall.rank import Ranked
from perdure.store.database import SqlDatabase
from perdure.testing.fakes import WordEmbedder
from perdure.types import (
    Answer,
    Findings,
    Found,
    Level,
    MemoryItem,
    Message,
    Role,
    Scope,
    Score,
    Switches,
    content_hash,
)
from perdure.vectors.table import TableIndex

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)


def made(content: str, number: int = 1, **fields: Any) -> MemoryItem:
    """A memory of ann with a number for an id; ``age`` is in days."""
    created = NOW - timedelta(days=fields.pop("age", 0))
    if "project" in fields:
        fields.setdefault("level", Level.PROJECT)
    item = MemoryItem(
        **{
            "id": f"{number:032x}",
            "namespace": "default",
            "user": "ann",
            "content": content,
            "content_hash": "",
            "created_at": created,
            "updated_at": created,
            "confidence": 0.8,
            **fields,
        }
    )
    where = Scope(
        user=item.user,
        namespace=item.namespace,
        project=item.project,
        assistant=item.assistant,
        run=item.run,
        conversation=item.conversation,
    )
    return replace(item, content_hash=content_hash(where, item.level, content, "fold"))


@pytest.fixture
def item() -> Callable[..., MemoryItem]:
    return made


@pytest.fixture
def ranked() -> Callable[..., list[Ranked]]:
    """Memories as they were ranked: the first is the best."""

    def best_first(*items: MemoryItem, arms: Sequence[str] = ("semantic",)) -> list[Ranked]:
        return [
            Ranked(
                item=one,
                score=Score(terms={"place": 1 - place / 1000}),
                relevance=1.0,
                arms=tuple(arms),
                floored=True,
            )
            for place, one in enumerate(items)
        ]

    return best_first


@dataclass
class World:
    """What was written, and who answers from it."""

    database: SqlDatabase
    embedder: Embedder | None = field(default_factory=lambda: WordEmbedder(1024))
    index: VectorIndex | None = field(default_factory=lambda: TableIndex("words"))
    reranker: Reranker | None = None
    switches: Switches = field(default_factory=Switches)
    meter: Meter = field(default_factory=Meter)
    at: datetime = NOW
    policy: Policy = ASSISTANT
    scope: Scope = field(default_factory=lambda: Scope(user="ann"))
    recaller: Recaller = field(init=False)
    count: int = 0

    def __post_init__(self) -> None:
        self.refit()

    def refit(self, **parts: Any) -> None:
        """Other parts, the same rows."""
        for name, part in parts.items():
            setattr(self, name, part)
        self.recaller = Recaller(
            database=self.database,
            embedder=self.embedder,
            index=self.index,
            reranker=self.reranker,
            switches=self.switches,
            clock=lambda: self.at,
            meter=self.meter,
        )

    def knows(self, content: str, **fields: Any) -> MemoryItem:
        """One more memory, indexed as learning does it."""
        self.count += 1
        item = made(content, self.count, **fields)
        owner = Scope(user=item.user, namespace=item.namespace)
        vectors = WordEmbedder(1024).embed([content], "add")
        with self.database.begin() as tx:
            tx.items.add(item)
            tx.fulltext.index(owner, Corpus.MEMORIES, {item.id: text.terms(content)})
            tx.vectors.write(
                owner, Corpus.MEMORIES, "words", [VectorEntry(ref=item.id, vectors=vectors)]
            )
        return item

    def heard(self, conversation: str, *lines: str, user: str = "ann", **where: str) -> None:
        """A conversation, kept and indexed; a line is ``name: words``."""
        owner = Scope(user=user, **where)
        with self.database.begin() as tx:
            messages = [
                Message(Role.USER, line.partition(": ")[2], name=line.partition(": ")[0])
                for line in lines
            ]
            said = tx.messages.add(owner, conversation, messages, self.at, "t")
            texts = {str(one.seq): one.content for one in said}
            vectors = WordEmbedder(1024).embed(list(texts.values()), "add")
            tx.fulltext.index(
                owner, Corpus.EPISODES, {ref: text.terms(words) for ref, words in texts.items()}
            )
            tx.vectors.write(
                owner,
                Corpus.EPISODES,
                "words",
                [
                    VectorEntry(ref=ref, vectors=vectors[place : place + 1])
                    for place, ref in enumerate(texts)
                ],
            )

    def asks(self, question: Any, scope: Scope | None = None, **options: Any) -> Answer:
        options = {"policy": self.policy, "at": self.at, **options}
        return self.recaller.answer(scope or self.scope, question, **options)

    def finds(self, query: Any, *args: Any, scope: Scope | None = None, **options: Any) -> Findings:
        options = {"policy": self.policy, "at": self.at, **options}
        found = self.recaller.search(scope or self.scope, query, *args, **options)
        assert all(0 <= one.score <= 1 and math.isfinite(one.score) for one in found)
        return found

    @staticmethod
    def said(answer: Answer) -> list[str]:
        """What the answer says, best first."""
        return [kept.item.content for kept in answer.kept]

    @staticmethod
    def reasons(answer: Answer) -> dict[str, str]:
        """Why each memory is left out."""
        return {dropped.item.content: str(dropped.reason) for dropped in answer.dropped}

    @staticmethod
    def parts(answer: Answer) -> list[tuple[str, str]]:
        """What did not work, and why."""
        return [(one.part, str(one.reason)) for one in answer.degraded]

    @staticmethod
    def contents(found: Iterable[Found]) -> list[str]:
        """The texts that were found, best first."""
        return [one.content for one in found]


@pytest.fixture
def world(tmp_path):
    database = SqlDatabase.open(f"sqlite:///{tmp_path / 'perdure.db'}", clock=lambda: NOW)
    world = World(database)
    yield world
    world.recaller.close()
    database.close()
