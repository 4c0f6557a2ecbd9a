"""What became of a captured turn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perdure.types.checks import ItemId, Trace
from perdure.types.decision import Action
from perdure.types.item import Kind
from perdure.types.reason import Reason
from perdure.types.scope import Scope


class ReceiptState(StrEnum):
    """How far learning from a turn has come."""

    SKIPPED = "skipped"
    """It will not be learnt from; the reason says why."""
    QUEUED = "queued"
    RUNNING = "running"
    LEARNT = "learnt"
    """Learning ended; the lists say what was stored and what was refused."""
    FAILED = "failed"
    """The last try failed; there will be another."""
    DEAD = "dead"
    """It failed for good; a person can retry it."""

    @property
    def final(self) -> bool:
        """Nothing more will happen by itself."""
        return self in (ReceiptState.SKIPPED, ReceiptState.LEARNT, ReceiptState.DEAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """One thing that learning from a turn did to one memory."""

    action: Action
    item: ItemId


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedNote:
    """Why a proposed statement was not stored. The statement itself is not kept."""

    reason: Reason
    kind: Kind
    messages: tuple[str, ...] = ()
    """Ids of the messages it was proposed from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became, or will become, of a captured turn."""

    trace: Trace
    scope: Scope
    state: ReceiptState
    reason: Reason | None = None
    learnt: tuple[Learnt, ...] = ()
    refused: tuple[RefusedNote, ...] = ()
    error: str | None = None
    """The kind of the last failure, without any text of the conversation."""
    tries: int = 0
    next_try_at: datetime | None = None
    model: str | None = None
    """What learnt from it; ``basic`` is the built-in extractor."""
    truncated: int = 0
    """Endless messages of which only the beginning was learnt from."""
