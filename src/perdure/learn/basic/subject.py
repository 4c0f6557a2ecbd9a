"""Of whom a statement speaks: of the user, or of somebody of the family."""

from __future__ import annotations

import regex

from perdure import text
from perdure.learn.basic import chinese_words, english_words
from perdure.learn.basic.rules import Vocabulary

_ENGLISH = Vocabulary(english_words).any_case(
    r"^((my|our|their) )?(?P<who>({WHICH} )?(?!famil){KIN}( (?-i:\p{Lu})\w+)?)"
    r" (?=(is|are|has|have|was|were|does|do|can|cannot|will|would|never|no longer|also|now|only"
    r"|live|work|speak|eat|drink|\w+(?<![sS])s|\w+ed)\b)"
)
_CHINESE = Vocabulary(chinese_words).exact(
    r"^(我|咱)?们?家?里?的?(?P<who>{WHICH}?{KIN}|{BY_AGE})(?![的司棋])(?=\S)"
)


def subject(statement: str) -> tuple[str, str]:
    """Who does it, and what is said of them. Nobody named: it is the user."""
    found: regex.Match[str] | None = _ENGLISH.match(statement) or _CHINESE.match(statement)
    if found is None:
        return "", statement
    return text.normalise(found["who"]), statement[found.end() :]
