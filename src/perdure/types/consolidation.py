"""What tidying up a user's memories did, or would do."""

from __future__ import annotations

from dataclasses import dataclass

from perdure.types.checks import ItemId
from perdure.types.item import MemoryItem
from perdure.types.reason import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Memories that become one."""

    sources: tuple[MemoryItem, ...]
    content: str
    """What the one says."""
    into: ItemId | None = None
    """The memory that says it; None in a preview."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """A memory that goes, since another one says all of it."""

    item: MemoryItem
    covered_by: str
    """What the other one says."""
    into: ItemId | None = None
    """The other one; None in a preview."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spared:
    """Memories that were proposed to be merged or dropped and stay, and why."""

    items: tuple[ItemId, ...]
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """One run over the groups of a user's machine-written memories."""

    run: str
    """Its id; `undo` takes it."""
    dry_run: bool
    merges: tuple[Merge, ...] = ()
    drops: tuple[Drop, ...] = ()
    spared: tuple[Spared, ...] = ()
    failed: tuple[str, ...] = ()
    """The kind of failure of each group that was left alone because of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What taking a run back brought back."""

    restored: tuple[MemoryItem, ...]
    left: tuple[ItemId, ...] = ()
    """Merged memories that were changed since and so stay as they are."""
