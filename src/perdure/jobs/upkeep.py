"""Looks after the table of promises: forgets what is done, takes back what dead workers held."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta

from perdure.errors import Unavailable
from perdure.policy import JobsPolicy
from perdure.ports import Clock, Database

_log = logging.getLogger(__name__)


class Upkeep:
    """A small task beside the workers; one in each process does no harm."""

    def __init__(self, database: Database, policy: JobsPolicy, *, clock: Clock) -> None:
        self._database = database
        self._policy = policy
        self._clock = clock

    def run_once(self) -> None:
        """Forget jobs that succeeded long ago, and take back expired leases.

        Raises:
            Unavailable: the database does not answer.
        """
        at = self._clock()
        with self._database.begin() as tx:
            tx.jobs.release(at)
            tx.jobs.forget(at - timedelta(seconds=self._policy.keep_finished_s))

    def run(self, stop: threading.Event) -> None:
        """Again and again until told to stop."""
        while not stop.wait(self._policy.upkeep_s):
            try:
                self.run_once()
            except Unavailable as error:
                _log.warning("upkeep waits: %s", error.code)
