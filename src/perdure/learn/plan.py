"""What a turn was found to say, thought through and ready to be checked and written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from perdure.learn.shown import Numbering
from perdure.ports import Vectors
from perdure.types import Decision, MemoryItem, Origin, Preferences, Refused, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a turn was found to say, before anything of it is written."""

    home: Scope
    """Where the memories will live."""
    conversation: str
    decisions: tuple[Decision, ...]
    refused: tuple[Refused, ...] = ()
    """What was left out so far."""
    preferences: Preferences = field(default_factory=Preferences)
    """The user's switches as they were when it was thought through."""
    shown: Numbering[MemoryItem] = field(default_factory=Numbering)
    said: Mapping[str, datetime] = field(default_factory=dict)
    """When each source message was said."""
    upto: int
    """``seq`` of the last message that was learnt from."""
    origin: Origin
    vectors: Mapping[str, Vectors] = field(default_factory=dict)
    """Of the statements, shape (1, dimension)."""
    embeds: bool = False
    """There is an embedder; a statement without a vector gets one later."""
    consolidates: bool = False
    """There is a model that tidies up where there are too many memories."""
    cut_off: int = 0
    """How many questions were asked again with less input: too long, or their reply cut off."""
    truncated: int = 0
    """How many endless messages were learnt from by their beginning."""

    @property
    def owner(self) -> Scope:
        """Namespace and user alone."""
        return Scope(namespace=self.home.namespace, user=self.home.user)
