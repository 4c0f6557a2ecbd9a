"""Takes events from the bus and makes jobs of what they announce; no heavy work is done here."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from perdure.errors import DatabaseUnavailable, Rejected, Unavailable
from perdure.events.outbox import arrive
from perdure.events.payload import dead, read
from perdure.events.watch import Watch
from perdure.observe import Meter
from perdure.policy import JobsPolicy
from perdure.ports import Bus, Clock, Database, Letter

_log = logging.getLogger(__name__)


class Consumer:
    """Reads, makes jobs, and only then tells the bus that it has taken them.

    The event says which promise is meant; what is promised stands in the outbox. An event whose
    promise is no longer there, since it came twice or its user was erased, has no effect.

    Args:
        database: where outbox and jobs are.
        bus: where from.
        policy: how promises are kept.
        clock: now.
        meter: counts ``bus_events`` by ``outcome``: arrived, known, dead.
        watch: told whether the bus answers.
        arrived: called when there are new jobs.
    """

    def __init__(
        self,
        database: Database,
        bus: Bus,
        policy: JobsPolicy,
        *,
        clock: Clock,
        meter: Meter,
        watch: Watch,
        arrived: Callable[[], None],
    ) -> None:
        self._database = database
        self._bus = bus
        self._policy = policy
        self._clock = clock
        self._meter = meter
        self._watch = watch
        self._arrived = arrived

    def run_once(self, wait_s: float = 0.0) -> int:
        """Take what has come; how many letters that were.

        Raises:
            Unavailable: bus or database do not answer; the same letters come again.
        """
        letters = self._bus.take(self._policy.outbox_batch, wait_s)
        for letter in letters:
            self._take(letter)
        if letters:
            self._bus.taken()
        return len(letters)

    def _take(self, letter: Letter) -> None:
        try:
            scope, key = read(letter)
        except Rejected as why:
            self._bus.publish([dead(letter, why)])
            self._meter.count("bus_events", outcome="dead")
            _log.warning("an event went to the dead letters: %s", why.field)
            return
        came = arrive(self._database, scope, key, self._clock())
        self._meter.count("bus_events", came or 1, outcome="arrived" if came else "known")
        if came:
            self._arrived()

    def run(self, stop: threading.Event) -> None:
        """Take until told to stop."""
        while not stop.is_set():
            try:
                self.run_once(self._policy.poll_s)
            except Unavailable as error:
                ours = isinstance(error, DatabaseUnavailable)
                if not ours and self._watch.met("consumer", well=False):
                    _log.warning("no events come: %s", error.code)
                stop.wait(self._policy.poll_s)
            else:
                if self._watch.met("consumer", well=True):
                    _log.warning("events come again")
