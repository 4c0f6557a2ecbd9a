"""Where memories are kept, and how they are looked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Protocol

from perdure.errors import Rejected
from perdure.types import (
    Kind,
    Level,
    MemoryItem,
    Scope,
    Source,
    Status,
    Tombstone,
    VectorStatus,
    aware,
    compared,
    one_of,
    some_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """Which memories of an owner are meant. An empty collection shows nothing."""

    statuses: Collection[Status] | None = None
    kinds: Collection[Kind] | None = None
    level: Level | None = None
    project: str | None = None
    sources: Collection[Source] | None = None
    machine_written: bool | None = None
    suspicious: bool | None = None
    since: datetime | None = None
    until: datetime | None = None
    words: str | None = None
    """Literal text that the content contains, compared folded; no wildcards."""
    metadata: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, words in (("statuses", Status), ("kinds", Kind), ("sources", Source)):
            object.__setattr__(self, name, some_of(words, getattr(self, name), name))
        if self.level is not None:
            object.__setattr__(self, "level", one_of(Level, self.level, "level"))
        for name in ("project", "words"):
            compared(getattr(self, name), name)
        for name in ("since", "until"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, aware(getattr(self, name), name))
        if not isinstance(self.metadata, Mapping):
            raise Rejected("Expected a map of texts.", field="metadata")
        for pair in self.metadata.items():
            if None in map(partial(compared, where="metadata"), pair):
                raise Rejected("Expected a map of texts.", field="metadata")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A stretch of a list, and the cursor of the next one."""

    items: tuple[MemoryItem, ...]
    next: str | None
    total: int
    """Of all pages together."""

    def __iter__(self) -> Iterator[MemoryItem]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class MemoryStore(Protocol):
    """The memory rows of one owner. A binding in the scope is applied, always."""

    def get(self, scope: Scope, ids: Collection[str]) -> list[MemoryItem]:
        """The rows with these ids, in the order asked, whatever their status.

        A binding that the scope names hides rows bound elsewhere; one left empty hides nothing,
        so that a person can look after every memory. What may be said there is narrower: `active`.
        """
        ...

    def by_hash(self, scope: Scope, content_hash: str) -> MemoryItem | None:
        """The row of this statement, whatever its status."""
        ...

    def page(
        self, scope: Scope, which: ItemFilter, limit: int = 50, after: str | None = None
    ) -> Page:
        """Newest ``created_at`` first, ties by newer id. Bindings left empty list everything.

        No change moves a row, so that a walk over pages returns each row that is there throughout
        once.
        """
        ...

    def every(self, scope: Scope, which: ItemFilter) -> list[MemoryItem]:
        """All that match, newest ``updated_at`` first."""
        ...

    def walk(self, scope: Scope, after: str, limit: int) -> list[MemoryItem]:
        """The rows with an id above ``after``, whatever their status, by id."""
        ...

    def active(self, scope: Scope) -> list[MemoryItem]:
        """The active rows visible in the scope, newest ``updated_at`` first."""
        ...

    def count(self, scope: Scope, which: ItemFilter) -> int:
        """How many match."""
        ...

    def add(self, item: MemoryItem) -> None:
        """Write a new row.

        Raises:
            Duplicate: its statement is stored already; the transaction stays usable.
        """
        ...

    def put(self, item: MemoryItem, *, shown: datetime | None = None) -> bool:
        """Overwrite the row of the same id and owner.

        Args:
            item: the row as it should be.
            shown: its ``updated_at`` when it was read; a row changed since is left alone.

        Returns:
            False if there is no such row or it was changed since.

        Raises:
            Duplicate: another row has this statement; the transaction stays usable.
        """
        ...

    def remove(self, scope: Scope, ids: Collection[str]) -> int:
        """Delete rows for good; their vectors and search terms go with them."""
        ...

    def used(self, scope: Scope, ids: Collection[str], at: datetime) -> None:
        """Count a use of each and note the time. Does not move ``updated_at``."""
        ...

    def projects(self, scope: Scope) -> list[str]:
        """Project keys seen in memories and conversations, sorted."""
        ...

    def bury(self, scope: Scope, item: MemoryItem, at: datetime) -> None:
        """Leave a tombstone: the hash, the source messages and the time, never the text."""
        ...

    def buried(self, scope: Scope, hashes: Collection[str]) -> dict[str, datetime]:
        """When statements with these hashes were last deleted."""
        ...

    def buried_messages(self, scope: Scope, messages: Collection[str]) -> dict[str, datetime]:
        """Which of these message ids a deleted memory was learnt from, and when it went."""
        ...

    def graves(self, scope: Scope, after: Tombstone | None, limit: int) -> list[Tombstone]:
        """The tombstones behind this one, in a fixed order."""
        ...

    def entomb(self, scope: Scope, stone: Tombstone) -> bool:
        """Set a tombstone as it was. False: it stands there already, as late or later."""
        ...

    def unbury(self, scope: Scope, content_hash: str) -> None:
        """Forget that it was deleted: a person brought it back."""
        ...

    def unscrubbed(self, scope: Scope, before: datetime) -> list[str]:
        """Ids of the memories buried up to then whose text was not scrubbed since, sorted.

        One of them may live again: its row says so.
        """
        ...

    def scrubbed(self, scope: Scope, ids: Collection[str]) -> None:
        """Nothing is left to scrub of these."""
        ...

    def mark_vectors(self, scope: Scope, ids: Collection[str], status: VectorStatus) -> None:
        """Note what the vector index says of these rows."""
        ...
