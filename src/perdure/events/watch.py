"""Whether the way out works, and since when: up, degraded, down."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Literal, TypeAlias

from perdure.ports import Clock

Way: TypeAlias = Literal["up", "degraded", "down"]


@dataclass(frozen=True, slots=True)
class Health:
    """How the bus does."""

    state: Way
    """``degraded``: of publishing and taking one does not work."""
    since: datetime


class Watch:
    """What relay and consumer of this process last met."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._well = {"relay": True, "consumer": True}
        self._health = Health("up", clock())
        self._lock = Lock()

    def met(self, part: Literal["relay", "consumer"], *, well: bool) -> bool:
        """The bus answered, or not. True if that is news of this part."""
        with self._lock:
            if self._well[part] is well:
                return False
            self._well[part] = well
            count = sum(self._well.values())
            state: Way = "down" if count == 0 else "up" if count == len(self._well) else "degraded"
            self._health = Health(state, self._clock())
            return True

    @property
    def health(self) -> Health:
        """How it does now, and since when."""
        return self._health
