"""What the offline extractor's two grammars share: a clause, a statement, and how sure we are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import ModuleType
from typing import TypeAlias

import regex

from perdure.learn.basic.dates import Calendar, Tense
from perdure.types import Kind, Level, Reason

Objections: TypeAlias = Sequence[tuple[Reason, "regex.Pattern[str]"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of a sentence that can be a statement of its own."""

    text: str
    explicit: bool = False
    """The person asked to remember it."""
    reason: Reason | None = None
    """What speaks against the whole sentence it stands in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a clause says, in the person's language and without "I"."""

    content: str
    kind: Kind
    level: Level = Level.USER
    until: date | None = None
    """Last day of a plan that names one."""
    order: bool = False
    """What the person wants the assistant to do, said to it directly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """What the extractor knows of one language."""

    clauses: Callable[[str], list[Clause]]
    """The clauses of one sentence, in order."""
    objection: Callable[[str], Reason | None]
    """Why a clause says nothing lasting about the person, or None."""
    statement: Callable[[str, date], Statement | None]
    """What a clause says of the person, if any rule knows it. The date is the day it was said."""
    asked: Callable[[str, date], Statement | None]
    """The same for a clause that the person asked to remember and that no rule knows."""
    personal: Callable[[str], bool]
    """Could a clause be taken for a statement about the person? If not, it is not even refused."""
    sensitivity: Callable[[str], int]
    """0 ordinary, 1 contact data, 2 health, finance and identity documents."""
    days: Calendar
    """How it names days."""


@dataclass(frozen=True, slots=True)
class Weight:
    """How sure a rule is of its kind of statement, and how much it matters."""

    confidence: float
    importance: float

    def at_least(self, other: Weight) -> Weight:
        """The larger of each."""
        return Weight(
            max(self.confidence, other.confidence), max(self.importance, other.importance)
        )


WEIGHTS: Mapping[Kind, Weight] = {
    Kind.PREFERENCE: Weight(0.70, 0.6),
    Kind.CONSTRAINT: Weight(0.75, 0.8),
    Kind.FACT: Weight(0.70, 0.5),
    Kind.TODO_HINT: Weight(0.65, 0.5),  # plans change
}
"""Below what a good model says of itself: a rule sees words, not meaning."""
EXPLICIT = Weight(0.80, 0.8)
"""At least this where the person asked to remember it."""
ORDER = Weight(0.80, 0.6)
"""At least this for what the person wants from the assistant: it must hold in every answer."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to say something lasting: what it looks like and what kind of statement it makes."""

    kind: Kind
    pattern: regex.Pattern[str]
    tense: Tense = Tense.LASTING


def words(phrases: str) -> str:
    """A pattern for any of the phrases, which are separated by commas; longer ones come first.

    ``kid(s)`` may end in s, ``*`` stands for the rest of a word, ``…`` for up to two words.
    """
    found = {" ".join(p.split()) for p in phrases.split(",")} - {""}
    return "(?:" + "|".join(map(_phrase, sorted(found, key=lambda p: (-len(p), p)))) + ")"


def _phrase(phrase: str) -> str:
    pattern = regex.escape(phrase, literal_spaces=True)
    for sign, meaning in ((r"\(s\)", "s?"), (r"\*", r"\w*"), ("… ", r"(?:[\w'-]+ ){0,2}")):
        pattern = pattern.replace(sign, meaning)
    return pattern.replace(" ", r"\s+")


class Vocabulary:
    """Compiles patterns that name lists of words, so that rules stay short enough to read.

    ``{KIN}`` stands for the list of that name, a space for any white space, and plain brackets
    group without capturing.
    """

    def __init__(self, *modules: ModuleType) -> None:
        self._lists = {k: v for m in modules for k, v in vars(m).items() if k.isupper()}

    def expand(self, source: str) -> str:
        """The source of the pattern in full, to be named in others."""
        plain = _SHORTHAND.sub(lambda m: _LONG.get(m.group(), m.group()), source)
        return _NAMED.sub(lambda m: self._lists[m[1]], plain)

    def name(self, **sources: str) -> None:
        """Give a pattern a name that later ones can use."""
        self._lists |= {k: f"(?:{self.expand(v)})" for k, v in sources.items()}

    def any_case(self, source: str) -> regex.Pattern[str]:
        """Compiled; small and capital letters are the same but where ``(?-i:…)`` says not."""
        return regex.compile(self.expand(source), regex.IGNORECASE)

    def exact(self, source: str) -> regex.Pattern[str]:
        """Compiled; small and capital letters differ."""
        return regex.compile(self.expand(source))


_SHORTHAND = regex.compile(r"\\.|\[[^\]]*\]|\((?!\?)| ")
_LONG = {"(": "(?:", " ": r"\s+"}
_NAMED = regex.compile(r"\{([A-Z][A-Z_]*)\}")


def first_reason(text: str, objections: Objections) -> Reason | None:
    """The reason of the first pattern that is found in the text."""
    return next((reason for reason, pattern in objections if pattern.search(text)), None)
