"""How well recall brings the right memories to mind in a Chinese dialogue (MADial-Bench).

The memories are written by hand, one by one; the whole dialogue is the query.

    python bench/zh.py --data DIR [--check] [--json FILE] [--quick]
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from measures import Figures, arguments, average, figures, missed, read, report, table
from perdure import Memory, Message, Scope
from perdure.errors import Duplicate
from perdure.settings import load

FLOOR = 76.0
LIMIT = 10
WHO = Scope(user="小林")
_SAID = re.compile(r'<(?P<who>[^>]+)>:"(?P<what>.*?)"(?=\n<|\s*$)', re.DOTALL)


def dialogue(text: str) -> list[Message]:
    """The dialogue as messages; every speaker but the assistant is the user."""
    return [
        Message("assistant" if m["who"] == "Assistant" else "user", m["what"], name=m["who"])
        for m in _SAID.finditer(text)
    ] or [Message("user", text)]


def feed(memory: Memory, rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Write the memories; for each the numbers it has in the data, which repeats some."""
    ids: dict[str, list[str]] = {}
    for row in rows:
        try:
            item = memory.items.add(WHO, row["text"]).id
        except Duplicate as known:
            item = known.item
        ids.setdefault(item, []).append(row["id"])
    return ids


def ask(
    memory: Memory, question: dict[str, Any], ids: dict[str, list[str]]
) -> tuple[Figures, float]:
    """Figures and seconds of one question."""
    start = time.perf_counter()
    hits = memory.search(WHO, dialogue(question["text"]), limit=LIMIT)
    seconds = time.perf_counter() - start
    found = [ref for hit in hits if hit.item is not None for ref in ids[hit.item.id]]
    return figures(found, set(question["gold"])), seconds


def main() -> int:
    """Run the bench."""
    given = arguments(__doc__ or "", "memories.jsonl and questions.jsonl").parse_args()
    questions = read(given.data / "questions.jsonl")[: 20 if given.quick else None]
    rows: dict[str, list[Figures]] = {"all": [], "even": [], "odd": []}
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        settings = load({}).but(database_url=f"sqlite:///{Path(folder) / 'zh.db'}")
        with Memory.open(settings=settings) as memory:
            ids = feed(memory, read(given.data / "memories.jsonl"))
            for question in questions:
                got, took = ask(memory, question, ids)
                seconds.append(took)
                parity = "odd" if int(question["qid"].removeprefix("zh_")) % 2 else "even"
                rows["all"].append(got)
                rows[parity].append(got)
    result = {part: average(got) for part, got in rows.items()}
    report(
        {
            "n": len(questions),
            "memory": result["all"],
            "halves": {part: result[part] for part in ("even", "odd")},
            "seconds_per_question": round(median(seconds), 5),
        },
        given.json,
    )
    print(f"MADial zh, {len(questions)} dialogues, median {1000 * median(seconds):.1f} ms each")
    print(table(result))
    below = missed({"memory any@5": (result["all"]["any@5"], FLOOR)})
    print("\n".join(below))
    return 1 if given.check and below else 0


if __name__ == "__main__":
    sys.exit(main())
