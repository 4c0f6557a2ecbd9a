"""The course of one recall: how long each stage took, how much time is left, what failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from perdure.types import Degraded, Reason

Result = TypeVar("Result")


class Late(Exception):
    """The work did not end in time; it may still be running."""


@dataclass(slots=True)
class Course:
    """Of one call, used by its thread alone."""

    pool: Executor
    deadline_s: float | None
    """From the start; None: no deadline."""
    timings: dict[str, float] = field(default_factory=dict)
    """Milliseconds by stage."""
    degraded: list[Degraded] = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Note how long the block takes."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings[name] = (time.perf_counter() - start) * 1000

    def degrade(self, part: str, reason: Reason) -> None:
        """A part of the answer is missing."""
        self.degraded.append(Degraded(part=part, reason=reason))

    def within(self, work: Callable[[], Result], most_s: float | None = None) -> Result:
        """The result of work that may be slow, if it comes in time.

        It runs in another thread and is left behind when it is late, so that a hanging database
        or endpoint cannot hold up a conversation.

        Args:
            work: what to do.
            most_s: seconds it may take; None, and never more than that, what is left of the call.

        Raises:
            Late: it did not end in time.
        """
        left = self.left()
        limit = min(n for n in (left, most_s, float("inf")) if n is not None)
        if limit == float("inf"):
            return work()
        future = self.pool.submit(work)
        try:
            return future.result(timeout=limit)
        except TimeoutError:
            if future.done():  # the work itself ran into a timeout of its own
                raise
            future.cancel()
            raise Late from None

    def left(self) -> float | None:
        """Seconds until the deadline, at least 0; None: there is none."""
        if self.deadline_s is None:
            return None
        return max(0.0, self.deadline_s - (time.perf_counter() - self._start))

    def finish(self) -> dict[str, float]:
        """All timings, with the whole."""
        return self.timings | {"total": (time.perf_counter() - self._start) * 1000}
