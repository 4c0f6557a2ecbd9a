"""How well recall brings the right memories to mind in a Chinese dialogue (MADial-Bench).

The memories are written by hand, one by one; the whole dialogue is the query.

    python bench/zh.py --data DIR [--embedder e5] [--check] [--json FILE] [--quick]
    python bench/zh.py --data DIR --matrix [--json FILE] [--plot FILE] [--quick]

With ``--matrix`` the parts of the search are turned on one after the other.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from measures import (
    Figures,
    arguments,
    average,
    bars,
    figures,
    missed,
    read,
    report,
    table,
    with_matrix,
)
from perdure import ASSISTANT, Memory, Message, Policy, Scope
from perdure.errors import Duplicate
from perdure.settings import load

FLOORS = {"bundled": 80.0, "e5": 84.0}
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


def set_ups() -> dict[str, tuple[Policy, tuple[str, ...]]]:
    """Policies and arms by name."""
    search = ASSISTANT.search
    alone = ASSISTANT.but(search=search.but(last_turn=0.0))
    return {
        "dense, whole dialogue": (alone, ("semantic",)),
        "dense, + last turn": (ASSISTANT, ("semantic",)),
        "words": (ASSISTANT, ("fulltext",)),
        "both, whole dialogue": (alone, ("semantic", "fulltext")),
        "both, + last turn": (ASSISTANT, ("semantic", "fulltext")),
    }


def ask(
    memory: Memory,
    question: dict[str, Any],
    ids: dict[str, list[str]],
    policy: Policy | None = None,
    arms: Sequence[str] = ("semantic", "fulltext"),
) -> tuple[Figures, float]:
    """Figures and seconds of one question."""
    start = time.perf_counter()
    hits = memory.search(WHO, dialogue(question["text"]), limit=LIMIT, arms=arms, policy=policy)
    seconds = time.perf_counter() - start
    found = [ref for hit in hits if hit.item is not None for ref in ids[hit.item.id]]
    return figures(found, set(question["gold"])), seconds


def measured(
    memory: Memory, questions: list[dict[str, Any]], ids: dict[str, list[str]], *how: Any
) -> tuple[dict[str, Figures], float]:
    """Average figures of all questions and of each half, and the median of the seconds."""
    rows: dict[str, list[Figures]] = {"all": [], "even": [], "odd": []}
    seconds = []
    for question in questions:
        got, took = ask(memory, question, ids, *how)
        seconds.append(took)
        parity = "odd" if int(question["qid"].removeprefix("zh_")) % 2 else "even"
        rows["all"].append(got)
        rows[parity].append(got)
    return {part: average(got) for part, got in rows.items()}, median(seconds)


def main() -> int:
    """Run the bench."""
    parser = arguments(__doc__ or "", "memories.jsonl and questions.jsonl")
    with_matrix(parser)
    given = parser.parse_args()
    questions = read(given.data / "questions.jsonl")[: 20 if given.quick else None]
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'zh.db'}"
        settings = load({}).but(database_url=url, embedder=given.embedder)
        with Memory.open(settings=settings) as memory:
            ids = feed(memory, read(given.data / "memories.jsonl"))
            if given.matrix:
                return matrix(memory, questions, ids, given)
            result, seconds = measured(memory, questions, ids)
    report(
        {
            "n": len(questions),
            "memory": result["all"],
            "halves": {part: result[part] for part in ("even", "odd")},
            "seconds_per_question": round(seconds, 5),
        },
        given.json,
    )
    print(f"MADial zh, {len(questions)} dialogues, median {1000 * seconds:.1f} ms each")
    print(table(result))
    below = missed({"memory any@5": (result["all"]["any@5"], FLOORS[given.embedder])})
    print("\n".join(below))
    return 1 if given.check and below else 0


def matrix(
    memory: Memory,
    questions: list[dict[str, Any]],
    ids: dict[str, list[str]],
    given: argparse.Namespace,
) -> int:
    """The figures of each set-up."""
    found = {name: measured(memory, questions, ids, *how)[0] for name, how in set_ups().items()}
    report({"n": len(questions), "set_ups": found}, given.json)
    for part in ("all", "even", "odd"):
        print(f"\nmemory, {part}")
        print(table({name: parts[part] for name, parts in found.items()}))
    if given.plot is not None:
        shown = {
            name: {measure: parts["all"][measure] for measure in ("any@5", "recall@10")}
            for name, parts in found.items()
        }
        bars(given.plot, f"MADial zh, {len(questions)} dialogues", shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
