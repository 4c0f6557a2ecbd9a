"""What is asked: the text that is searched with, and what the user said last. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import regex

from perdure import text
from perdure.errors import Rejected
from perdure.policy import Policy
from perdure.prompts.words import without_blocks
from perdure.recall.when import Span, times
from perdure.types import Message, Role, Scope

_GRAPHEME = regex.compile(r"\X")
_LONGEST = 64  # signs that one character may be made of


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, ready to be searched with."""

    whole: str
    """All of it, without memories that stand in it; of a long one the end."""
    last: str | None = None
    """The user's last message, where the question is a whole conversation."""

    @property
    def message(self) -> str:
        """What is answered: the last message, or the question itself."""
        return self.last or self.whole

    @property
    def texts(self) -> list[str]:
        """What is embedded: the whole, and the last message where it is not the same."""
        return [self.whole] if self.last in (None, "", self.whole) else [self.whole, self.last]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question of one user at one moment, and the numbers it is answered by."""

    scope: Scope
    words: Asked
    at: datetime
    """The moment that is asked about: now, or an earlier time."""
    policy: Policy
    as_of: datetime | None = None
    """The earlier time, if one is asked about."""

    @property
    def times(self) -> tuple[Span, ...]:
        """The time that the question's own words name."""
        return times(self.words.message, self.at) if self.policy.search.time_words else ()


def asked(question: Any, limit: int) -> Asked:
    """A question as the caller gives it.

    Args:
        question: a text, or the messages of a conversation, oldest first.
        limit: characters that are searched with; of a longer question the end is taken.

    Raises:
        Rejected: it is neither; the error names the place.
    """
    if isinstance(question, str):
        return Asked(_end(without_blocks(text.clean(question)), limit))
    if not isinstance(question, Sequence) or isinstance(question, bytes | bytearray):
        raise Rejected("Expected a text or a list of messages.", field="question")
    if not question:
        raise Rejected("Needs at least one message.", field="question")
    lines: list[str] = []
    last = ""
    for number, message in enumerate(question):
        if not isinstance(message, Message):
            raise Rejected("Expected a Message.", field=f"question[{number}]")
        if message.role in (Role.USER, Role.ASSISTANT):
            said = without_blocks(message.content)
            lines.append(f"{message.name}: {said}" if message.name else said)
            last = said if message.role is Role.USER else last
    return Asked(_end("\n".join(filter(None, lines)), limit), _end(last, limit))


def _end(words: str, limit: int) -> str:
    """The last characters; the first of them is whole."""
    start = len(words) - limit
    if start > 0:
        before = max(0, start - _LONGEST)
        cuts = (match.start() for match in _GRAPHEME.finditer(words, before))
        start = next((cut for cut in cuts if cut >= start), len(words))
    return words[max(0, start) :].strip()
