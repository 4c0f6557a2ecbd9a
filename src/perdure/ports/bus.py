"""The way out of one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One event as a bus carries it."""

    topic: str
    """Without the deployment's prefix."""
    key: str
    """Letters with the same key keep their order."""
    headers: Mapping[str, str]
    body: bytes


class Bus(Protocol):
    """Carries letters to whoever takes them, at least once and in order per key."""

    def publish(self, letters: Sequence[Letter]) -> None:
        """Returns once the bus has them all.

        Raises:
            Unavailable: it may have some of them; publishing all again does no harm.
        """
        ...

    def take(self, limit: int, wait_s: float) -> list[Letter]:
        """The next letters; the same ones again until `taken` was called.

        Raises:
            Unavailable: the bus does not answer.
        """
        ...

    def taken(self) -> None:
        """What `take` gave last need not be given again.

        Raises:
            Unavailable: it will be, to this taker or another.
        """
        ...

    def close(self) -> None:
        """Leave; others get what comes."""
        ...
