"""How well recall finds the turns of a long conversation that answer a question (LoCoMo).

All ten conversations go through the library's own capture, with no model; every question that has
gold turns is asked with `Memory.search(..., arms=("episodes",))` and the default numbers.

    python bench/locomo.py --data DIR [--check] [--json FILE] [--quick]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

from measures import Figures, arguments, average, figures, missed, read, report, table, unique
from perdure import Memory, Message, Scope
from perdure.settings import load

FLOORS = {"turn any@5": 65.0, "session any@5": 92.0}
DEPTH = 300  # hits asked for; sessions are ranked by their best turn among them
CHOSEN_ON = ("conv-26", "conv-30", "conv-41", "conv-42", "conv-43")


def feed(memory: Memory, turns: list[dict[str, Any]]) -> None:
    """Capture every session of every conversation, and wait until all is indexed."""
    receipts = []
    for (group, session), said in groupby(turns, key=lambda t: (t["group"], t["session"])):
        messages = [message(turn) for turn in said]
        receipts.append(memory.capture(Scope(user=group), session, messages))
    for number, receipt in enumerate(receipts, start=1):
        done = memory.wait(receipt, timeout=600)
        assert done.state == "learnt", done
        if number % 20 == 0:
            print(f"  {number} of {len(receipts)} sessions", file=sys.stderr)


def message(turn: dict[str, Any]) -> Message:
    """A turn as a message; its speaker is a name, not a part of the text."""
    said_at = datetime.strptime(turn["date"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    content = turn["text"].removeprefix(f"{turn['speaker']}: ")
    return Message("user", content, at=said_at, id=turn["id"], name=turn["speaker"])


def ask(memory: Memory, question: dict[str, Any]) -> tuple[Figures, Figures, float]:
    """Turn figures, session figures and seconds of one question."""
    start = time.perf_counter()
    hits = memory.search(
        Scope(user=question["group"]), question["text"], limit=DEPTH, arms=("episodes",)
    )
    seconds = time.perf_counter() - start
    found = [hit.episode.id for hit in hits if hit.episode is not None]
    gold = set(question["gold"])
    sessions = unique(ref.partition(":")[0] for ref in found)
    return figures(found, gold), figures(sessions, {ref.partition(":")[0] for ref in gold}), seconds


def main() -> int:
    """Run the bench."""
    given = arguments(__doc__ or "", "turns.jsonl and questions.jsonl").parse_args()
    turns = read(given.data / "turns.jsonl")
    questions = [q for q in read(given.data / "questions.jsonl") if q["gold"]]
    if given.quick:
        turns = [t for t in turns if t["group"] == "conv-26"]
        questions = [q for q in questions if q["group"] == "conv-26"][:50]
    by: dict[str, list[tuple[Figures, Figures]]] = defaultdict(list)
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        settings = load({}).but(database_url=f"sqlite:///{Path(folder) / 'locomo.db'}")
        with Memory.open(settings=settings) as memory:
            feed(memory, turns)
            for question in questions:
                turn, session, took = ask(memory, question)
                seconds.append(took)
                half = "26-43" if question["group"] in CHOSEN_ON else "44-50"
                for part in ("all", half, f"category {question['category']}"):
                    by[part].append((turn, session))
    result = {part: {"turn": average(t for t, _ in rows), "session": average(s for _, s in rows)}
              for part, rows in by.items()}  # fmt: skip
    report(
        {
            "n": len(questions),
            **result["all"],
            "by_category": {
                part.removeprefix("category "): result[part]
                for part in sorted(result)
                if part.startswith("category ")
            },
            "halves": {part: result[part] for part in ("26-43", "44-50") if part in result},
            "seconds_per_question": round(median(seconds), 5),
        },
        given.json,
    )
    print(f"LoCoMo, {len(questions)} questions, median {1000 * median(seconds):.1f} ms each")
    print(table({f"turn, {part}": result[part]["turn"] for part in sorted(result)}))
    print(table({f"session, {part}": result[part]["session"] for part in sorted(result)}))
    everything = result["all"]
    below = missed(
        {name: (everything[name.split()[0]][name.split()[1]], floor)
         for name, floor in FLOORS.items()}
    )  # fmt: skip
    print("\n".join(below))
    return 1 if given.check and below else 0


if __name__ == "__main__":
    sys.exit(main())
