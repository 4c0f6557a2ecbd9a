"""How much of what is injected stays the same from turn to turn, for the sake of prompt caches.

Conversations of fifty turns, the same questions in several orders, in English and in Chinese, with
one person of thirty-six memories; every ten turns one more is remembered: a constraint, a
preference, a fact, a plan. A turn is unchanged if its text begins with the pinned part of the turn
before: head, constraints and sure preferences, all of them. Five preferences are pinned, and
five are said: where a question asks for another one, the last of them yields its place. What stays
before that one line is told beside it, as ``before_the_last``.

    python bench/prefix.py [--json FILE] [--quick]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from statistics import mean
from typing import Any

from measures import arguments, report
from notes import LANGUAGES, Note, listed, notes, opened, remember
from perdure import ASSISTANT, Answer, Kind, Memory, Scope
from perdure.types import Kept

BOUND = 95.0
ORDERS = (7, 17, 29)  # steps through the questions
EVERY = 10  # turns between two new memories
SURE = {"confidence": 0.9}
SMALL_TALK = {
    "en": ("ok", "Thanks!", "Good morning", "Hm, and why?", "👍"),
    "zh": ("好的", "ok", "谢谢！", "早上好", "👍"),
}


def questions(asked: Sequence[Note], language: str, turns: int, order: int) -> Iterator[str]:
    """What is said in each turn: questions of all sorts, now and then small talk."""
    for turn in range(turns):
        if turn % 7 == 3:
            yield SMALL_TALK[language][turn // 7 % len(SMALL_TALK[language])]
        else:
            yield asked[(turn * order) % len(asked)].asks[language]


def converse(memory: Memory, language: str, turns: int, order: int) -> dict[str, Any]:
    """One conversation, turn by turn."""
    every, scope = notes(), Scope(user=f"{language}-{order}")
    kept = [note for note in every if note.said]
    later = [kept.pop(place) for place in (36, 20, 10, 1)]  # one of every kind
    preferences = [note for note in kept if note.kind is Kind.PREFERENCE]
    sure = {note.said[language] for note in preferences[:5]}
    for certain in (True, False):
        said = [
            (note.kind or Kind.FACT, note.said[language])
            for note in kept
            if (note.said[language] in sure or note.kind is Kind.CONSTRAINT) is certain
        ]
        remember(memory, scope, said, **(SURE if certain else {}))
    unchanged, steady, shares, news = [], [], [], 0
    before: Answer | None = None
    for turn, question in enumerate(questions(every, language, turns, order)):
        if turn and turn % EVERY == 0 and later:
            note = later.pop()
            remember(memory, scope, [(note.kind or Kind.FACT, note.said[language])], **SURE)
            news += 1
        answer = memory.recall(scope, question)
        assert not answer.degraded, answer.degraded
        if before is not None:
            unchanged.append(answer.text.startswith(pinned_part(before)))
            steady.append(answer.text.startswith(pinned_part(before, yielding=1)))
            shares.append(common(before.text, answer.text) / len(before.text))
        before = answer
    return {
        "turns": len(unchanged),
        "unchanged": round(100 * mean(unchanged), 1),
        "before_the_last": round(100 * mean(steady), 1),
        "prefix_share": round(100 * mean(shares), 1),
        "memories": len(listed(memory, scope)),
        "new_memories": news,
    }


def common(one: str, other: str) -> int:
    """Characters with which both texts begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def pinned_part(answer: Answer, yielding: int = 0) -> str:
    """The text up to the last line of a pinned memory that is said whatever the question.

    Args:
        answer: with its text.
        yielding: lines of pinned preferences that do not count where those fill their limit.
    """
    lines = answer.text.splitlines(keepends=True)
    pinned = {f"- {kept.item.content}" for kept in answer.kept if is_pinned(kept)}
    places = [place for place, line in enumerate(lines) if line.strip() in pinned]
    sure = sum(is_pinned(kept) and kept.item.kind is Kind.PREFERENCE for kept in answer.kept)
    full = sure == ASSISTANT.budget.preference
    return "".join(lines[: places[-1 - yielding * full] + 1])


def is_pinned(kept: Kept) -> bool:
    """It comes whatever the question."""
    return "pinned" in kept.arms


def main() -> int:
    """Run the bench."""
    given = arguments(__doc__ or "").parse_args()
    turns, orders = (20, ORDERS[:1]) if given.quick else (50, ORDERS)
    with opened() as memory:
        found = {
            f"{language}, order {order}": converse(memory, language, turns, order)
            for order in orders
            for language in LANGUAGES
        }
    share = mean(one["unchanged"] for one in found.values())
    steady = mean(one["before_the_last"] for one in found.values())
    shares = {
        "unchanged": round(share, 1), "before_the_last": round(steady, 1), "bound": BOUND,
    }  # fmt: skip
    report({**found, **shares}, given.json)
    for name, one in found.items():
        print(
            f"{name}: {one['turns']} turns, {one['new_memories']} new memories; the pinned "
            f"part stayed in {one['unchanged']:.1f} %, before the line that yields in "
            f"{one['before_the_last']:.1f} %; {one['prefix_share']:.0f} % of a text is as before"
        )
    print(
        f"unchanged {share:.1f} % (bound {BOUND:.0f}), before the line that yields {steady:.1f} %"
    )
    return 0 if share >= BOUND or given.quick else 1


if __name__ == "__main__":
    sys.exit(main())
