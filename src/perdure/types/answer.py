"""What recall hands back: the text, and a reason for each memory said or left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from perdure.types.checks import Trace
from perdure.types.item import MemoryItem
from perdure.types.reason import Reason
from perdure.types.said import Role, Utterance


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score that explains itself: its terms add up to the total."""

    terms: Mapping[str, float]

    @property
    def total(self) -> float:
        """The sum of the terms."""
        return sum(self.terms.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A ranked hit before gate and budget: a memory, or a sentence of a conversation."""

    item: MemoryItem | None
    episode: Utterance | None
    score: float
    """Similarity to the query, 0..1."""
    arms: tuple[str, ...]

    @property
    def content(self) -> str:
        """The text that was found."""
        if self.item is not None:
            return self.item.content
        return self.episode.content if self.episode is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A memory that the answer says, and its score."""

    item: MemoryItem
    score: Score
    arms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A memory that the answer leaves out, and why."""

    item: MemoryItem
    reason: Reason
    score: Score | None = None
    arms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Degraded:
    """A part of recall that did not work this time, and why."""

    part: str
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The text to put before the model, what it says, what it leaves out and why."""

    text: str
    kept: tuple[Kept, ...]
    dropped: tuple[Dropped, ...]
    degraded: tuple[Degraded, ...]
    trace: Trace
    timings: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage."""
    episodes: tuple[Found, ...] = ()
    """Messages of earlier conversations that the text quotes, where the policy wants them."""

    def as_system(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The conversation with this answer as a system message behind the host's own rules.

        Args:
            messages: as OpenAI-style chat messages, oldest first; they are left as they are.

        Returns:
            The same messages, with one more directly behind the leading system and developer
            messages; without it if the answer is empty or memories stand there already.
        """
        placed = [dict(message) for message in messages]
        if self._fits(placed):
            rules = 0
            while rules < len(placed) and placed[rules].get("role") in _RULES:
                rules += 1
            role = placed[rules - 1]["role"] if rules else Role.SYSTEM.value
            placed.insert(rules, {"role": role, "content": self.text})
        return placed

    def as_supplement(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The conversation with this answer at the end of its last message.

        For agents that build their own prompt; see `as_system` for arguments and result.
        """
        placed = [dict(message) for message in messages]
        if placed and self._fits(placed):
            content = placed[-1].get("content")
            placed[-1]["content"] = (
                [*content, {"type": "text", "text": self.text}]
                if isinstance(content, list | tuple)
                else f"{content}\n\n{self.text}"
                if content
                else self.text
            )
        return placed

    def _fits(self, messages: Sequence[Mapping[str, Any]]) -> bool:
        """There is something to say, and no memories stand in these messages already."""
        mark = self.text.partition("\n")[0]
        return bool(mark) and not any(
            mark in _written(message.get("content"))
            for message in messages
            if message.get("role") not in _REPLIES
        )


_RULES = frozenset({"system", "developer"})
_REPLIES = frozenset({"assistant", "tool", "function"})
"""What a model or a tool writes may quote our mark; that places nothing."""


def _written(content: Any) -> str:
    """All text of a message's content: a text, or content parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence) and not isinstance(content, bytes | bytearray):
        return "\n".join(
            said
            for part in content
            if isinstance(part, Mapping) and isinstance(said := part.get("text"), str)
        )
    return ""
