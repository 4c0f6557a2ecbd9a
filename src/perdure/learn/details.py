"""What a new wording would lose of an old one: names, numbers and words nobody spoke against."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from perdure import text
from perdure.learn import support

_IN_HALF = 2  # a Chinese word has about two characters
COUNTED = {
    word: str(number)
    for words in (
        "two three four five six seven eight nine ten eleven twelve".split(),
        "两 三 四 五 六 七 八 九 十".split(),
    )
    for number, word in enumerate(words, start=2)
}
"""Numbers that are said in words."""


@dataclass(frozen=True, slots=True)
class Details:
    """The parts of a statement by which something can be missed."""

    names: frozenset[str]
    numbers: frozenset[str]
    words: frozenset[str]
    """Stems of English words and single Chinese characters, little words left out."""

    def __sub__(self, other: Details) -> Details:
        return Details(
            self.names - other.names, self.numbers - other.numbers, self.words - other.words
        )

    def __bool__(self) -> bool:
        """There is one at all."""
        return bool(self.names or self.numbers or self.words)

    @property
    def weight(self) -> float:
        """How many words these are."""
        return sum(1 if word.isascii() else 1 / _IN_HALF for word in self.words)


def details(statement: str) -> Details:
    """Its names, numbers and words. Dates and times are numbers of a kind that may change."""
    folded = text.normalise(statement)
    counted = {
        number
        for word, number in COUNTED.items()
        if (re.search(rf"\b{word}\b", folded) if word.isascii() else word in folded)
    }
    words = (term for term in text.terms(statement) if term.isascii() or len(term) == 1)
    return Details(
        names=frozenset(map(text.normalise, support.names(statement))),
        numbers=frozenset(support.numbers(statement)) | counted,
        words=frozenset(word for word in words if not (word.isdecimal() or support.weak(word))),
    )


def beyond(statement: str, texts: Sequence[str]) -> Details:
    """What the statement has and none of the texts."""
    whole = "\n".join(texts)
    own, folded = details(statement) - details(whole), text.normalise(whole)
    return replace(own, names=frozenset(name for name in own.names if name not in folded))


def loses(old: str, new: str, said: Sequence[str], slack: int) -> bool:
    """Would the new wording forget more than it replaces?

    One name may take the place of another, one number of another, and words of words; what the
    turn itself speaks of may go, since it is what changed.

    Args:
        old: what is stored.
        new: what would be stored in its place.
        said: the user's words of the turn.
        slack: so many words may be lost beyond those that come in.
    """
    gone, come = beyond(old, [new, *said]), beyond(new, [old])
    return (
        len(gone.names) > len(come.names)
        or len(gone.numbers) > len(come.numbers)
        or gone.weight > come.weight + slack
    )


def forgets(old: str, new: str) -> bool:
    """Does the new wording lack a name, a number or a date of the old one?"""
    gone = beyond(old, [new])
    dates = set(support.numbers(old, dates=True)) - set(support.numbers(new, dates=True))
    return bool(gone.names or gone.numbers or dates)
