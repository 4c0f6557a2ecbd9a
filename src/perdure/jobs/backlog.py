"""Says whether so much waits that what can be made later has to."""

from __future__ import annotations

import logging
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from threading import Lock

from perdure.observe import Meter
from perdure.policy import JobsPolicy
from perdure.ports import Clock, Database
from perdure.types import JobType

_log = logging.getLogger(__name__)


class Backlog:
    """Whether the jobs that go first are more than the policy's limit. Share it between threads.

    Args:
        database: where the jobs are.
        policy: the limit, and how often it is looked at.
        later: types of jobs that give way; they do not count, or nothing would ever resume.
        clock: now.
        meter: counts ``vector_work`` by ``state``: paused, resumed.
    """

    def __init__(
        self,
        database: Database,
        policy: JobsPolicy,
        later: AbstractSet[JobType],
        *,
        clock: Clock,
        meter: Meter,
    ) -> None:
        self.later = frozenset(later)
        self._database = database
        self._policy = policy
        self._clock = clock
        self._meter = meter
        self._lock = Lock()
        self._next: datetime | None = None
        self._over = False

    def over(self) -> bool:
        """Does what can be made later have to wait now?

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        limit = self._policy.backlog
        if not limit:
            return False
        at = self._clock()
        with self._lock:
            if self._next is not None and at < self._next:
                return self._over
            self._next = at + timedelta(seconds=self._policy.backlog_look_s)
        first = frozenset(JobType) - self.later
        with self._database.read() as tx:
            over = tx.jobs.waiting(first, limit + 1) > limit
        with self._lock:
            changed, self._over = over is not self._over, over
        if changed:
            state = "paused" if over else "resumed"
            self._meter.count("vector_work", state=state)
            _log.warning("vector work %s: %s jobs wait", state, "many" if over else "few")
        return over
