"""Captures and contexts a second over HTTP, and whether a long run leaves the service level.

A real `perdure serve` in a process of its own, over SQLite, against the scripted model server.
Clients keep their connection and send one request after the other; half of them are captures.
The soak looks at the service's memory, threads and file handles half way and at the end.

    python bench/serve.py [--json FILE] [--quick] [--soak MINUTES]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from measures import arguments, report
from perdure.testing.model_server import ModelServer

CLIENTS = (1, 8, 64)
USERS = 50
LEVEL = 0.05  # by which the end of a soak may differ from its half
SOAK_CLIENTS = 4
_IDLE_S = 12
FACTS: dict[str, Any] = {"facts": []}


def main() -> int:
    """Run the bench."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="0: none (default 10)")
    given = parser.parse_args()
    minutes = given.soak if given.soak is not None else 0.2 if given.quick else 10.0
    seconds = 5.0 if given.quick else 15.0
    result: dict[str, Any] = {"seconds": seconds, "clients": {}}
    with tempfile.TemporaryDirectory() as folder, ModelServer(rule=lambda _: FACTS) as models:
        service, where = started(Path(folder), models.base_url)
        try:
            for count in CLIENTS:
                asked = load(where, count, seconds)
                result["clients"][count] = asked
                for what, figures in asked.items():
                    print(f"{count:>3} clients  {what:<8} {figures['per_second']:>7.1f}/s  "
                          f"p50 {figures['p50_ms']:>7.1f}  p95 {figures['p95_ms']:>7.1f}  "
                          f"p99 {figures['p99_ms']:>7.1f} ms")  # fmt: skip
            if minutes:
                result["soak"] = soak(where, service.pid, minutes)
        finally:
            service.terminate()
            service.wait(timeout=30)
    report(result, given.json)
    return 0 if not minutes or result["soak"]["level"] or given.quick else 1


def started(folder: Path, model: str) -> tuple[subprocess.Popen[str], str]:
    """A service of its own, and its address once it listens."""
    settings = {
        "PERDURE_DATABASE_URL": f"sqlite:///{folder / 'perdure.db'}",
        "PERDURE_LLM_BASE_URL": model,
        "PERDURE_LLM_MODEL": "scripted",
        "PERDURE_LOG_LEVEL": "warning",
        "PERDURE_RATE_LIMIT": "0",
    }
    clean = {n: v for n, v in os.environ.items() if not n.startswith("PERDURE_")}
    service = subprocess.Popen(
        [sys.executable, "-m", "perdure", "serve", "--port", "0", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8", env=clean | settings,
        cwd=folder,
    )  # fmt: skip
    assert service.stdout is not None
    where = json.loads(service.stdout.readline())["url"] + "/api/v1"
    ask(httpx.Client(base_url=where, trust_env=False), 0)  # so that the embedder is loaded
    time.sleep(3)
    return service, where


def ask(client: httpx.Client, number: int) -> tuple[str, float]:
    """One request; what it was, and its time in seconds."""
    user = f"ann-{number % USERS}"
    if number % 2:
        what, path = "context", "/memory/context"
        body: dict[str, Any] = {"user_id": user, "query": "Where should we meet for coffee?"}
    else:
        what, path = "capture", f"/conversations/chat-{number % 500}/turns"
        said = f"I moved to Bergen last month, and note {number} is what I think of it."
        body = {"user_id": user, "messages": [{"role": "user", "content": said}]}
    start = time.perf_counter()
    reply = client.post(path, json=body)
    took = time.perf_counter() - start
    assert reply.status_code in (200, 202), reply.text
    return what, took


def load(where: str, count: int, seconds: float) -> dict[str, dict[str, float]]:
    """So many clients for so long."""
    until = time.monotonic() + seconds

    def run(first: int) -> list[tuple[str, float]]:
        found = []
        with httpx.Client(base_url=where, trust_env=False, timeout=60) as client:
            number = first * 1_000_003
            while time.monotonic() < until or number < first * 1_000_003 + 2:
                found.append(ask(client, number))
                number += 1
        return found

    with ThreadPoolExecutor(count) as clients:
        took = [one for found in clients.map(run, range(count)) for one in found]
    return {
        what: summed_up(sorted(s for name, s in took if name == what), seconds)
        for what in ("capture", "context")
    }


def summed_up(took: list[float], seconds: float) -> dict[str, float]:
    """Requests a second, and the times that half, 95 and 99 of 100 stay under."""
    shares = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
    assert took, "nothing was answered in time"
    at = {
        name: round(1_000 * took[min(len(took) - 1, int(share * len(took)))], 1)
        for name, share in shares.items()
    }
    return {"requests": len(took), "per_second": round(len(took) / seconds, 1), **at}


def soak(where: str, pid: int, minutes: float) -> dict[str, Any]:
    """A steady load; what the service holds half way and at the end."""
    over = threading.Event()
    time.sleep(_IDLE_S)  # until the threads of the load before have gone
    with ThreadPoolExecutor(SOAK_CLIENTS) as clients:

        def run(first: int) -> int:
            number = first * 1_000_003
            with httpx.Client(base_url=where, trust_env=False, timeout=60) as client:
                while not over.wait(0.05):
                    ask(client, number)
                    number += 1
            return number - first * 1_000_003

        asked = [clients.submit(run, first) for first in range(SOAK_CLIENTS)]
        time.sleep(30 * minutes)
        half = held(pid)
        time.sleep(30 * minutes)
        end = held(pid)
        over.set()
        requests = sum(one.result() for one in asked)
    grown = {name: round((end[name] - half[name]) / half[name], 4) for name in half}
    level = all(abs(share) < LEVEL for share in grown.values())
    print(f"soak {minutes:g} min, {requests} requests: half {half}, end {end}, "
          f"{'level' if level else 'NOT level'} ({grown})")  # fmt: skip
    return {"minutes": minutes, "requests": requests, "half": half, "end": end,
            "grown": grown, "level": level}  # fmt: skip


def held(pid: int) -> dict[str, float]:
    """The most of each in ten looks: threads of a pool come and go."""
    looks = []
    for _ in range(10):
        looks.append(held_now(pid))
        time.sleep(0.2)
    return {name: max(look[name] for look in looks) for name in looks[0]}


def held_now(pid: int) -> dict[str, float]:
    """Memory in MB, threads and file handles of a process, as Linux counts them."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return {
        "memory_mb": round(int(lines["VmRSS"].split()[0]) / 1024, 1),
        "threads": int(lines["Threads"]),
        "files": len(os.listdir(f"/proc/{pid}/fd")),  # noqa: PTH208 - names are enough
    }


if __name__ == "__main__":
    sys.exit(main())
