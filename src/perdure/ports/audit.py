"""Where it is written down who changed or read what."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from perdure.types import (
    Actor,
    AuditEntry,
    AuditPage,
    Operation,
    Scope,
    aware,
    compared,
    some_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which entries of a namespace are meant. An empty collection shows nothing."""

    user: str | None = None
    """Whose memories; "" are the values of the namespace itself."""
    item: str | None = None
    by: str | None = None
    """Which person or key did it, or handed it in from elsewhere."""
    actors: Collection[Actor] | None = None
    """What was handed in from elsewhere is nobody's of these: what it says of them is a file's."""
    operations: Collection[Operation] | None = None
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        for name in ("user", "item", "by"):
            compared(getattr(self, name), name)
        for name, words in (("actors", Actor), ("operations", Operation)):
            object.__setattr__(self, name, some_of(words, getattr(self, name), name))
        for name in ("since", "until"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, aware(getattr(self, name), name))


class AuditStore(Protocol):
    """Who changed what, why, before and after."""

    def add(self, entries: Sequence[AuditEntry]) -> None:
        """Write entries, in the transaction of the change itself."""
        ...

    def of(self, scope: Scope, item: str) -> list[AuditEntry]:
        """The history of one memory, oldest first."""
        ...

    def every(self, scope: Scope) -> list[AuditEntry]:
        """The history of all memories of the owner, gone ones included, oldest first."""
        ...

    def page(
        self, namespace: str, which: AuditFilter, limit: int = 50, after: str | None = None
    ) -> AuditPage:
        """Newest first, across the users of a namespace unless the filter names one."""
        ...

    def after(self, scope: Scope, place: int, limit: int) -> list[tuple[int, AuditEntry]]:
        """The owner's entries behind a place, oldest first, each with its own place."""
        ...

    def scrub(self, scope: Scope, items: Collection[str]) -> None:
        """Take the text out of the history of these memories, and of those merged into them.

        What happened to them stays.
        """
        ...

    def blank(self, scope: Scope, entries: Collection[str]) -> None:
        """Take the text out of these entries; that they happened stays."""
        ...

    def forget(self, scope: Scope, before: datetime) -> int:
        """Let go of the rows that left the table up to then. Returns how many there were."""
        ...
