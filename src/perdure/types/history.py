"""Who changed what, why, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

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
    """A value of the namespace was set; the name stands where a memory's id would."""


OF_MEMORIES = frozenset(Operation) - {Operation.READ, Operation.SET}
"""What happens to a single memory."""


class Actor(StrEnum):
    """Who did it."""

    SYSTEM = "system"
    USER = "user"
    ADMIN = "admin"


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
