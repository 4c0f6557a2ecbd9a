"""How an answer came about: every memory that was considered, its way, and a table of them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest

from perdure import text
from perdure.text import Language
from perdure.types.item import MemoryItem
from perdure.types.reason import Reason
from perdure.types.words import in_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score that explains itself: its terms add up to the total."""

    terms: Mapping[str, float]

    @property
    def total(self) -> float:
        """The sum of the terms."""
        return sum(self.terms.values())


class Stage(StrEnum):
    """Where the way of a memory through recall ended."""

    SEARCH = "search"
    """No arm found it."""
    MERGE = "merge"
    """Another row says the same."""
    GATE = "gate"
    """It may not be said, or is not worth saying."""
    TOPICS = "topics"
    """Enough is said on its topic."""
    BUDGET = "budget"
    """There is no room for it."""
    SAID = "said"
    """It is in the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one search arm put a memory."""

    arm: str
    rank: int
    """From 1, the arm's best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """A memory that recall considered, and what became of it."""

    item: MemoryItem
    stage: Stage
    reason: Reason | None = None
    """Why it is left out; None: it is said."""
    score: Score | None = None
    relevance: float = 0.0
    """To the question, 0..1, by meaning and words together."""
    places: tuple[Place, ...] = ()


_HEADS: Mapping[Language, tuple[str, ...]] = {
    "en": ("stage", "reason", "score", "terms", "arms and ranks", "memory"),
    "zh": ("阶段", "原因", "得分", "得分构成", "检索臂与名次", "记忆"),
}
_NOTHING: Mapping[Language, str] = {
    "en": "No memory was considered, or it was not asked for with explain=True.",
    "zh": "没有考虑任何记忆，或者没有用 explain=True 要求说明。",
}
_STAGES: Mapping[Stage, str] = {
    Stage.SEARCH: "检索",
    Stage.MERGE: "合并",
    Stage.GATE: "把关",
    Stage.TOPICS: "话题",
    Stage.BUDGET: "篇幅",
    Stage.SAID: "采用",
}
"""In Chinese; in English they are their own words."""
_NUMBERS = frozenset({2})  # columns that are set to the right


def in_stage(stage: Stage, language: Language) -> str:
    """What a stage is called in this language."""
    return _STAGES[stage] if language == "zh" else stage.value


def table(considered: Iterable[Considered], language: Language = "en", chars: int = 80) -> str:
    """The memories as plain text, one a line; Chinese characters take the two columns they need.

    Args:
        considered: in the order of the lines; none are said to be none.
        language: of headings, stages and reasons.
        chars: characters of a memory that are shown.
    """
    rows = [_HEADS[language], *(_row(one, language, chars) for one in considered)]
    if len(rows) == 1:
        return _NOTHING[language]
    widths = [max(map(text.columns, column)) for column in zip_longest(*rows, fillvalue="")]
    return "\n".join(_line(row, widths) for row in rows)


def _row(one: Considered, language: Language, chars: int) -> tuple[str, ...]:
    content = " ".join(one.item.content.split())
    short = text.cut(content, chars)
    terms = one.score.terms if one.score is not None else {}
    return (
        in_stage(one.stage, language),
        f"{one.reason} {in_words(one.reason, language)}" if one.reason is not None else "",
        f"{one.score.total:.3f}" if one.score is not None and terms else "",
        " ".join(f"{name} {points:.2f}" for name, points in terms.items() if points),
        " ".join(f"{place.arm} {place.rank}" for place in one.places),
        short if short == content else f"{short}…",
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        " " * (width - text.columns(cell)) + cell
        if place in _NUMBERS
        else cell + " " * (width - text.columns(cell))
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()
