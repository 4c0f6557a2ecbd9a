"""What a capture costs beside a bare commit of the same rows, both on SQLite, in one run.

The rows that `Memory.capture` wrote are written again by the plain driver, with the same PRAGMAs,
into a second file with the same tables and indexes. Turns alternate between the two.

    python bench/capture.py [--json FILE] [--quick]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from measures import arguments, report
from perdure import Memory, Message, Scope
from perdure.settings import load

try:
    import pysqlite3 as sqlite3
except ImportError:
    import sqlite3

BOUND = 10.0
TABLES = ("perdure_messages", "perdure_conversations", "perdure_jobs")
PRAGMAS = (
    "journal_mode=wal", "synchronous=normal", "busy_timeout=30000", "foreign_keys=on",
    "secure_delete=on",
)  # fmt: skip
SAID = "I moved to Bergen last month, and on Mondays I would rather not be called before ten."
REPLY = "Noted. I will keep your Monday mornings free, and look for places in Bergen from now on."


class Bare:
    """The same rows, one BEGIN IMMEDIATE and one COMMIT a turn, by the driver alone."""

    def __init__(self, ours: Path, file: Path) -> None:
        self.ours = sqlite3.connect(str(ours), isolation_level=None)
        self.bare = sqlite3.connect(str(file), isolation_level=None)
        for pragma in PRAGMAS:
            self.bare.execute(f"pragma {pragma}")
        made = self.ours.execute(
            "select sql from sqlite_master where sql is not null and tbl_name in (?, ?, ?)", TABLES
        )
        for (statement,) in made.fetchall():
            self.bare.execute(statement)
        self.seen = dict.fromkeys(TABLES, 0)

    def write(self) -> float:
        """Write the rows that are new in our file; the seconds that took."""
        rows: dict[str, list[tuple[Any, ...]]] = {}
        for table in TABLES:
            found = self.ours.execute(
                f"select rowid, * from {table} where rowid > ? order by rowid",  # noqa: S608 - our own names
                (self.seen[table],),
            ).fetchall()
            self.seen[table] = max([self.seen[table], *(row[0] for row in found)])
            rows[table] = [row[1:] for row in found]
        start = time.perf_counter()
        self.bare.execute("begin immediate")
        for table, some in rows.items():
            marks = ", ".join("?" for _ in some[0])
            self.bare.executemany(f"insert into {table} values ({marks})", some)  # noqa: S608 - our own names
        self.bare.execute("commit")
        return time.perf_counter() - start


def main() -> int:
    """Run the bench."""
    given = arguments(__doc__ or "").parse_args()
    turns = 200 if given.quick else 2_000
    ours, bare = [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ours.db"
        settings = load({}).but(database_url=f"sqlite:///{file}", embedder="none")
        with Memory.open(settings=settings, workers=False) as memory:
            beside = Bare(file, Path(folder) / "bare.db")
            for number in range(turns + 50):
                messages = [Message("user", f"{SAID} ({number})"), Message("assistant", REPLY)]
                start = time.perf_counter()
                memory.capture(Scope(user=f"ann-{number % 20}"), f"chat-{number}", messages)
                took = time.perf_counter() - start
                again = beside.write()
                if number >= 50:  # the first turns fill caches
                    ours.append(took)
                    bare.append(again)
    ratio = median(a / b for a, b in zip(ours, bare, strict=True))
    result = {
        "turns": turns,
        "capture_ms": round(1000 * median(ours), 4),
        "bare_ms": round(1000 * median(bare), 4),
        "ratio": round(ratio, 2),
        "bound": BOUND,
    }
    report(result, given.json)
    print(f"{turns} turns: capture {result['capture_ms']:.3f} ms, the same rows bare "
          f"{result['bare_ms']:.3f} ms, ratio {ratio:.1f} (bound {BOUND:.0f})")  # fmt: skip
    return 0 if ratio <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
