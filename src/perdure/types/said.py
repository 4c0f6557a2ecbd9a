"""What was said: messages, and the turns they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from perdure import text
from perdure.errors import Rejected, TooLarge
from perdure.types.checks import (
    MAX_BINDING,
    MAX_MESSAGE,
    Trace,
    identifier,
    one_of,
    optional_identifier,
    zoned,
)


class Role(StrEnum):
    """Who speaks in a message."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    DEVELOPER = "developer"
    TOOL = "tool"
    FUNCTION = "function"


def _spoken(content: Any, role: Role) -> str:
    """The text of a message's content: a text, or OpenAI-style content parts."""
    if content is None:
        if role is Role.USER:
            raise Rejected("A user's message needs a content.", field="content")
        return ""
    if isinstance(content, str):
        return text.clean(content)
    if isinstance(content, Sequence) and not isinstance(content, bytes | bytearray):
        return text.clean("\n".join(filter(None, map(_part, content))))
    raise Rejected("Expected a text or a list of content parts.", field="content")


def _part(part: Any) -> str:
    """The text of one content part; pictures, sound and the like have none."""
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping):
        said = part.get("text", "")
        if isinstance(said, str):
            return said
        if said is None:
            return ""
    raise Rejected("Expected content parts with a text.", field="content")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    ``content`` may be given as a text, as a list of content parts of which the texts are kept,
    or, for anyone but the user, as None (a turn that only calls tools).
    """

    role: Role
    content: str
    at: datetime | None = None
    """When it was said; its offset from UTC tells which day "tomorrow" is. None means now."""
    id: str | None = None
    """The host's id of it, unique in its conversation; it makes a redelivery harmless."""
    name: str | None = None
    """The speaker's name where several people share a role."""

    if TYPE_CHECKING:  # what a caller may give is wider than what is kept

        def __init__(
            self,
            role: Role | str,
            content: str | Sequence[Any] | None,
            at: datetime | None = None,
            id: str | None = None,  # noqa: A002 - the field's name
            name: str | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        role = one_of(Role, self.role, "role")
        object.__setattr__(self, "role", role)
        object.__setattr__(self, "content", _spoken(self.content, role))
        if len(self.content) > MAX_MESSAGE:
            raise TooLarge(
                "A message may have {most:,} characters.", field="content", most=MAX_MESSAGE
            )
        if self.at is not None:
            if not isinstance(self.at, datetime):
                raise Rejected("Expected a time.", field="at")
            object.__setattr__(self, "at", zoned(self.at, "at"))
        object.__setattr__(self, "id", optional_identifier(self.id, "id", MAX_BINDING))
        object.__setattr__(self, "name", optional_identifier(self.name, "name", MAX_BINDING))


class Mode(StrEnum):
    """What memory may do in one conversation or for one turn."""

    OFF = "off"
    READ = "read"
    WRITE = "write"
    ON = "on"

    @property
    def reads(self) -> bool:
        """Memories may be recalled."""
        return self in (Mode.READ, Mode.ON)

    @property
    def writes(self) -> bool:
        """Turns may be learnt from."""
        return self in (Mode.WRITE, Mode.ON)


class Outcome(StrEnum):
    """How the task of a turn ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ConversationKind(StrEnum):
    """What sort of conversation a turn belongs to."""

    MAIN = "main"
    SUBAGENT = "subagent"
    SIDE_TASK = "side_task"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A finished turn: the new messages of one conversation, oldest first."""

    conversation: str
    messages: tuple[Message, ...]
    mode: Mode = Mode.ON
    outcome: Outcome = Outcome.COMPLETED
    kind: ConversationKind = ConversationKind.MAIN

    def __post_init__(self) -> None:
        identifier(self.conversation, "conversation", MAX_BINDING)
        if not self.messages:
            raise Rejected("A turn needs at least one message.", field="messages")
        said: dict[str, Message] = {}
        for number, message in enumerate(self.messages):
            if not isinstance(message, Message):
                raise Rejected("Expected a Message.", field=f"messages[{number}]")
            if message.id is not None and said.setdefault(message.id, message) != message:
                raise Rejected("Another message has this id.", field=f"messages[{number}].id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A message as it was kept: with its place, its time and its id."""

    seq: int
    """Rises with each kept message of the store; orders a conversation."""
    id: str
    conversation: str
    role: Role
    content: str
    at: datetime
    name: str | None = None
    trace: Trace | None = None
    """Of the capture that kept it; the messages of one turn share it."""

    @property
    def speaker(self) -> str:
        """The name if there is one, else the role."""
        return self.name or self.role.value
