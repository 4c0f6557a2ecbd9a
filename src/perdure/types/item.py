"""What is remembered: one stored statement and all that is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from perdure import text
from perdure.types.checks import ItemId, Trace
from perdure.types.scope import Scope


class Level(StrEnum):
    """Is a memory about the user or about one of the user's projects?"""

    USER = "user"
    PROJECT = "project"


class Kind(StrEnum):
    """What sort of statement a memory is."""

    PREFERENCE = "preference"
    CONSTRAINT = "constraint"
    FACT = "fact"
    TODO_HINT = "todo_hint"


USUAL_KIND = Kind.FACT
"""Of a statement of which nobody said what sort it is."""
USUAL_SHARE = 0.5
"""How sure and how important a statement is of which nobody said it."""


class Source(StrEnum):
    """How a memory came to be."""

    MANUAL = "manual"
    AUTO = "auto"
    CONSOLIDATED = "consolidated"
    IMPORTED = "imported"


class Status(StrEnum):
    """What holds for a memory now."""

    ACTIVE = "active"
    DISMISSED = "dismissed"
    """Refused by the user; never learnt again by itself."""
    ARCHIVED = "archived"
    """Set aside by the system: crowded out, expired or superseded."""
    DELETED = "deleted"


class VectorStatus(StrEnum):
    """Does the vector index agree with the row?"""

    PENDING = "pending"
    SYNCED = "synced"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a memory came from. Shown to the user, never a condition of visibility."""

    conversation: str | None = None
    messages: tuple[str, ...] = ()
    """Ids of the messages it was learnt from."""
    event: str | None = None
    job: str | None = None
    trace: Trace | None = None
    model: str | None = None
    """The model that proposed it; ``basic`` is the built-in extractor."""
    prompt: str | None = None
    """Version of the prompt that was used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """One stored statement."""

    id: ItemId
    namespace: str
    user: str
    content: str
    content_hash: str
    created_at: datetime
    updated_at: datetime
    """Moves when the content changes, is confirmed again or restored; never on access."""
    normalized_content: str = ""
    title: str = ""
    level: Level = Level.USER
    project: str | None = None
    assistant: str | None = None
    run: str | None = None
    conversation: str | None = None
    kind: Kind = USUAL_KIND
    confidence: float = USUAL_SHARE
    importance: float = USUAL_SHARE
    sensitivity: int = 0
    """0 ordinary, 1 medium, 2 high."""
    explicit: bool = False
    source: Source = Source.MANUAL
    edited_by_user: bool = False
    suspicious: bool = False
    """Reads like an instruction; kept out of prompts until a person accepts it."""
    status: Status = Status.ACTIVE
    expires_at: datetime | None = None
    origin: Origin = field(default_factory=Origin)
    last_access_at: datetime | None = None
    use_count: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)
    vector_status: VectorStatus = VectorStatus.PENDING

    @property
    def machine_written(self) -> bool:
        """Written by the machine and not edited by a person since."""
        return self.source in (Source.AUTO, Source.CONSOLIDATED) and not self.edited_by_user

    @property
    def protected(self) -> bool:
        """A person wrote, imported or edited it: no machine changes it."""
        return not self.machine_written

    def expired(self, at: datetime) -> bool:
        """Its time was up at that moment."""
        return self.expires_at is not None and self.expires_at <= at

    def current(self, at: datetime) -> bool:
        """It is active, and its time was not up at that moment."""
        return self.status is Status.ACTIVE and not self.expired(at)

    def visible_in(self, scope: Scope) -> bool:
        """May this scope see it? A binding left empty is seen everywhere."""
        return self.owner == scope.owner and all(
            mine is None or mine == theirs
            for mine, theirs in (
                (self.project, scope.project),
                (self.assistant, scope.assistant),
                (self.run, scope.run),
                (self.conversation, scope.conversation),
            )
        )

    @property
    def owner(self) -> tuple[str, str]:
        """Namespace and user."""
        return self.namespace, self.user

    @property
    def bound(self) -> Scope:
        """The scope that it is bound to."""
        return Scope(
            namespace=self.namespace,
            user=self.user,
            project=self.project,
            assistant=self.assistant,
            run=self.run,
            conversation=self.conversation,
        )


def content_hash(scope: Scope, level: Level, content: str, how: text.Normalisation) -> str:
    """What makes two statements of one user the same. The kind is left out on purpose."""
    return text.fingerprint(
        level,
        scope.project or "" if level is Level.PROJECT else "",
        scope.assistant or "",
        scope.run or "",
        scope.conversation or "",
        text.normalise(content, how),
    )
