"""Runs tests on a machine that stands still: all their processes stop every few seconds.

A test that fails only so has a deadline that is none of its business. Servers go on.

    python tests/stalls.py [--stop 1.3] [--every 3.5] [what pytest is to be told ...]
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import suppress


def family(root: int) -> list[int]:
    """A process and all that it or its children started, parents first."""
    told = subprocess.check_output(["ps", "-eo", "pid,ppid", "--no-headers"], text=True)  # noqa: S607 - found on the path
    children = defaultdict(list)
    for pid, parent in (map(int, line.split()) for line in told.splitlines()):
        children[parent].append(pid)
    found = [root]
    for pid in found:
        found += children[pid]
    return found


def tell(pids: list[int], name: signal.Signals) -> None:
    """Send each a signal; some have ended meanwhile."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, name)


def main() -> int:
    """Run pytest; what it ends with."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--stop", type=float, default=1.3, help="seconds of one stop")
    parser.add_argument("--every", type=float, default=3.5, help="seconds between two, on average")
    given, rest = parser.parse_known_args()
    tests = subprocess.Popen([sys.executable, "-m", "pytest", *rest])
    stops = 0
    while tests.poll() is None:
        time.sleep(random.uniform(0.5, 1.5) * given.every)
        pids = family(tests.pid)
        tell(pids, signal.SIGSTOP)
        time.sleep(given.stop)
        tell(pids[::-1], signal.SIGCONT)
        stops += 1
    sys.stderr.write(f"stopped {stops} times for {given.stop} s\n")
    return tests.returncode


if __name__ == "__main__":
    raise SystemExit(main())
