"""What recall hands back: the text, and a reason for each memory said or left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from perdure.errors import Rejected
from perdure.text import Language
from perdure.types.checks import Trace
from perdure.types.explained import Considered, Score, table
from perdure.types.item import MemoryItem
from perdure.types.reason import Reason
from perdure.types.said import Role, Utterance
from perdure.types.words import in_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A ranked hit before gate and budget: a memory, or a sentence of a conversation."""

    item: MemoryItem | None
    episode: Utterance | None
    score: float
    """Similarity to the query, 0..1."""
    arms: tuple[str, ...]
    around: tuple[Utterance, ...] = ()
    """Of a quoted message, those next to it that are quoted with it, oldest first."""

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
class Findings:
    """What a search found, best first, and what kept it from finding more."""

    hits: tuple[Found, ...] = ()
    hidden: int = 0
    """Hits that the floor left out; without it they would be here."""
    degraded: tuple[Degraded, ...] = ()
    """Parts of the search that did not work this time."""

    def __iter__(self) -> Iterator[Found]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, place: int) -> Found:
        return self.hits[place]


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
    considered: tuple[Considered, ...] = ()
    """Every memory that was considered, best first, then some that no arm found; only where
    ``explain`` asked for it."""

    def table(self, language: Language = "en", chars: int = 80) -> str:
        """What became of each memory that was considered, as plain text, one a line.

        Args:
            language: of headings, stages and reasons.
            chars: characters of a memory that are shown.
        """
        failed = [
            f"{one.part}: {one.reason} {in_words(one.reason, language)}" for one in self.degraded
        ]
        return "\n".join([table(self.considered, language, chars), *failed])

    def as_system(
        self, messages: Sequence[Mapping[str, Any]], *, after: int | None = None
    ) -> list[dict[str, Any]]:
        """The conversation with this answer as a system message behind the host's own rules.

        Args:
            messages: as OpenAI-style chat messages, oldest first; they are left as they are.
            after: how many of the leading system and developer messages stand before it, such as
                rules and skills, where a summary or the session stands behind; None, and where
                there are fewer: all of them.

        Returns:
            The same messages, with one more directly behind the leading system and developer
            messages; without it if the answer is empty or memories stand there already.

        Raises:
            Rejected: ``after`` cannot be meant.
        """
        if after is not None and (type(after) is not int or after < 0):
            raise Rejected("Expected a whole number of at least 0.", field="after")
        placed = [dict(message) for message in messages]
        if self._fits(placed):
            rules = 0
            while rules < len(placed) and placed[rules].get("role") in _RULES and rules != after:
                rules += 1
            role = placed[rules - 1]["role"] if rules else Role.SYSTEM.value
            placed.insert(rules, {"role": role, "content": self.text})
        return placed

    def as_supplement(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The conversation with this answer at the end of the last message of the user.

        For agents that build their own prompt, where tool calls and results may stand behind what
        the user said. A conversation in which the user says nothing gets one more message.

        See `as_system` for arguments and result.
        """
        placed = [dict(message) for message in messages]
        if not placed or not self._fits(placed):
            return placed
        spoken = [message for message in placed if message.get("role") == Role.USER.value]
        if not spoken:
            return [*placed, {"role": Role.USER.value, "content": self.text}]
        content = spoken[-1].get("content")
        spoken[-1]["content"] = (
            [*content, {"type": _part_type(content), "text": self.text}]
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


def _part_type(parts: Sequence[Any]) -> str:
    """What a part of text is called among these: chats and responses differ."""
    types = [part.get("type") for part in parts if isinstance(part, Mapping) and "text" in part]
    return str(types[-1]) if types and types[-1] else "text"


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
