"""What a recall costs in small and in large stores, on each database and vector index there is.

Each user has 100 memories with random vectors of length 1, 512 numbers each. Users are asked at
random, each by a process that does not know the user yet (*first*: rows, terms and vectors are
read) and once more (*again*: rows and vectors are at hand, words are looked up). All stores are
asked in turn in one run, and ratios are of pairs. The vector of a question is made before.

    python bench/scale.py [--json FILE] [--plot FILE] [--quick] [--large] [--only KIND]

Stores have 1,000, 10,000 and 100,000 memories, on SQLite and PostgreSQL with ``--large`` also
1,000,000. Through the front door filling would take hours: ten users are written by the store, and
every other one is a copy of one of them, made in bulk (filling.py). Then statistics are brought up
to date, and Milvus Lite writes what it has in memory, as servers do by themselves. ``--only`` asks
fewer databases.

*pgvector* lies in PostgreSQL and *milvus* beside SQLite: there only the vectors are elsewhere, and
their bytes are those of the vectors alone. The rate of reindexing is that of `perdure reindex`
with one worker and an embedder that needs no time, in a store of 1,000 memories.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from statistics import median, quantiles
from typing import TypeAlias
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.progress import Progress, track
from sqlalchemy import text

from filling import copied
from measures import arguments, bars, report
from perdure.errors import Misconfigured
from perdure.observe import Meter
from perdure.ports import Corpus, EmbedAction, Outside, VectorEntry, VectorIndex, Vectors
from perdure.recall.answer import Recaller
from perdure.settings import Secret, Settings
from perdure.store.database import SqlDatabase
from perdure.store.schema import metadata
from perdure.types import MemoryItem, Scope, Switches, VectorStatus
from perdure.vectors.milvus import MilvusHost
from perdure.vectors.outside import OutsideIndex
from perdure.vectors.pgvector import PgVectorHost
from perdure.vectors.table import TableIndex
from perdure.wiring import now, wire
from places import DATABASES, address, database, load, there
from recall import AT, DIMENSION, POLICY, WORDS, Ready, statements, unit, write

Figures: TypeAlias = dict[str, float]

OWN = 100  # memories of a user
MODELS = 10  # users that are written; the others are copies of them
MOST = {"sqlite": 1_000_000, "postgres": 1_000_000}  # others: 100,000
BESIDE = {"pgvector": "postgres", "milvus": "sqlite"}  # an index, and whose rows it serves
SETTLING = 10  # users after which Milvus Lite is told to write: much in memory makes it slow
WARM = 5  # rounds that open connections
TIMEOUT_S = 60.0  # for filling; a question that takes so long is a failure
DICE = random.Random(7)
ASIDE = Console(stderr=True)
BYTES = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    "mariadb": "SELECT sum(file_size) FROM information_schema.innodb_sys_tablespaces"
    " WHERE substring_index(name, '/', 1) = database()",
    "postgres": "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r'"
    " AND relname LIKE 'perdure%' AND relname <> 'perdure_outside_vectors'",
    "pgvector": "SELECT pg_total_relation_size('perdure_outside_vectors')",
}
COPY = (
    "INSERT INTO perdure_outside_vectors"
    " (namespace, user_id, corpus, model, ref, part, stamp, embedding)"
    " SELECT namespace, :user, corpus, model, ref, part, stamp, embedding"
    " FROM perdure_outside_vectors WHERE namespace = 'default' AND user_id = :model"
)
TABLES = ", ".join(metadata.tables)
ANALYZE = {"mariadb": f"ANALYZE TABLE {TABLES}, perdure_words", "postgres": "ANALYZE"}


def vectors_of(user: int) -> Vectors:
    """The same every time, so that nobody keeps them; a copy has those of its model."""
    rows = np.random.default_rng(user % MODELS).standard_normal((OWN, DIMENSION))
    return unit(rows.astype(np.float32))


class Chance:
    """An embedder that answers at once, whatever it is asked."""

    model = "chance"
    dimension = DIMENSION
    similarity = Ready.similarity

    def embed(self, texts: Sequence[str], action: EmbedAction) -> Vectors:  # noqa: ARG002 - the port's
        """Random vectors of length 1, one a text."""
        rows = np.random.default_rng(len(texts)).standard_normal((len(texts), DIMENSION))
        return unit(rows.astype(np.float32))


@dataclass
class Store:
    """So many memories in one place, and what was measured there."""

    kind: str
    memories: int
    url: str
    database: SqlDatabase
    index: Callable[[], VectorIndex]
    """Knows nobody yet."""
    first: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As it stands in the tables."""
        return f"{self.kind}, {self.memories:,}"

    def send(self, user: int, items: Sequence[MemoryItem]) -> None:
        """Give the index outside what one user has; a copy of a user is copied there, if it can."""
        scope, model = Scope(user=f"user-{user}"), Scope(user=f"user-{user % MODELS}")
        if self.kind == "pgvector" and user >= MODELS:
            with self.database.begin() as tx:
                tx.connection.execute(text(COPY), {"user": scope.user, "model": model.user})
            return
        index: object = self.index()
        assert isinstance(index, Outside)
        pairs = zip(items, vectors_of(user), strict=True)
        entries = [VectorEntry(ref=item.id, vectors=one[None]) for item, one in pairs]
        index.send(scope, Corpus.MEMORIES, entries)

    def settle(self) -> None:
        """Bring statistics up to date; let Milvus Lite write what it has in memory."""
        if self.kind == "milvus":
            client = import_module("pymilvus").MilvusClient(address("milvus"))
            for name in client.list_collections():
                client.flush(name)
            client.close()
        if self.kind in ANALYZE:
            with self.database.engine.begin() as connection:
                connection.execute(text(ANALYZE[self.kind]))

    def ask(self, recaller: Recaller, user: int, question: str, times: list[float]) -> None:
        """One recall."""
        start = time.perf_counter()
        answer = recaller.answer(Scope(user=f"user-{user}"), question, policy=POLICY, at=AT)
        times.append(time.perf_counter() - start)
        assert answer.kept
        assert not answer.degraded, answer.degraded

    def figures(self) -> Figures:
        """Milliseconds, and bytes a memory."""
        found = {}
        for name, times in (("first", self.first[WARM:]), ("again", self.again[WARM:])):
            found[f"{name} p50"] = round(1000 * median(times), 2)
            found[f"{name} p95"] = round(1000 * quantiles(times, n=20)[-1], 2)
        found["bytes"] = round(self.bytes() / self.memories)
        return found

    def bytes(self) -> int:
        """What it takes on disk; 0 where nobody can tell."""
        if self.kind == "milvus":
            return 0
        with self.database.engine.connect() as connection:
            return int(connection.execute(text(BYTES[self.kind])).scalar_one())


def opened(stack: ExitStack, kind: str, memories: int, beside: Sequence[str]) -> list[Store]:
    """Empty stores on a database of their own: its table of vectors, and the indexes beside it."""
    url = stack.enter_context(database(kind))
    rows = SqlDatabase.open(url, clock=now)
    stack.callback(rows.close)
    stores = [Store(kind, memories, url, rows, lambda: TableIndex("ready"))]
    for index in beside:
        model = f"ready {os.getpid()} {memories}"  # Milvus has one collection a model, for all
        host = (
            PgVectorHost(url, model, timeout_s=TIMEOUT_S)
            if index == "pgvector"
            else MilvusHost(address(index) or "", None, model, timeout_s=TIMEOUT_S)
        )
        outside = OutsideIndex(host, model, clock=now)
        stack.callback(outside.close)
        stack.callback(outside.clear)
        stores.append(Store(index, memories, url, rows, lambda outside=outside: outside))  # type: ignore[misc]
    return stores


def filled(stores: Sequence[Store]) -> None:
    """The same memories in a database and in the indexes beside it."""
    base, *beside = stores
    many = base.memories // OWN
    few = {
        Scope(user=f"user-{user}"): [
            replace(i, vector_status=VectorStatus.SYNCED) for i in statements(f"user-{user}", OWN)
        ]
        for user in range(min(MODELS, many))
    }
    with base.database.begin() as tx:
        for user, (scope, items) in enumerate(few.items()):
            write(tx, scope, items, vectors_of(user))
    copied(base.database, base.kind, few, many)
    models = list(few.values())
    for store in beside:
        for user in track(range(many), f"{store.name}: sending", console=ASIDE):
            store.send(user, models[user % MODELS])
            if user % SETTLING == SETTLING - 1 and store.kind == "milvus":
                store.settle()
    for store in stores:
        store.settle()


def asked(stores: Sequence[Store], rounds: int) -> None:
    """Ask every store in turn, none always first."""
    ready = Ready(vectors_of(0)[:1])
    noises = np.random.default_rng(11)
    with ThreadPoolExecutor(16) as pool, ThreadPoolExecutor(8) as models:
        for _ in track(range(rounds + WARM), "asking", console=ASIDE):
            lot = DICE.random()
            for store in DICE.sample(stores, len(stores)):
                user = int(lot * store.memories / OWN)
                recaller = Recaller(
                    database=store.database, embedder=ready, index=store.index(), reranker=None,
                    switches=Switches(), clock=now, meter=Meter(), pool=pool, models=models,
                )  # fmt: skip
                for times in (store.first, store.again):
                    noise = noises.standard_normal(DIMENSION) / 12
                    near = vectors_of(user)[DICE.randrange(OWN)] + noise
                    ready.vector = unit(near[None].astype(np.float32))
                    question = f"Where did I put the {' '.join(DICE.choices(WORDS, k=4))}?"
                    store.ask(recaller, user, question, times)


def reindexed(kind: str, memories: int) -> float:
    """Memories a second of which terms and vectors are made anew."""
    index = kind if kind in BESIDE else "table"
    with database(BESIDE.get(kind, kind)) as url:
        where = Secret(address(kind)) if kind == "milvus" else None
        settings = Settings(database_url=url, vector_index=index, vector_url=where)  # type: ignore[arg-type]
        with patch("perdure.wiring.running.embedder_of", lambda *_: Chance()):
            parts = wire(settings)
        with parts.database.begin() as tx:
            for user in range(memories // OWN):
                scope = Scope(user=f"user-{user}")
                write(tx, scope, list(statements(scope.user, OWN)), vectors_of(user))
        start = time.perf_counter()
        parts.reconciler.rebuild(now())
        while parts.worker.run_once():
            pass
        took = time.perf_counter() - start
        with parts.database.read() as tx:
            assert tx.owners.vectors() == {VectorStatus.SYNCED: memories}
        outside: object = parts.index
        if isinstance(outside, Outside):
            outside.clear()
        parts.close()
    return memories / took


def has_pgvector() -> bool:
    """Can PostgreSQL keep vectors?"""
    host = PgVectorHost(address("postgres") or "", "ready")
    try:
        host.ping()
    except Misconfigured:
        print("pgvector is not there: PostgreSQL has no such extension")
        return False
    finally:
        host.close()
    return True


def ratio(these: Store, those: Store) -> Figures:
    """How many times as long one store takes as another, question by question."""
    pairs = {"first": (these.first, those.first), "again": (these.again, those.again)}
    return {
        name: round(median(a / b for a, b in zip(x[WARM:], y[WARM:], strict=True)), 2)
        for name, (x, y) in pairs.items()
    }


def told(figures: dict[str, Figures], ratios: dict[str, dict[str, Figures]]) -> None:
    """The figures as text, a row a store."""
    names = list(next(iter(figures.values())))
    print(f"{'ms, bytes a memory':<20}" + "".join(f"{name:>11}" for name in names))
    for row, one in figures.items():
        print(f"{row:<20}" + "".join(f"{one[name]:>11,.6g}" for name in names))
    for title, rows in ratios.items():
        print(f"\n{title:<28}{'first':>8}{'again':>8}")
        for row, one in rows.items():
            print(f"{row:<28}{one['first']:>8.2f}{one['again']:>8.2f}")


def main() -> int:
    """Run the bench."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--large", action="store_true", help="also 1,000,000 memories; 10 GB")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures, as PNG")
    parser.add_argument(
        "--only", action="append", choices=[*DATABASES, *BESIDE], help="and no other"
    )
    given = parser.parse_args()
    few, many = (200, 1_000, 2_000), (1_000, 10_000, 100_000)
    sizes, rounds, again = (few, 20, 1) if given.quick else (many, 100, 3)
    kinds = there((*DATABASES, "milvus"))
    if "postgres" in kinds and has_pgvector():
        kinds.append("pgvector")
    if given.only:
        kinds = [kind for kind in kinds if kind in given.only]
    before = load()
    with ExitStack() as stack:
        stores = []
        for size in (*sizes, *((1_000_000,) if given.large else ())):
            fit = [kind for kind in kinds if size <= MOST.get(kind, 100_000)]
            for base in (kind for kind in fit if kind not in BESIDE):
                beside = [kind for kind in fit if BESIDE.get(kind) == base]
                some = opened(stack, base, size, beside)
                filled(some)
                stores += some
        asked(stores, rounds)
        stores.sort(key=lambda store: kinds.index(store.kind))
        figures = {store.name: store.figures() for store in stores}
        least = {store.memories: store for store in stores if store.kind == "sqlite"}
        smallest = {store.kind: store for store in stores if store.memories == sizes[0]}
        ratios = {
            "beside SQLite": {
                s.name: ratio(s, least[s.memories])
                for s in stores
                if s.kind != "sqlite" and s.memories in least
            },
            f"beside {sizes[0]:,} memories": {
                s.name: ratio(s, smallest[s.kind]) for s in stores if s.memories > sizes[0]
            },
        }
    rates: dict[str, list[float]] = {kind: [] for kind in kinds}
    with Progress(console=ASIDE) as bar:
        task = bar.add_task("reindexing", total=again * len(kinds))
        for _ in range(again):
            for kind in kinds:
                rates[kind].append(reindexed(kind, sizes[0]))
                bar.advance(task)
    rate = {kind: round(median(each)) for kind, each in rates.items()}
    loads = [before, load()]
    result = {"rounds": rounds, "loads": loads, "figures": figures, "ratios": ratios}
    report({**result, "reindexed/s": rate}, given.json)
    print(f"{rounds} questions a store, {OWN} memories a user; {' to '.join(loads)}")
    told(figures, ratios)
    print("\nreindexed a second: " + ", ".join(f"{kind} {each}" for kind, each in rate.items()))
    if given.plot is not None:
        names = ("first p50", "first p95", "again p50", "again p95")
        drawn = {row: {name: one[name] for name in names} for row, one in figures.items()}
        bars(given.plot, f"Milliseconds of a recall, {OWN} memories a user", drawn, most=None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
