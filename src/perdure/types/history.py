"""Who changed what, why, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, TypeAlias

from perdure.types.checks import ItemId, Trace
from perdure.types.item import MemoryItem


class Operation(StrEnum):
    """What happened to a memory, as the audit names it."""

    CREATE = "create"
    UPDATE = "update"
    TOUCH = "touch"
    DISMISS = "dismiss"
    RESTORE = "restore"
    ARCHIVE = "archive"
    DELETE = "delete"
    MERGE = "merge"
    ACCEPT = "accept"
    # not of one memory
    READ = "read"
    """Somebody else looked at a person's memories."""
    SET = "set"
    """A value of the namespace or a user's switch was set, or a key or a job looked after; its name
    stands where a memory's id would."""
    ERASE = "erase"
    """Everything of a user was erased; the id of the receipt stands where a memory's would."""


OF_MEMORIES = frozenset(Operation) - {Operation.READ, Operation.SET, Operation.ERASE}
"""What happens to a single memory."""


IMPORTED = "imported"
"""The reason of the entry about a memory that came in from elsewhere without a history. It says
when that was, and nothing of what was believed before."""


class Actor(StrEnum):
    """Who did it."""

    SYSTEM = "system"
    USER = "user"
    ADMIN = "admin"


Told: TypeAlias = str | int | float | bool | Mapping[str, str] | None
"""The value of a field as JSON has it; a time as in 2026-11-30T09:00:00+00:00."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A field of a memory before and after a change."""

    before: Told = None
    after: Told = None


FIELDS = (
    "title", "kind", "importance", "sensitivity", "confidence", "explicit", "suspicious", "status",
    "expires_at", "metadata",
)  # fmt: skip
"""What a change of a memory may move besides its content."""


def moved(old: MemoryItem | None, new: MemoryItem | None) -> dict[str, Moved]:
    """The fields that differ, besides the content; none where a memory comes or goes."""
    if old is None or new is None:
        return {}
    pairs = {name: (getattr(old, name), getattr(new, name)) for name in FIELDS}
    return {
        name: Moved(_told(before), _told(after))
        for name, (before, after) in pairs.items()
        if before != after
    }


def _told(value: Any) -> Told:
    if isinstance(value, datetime):
        return value.isoformat()
    told: Told = value.value if isinstance(value, Enum) else value
    return dict(told) if isinstance(told, Mapping) else told


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One change of one memory: who, why, before, after."""

    id: str
    item: ItemId
    namespace: str
    user: str
    operation: Operation
    actor: Actor
    reason: str
    before: str | None
    """The content before, None if there was none or it was scrubbed."""
    after: str | None
    at: datetime
    trace: Trace | None = None
    was: MemoryItem | None = None
    """The whole row that left the table with this change, as long as it can be brought back."""
    by: str | None = None
    """Which person or key it was, where that is known."""
    moved: Mapping[str, Moved] = field(default_factory=dict)
    """Which fields besides the content it moved, by name; without values once scrubbed."""
    imported_by: str | None = None
    """Who handed this entry in from elsewhere: then ``actor`` and ``by`` are what a file says.
    None: it happened here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tombstone:
    """What stays of a deleted statement, or of one message that it was learnt from."""

    content_hash: str
    at: datetime
    conversation: str = ""
    message: str = ""
    """Empty where the statement itself is meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """A stretch of the audit, newest first, and the cursor of the next one."""

    entries: tuple[AuditEntry, ...]
    next: str | None
