"""A conversation file as a demo plays it: people, their conversations, turn by turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from perdure import text
from perdure.control.lines import read_message
from perdure.errors import Rejected
from perdure.text import Language
from perdure.types import MAX_USER, Message, Role, identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """One conversation: its turns, oldest first."""

    id: str
    turns: tuple[tuple[Message, ...], ...]

    @property
    def messages(self) -> tuple[Message, ...]:
        """All of its messages in order."""
        return tuple(message for turn in self.turns for message in turn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """One person: what was said with them, and what they ask in the end."""

    user: str
    talks: tuple[Talk, ...]
    question: str
    asked_in: str
    """The conversation in which the question is asked."""
    asked_at: datetime | None = None

    @property
    def language(self) -> Language:
        """The language this person speaks."""
        said = [m.content for talk in self.talks for m in talk.messages if m.role is Role.USER]
        return text.language(" ".join([*said, self.question]))

    def said(self, talk: str | None, message: str) -> str:
        """The content of one message by its ids; empty if there is none."""
        found = (m.content for t in self.talks if t.id == talk for m in t.messages
                 if m.id == message)  # fmt: skip
        return next(found, "")


def read_script(
    lines: Iterable[Mapping[str, Any]], *, user: str, question: str | None = None
) -> tuple[Person, ...]:
    """The people of a conversation file, in the order in which they speak first.

    Args:
        lines: one message each: conversation, role, content, time, id, name, user.
        user: whose the lines are that name no user.
        question: asked in the end; None takes each person's last message, which is then not part
            of what is learnt from.

    Raises:
        Rejected: a line cannot be meant, or nobody says anything; the error says where.
    """
    heard: dict[str, dict[str, list[Message]]] = {}
    for number, line in enumerate(lines, start=1):
        try:
            who = identifier(line.get("user", user), "user", MAX_USER)
            conversation, message = read_message(line)
        except Rejected as wrong:
            wrong.field = f"line {number}" + (f", {wrong.field}" if wrong.field else "")
            raise
        message = message if message.id else replace(message, id=f"line-{number}")
        heard.setdefault(who, {}).setdefault(conversation, []).append(message)
    people = [_person(who, talks, question) for who, talks in heard.items()]
    if not people:
        raise Rejected("Nobody says anything in it.", field="file")
    return tuple(people)


def _person(user: str, talks: Mapping[str, Sequence[Message]], question: str | None) -> Person:
    """One person's conversations, and the question set apart."""
    last = list(talks)[-1]
    kept = {name: list(messages) for name, messages in talks.items()}
    asked_at = None
    if question is None:
        asked = [place for place, m in enumerate(kept[last]) if m.role is Role.USER]
        if not asked:
            raise Rejected(
                "The last conversation of {user} has no message of a user.", field=last, user=user
            )
        question = kept[last][asked[-1]].content
        asked_at = kept[last][asked[-1]].at
        del kept[last][asked[-1] :]
    return Person(
        user=user,
        talks=tuple(Talk(id=n, turns=_turns(messages)) for n, messages in kept.items() if messages),
        question=question,
        asked_in=last,
        asked_at=asked_at,
    )


def _turns(messages: Sequence[Message]) -> tuple[tuple[Message, ...], ...]:
    """A person who speaks after a reply begins a new turn."""
    turns: list[list[Message]] = []
    for message in messages:
        if not turns or (message.role is Role.USER and turns[-1][-1].role is not Role.USER):
            turns.append([])
        turns[-1].append(message)
    return tuple(map(tuple, turns))
