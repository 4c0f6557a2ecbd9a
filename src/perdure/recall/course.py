"""The course of one recall: what runs beside it, how much time is left, what failed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from perdure.errors import PerdureError
from perdure.types import Degraded, Reason

Result = TypeVar("Result")
Fallback = TypeVar("Fallback")

_log = logging.getLogger(__name__)


class Late(Exception):
    """The work did not end in time; it may still be running."""


@dataclass(frozen=True, slots=True)
class Started(Generic[Result]):
    """Work that runs in another thread."""

    name: str
    future: Future[Result]
    since: float
    limit_s: float | None
    """It may take so long; None: any time."""


@dataclass(slots=True)
class Course:
    """Of one call, used by its thread alone."""

    pool: Executor
    """For what reads the database."""
    models: Executor
    """For what asks a model: one that hangs may use up these threads, never the others."""
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
        """A part of the answer is missing; its first reason is told."""
        if all(known.part != part for known in self.degraded):
            self.degraded.append(Degraded(part=part, reason=reason))

    def start(
        self,
        name: str,
        work: Callable[[], Result],
        most_s: float | None = None,
        *,
        asks: bool = False,
    ) -> Started[Result]:
        """Begin work that may be slow, in another thread.

        It is left behind when it is late, so that a hanging database or endpoint cannot hold up a
        conversation.

        Args:
            name: of the timing that it gets.
            work: what to do.
            most_s: seconds it may take; None, and never more than that, what is left of the call.
            asks: it asks a model.
        """
        pool = self.models if asks else self.pool
        limits = [limit for limit in (self.left(), most_s) if limit is not None]
        limit = min(limits) if limits else None
        return Started(name, pool.submit(work), time.perf_counter(), limit)

    def result(self, started: Started[Result]) -> Result:
        """What the work gave.

        Raises:
            Late: it did not end in time.
        """
        left = None
        if started.limit_s is not None:
            left = max(0.0, started.since + started.limit_s - time.perf_counter())
        try:
            return started.future.result(timeout=left)
        except TimeoutError:
            if started.future.done():  # the work itself ran into a timeout of its own
                raise
            started.future.cancel()
            raise Late from None
        finally:
            self.timings[started.name] = (time.perf_counter() - started.since) * 1000

    def within(
        self,
        name: str,
        work: Callable[[], Result],
        most_s: float | None = None,
        *,
        asks: bool = False,
    ) -> Result:
        """The result of work that may be slow, if it comes in time; see `start`.

        Raises:
            Late: it did not end in time.
        """
        return self.result(self.start(name, work, most_s, asks=asks))

    def arm(
        self,
        started: Started[Result] | None,
        part: str,
        otherwise: Fallback,
        reason: Reason | None = None,
    ) -> Result | Fallback:
        """What a part of the answer gave; where it is late or fails, what stands in for it.

        Whatever it raises ends that part alone. Of what is not an error of ours only the kind is
        written down.

        Args:
            started: the part; None: it does nothing.
            part: what the answer calls it.
            otherwise: what stands in for it.
            reason: what the answer says of it then; None: late or failed, as it was.
        """
        if started is None:
            return otherwise
        try:
            return self.result(started)
        except Late:
            self.degrade(part, reason or Reason.SEARCH_LATE)
        except Exception as failure:  # noqa: BLE001 - the boundary of a part
            if not isinstance(failure, PerdureError):
                _log.warning("recall goes on without %s after: %s", part, type(failure).__name__)
            self.degrade(part, reason or Reason.SEARCH_FAILED)
        return otherwise

    def left(self) -> float | None:
        """Seconds until the deadline, at least 0; None: there is none."""
        if self.deadline_s is None:
            return None
        return max(0.0, self.deadline_s - (time.perf_counter() - self._start))

    def finish(self) -> dict[str, float]:
        """All timings, with the whole."""
        return self.timings | {"total": (time.perf_counter() - self._start) * 1000}
