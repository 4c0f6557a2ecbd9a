"""Where the words of conversations are kept, and how far they were learnt from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from perdure.types import Message, Scope, Trace, Utterance


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationState:
    """What is known of a conversation as a whole."""

    conversation: str
    watermark: int = 0
    """``seq`` of the last message that was learnt from; moves only on success."""
    waiting_chars: int = 0
    """Characters said since the watermark."""
    project: str | None = None
    assistant: str | None = None
    run: str | None = None


class MessageStore(Protocol):
    """What was said, while it is kept."""

    def add(
        self, scope: Scope, conversation: str, messages: Sequence[Message], at: datetime, trace: str
    ) -> list[Utterance]:
        """Keep the messages in order; one whose id is known already is left out.

        Messages without an id get one. Returns what was newly kept.
        """
        ...

    def conversation(self, scope: Scope, conversation: str) -> ConversationState | None:
        """The state of one conversation."""
        ...

    def since(
        self, scope: Scope, conversation: str, after: int, limit: int = 1_000
    ) -> list[Utterance]:
        """Messages of one conversation with ``seq`` above ``after``, oldest first."""
        ...

    def before(self, scope: Scope, conversation: str, seq: int, limit: int) -> list[Utterance]:
        """The last messages of one conversation with ``seq`` up to ``seq``, oldest first."""
        ...

    def turn(self, scope: Scope, conversation: str, trace: Trace) -> list[Utterance]:
        """The messages that one capture kept, oldest first."""
        ...

    def by_id(self, scope: Scope, conversation: str, ids: Collection[str]) -> list[Utterance]:
        """Messages of one conversation by the host's ids, oldest first."""
        ...

    def by_seq(self, scope: Scope, seqs: Collection[int]) -> list[Utterance]:
        """Messages of the owner by place."""
        ...

    def outline(self, scope: Scope) -> list[tuple[int, str, str, datetime]]:
        """Of every kept message of the owner: seq, conversation, speaker, time; by seq."""
        ...

    def bindings(self, scope: Scope) -> dict[str, Scope]:
        """Where each conversation of the owner took place: its project, assistant and run."""
        ...

    def learnt(self, scope: Scope, conversation: str, upto: int) -> None:
        """Move the watermark forward, never back."""
        ...

    def remove(
        self,
        scope: Scope,
        *,
        before: datetime | None = None,
        kept_before: datetime | None = None,
        upto: int | None = None,
        conversation: str | None = None,
    ) -> int:
        """Delete messages for good, with their vectors and search terms.

        ``before`` is when they were said, ``kept_before`` when they came in.
        """
        ...
