"""How many answers are given, and how many wrong mentions, at each floor of relevance and score.

Forty memories of one person, in English and in Chinese, a question for each, and twenty questions
that none answers. None is pinned, so whatever is said was searched for.

    python bench/floor.py [--embedder e5] [--json FILE] [--plot FILE] [--quick]

answered     questions whose memory is said
beside it    questions with an answer where another memory is said, too
wrong        questions without an answer where anything is said
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from measures import EMBEDDERS, Figures, arguments, plot, report, table
from notes import LANGUAGES, Note, notes, opened, remember
from perdure import ASSISTANT, Kind, Memory, Policy, Scope

RELEVANCE = [round(step * 0.05, 2) for step in range(21)]
SCORE = RELEVANCE
SAID = (0.0, 0.15, 0.45, 0.5, 0.6, 0.75, 0.8, 0.85)  # values written beside the curves


def measured(memory: Memory, asked: Sequence[Note], policy: Policy) -> dict[str, Figures]:
    """The three shares, by language and together."""
    rows: dict[str, Figures] = {}
    for language in LANGUAGES:
        scope = Scope(user=language)
        answered, beside, wrong = [], [], []
        for note in asked:
            said = {
                kept.item.content
                for kept in memory.recall(scope, note.asks[language], policy=policy).kept
            }
            if note.kind is None:
                wrong.append(bool(said))
                continue
            gold = note.said[language]
            answered.append(gold in said)
            beside.append(bool(said - {gold}))
        rows[language] = {
            name: 100 * mean(hits)
            for name, hits in (("answered", answered), ("beside it", beside), ("wrong", wrong))
        }
    both = {name: mean(row[name] for row in rows.values()) for name in rows[LANGUAGES[0]]}
    return {**rows, "both": both}


def curve(
    memory: Memory, asked: Sequence[Note], knob: str, values: Sequence[float]
) -> list[dict[str, Any]]:
    """The shares with one knob of the gate at each value."""
    return [{knob: value, **measured(memory, asked, _policy(**{knob: value}))} for value in values]


def _policy(**knobs: float) -> Policy:
    """The default numbers with these of the gate; nothing pinned, no budget of a kind."""
    return ASSISTANT.but(
        gate=ASSISTANT.gate.but(**knobs),
        search=ASSISTANT.search.but(pinned=False, vector_ms=60_000, arm_ms=60_000, deadline_ms=0),
        budget=ASSISTANT.budget.but(constraint=None, preference=None, todo_hint=None, fact=None),
    )


def main() -> int:
    """Run the bench."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--embedder", choices=EMBEDDERS, default="bundled")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the curves, as PNG")
    given = parser.parse_args()
    every = notes()
    asked = every[::4] if given.quick else every
    with opened(given.embedder) as memory:
        for language in LANGUAGES:
            said = [(note.kind or Kind.FACT, note.said[language]) for note in every if note.said]
            remember(memory, Scope(user=language), said)
        now = measured(memory, asked, _policy())
        relevance = curve(memory, asked, "min_relevance", RELEVANCE[:: 4 if given.quick else 1])
        score = curve(memory, asked, "floor", SCORE[:: 4 if given.quick else 1])
    report({"default": now, "min_relevance": relevance, "floor": score}, given.json)
    print(f"{len(asked)} questions in each language, at the default numbers")
    print(table(now))
    for knob, points in (("min_relevance", relevance), ("floor", score)):
        print(f"\n{knob}, both languages")
        print(table({f"{point[knob]:.2f}": point["both"] for point in points}))
    if given.plot is not None:
        plot(
            given.plot,
            "Answers given against wrong mentions",
            ("wrong mentions, %", "answers given, %"),
            {
                f"gate.{knob}": _line(knob, points)
                for knob, points in (("min_relevance", relevance), ("floor", score))
            },
        )
    return 0


def _line(knob: str, points: Sequence[Mapping[str, Any]]) -> list[tuple[float, float, str]]:
    """Wrong mentions and answers, and the knob's value at some of them; the default is said."""
    chosen = getattr(ASSISTANT.gate, knob)
    line = []
    for point in points:
        value = point[knob]
        words = f"{value} (default)" if value == chosen else f"{value}" if value in SAID else ""
        line.append((point["both"]["wrong"], point["both"]["answered"], words))
    return line


if __name__ == "__main__":
    sys.exit(main())
