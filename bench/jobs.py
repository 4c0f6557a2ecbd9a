"""Jobs and captures a second on each database that is there, and what claiming a job takes.

Turns of 40 users are captured by four threads, then learnt from by 1, 2 and 4 worker threads; a
scripted server on a socket answers at once with one statement a turn. Ratios are of one run.

    python bench/jobs.py [--json FILE] [--quick]

SQLite is always there; the servers are those of `make services`, named by PERDURE_TEST_MARIADB and
PERDURE_TEST_POSTGRES. Each gets a database of its own, which is dropped in the end.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any, TypeAlias
from unittest.mock import patch

from sqlalchemy import create_engine, make_url, text

from measures import arguments, report
from perdure import Memory, Message, Scope
from perdure.policy import ASSISTANT
from perdure.settings import Settings
from perdure.store.jobs import SqlJobs
from perdure.testing.delivery import Request
from perdure.testing.model_server import ModelServer

Figures: TypeAlias = dict[str, float]

SERVERS = {"mariadb": "PERDURE_TEST_MARIADB", "postgres": "PERDURE_TEST_POSTGRES"}
WORKERS = (1, 2, 4)
CAPTURERS = 4
USERS = 40
PATIENCE_S = 600.0
SAID = re.compile(r"I like number (\d+)\.")


def statement(request: Request) -> dict[str, Any]:
    """One statement from the last line that the request shows."""
    number = SAID.findall(str(request.body["messages"]))[-1]
    return {"memories": [{"content": f"Likes number {number}", "kind": "preference", "lines": [1]}]}


@contextmanager
def database(kind: str) -> Iterator[str]:
    """The URL of an empty database."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{Path(folder) / 'perdure.db'}"
        return
    url = make_url(os.environ[SERVERS[kind]])
    name = f"perdure_bench_{os.getpid()}"
    admin = create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    try:
        yield url.set(database=name).render_as_string(hide_password=False)
    finally:
        with admin.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name}"))
        admin.dispose()


def measured(kind: str, turns: int, model: str) -> Figures:
    """What one database does: captures, and for each number of workers jobs and claims."""
    policy = ASSISTANT.but(capture=ASSISTANT.capture.but(episodes=False))
    figures: Figures = {}
    captures = []
    for workers in WORKERS:
        with database(kind) as url:
            settings = Settings(
                database_url=url, embedder="none", policy=policy, llm_base_url=model,
                llm_model="scripted",
            )  # fmt: skip
            with Memory.open(settings=settings, workers=False) as memory:
                captures.append(turns / capturing(memory, turns))
                took, claims = learning(memory, turns, workers)
        figures[f"jobs/s, {workers}"] = round(turns / took, 1)
        figures[f"claim ms, {workers}"] = round(1000 * median(claims), 2)
        figures[f"claim p95 ms, {workers}"] = round(1000 * quantiles(claims, n=20)[-1], 2)
    figures["captures/s"] = round(median(captures), 1)
    return figures


def capturing(memory: Memory, turns: int) -> float:
    """Seconds until all turns are acknowledged."""

    def capture(number: int) -> None:
        said = [Message("user", f"I like number {number}.", id=f"m{number}")]
        memory.capture(Scope(user=f"ann-{number % USERS}"), "chat", said)

    start = time.perf_counter()
    with ThreadPoolExecutor(CAPTURERS) as pool:
        list(pool.map(capture, range(turns)))
    return time.perf_counter() - start


def learning(memory: Memory, turns: int, workers: int) -> tuple[float, Sequence[float]]:
    """Seconds until all turns are learnt, and the seconds of each claim that found a job."""
    claims: list[float] = []
    claim = SqlJobs.claim

    def timed(*given: Any) -> Any:
        start = time.perf_counter()
        job = claim(*given)
        if job is not None:
            claims.append(time.perf_counter() - start)
        return job

    stop = threading.Event()
    worker = memory.parts.worker
    threads = [threading.Thread(target=worker.run, args=(stop,)) for _ in range(workers)]
    with patch.object(SqlJobs, "claim", timed):
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        while (done := memory.parts.meter.read("jobs", outcome="success")) < turns:
            assert time.perf_counter() - start < PATIENCE_S, f"{done} of {turns} jobs"
            time.sleep(0.005)
        took = time.perf_counter() - start
        stop.set()
        worker.notify()
        for thread in threads:
            thread.join()
    learnt = memory.items.list(Scope(user="ann-0"))
    assert learnt.total == turns // USERS, f"{learnt.total} learnt"
    return took, claims


def main() -> int:
    """Run the bench."""
    given = arguments(__doc__ or "").parse_args()
    turns = 80 if given.quick else 1_200
    there = ["sqlite", *(kind for kind, name in SERVERS.items() if os.environ.get(name))]
    with ModelServer(rule=statement) as server:
        found = {kind: measured(kind, turns, server.base_url) for kind in there}
    ratios = {
        kind: {name: round(value / found["sqlite"][name], 2) for name, value in figures.items()}
        for kind, figures in found.items()
        if kind != "sqlite"
    }
    report({"turns": turns, "figures": found, "to sqlite": ratios}, given.json)
    print(f"{turns} turns" + "".join(f"{kind:>12}" for kind in found)
          + "".join(f"{kind + '/sqlite':>18}" for kind in ratios))  # fmt: skip
    for name in found["sqlite"]:
        row = "".join(f"{figures[name]:>12.2f}" for figures in found.values())
        row += "".join(f"{of[name]:>18.2f}" for of in ratios.values())
        print(f"{name:<{len(str(turns)) + 6}}"[:22].ljust(18) + row)
    for kind, name in SERVERS.items():
        if kind not in there:
            print(f"{kind} is not there: {name} is not set; `make services` tells it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
