"""Jobs and captures a second on each database that is there, and what claiming a job takes.

Turns of 40 users are captured by four threads, then learnt from by 1, 2 and 4 worker threads; a
scripted server on a socket answers at once with one statement a turn. Ratios are of one run, in
which the databases take turns. A claim is its whole transaction, with waiting for other writers.

    python bench/jobs.py [--json FILE] [--quick]

Workers, capturers and the scripted server share one process, so that more workers than one mostly
show what waiting they hide, not what the database could do for as many processes.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median, quantiles
from typing import Any, TypeAlias
from unittest.mock import patch

from measures import arguments, report
from perdure import Memory, Message, Scope
from perdure.policy import ASSISTANT
from perdure.settings import Settings
from perdure.store.database import SqlDatabase, SqlTransaction
from perdure.store.jobs import SqlJobs
from perdure.testing.delivery import Request
from perdure.testing.model_server import ModelServer
from places import DATABASES, database, load, there

Figures: TypeAlias = dict[str, float]

WORKERS = (1, 2, 4)
CAPTURERS = 4
USERS = 40
PATIENCE_S = 600.0
SAID = re.compile(r"I like number (\d+)\.")


def statement(request: Request) -> dict[str, Any]:
    """One statement from the last line that the request shows."""
    number = SAID.findall(str(request.body["messages"]))[-1]
    return {"memories": [{"content": f"Likes number {number}", "kind": "preference", "lines": [1]}]}


def measured(kind: str, turns: int, model: str, workers: int) -> Figures:
    """What one database does with so many workers: captures, jobs and claims."""
    policy = ASSISTANT.but(capture=ASSISTANT.capture.but(episodes=False))
    with database(kind) as url:
        settings = Settings(
            database_url=url, embedder="none", policy=policy, llm_base_url=model,
            llm_model="scripted",
        )  # fmt: skip
        with Memory.open(settings=settings, workers=False) as memory:
            captures = turns / capturing(memory, turns)
            took, claims = learning(memory, turns, workers)
    return {
        "captures/s": captures,
        f"jobs/s, {workers}": turns / took,
        f"claim ms, {workers}": 1000 * median(claims),
        f"claim p95 ms, {workers}": 1000 * quantiles(claims, n=20)[-1],
    }


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
    claim, begin = SqlJobs.claim, SqlDatabase.begin
    unit = threading.local()

    def noted(*given: Any) -> Any:
        job = claim(*given)
        unit.claimed = job is not None
        return job

    @contextmanager
    def timed(self: SqlDatabase, scope: Scope | None = None) -> Iterator[SqlTransaction]:
        unit.claimed = False
        start = time.perf_counter()
        with begin(self, scope) as tx:
            yield tx
        if unit.claimed:
            claims.append(time.perf_counter() - start)

    stop = threading.Event()
    worker = memory.parts.worker
    threads = [threading.Thread(target=worker.run, args=(stop,)) for _ in range(workers)]
    with patch.object(SqlJobs, "claim", noted), patch.object(SqlDatabase, "begin", timed):
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
    kinds, before = there(DATABASES), load()
    rounds: dict[str, list[Figures]] = {kind: [] for kind in kinds}
    with ModelServer(rule=statement) as server:
        for workers in WORKERS:
            for kind in kinds:
                rounds[kind].append(measured(kind, turns, server.base_url, workers))
    found = {
        kind: {
            name: round(median(one[name] for one in each if name in one), 2)
            for name in dict.fromkeys(name for one in each for name in one)
        }
        for kind, each in rounds.items()
    }
    ratios = {
        kind: {name: round(value / found["sqlite"][name], 2) for name, value in figures.items()}
        for kind, figures in found.items()
        if kind != "sqlite"
    }
    loads = [before, load()]
    report({"turns": turns, "loads": loads, "figures": found, "to sqlite": ratios}, given.json)
    print(f"{turns} turns; {' to '.join(loads)}")
    print(" " * 18 + "".join(f"{kind:>12}" for kind in found)
          + "".join(f"{kind + '/sqlite':>18}" for kind in ratios))  # fmt: skip
    for name in found["sqlite"]:
        row = "".join(f"{figures[name]:>12.2f}" for figures in found.values())
        row += "".join(f"{of[name]:>18.2f}" for of in ratios.values())
        print(f"{name:<18}{row}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
