"""Kills workers, relay, consumer, broker and database at random while four producers capture.

Every acknowledged turn must be learnt exactly once and in its user's order, and rows and vectors
must agree in the end. Prints what it counted; ends with 1 where a count is not as it must be.

    python tests/faults/run.py [--database sqlite|mariadb|postgres] [--bus none|kafka]
                               [--seconds 120] [--seed 1] [--json FILE]

Without --database and --bus each is tried with each that is there. The servers are the script's
own, started from what `make services` has installed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from part import USERS
from servers import Server, missing

from perdure.ports import Corpus, ItemFilter, Transaction
from perdure.store.database import SqlDatabase
from perdure.testing.model_server import ModelServer
from perdure.types import JobState, JobType, Promise, Scope

DATABASES = ("sqlite", "mariadb", "postgres")
BUSES = ("none", "kafka")
PRODUCERS, WORKERS = 4, 2
MODEL = "words"
PAUSE_S = 1.5  # at most, between two turns of one producer
BETWEEN_S = (0.5, 3.5)  # two kills
DOWN_S = 1.0  # at most, before what was killed is started again
WHOLE_S = 30.0  # a run that is shorter has as much of all three less
SETTLING_S = 60.0  # so long after the last kill nothing at all may come to its end
KNOBS = {
    "JOBS__LEASE_S": "2", "JOBS__POLL_S": "0.1", "JOBS__BACKOFF_S": "0.2",
    "JOBS__BACKOFF_MAX_S": "2", "JOBS__UPKEEP_S": "2", "JOBS__REPUBLISH_S": "3",
    "JOBS__MAX_RETRY": "1000",  # each kill takes a try of the job in hand
    "CAPACITY__ACTIVE_LIMIT": "1000000", "BUS__SESSION_S": "2",
}  # fmt: skip


@dataclass(kw_only=True)
class Counts:
    """What came of one run."""

    database: str
    bus: str
    seconds: float
    kills: dict[str, int] = field(default_factory=dict)
    acknowledged: int = 0
    learnt: int = 0
    lost: int = 0
    """Acknowledged and not learnt."""
    twice: int = 0
    """Statements that were written, or met again, more than once."""
    disordered: int = 0
    """Turns that were learnt before one that was captured earlier."""
    unfinished: int = 0
    """Promises that wait, or are dead."""
    disagreeing: int = 0
    """Users whose rows, terms and vectors disagree after they were reconciled."""
    settled_s: float = 0.0
    """From the last kill to the end of the last job."""

    @property
    def good(self) -> bool:
        """All is as it must be."""
        bad = self.lost + self.twice + self.disordered + self.unfinished + self.disagreeing
        return bad == 0 and self.learnt == self.acknowledged > 0


@dataclass(frozen=True, slots=True)
class Least:
    """What must have happened before a run may end."""

    kills: int = 0
    turns: int = 0
    """Acknowledged captures."""


class Part:
    """One process of ours that is started again when it was killed."""

    def __init__(
        self, role: str, number: int, env: dict[str, str], folder: Path, pause_s: float
    ) -> None:
        self.role = role
        script = str(Path(__file__).with_name("part.py"))
        self._command = [sys.executable, script, role, str(number), str(pause_s)]
        self._env = env
        self._out = folder / f"{role}-{number}"
        self.start()

    def start(self) -> None:
        """Start it."""
        with self._out.open("ab") as out, self._out.with_suffix(".err").open("ab") as err:
            self._process = subprocess.Popen(
                self._command, env=self._env, stdin=subprocess.PIPE, stdout=out, stderr=err
            )

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Let it end by itself, if it can; end it, if not."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self.role == "producer":
            self._process.wait(timeout=60)
        else:
            self.kill()

    def lines(self) -> list[str]:
        """What it has said."""
        return self._out.read_text("utf-8").splitlines()


def run(database: str, bus: str, seconds: float, seed: int, least: Least) -> Counts:
    """One run, as long as told and until enough has happened; everything that was started ends."""
    counts = Counts(database=database, bus=bus, seconds=seconds)
    chance = random.Random(seed)
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="perdure-faults-")))
        model = held.enter_context(ModelServer())
        servers: dict[str, Server] = {}
        for name in [name for name in (database, bus) if name not in ("sqlite", "none")]:
            servers[name] = Server(name, folder)
            held.callback(servers[name].stop)
        url = servers[database].url if database in servers else f"sqlite:///{folder / 'perdure.db'}"
        env = environment(url, model.base_url, servers["kafka"].url if bus == "kafka" else None)
        SqlDatabase.open(url, clock=now).close()

        def started(role: str, count: int) -> list[Part]:
            parts = [
                Part(role, number, env, folder, PAUSE_S * min(1.0, seconds / WHOLE_S))
                for number in range(count)
            ]
            for part in parts:
                held.callback(part.kill)
            return parts

        producers = started("producer", PRODUCERS)
        mortal: list[Part | Server] = [*started("worker", WORKERS), *servers.values()]
        if bus != "none":
            mortal += [*started("relay", 1), *started("consumer", 1)]
        names = {id(part): part.role for part in mortal if isinstance(part, Part)}
        names |= {id(server): name for name, server in servers.items()}
        kills = killing(
            mortal, names, chance, seconds,
            lambda kills: kills >= least.kills
            and sum(len(one.lines()) for one in producers) >= least.turns,
        )  # fmt: skip
        for producer in producers:
            producer.stop()
        counts.kills = dict(sorted(kills.items()))
        said = [tuple(line.split(" ")) for one in producers for line in one.lines()]
        counts.acknowledged = len(said)
        look(url, {(user, name) for user, name in said}, counts)
    return counts


def killing(
    mortal: list[Part | Server],
    names: dict[int, str],
    chance: random.Random,
    seconds: float,
    enough: Callable[[int], bool],
) -> Counter[str]:
    """Kill one after the other and start each again; how often each died.

    A slow machine kills and captures less in the same time, so the run lasts until it is enough.
    """
    kills: Counter[str] = Counter()
    pace = min(1.0, seconds / WHOLE_S)
    until = time.monotonic() + seconds
    time.sleep(min(2.0, seconds / 4))  # so that there is something to break
    rounds: list[Part | Server] = []
    while time.monotonic() < until or not enough(kills.total()):
        if not rounds:  # each has its turn, in another order each time
            rounds = chance.sample(mortal, len(mortal))
        victim = rounds.pop()
        victim.kill()
        kills[names[id(victim)]] += 1
        time.sleep(chance.random() * DOWN_S * pace)
        victim.start()
        time.sleep(chance.uniform(*BETWEEN_S) * pace)
    return kills


def environment(url: str, models: str, kafka: str | None) -> dict[str, str]:
    """Settings of every process."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith("PERDURE_")}
    bus = {} if kafka is None else {"PERDURE_BUS": "kafka", "PERDURE_KAFKA_SERVERS": kafka}
    return (
        ours
        | bus
        | {
            "PERDURE_DATABASE_URL": url,
            "PERDURE_EMBEDDER": "openai",
            "PERDURE_EMBEDDING_BASE_URL": models,
            "PERDURE_EMBEDDING_MODEL": MODEL,
            **{f"PERDURE_POLICY__{name}": value for name, value in KNOBS.items()},
        }
    )


# ── looking at what is left ──────────────────────────────────────────────────────────────────────


def look(url: str, said: set[tuple[str, str]], counts: Counts) -> None:
    """Wait until all is done, let vectors be made good, and count."""
    database = SqlDatabase.open(url, clock=now)
    began = time.monotonic()
    counts.unfinished = settled(database)
    counts.settled_s = round(time.monotonic() - began, 1)
    with database.begin() as tx:
        for user in USERS:
            tx.jobs.promise(
                Promise(
                    type=JobType.RECONCILE, namespace="default", user=user, key="after the faults",
                    payload={}, trace="faults", ordered=False,
                ),
                now(),
            )  # fmt: skip
    counts.unfinished += settled(database)
    learnt = Counter[tuple[str, str]]()
    met = 0
    with database.read() as tx:
        jobs = [
            job for job in tx.jobs.page(list(JobState), limit=1_000_000)
            if job.type is JobType.EXTRACT and job.state is JobState.SUCCESS
        ]  # fmt: skip
        for user in USERS:
            scope = Scope(user=user)
            for item in tx.items.every(scope, ItemFilter()):
                learnt[user, item.content[-6:]] += 1
            place = {message: seq for seq, _, message in _messages(tx, scope)}
            ended = sorted(
                (j.updated_at, j.id, place[j.source_message or ""]) for j in jobs if j.user == user
            )
            order = [seq for _, _, seq in ended]
            counts.disordered += sum(b < a for a, b in pairwise(order))
            items = {item.id for item in tx.items.every(scope, ItemFilter())}
            counts.disagreeing += tx.vectors.refs(scope, Corpus.MEMORIES) != items
        met = sum(
            len(job.result.get("learnt", ())) + len(job.result.get("refused", ())) for job in jobs
        )
        counts.disagreeing += len(tx.owners.unfindable("default", model=MODEL, episodes=True))
    database.close()
    counts.learnt = len(learnt)
    counts.lost = len(said - learnt.keys())
    counts.twice = sum(learnt.values()) - len(learnt) + met - len(learnt)


def _messages(tx: Transaction, scope: Scope) -> Iterator[tuple[int, str, str]]:
    for name in ("chat-0", "chat-1", "chat-2", "chat-3"):
        for line in tx.messages.since(scope, name, 0, limit=1_000_000):
            yield line.seq, name, line.id


def settled(database: SqlDatabase) -> int:
    """Wait until no promise waits, or it goes no further; how many still do, or are dead."""
    last, until = -1, 0.0
    while True:
        with database.read() as tx:
            depth = tx.jobs.depth(now())
            left = sum(n for state, n in depth.items() if state is not JobState.SUCCESS)
            left += tx.outbox.waiting()[0]
        if left != last:
            last, until = left, time.monotonic() + SETTLING_S
        if left == 0 or time.monotonic() > until:
            return left
        time.sleep(0.2)


def now() -> datetime:
    return datetime.now(UTC)


# ── the table ────────────────────────────────────────────────────────────────────────────────────

COLUMNS: dict[str, Callable[[Counts], object]] = {
    "database": lambda c: c.database,
    "bus": lambda c: c.bus,
    "seconds": lambda c: f"{c.seconds:.0f}",
    "killed": lambda c: sum(c.kills.values()),
    "acknowledged": lambda c: c.acknowledged,
    "learnt": lambda c: c.learnt,
    "lost": lambda c: c.lost,
    "twice": lambda c: c.twice,
    "disordered": lambda c: c.disordered,
    "unfinished": lambda c: c.unfinished,
    "disagreeing": lambda c: c.disagreeing,
    "settled after": lambda c: f"{c.settled_s:.1f} s",
    "": lambda c: "good" if c.good else "BAD",
}


def table(every: list[Counts]) -> str:
    """The counts, one row a run, and who was killed how often."""
    cells = [list(COLUMNS), *([str(cell(c)) for cell in COLUMNS.values()] for c in every)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rows = ["  ".join(f"{c:>{w}}" for c, w in zip(row, widths, strict=True)) for row in cells]
    deaths = [
        f"{c.database}, {c.bus}: " + ", ".join(f"{n} {name}" for name, n in c.kills.items())
        for c in every
    ]
    return "\n".join([*rows, "", "killed:", *deaths])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--database", choices=DATABASES, action="append")
    parser.add_argument("--bus", choices=BUSES, action="append")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--kills", type=int, default=0, help="go on until so many")
    parser.add_argument("--turns", type=int, default=0, help="the same of captures")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started is ended then, too
    every = []
    for database in given.database or DATABASES:
        for bus in given.bus or BUSES:
            lack = missing(database, kafka=bus == "kafka")
            if lack is not None:
                print(f"{database}, {bus}: {lack}")  # noqa: T201 - a script speaks
                continue
            every.append(
                run(database, bus, given.seconds, given.seed, Least(given.kills, given.turns))
            )
            print(table(every[-1:]), flush=True)  # noqa: T201 - the same
    print("\n" + table(every))  # noqa: T201 - the same
    if given.json is not None:
        told = [asdict(one) | {"good": one.good} for one in every]
        given.json.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    return 0 if every and all(one.good for one in every) else 1


if __name__ == "__main__":
    sys.exit(main())
