"""Looks after the table of promises, and asks for the work that comes up again and again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from perdure.errors import PerdureError
from perdure.policy import JobsPolicy
from perdure.ports import Clock, Database
from perdure.types import Promise

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chore:
    """Work that comes up again and again; who needs it is asked at the start, and then so often."""

    every_s: float
    """0: never."""
    due: Callable[[datetime, int], Sequence[Promise]]
    """What should be done for whom. Gets now, and the number of the period: other processes ask
    too, and what is promised with the same number in its key is promised once."""


class Upkeep:
    """A small task beside the workers; one in each process does no harm."""

    def __init__(
        self,
        database: Database,
        policy: JobsPolicy,
        *,
        clock: Clock,
        chores: Sequence[Chore] = (),
    ) -> None:
        self._database = database
        self._policy = policy
        self._clock = clock
        self._next: dict[Chore, datetime] = {}
        self._chores = [chore for chore in chores if chore.every_s > 0]

    def run_once(self) -> None:
        """Forget jobs that succeeded long ago, take back expired leases, promise what is due.

        Raises:
            Unavailable: the database does not answer.
        """
        at = self._clock()
        before = at - timedelta(seconds=self._policy.keep_finished_s)
        self._database.run(lambda tx: tx.jobs.release(at))
        self._database.run(lambda tx: tx.jobs.forget(before))
        for chore in self._chores:
            if self._next.get(chore, at) <= at:
                self._promise(chore, at)
                self._next[chore] = at + timedelta(seconds=chore.every_s)

    def _promise(self, chore: Chore, at: datetime) -> None:
        promises = chore.due(at, int(at.timestamp() // chore.every_s))
        if promises:
            self._database.run(lambda tx: [tx.jobs.promise(one, at) for one in promises])

    def run(self, stop: threading.Event) -> None:
        """At once, and again and again until told to stop."""
        while not stop.is_set():
            try:
                self.run_once()
            except PerdureError as error:
                _log.warning("upkeep waits: %s", error.code)
            stop.wait(self._policy.upkeep_s)
