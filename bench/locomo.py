"""How well recall finds the turns of a long conversation that answer a question (LoCoMo).

All ten conversations go through the library's own capture, with no model; every question that has
gold turns is asked with `Memory.search(..., arms=("episodes",))` and the default numbers.

    python bench/locomo.py --data DIR [--embedder e5] [--check] [--json FILE] [--quick]
    python bench/locomo.py --data DIR --matrix [--json FILE] [--plot FILE] [--quick]

With ``--matrix`` the parts of the search are turned on one after the other.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

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
    unique,
    with_matrix,
)
from perdure import ASSISTANT, Memory, Message, Policy, Scope
from perdure.settings import load

Parts: TypeAlias = dict[str, Figures]
"""Figures of turns and of sessions."""

FLOORS = {
    "bundled": {"turn any@5": 68.0, "turn recall@10": 72.0, "session any@5": 94.0},
    "e5": {"turn any@5": 73.0, "turn recall@10": 76.0, "session any@5": 95.0},
}
DEPTH = 300  # hits asked for; sessions are ranked by their best turn among them
CHOSEN_ON = ("conv-26", "conv-30", "conv-41", "conv-42", "conv-43")


def set_ups() -> dict[str, Policy]:
    """Policies by name, each with one more part of the search turned on."""
    none = ASSISTANT.episodes.but(
        words_weight=0.0, dense_weight=0.0, next_weight=0.0, second_weight=0.0,
        conversation_weight=0.0, speaker_bonus=0.0, time_bonus=0.0,
    )  # fmt: skip
    full = ASSISTANT.episodes
    both = none.but(words_weight=full.words_weight, dense_weight=full.dense_weight)
    near = both.but(next_weight=full.next_weight, second_weight=full.second_weight)
    whole = near.but(conversation_weight=full.conversation_weight)
    said_by = whole.but(speaker_bonus=full.speaker_bonus)
    return {
        name: ASSISTANT.but(episodes=episodes)
        for name, episodes in {
            "dense": none.but(dense_weight=1.0),
            "words": none.but(words_weight=1.0),
            "both": both,
            "+ neighbours": near,
            "+ conversation": whole,
            "+ speaker": said_by,
            "+ time words": full,
            "all but dense": full.but(dense_weight=0.0),
        }.items()
    }


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


def ask(
    memory: Memory, question: dict[str, Any], policy: Policy | None = None
) -> tuple[Figures, Figures, float]:
    """Turn figures, session figures and seconds of one question."""
    start = time.perf_counter()
    hits = memory.search(
        Scope(user=question["group"]),
        question["text"],
        limit=DEPTH,
        arms=("episodes",),
        policy=policy,
    )
    seconds = time.perf_counter() - start
    found = [hit.episode.id for hit in hits if hit.episode is not None]
    gold = set(question["gold"])
    sessions = unique(ref.partition(":")[0] for ref in found)
    return figures(found, gold), figures(sessions, {ref.partition(":")[0] for ref in gold}), seconds


def measured(
    memory: Memory, questions: list[dict[str, Any]], policy: Policy | None = None
) -> tuple[dict[str, Parts], float]:
    """Average figures by part of the questions, and the median of the seconds."""
    by: dict[str, list[tuple[Figures, Figures]]] = defaultdict(list)
    seconds = []
    for question in questions:
        turn, session, took = ask(memory, question, policy)
        seconds.append(took)
        half = "26-43" if question["group"] in CHOSEN_ON else "44-50"
        for part in ("all", half, f"category {question['category']}"):
            by[part].append((turn, session))
    result = {part: {"turn": average(t for t, _ in rows), "session": average(s for _, s in rows)}
              for part, rows in by.items()}  # fmt: skip
    return result, median(seconds)


@contextmanager
def fed(turns: list[dict[str, Any]], embedder: Any, *, dates: bool = True) -> Iterator[Memory]:
    """A memory that was told all of it."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'locomo.db'}"
        settings = load({}).but(database_url=url, embedder=embedder)
        capture = settings.policy.capture.but(episode_dates=dates)
        settings = settings.but(policy=settings.policy.but(capture=capture))
        with Memory.open(settings=settings) as memory:
            feed(memory, turns)
            yield memory


def matrix(
    turns: list[dict[str, Any]],
    questions: list[dict[str, Any]],
    embedder: str,
    file: Path | None,
    png: Path | None,
) -> None:
    """The figures of each set-up, without and with the dates of what was said."""
    found: dict[str, dict[str, Parts]] = {}
    last = list(set_ups())[-2]
    for dates in (False, True):
        wanted = {f"{last}, + dates": set_ups()[last]} if dates else set_ups()
        with fed(turns, embedder, dates=dates) as memory:
            for name, policy in wanted.items():
                found[name], _ = measured(memory, questions, policy)
                print(f"  {name}", file=sys.stderr)
    report({"n": len(questions), "set_ups": found}, file)
    for sort in ("turn", "session"):
        print(f"\n{sort}, all")
        print(table({name: parts["all"][sort] for name, parts in found.items()}))
    for part in (p for p in sorted(found[last]) if p != "all"):
        print(f"\nturn, {part}")
        print(table({name: parts[part]["turn"] for name, parts in found.items()}))
    if png is not None:
        shown = {
            name: {
                "turn any@5": parts["all"]["turn"]["any@5"],
                "turn recall@10": parts["all"]["turn"]["recall@10"],
                "session any@5": parts["all"]["session"]["any@5"],
            }
            for name, parts in found.items()
        }
        bars(png, f"LoCoMo, {len(questions)} questions", shown)


def main() -> int:
    """Run the bench."""
    parser = arguments(__doc__ or "", "turns.jsonl and questions.jsonl")
    with_matrix(parser)
    given = parser.parse_args()
    turns = read(given.data / "turns.jsonl")
    questions = [q for q in read(given.data / "questions.jsonl") if q["gold"]]
    if given.quick:
        turns = [t for t in turns if t["group"] == "conv-26"]
        questions = [q for q in questions if q["group"] == "conv-26"][:50]
    if given.matrix:
        matrix(turns, questions, given.embedder, given.json, given.plot)
        return 0
    with fed(turns, given.embedder) as memory:
        result, seconds = measured(memory, questions)
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
            "seconds_per_question": round(seconds, 5),
        },
        given.json,
    )
    print(f"LoCoMo, {len(questions)} questions, median {1000 * seconds:.1f} ms each")
    print(table({f"turn, {part}": result[part]["turn"] for part in sorted(result)}))
    print(table({f"session, {part}": result[part]["session"] for part in sorted(result)}))
    everything = result["all"]
    below = missed(
        {name: (everything[name.split()[0]][name.split()[1]], floor)
         for name, floor in FLOORS[given.embedder].items()}
    )  # fmt: skip
    print("\n".join(below))
    return 1 if given.check and below else 0


if __name__ == "__main__":
    sys.exit(main())
