"""A user's active memories at hand, read again only when a commit has changed them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from perdure.observe import Meter
from perdure.ports import Corpus, ItemFilter, Transaction
from perdure.types import Kind, MemoryItem, Scope, Status

_PINNABLE = frozenset({Kind.CONSTRAINT, Kind.PREFERENCE})

Key = TypeVar("Key")
Value = TypeVar("Value", bound=Sized)


@dataclass(frozen=True, slots=True)
class Shelf:
    """The active memories of one user, newest ``updated_at`` first."""

    rows: Mapping[str, MemoryItem]
    bound: tuple[MemoryItem, ...]
    """Those that are not seen everywhere."""
    pinnable: tuple[MemoryItem, ...] = ()
    """Those of a kind that may be pinned."""

    @classmethod
    def of(cls, items: Iterable[MemoryItem]) -> Shelf:
        """The same rows by id."""
        rows = {item.id: item for item in items}
        return cls(
            rows,
            tuple(
                item
                for item in rows.values()
                if item.project or item.assistant or item.run or item.conversation
            ),
            tuple(item for item in rows.values() if item.kind in _PINNABLE),
        )

    def __len__(self) -> int:
        return len(self.rows)

    def seen_in(self, scope: Scope) -> Mapping[str, MemoryItem]:
        """The rows that this scope of the owner may see."""
        hidden = {item.id for item in self.bound if not item.visible_in(scope)}
        if not hidden:
            return self.rows
        return {ref: item for ref, item in self.rows.items() if ref not in hidden}


class Kept(Generic[Key, Value]):
    """The last values used, each good for one revision; the least used leave first. Thread safe."""

    def __init__(self, rows: int, looked: Callable[[bool], None] = lambda _: None) -> None:
        """Args: rows: of all values together, at most; looked: told whether a value was there."""
        self._looked = looked
        self._most = rows
        self._total = 0
        self._kept: OrderedDict[Key, tuple[int, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key, revision: int, read: Callable[[], Value]) -> Value:
        """The value of this revision, read if it is not at hand."""
        with self._lock:
            known = self._kept.get(key)
            hit = known is not None and known[0] == revision
            if hit:
                self._kept.move_to_end(key)
        self._looked(hit)
        if hit and known is not None:
            return known[1]
        value = read()
        with self._lock:
            old = self._kept.pop(key, None)
            self._total += len(value) - (len(old[1]) if old is not None else 0)
            self._kept[key] = revision, value
            while self._total > self._most and len(self._kept) > 1:
                _, (_, gone) = self._kept.popitem(last=False)
                self._total -= len(gone)
        return value

    def drop(self, key: Key) -> None:
        """Forget one value."""
        with self._lock:
            _, gone = self._kept.pop(key, (0, None))
            self._total -= 0 if gone is None else len(gone)


@dataclass(frozen=True, slots=True)
class Shelves:
    """The shelves of all users."""

    _kept: Kept[tuple[str, str], Shelf] = field(default_factory=lambda: Kept(rows=50_000))

    @classmethod
    def counted(cls, meter: Meter) -> Shelves:
        """Shelves whose looks are counted."""
        return cls(Kept(50_000, lambda hit: meter.count("cache", of="memories", hit=_word(hit))))

    def of(self, tx: Transaction, scope: Scope) -> Shelf:
        """The owner's shelf as it is now, whatever the scope binds.

        The revision is read before the rows: rows that are newer than it cost a second reading,
        never a stale answer.
        """
        owner = Scope(namespace=scope.namespace, user=scope.user)
        active = ItemFilter(statuses=(Status.ACTIVE,))
        return self._kept.get(
            scope.owner,
            tx.users.revision(scope, Corpus.MEMORIES),
            lambda: Shelf.of(tx.items.every(owner, active)),
        )

    def drop(self, scope: Scope) -> None:
        """Forget the owner's."""
        self._kept.drop(scope.owner)


def _word(hit: bool) -> str:  # noqa: FBT001 - what a cache tells
    return str(hit).lower()
