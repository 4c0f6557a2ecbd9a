"""Promises: work that is written down now and done later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from perdure.types.checks import Trace
from perdure.types.scope import Scope


class JobType(StrEnum):
    """What a job does."""

    EXTRACT = "extract"  # learn from a captured turn
    EMBED = "embed"  # write the vectors of memories or messages
    RECONCILE = "reconcile"  # repair what the vector index lost
    CONSOLIDATE = "consolidate"  # tidy up the memories of one user
    CLEANUP = "cleanup"  # set aside what expired, scrub what was deleted
    ERASE = "erase"  # go on erasing a user whose erasure was cut short


EVENTS: Mapping[JobType, str] = {
    JobType.EXTRACT: "memory.extract.requested",
    JobType.EMBED: "memory.embed.requested",
    JobType.CLEANUP: "memory.cleanup.requested",
}
"""What is announced of a promise where there is a bus; of the other types nothing is."""


class JobState(StrEnum):
    """How far a job has come."""

    PENDING = "pending"
    PROCESSING = "processing"
    SUCCESS = "success"
    FAILED = "failed"
    """The last try failed; it runs again at its next time."""
    DEAD = "dead"

    @property
    def finished(self) -> bool:
        """It will not run again by itself."""
        return self in (JobState.SUCCESS, JobState.DEAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A job to be written, in the transaction of what it belongs to."""

    type: JobType
    namespace: str
    user: str
    key: str
    """Asking twice with the same key is asking once."""
    payload: Mapping[str, Any]
    trace: Trace
    conversation: str | None = None
    source_message: str | None = None
    max_retry: int = 5
    ordered: bool = True
    """Wait for earlier jobs of the same user, and never run beside one."""
    run_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A promise on its way out: it becomes a job once its event has come back from the bus."""

    id: int
    """Of the row; the promises of one user leave in this order."""
    promise: Promise
    at: datetime
    """When it was made."""

    @property
    def scope(self) -> Scope:
        """Whose it is."""
        return Scope(namespace=self.promise.namespace, user=self.promise.user)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A promise as it stands in the table. ``token`` proves that this worker still holds it."""

    id: int
    """0 while the promise is on its way out."""
    type: JobType
    namespace: str
    user: str
    key: str
    payload: Mapping[str, Any]
    trace: Trace
    state: JobState
    conversation: str | None = None
    source_message: str | None = None
    retry_count: int = 0
    max_retry: int = 5
    next_retry_at: datetime | None = None
    token: str | None = None
    last_error: str | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    span: str | None = None
    """Where it was promised, for tracing (W3C traceparent); None: not traced."""

    @property
    def scope(self) -> Scope:
        """Whose job it is."""
        return Scope(namespace=self.namespace, user=self.user)
