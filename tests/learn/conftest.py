"""A user's world for learning: a real SQLite file, a scripted model, an exact index, a clock."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from perdure.control.items import Items
from perdure.control.receipts import receipt
from perdure.control.undo import Undo
from perdure.jobs.job import Handler
from perdure.jobs.worker import Worker
from perdure.learn.capture import capture
from perdure.learn.consolidate import Consolidator
from perdure.learn.extract import Extracted
from perdure.learn.steps import Learner
from perdure.observe import Meter
from perdure.policy import ASSISTANT, Policy
from perdure.ports import ChatModel, Corpus, ItemFilter, Result, Transaction
from perdure.store.database import SqlDatabase
from perdure.store.schema import metadata
from perdure.testing.fakes import ScriptedChat, WordEmbedder
from perdure.types import (
    Candidate,
    Job,
    JobType,
    MemoryItem,
    Message,
    Receipt,
    Role,
    Scope,
    Status,
    Switches,
    Turn,
    Utterance,
)
from perdure.vectors.table import TableIndex

ANN = Scope(user="ann")
START = datetime(2026, 11, 30, 9, tzinfo=UTC)


@dataclass(slots=True)
class Watched:
    """The real database, and whether a unit of work is open just now."""

    inner: SqlDatabase
    open: int = 0

    @contextmanager
    def begin(self, scope: Scope | None = None) -> Iterator[Transaction]:
        with self.inner.begin(scope) as tx, self._noted():
            yield tx

    def run(self, work: Callable[[Transaction], Result], scope: Scope | None = None) -> Result:
        def noted(tx: Transaction) -> Result:
            with self._noted():
                return work(tx)

        return self.inner.run(noted, scope)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        with self.inner.read() as tx, self._noted():
            yield tx

    @contextmanager
    def _noted(self) -> Iterator[None]:
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1

    def purge(self) -> None:
        self.inner.purge()

    def close(self) -> None:
        self.inner.close()


@dataclass(slots=True)
class World:
    """Everything one user needs to be learnt from, by hand and step by step."""

    database: Watched
    chat: ChatModel | None = None
    policy: Policy = ASSISTANT
    switches: Switches = field(default_factory=Switches)
    embedder: Any = None
    basic: Any = None
    extraction_model: str | None = None
    now: datetime = START
    meter: Meter = field(default_factory=Meter)
    index: TableIndex = field(default_factory=lambda: TableIndex("words"))

    def clock(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def answers(self, *script: Any) -> ScriptedChat:
        """From now on a model answers like this; asking it with a transaction open fails."""
        chat = ScriptedChat(*script, while_open=lambda: self.database.open > 0)
        self.chat = chat
        return chat

    @property
    def learner(self) -> Learner:
        return Learner(
            database=self.database,
            chat=self.chat,
            extraction_model=self.extraction_model,
            basic=self.basic or first_sentence,
            embedder=self.embedder,
            index=self.index if self.embedder is not None else None,
            policy_of=lambda _namespace: self.policy,
            switches=self.switches,
            clock=self.clock,
            meter=self.meter,
        )

    @property
    def consolidator(self) -> Consolidator:
        return Consolidator(
            database=self.database,
            chat=self.chat,
            extraction_model=self.extraction_model,
            index=self.index if self.embedder is not None else None,
            embeds=self.embedder is not None,
            policy_of=lambda _namespace: self.policy,
            switches=self.switches,
            clock=self.clock,
            meter=self.meter,
        )

    @property
    def undo(self) -> Undo:
        return Undo(
            database=self.database,
            embedder=None,
            index=None,
            policy_of=lambda _namespace: self.policy,
            clock=self.clock,
        )

    @property
    def items(self) -> Items:
        return Items(
            database=self.database,
            embedder=None,
            index=None,
            policy_of=lambda _namespace: self.policy,
            clock=self.clock,
        )

    def capture(
        self, *said: Message | str, conversation: str = "chat-1", scope: Scope = ANN, **turn: Any
    ) -> Receipt:
        """Capture a turn; a bare text is said by the user."""
        messages = tuple(Message(Role.USER, s) if isinstance(s, str) else s for s in said)
        whole = Turn(conversation=conversation, messages=messages, **turn)
        with self.database.begin() as tx:
            return capture(tx, scope, whole, self.policy, self.switches, self.clock())

    def learn(self, meanwhile: Any = None) -> list[Job]:
        """Keep every promise to learn that is due, like a worker; returns the finished jobs."""
        return self.keep(JobType.EXTRACT, self.learner, meanwhile)

    def works(self, kind: JobType, handler: Handler) -> None:
        """Let a worker do what is due now; what fails it puts off or gives up."""
        worker = Worker(
            self.database, {kind: handler}, self.policy.jobs,
            clock=self.clock, meter=self.meter, rng=random.Random(1),
        )  # fmt: skip
        while worker.run_once():
            pass

    def tidy(self, meanwhile: Any = None) -> list[Job]:
        """Keep every promise to tidy up that is due, like a worker; returns the finished jobs."""
        return self.keep(JobType.CONSOLIDATE, self.consolidator, meanwhile)

    def keep(self, kind: JobType, handler: Handler, meanwhile: Any = None) -> list[Job]:
        """Keep every promise of one kind that is due; returns the jobs as they were finished."""
        done = []
        while (job := self._claim(kind)) is not None:
            effect = handler(job)
            if meanwhile is not None:
                meanwhile()
            with self.database.begin() as tx:
                result = effect(tx)
                tx.jobs.finish(job, result, self.clock())
                done.append(replace(job, result=result))
        return done

    def _claim(self, kind: JobType) -> Job | None:
        with self.database.begin() as tx:
            return tx.jobs.claim(self.clock(), 30.0, [kind])

    def says(self, *said: Message | str, **how: Any) -> Receipt:
        """Capture a turn, learn from it, and tell what became of it."""
        taken = self.capture(*said, **how)
        self.learn()
        return self.told(taken)

    def told(self, taken: Receipt) -> Receipt:
        """The receipt as it is now, indexing left out of account."""
        if taken.state.final:
            return taken
        with self.database.begin() as tx:
            for job in tx.jobs.of(taken.scope, taken.trace):
                if job.type is JobType.EMBED:
                    tx.jobs.drop([job.id])
            return receipt(tx, taken.scope, taken.trace)

    def rows(self, *statuses: Status, scope: Scope = ANN) -> list[MemoryItem]:
        """The memories of these statuses, the oldest first; active ones if none is named."""
        with self.database.read() as tx:
            found = tx.items.every(scope, ItemFilter(statuses=statuses or (Status.ACTIVE,)))
        return sorted(found, key=lambda item: item.created_at)

    def memories(self, *statuses: Status, scope: Scope = ANN) -> list[str]:
        return [item.content for item in self.rows(*statuses, scope=scope)]

    def history(self, item: str) -> list[tuple[str, str | None, str | None]]:
        with self.database.read() as tx:
            return [(e.operation.value, e.before, e.after) for e in tx.audit.of(ANN, item)]

    def searchable(self) -> set[str]:
        """Ids of the memories that have a vector."""
        with self.database.read() as tx:
            return set(tx.vectors.read(ANN, Corpus.MEMORIES, "words").refs)


def first_sentence(said: Any, at: datetime) -> Extracted:
    """Stands for the built-in extractor: every message of the user is one statement."""
    by_user = [line for line in said if line.role is Role.USER]
    return Extracted(
        candidates=tuple(Candidate(content=s.content, messages=(s.id,)) for s in by_user),
        refused=(),
    )


@pytest.fixture(scope="session")
def opened(tmp_path_factory):
    """One open database for all tests: what SQLAlchemy has compiled once serves every world."""
    file = tmp_path_factory.mktemp("worlds") / "p.db"
    database = SqlDatabase.open(f"sqlite:///{file}", clock=lambda: START)
    yield database
    database.close()


@pytest.fixture
def worlds(opened):
    """Makes fresh worlds in the emptied database; a new one takes the place of the one before."""

    own: list[SqlDatabase] = []

    def make(url: str | None = None) -> World:
        if url is not None:
            own.append(SqlDatabase.open(url, clock=lambda: START))
            return World(database=Watched(own[-1]))
        with opened.begin() as tx:
            for table in reversed(metadata.sorted_tables):
                if table.name != "perdure_version":
                    tx.connection.execute(table.delete())
        return World(database=Watched(opened))

    yield make
    for database in own:
        database.close()


@pytest.fixture
def world(worlds):
    return worlds()


@pytest.fixture
def embedded(world):
    """The world with an embedder, which fails when a transaction is open."""
    world.embedder = WordEmbedder(while_open=lambda: world.database.open > 0)
    return world


@pytest.fixture
def line():
    """Makes kept messages: ``line("text")``, ``line("text", role="assistant")``."""
    count = iter(range(1, 1_000))

    def make(content: str, role: str = "user", at: datetime = START, **more: Any) -> Utterance:
        seq = next(count)
        given = {"seq": seq, "id": f"m{seq}", "conversation": "chat-1", **more}
        return Utterance(role=Role(role), content=content, at=at, **given)

    return make
