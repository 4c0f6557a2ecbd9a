"""What a model proposes to remember, and what that would change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perdure.types.item import Kind, Level, MemoryItem
from perdure.types.reason import Reason


class Action(StrEnum):
    """What a candidate does to what is stored."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    TOUCH = "TOUCH"
    DELETE = "DELETE"
    NONE = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement that a model, or the built-in extractor, proposes."""

    content: str
    kind: Kind | None = None
    """None, here and below: nobody said. A new memory takes the usual one, an old one keeps its."""
    level: Level = Level.USER
    title: str = ""
    confidence: float | None = None
    importance: float | None = None
    sensitivity: int = 0
    explicit: bool = False
    expires_at: datetime | None = None
    suspicious: bool = False
    messages: tuple[str, ...] = ()
    """Ids of the messages that support it."""
    proposed: Action | None = None
    """What the model says it does, where the call that proposed it asked for that too."""
    about: int | None = None
    """The small number of the memory it does it to, as shown in that call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one candidate is proposed to do.

    ``reference`` is the small number under which a memory was shown in this one call; the real id
    never reaches a model.
    """

    action: Action
    candidate: Candidate
    reference: int | None = None
    direct: bool = False
    """The user said so in as many words; only then may what a person wrote be superseded."""
    reworded: bool = False
    """The words are not the statement's own, but those that the second call proposed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A candidate that will not be stored, and why."""

    candidate: Candidate
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A checked decision, ready to be written. ``target`` is the row as it was shown."""

    action: Action
    candidate: Candidate
    target: MemoryItem | None = None
