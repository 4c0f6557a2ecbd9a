"""What a recall costs beside the least it could cost, both on one SQLite file, in one run.

A user has 200 memories in a store of 100,000. A recall without the time of embedding (the vector of
the question is made before) alternates with one indexed select of the user's rows through the same
engine and one dot product. Every question has other words and another vector.

    python bench/recall.py [--json FILE] [--quick]
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import numpy as np
from sqlalchemy import insert, select

from measures import arguments, report
from perdure import text
from perdure.observe import Meter
from perdure.policy import ASSISTANT
from perdure.ports import Corpus, EmbedAction, Similarity, VectorEntry, Vectors
from perdure.recall.answer import Recaller
from perdure.store.database import SqlDatabase
from perdure.store.rows import COLUMNS, row
from perdure.store.schema import memories
from perdure.types import Kind, Level, MemoryItem, Scope, Switches, content_hash
from perdure.vectors.table import TableIndex

BOUND = 5.0
OWN = 200
DIMENSION = 512
AT = datetime(2026, 11, 30, 9, tzinfo=UTC)
ME = Scope(user="ann")
STEMS = "tea boat cup sea oslo rain coin tram wool kite loaf pear moss harp lamp fjord".split()
WORDS = [f"{a}{b}" for a in STEMS for b in STEMS]
SEED = random.Random(11)


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


def fill(database: SqlDatabase, users: int, dice: np.random.Generator) -> Vectors:
    """Every user's rows, terms and vectors; returns the vectors of the measured user."""
    mine = np.empty((0, DIMENSION), dtype=np.float32)
    names = (ME.user, *(f"user-{number}" for number in range(1, users)))
    for start in range(0, users, 20):
        with database.begin() as tx:
            for name in names[start : start + 20]:
                scope, items = Scope(user=name), list(statements(name, OWN))
                rows = unit(dice.standard_normal((OWN, DIMENSION)).astype(np.float32))
                tx.items._connection.execute(insert(memories), [row(i) for i in items])  # noqa: SLF001 - in bulk
                tx.fulltext.index(
                    scope, Corpus.MEMORIES, {i.id: text.terms(i.content) for i in items}
                )
                pairs = zip(items, rows, strict=True)
                entries = [VectorEntry(ref=item.id, vectors=one[None]) for item, one in pairs]
                tx.vectors.write(scope, Corpus.MEMORIES, "ready", entries)
                mine = rows if name == ME.user else mine
    return mine


def least(database: SqlDatabase, matrix: Vectors, vector: Vectors) -> None:
    """One indexed select of the user's rows and one dot product."""
    wanted = select(*COLUMNS).where(
        memories.c.namespace == ME.namespace,
        memories.c.user_id == ME.user,
        memories.c.status == "active",
    )
    with database.read() as tx:
        found = tx.items._connection.execute(wanted).all()  # noqa: SLF001 - the same engine
    assert len(found) == len(matrix @ vector) == OWN


def main() -> int:
    """Run the bench."""
    given = arguments(__doc__ or "").parse_args()
    users, rounds = (10, 100) if given.quick else (500, 1_000)
    dice = np.random.default_rng(11)
    ours, bare = [], []
    with tempfile.TemporaryDirectory() as folder:
        database = SqlDatabase.open(f"sqlite:///{Path(folder) / 'perdure.db'}", clock=lambda: AT)
        start = time.perf_counter()
        matrix = fill(database, users, dice)
        filled = time.perf_counter() - start
        ready = Ready(matrix[:1])
        recaller = Recaller(
            database=database,
            embedder=ready,
            index=TableIndex("ready"),
            reranker=None,
            switches=Switches(),
            clock=lambda: AT,
            meter=Meter(),
        )
        for number in range(rounds + 20):
            near = matrix[SEED.randrange(OWN)] + dice.standard_normal(DIMENSION) / 12
            ready.vector = unit(near[None].astype(np.float32))
            question = "Where did I put the " + " ".join(SEED.choices(WORDS, k=4)) + "?"
            start = time.perf_counter()
            answer = recaller.answer(ME, question, policy=ASSISTANT, at=AT)
            took = time.perf_counter() - start
            assert answer.kept
            assert not answer.degraded
            start = time.perf_counter()
            least(database, matrix, ready.vector[0])
            again = time.perf_counter() - start
            if number >= 20:  # the first fill caches
                ours.append(took)
                bare.append(again)
            if number == 0:
                first = took
        recaller.close()
        database.close()
    ratio = median(a / b for a, b in zip(ours, bare, strict=True))
    result = {
        "memories": users * OWN,
        "of_the_user": OWN,
        "recalls": rounds,
        "recall_ms": round(1000 * median(ours), 4),
        "first_recall_ms": round(1000 * first, 4),
        "least_ms": round(1000 * median(bare), 4),
        "ratio": round(ratio, 2),
        "bound": BOUND,
    }
    report(result, given.json)
    print(f"filled {users * OWN:,} memories in {filled:.0f} s; the first recall took "
          f"{1000 * first:.1f} ms")  # fmt: skip
    print(f"{rounds} recalls: {result['recall_ms']:.2f} ms, select and dot product "
          f"{result['least_ms']:.2f} ms, ratio {ratio:.2f} (bound {BOUND:.0f})")  # fmt: skip
    return 0 if ratio <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
