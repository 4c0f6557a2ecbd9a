"""A bus in memory: a broker that keeps every letter, and can be away for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from perdure.errors import Unavailable
from perdure.ports import Letter
from perdure.types import EVENTS

_LOOKS_S = 0.005


@dataclass(slots=True)
class MemoryBroker:
    """Keeps letters in one order, and how far each group has come."""

    letters: list[Letter] = field(default_factory=list)
    away: bool = False
    """It answers nobody."""
    _places: dict[str, int] = field(default_factory=dict)
    _takers: dict[str, MemoryBus] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def bus(
        self, group: str = "perdure", takes: Iterable[str] = tuple(EVENTS.values())
    ) -> MemoryBus:
        """A `ports.Bus` on this broker; of each group one takes at a time, from these topics."""
        return MemoryBus(self, group, frozenset(takes))

    def lose(self) -> None:
        """Forget every letter, as a broker does that keeps them in memory and is killed."""
        with self._lock:
            self.letters.clear()
            self._places.clear()


class MemoryBus:
    """`ports.Bus` on a `MemoryBroker`."""

    def __init__(self, broker: MemoryBroker, group: str, takes: frozenset[str]) -> None:
        self._broker = broker
        self._group = group
        self._takes = takes
        self._given = 0

    def publish(self, letters: Sequence[Letter]) -> None:
        """The broker has them at once.

        Raises:
            Unavailable: it is away.
        """
        with self._broker._lock:  # noqa: SLF001 - two halves of one thing
            self._answers()
            self._broker.letters += letters

    def take(self, limit: int, wait_s: float) -> list[Letter]:
        """The next letters; the same ones again until `taken` was called.

        Raises:
            Unavailable: the broker is away.
        """
        until = time.monotonic() + wait_s
        while True:
            with self._broker._lock:  # noqa: SLF001 - two halves of one thing
                self._answers()
                first = self._broker._takers.setdefault(self._group, self)  # noqa: SLF001 - the same
                place = self._broker._places.get(self._group, 0)  # noqa: SLF001 - the same
                mine = [one for one in self._broker.letters if one.topic in self._takes]
                found = mine[place : place + limit] if first is self else []
                self._given = len(found)
            if found or time.monotonic() >= until:
                return found
            time.sleep(_LOOKS_S)

    def taken(self) -> None:
        """What `take` gave last need not be given again.

        Raises:
            Unavailable: it will be.
        """
        with self._broker._lock:  # noqa: SLF001 - two halves of one thing
            self._answers()
            places = self._broker._places  # noqa: SLF001 - the same
            places[self._group] = places.get(self._group, 0) + self._given
            self._given = 0

    def close(self) -> None:
        """Leave; another of the group takes what comes."""
        with self._broker._lock:  # noqa: SLF001 - two halves of one thing
            if self._broker._takers.get(self._group) is self:  # noqa: SLF001 - the same
                del self._broker._takers[self._group]  # noqa: SLF001 - the same

    def _answers(self) -> None:
        if self._broker.away:
            raise Unavailable("The broker is away.", field="bus")
