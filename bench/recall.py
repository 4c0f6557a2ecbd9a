"""What a recall costs beside the least it could cost, how that grows, and how soon learning shows.

Three stores on SQLite, asked in turn in one run: a user with 200 memories in a store of 10,000 and
in one of 1,000,000, and a user with 10,000. A recall without the time of embedding (the vector of
the question is made before) alternates with one indexed select of the user's rows through the same
engine and one dot product. Every question has other words and another vector. Then turns are
captured, and recall is asked until it says what was learnt from them.

    python bench/recall.py [--json FILE] [--quick]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sqlalchemy import insert, select

from measures import arguments, report
from perdure import Memory, Message, text
from perdure.observe import Meter
from perdure.policy import ASSISTANT
from perdure.ports import Corpus, EmbedAction, Similarity, VectorEntry, Vectors
from perdure.recall.answer import Recaller
from perdure.settings import load
from perdure.store.database import SqlDatabase
from perdure.store.rows import COLUMNS, row
from perdure.store.schema import memories
from perdure.types import Kind, Level, MemoryItem, Scope, Switches, content_hash
from perdure.vectors.table import TableIndex

BOUND = 5.0  # a recall beside the least, at 200 memories
BOUND_MANY = 3.0  # the same at 10,000
BOUND_GROWTH = 1.2  # a recall in the large store beside one in the small store
OWN, MANY = 200, 10_000
DIMENSION = 512
AT = datetime(2026, 11, 30, 9, tzinfo=UTC)
ME = Scope(user="ann")
STEMS = "tea boat cup sea oslo rain coin tram wool kite loaf pear moss harp lamp fjord".split()
WORDS = [f"{a}{b}" for a in STEMS for b in STEMS]
SEED = random.Random(11)
WARM = 20  # rounds that fill caches
CITIES = (
    "Bergen Oslo Lisbon Porto Kyoto Osaka Uppsala Turku Vilnius Riga Tallinn Gdansk Krakow Brno "
    "Linz Graz Basel Bern Lyon Nantes"
).split()
POLICY = ASSISTANT.but(search=ASSISTANT.search.but(deadline_ms=0, arm_ms=60_000, vector_ms=60_000))
"""The default numbers; nothing is late, however loaded the machine."""


class Ready:
    """An embedder whose vectors are there already."""

    model = "ready"
    dimension = DIMENSION
    similarity = Similarity(unrelated=0.15, topic=0.6, same=0.92, answer=0.45)

    def __init__(self, vector: Vectors) -> None:
        self.vector = vector

    def embed(self, texts: Sequence[str], action: EmbedAction) -> Vectors:
        """The one row that was made before."""
        assert (len(texts), action) == (1, "search")
        return self.vector


def statements(user: str, count: int) -> Iterator[MemoryItem]:
    """Memories of one user: a few constraints, some preferences, facts."""
    scope = Scope(user=user)
    for number in range(count):
        content = f"{number} " + " ".join(SEED.choices(WORDS, k=9))
        at = AT - timedelta(days=SEED.randrange(365))
        kind = Kind.CONSTRAINT if number < 4 else SEED.choice([Kind.PREFERENCE, Kind.FACT])
        yield MemoryItem(
            id=f"{SEED.getrandbits(128):032x}",
            namespace=scope.namespace,
            user=user,
            content=content,
            content_hash=content_hash(scope, Level.USER, content, "fold"),
            created_at=at,
            updated_at=at,
            kind=kind,
            confidence=SEED.uniform(0.5, 1),
            importance=SEED.random(),
        )


def unit(rows: Vectors) -> Vectors:
    """The same directions, length 1."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


@dataclass
class Store:
    """One store, and what was measured in it."""

    database: SqlDatabase
    own: int
    matrix: Vectors
    recaller: Recaller = field(init=False)
    ready: Ready = field(init=False)
    recalls: list[float] = field(default_factory=list)
    least: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ready = Ready(self.matrix[:1])
        self.recaller = Recaller(
            database=self.database,
            embedder=self.ready,
            index=TableIndex("ready"),
            reranker=None,
            switches=Switches(),
            clock=lambda: AT,
            meter=Meter(),
        )

    def ask(self, question: str, noise: Vectors) -> None:
        """One recall, and the least it could cost."""
        near = self.matrix[SEED.randrange(self.own)] + noise
        self.ready.vector = unit(near[None].astype(np.float32))
        start = time.perf_counter()
        answer = self.recaller.answer(ME, question, policy=POLICY, at=AT)
        self.recalls.append(time.perf_counter() - start)
        assert answer.kept
        assert not answer.degraded, answer.degraded
        start = time.perf_counter()
        self.select()
        self.least.append(time.perf_counter() - start)

    def select(self) -> None:
        """One indexed select of the user's rows and one dot product."""
        wanted = select(*COLUMNS).where(
            memories.c.namespace == ME.namespace,
            memories.c.user_id == ME.user,
            memories.c.status == "active",
        )
        with self.database.read() as tx:
            found = tx.items._connection.execute(wanted).all()  # noqa: SLF001 - the same engine
        assert len(found) == len(self.matrix @ self.ready.vector[0]) == self.own

    def figures(self) -> dict[str, float]:
        """Medians in milliseconds, and the ratio; the first rounds filled caches."""
        ours, bare = self.recalls[WARM:], self.least[WARM:]
        return {
            "recall_ms": round(1000 * median(ours), 4),
            "first_recall_ms": round(1000 * self.recalls[0], 4),
            "least_ms": round(1000 * median(bare), 4),
            "ratio": round(median(a / b for a, b in zip(ours, bare, strict=True)), 2),
        }

    def close(self) -> None:
        """Give everything back."""
        self.recaller.close()
        self.database.close()


def filled(file: Path, users: int, own: int, dice: np.random.Generator) -> Store:
    """A store in which the first user has so many memories and every other one 200."""
    database = SqlDatabase.open(f"sqlite:///{file}", clock=lambda: AT)
    mine = np.empty((0, DIMENSION), dtype=np.float32)
    start = time.perf_counter()
    for first in range(0, users, 20):
        with database.begin() as tx:
            for number in range(first, min(first + 20, users)):
                name = f"user-{number}" if number else ME.user
                count = OWN if number else own
                rows = unit(dice.standard_normal((count, DIMENSION)).astype(np.float32))
                write(tx, Scope(user=name), list(statements(name, count)), rows)
                mine = mine if number else rows
    took = time.perf_counter() - start
    print(f"filled {own + (users - 1) * OWN:,} memories in {took:.0f} s", file=sys.stderr)
    return Store(database, own, mine)


def write(tx: Any, scope: Scope, items: Sequence[MemoryItem], rows: Vectors) -> None:
    """Rows, terms and vectors of one user."""
    tx.items._connection.execute(insert(memories), [row(i) for i in items])  # noqa: SLF001 - in bulk
    tx.fulltext.index(scope, Corpus.MEMORIES, {i.id: text.terms(i.content) for i in items})
    pairs = zip(items, rows, strict=True)
    entries = [VectorEntry(ref=item.id, vectors=one[None]) for item, one in pairs]
    tx.vectors.write(scope, Corpus.MEMORIES, "ready", entries)


def readable(turns: int) -> dict[str, float]:
    """Milliseconds from a captured turn to the first recall that says what it taught."""
    took = []
    with tempfile.TemporaryDirectory() as folder:
        settings = load({}).but(database_url=f"sqlite:///{Path(folder) / 'p.db'}")
        with Memory.open(settings=settings) as memory:
            memory.search(ME, "Load the embedder.")
            for number, city in enumerate(CITIES[:turns]):
                scope = Scope(user=f"ann-{number}")
                start = time.perf_counter()
                memory.capture(scope, "chat", [Message("user", f"I live in {city}.")])
                while city not in memory.recall(scope, "Where do I live?", policy=POLICY).text:
                    assert time.perf_counter() - start < 60, city
                took.append(time.perf_counter() - start)
    return {"median": round(1000 * median(took), 1), "most": round(1000 * max(took), 1)}


def main() -> int:
    """Run the bench."""
    given = arguments(__doc__ or "").parse_args()
    small, large, many, rounds = (10, 100, 2_000, 100) if given.quick else (50, 5_000, MANY, 1_000)
    dice = np.random.default_rng(11)
    with tempfile.TemporaryDirectory() as folder:
        stores = {
            "small": filled(Path(folder) / "small.db", small, OWN, dice),
            "large": filled(Path(folder) / "large.db", large, OWN, dice),
            "many": filled(Path(folder) / "many.db", 1, many, dice),
        }
        for _ in range(rounds + WARM):
            question = "Where did I put the " + " ".join(SEED.choices(WORDS, k=4)) + "?"
            noise = dice.standard_normal(DIMENSION, dtype=np.float32) / np.float32(12)
            for store in SEED.sample(list(stores.values()), len(stores)):  # none always comes first
                store.ask(question, noise)
        pairs = zip(stores["large"].recalls[WARM:], stores["small"].recalls[WARM:], strict=True)
        growth = median(a / b for a, b in pairs)
        found = {name: store.figures() for name, store in stores.items()}
        for store in stores.values():
            store.close()
    sizes = {"small": small * OWN, "large": large * OWN, "many": many}
    soon = readable(5 if given.quick else 20)
    result = {
        "recalls": rounds,
        "memories": sizes,
        **found,
        "growth": round(growth, 3),
        "readable_ms": soon,
        "bounds": {"ratio": BOUND, "ratio_many": BOUND_MANY, "growth": BOUND_GROWTH},
    }
    report(result, given.json)
    for name, one in found.items():
        own = many if name == "many" else OWN
        print(
            f"{own:,} memories in a store of {sizes[name]:,}: {one['recall_ms']:.2f} ms, select "
            f"and dot product {one['least_ms']:.2f} ms, ratio {one['ratio']:.2f}; the first "
            f"recall {one['first_recall_ms']:.1f} ms"
        )
    print(f"large store beside small store: {growth:.2f} (bound {BOUND_GROWTH})")
    print(f"a learnt memory is said after {soon['median']:.0f} ms, at most {soon['most']:.0f} ms")
    kept = (
        max(found["small"]["ratio"], found["large"]["ratio"]) <= BOUND
        and found["many"]["ratio"] <= BOUND_MANY
        and growth <= BOUND_GROWTH
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
