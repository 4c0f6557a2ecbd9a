"""The relay: publishes promises on their way out, oldest first, until their jobs stand."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from perdure.errors import DatabaseUnavailable, Unavailable
from perdure.events.payload import letter
from perdure.events.watch import Watch
from perdure.observe import Meter
from perdure.policy import JobsPolicy
from perdure.ports import Bus, Clock, Database, Transaction
from perdure.types import Outgoing, Scope

_log = logging.getLogger(__name__)
_EVER = datetime.max.replace(tzinfo=UTC)


class Relay:
    """Publishes what is due. Of several processes one does it at a time, so that order is kept.

    A row stays until its job stands; one that has not come back after ``republish_s`` is published
    again, since a bus may lose what it had.

    Args:
        database: where the outbox is.
        bus: where to.
        policy: how promises are kept.
        clock: now.
        meter: counts ``bus_events`` with ``outcome`` published; sets ``outbox_depth`` and
            ``outbox_age_seconds``.
        watch: told whether the bus answers.
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
    ) -> None:
        self._database = database
        self._bus = bus
        self._policy = policy
        self._clock = clock
        self._meter = meter
        self._watch = watch
        self._token = secrets.token_hex(16)
        self._called = threading.Event()

    def run_once(self) -> int:
        """Publish the oldest that are due; how many that were.

        Raises:
            Unavailable: bus or database do not answer; nothing is lost.
        """
        at = self._clock()
        before = at - timedelta(seconds=self._policy.republish_s)
        with self._database.read() as tx:
            depth, oldest = tx.outbox.waiting()
            some = depth > 0 and bool(tx.outbox.due(before, 1))
        self._meter.level("outbox_depth", depth)
        self._meter.level("outbox_age_seconds", (at - oldest).total_seconds() if oldest else 0.0)
        if not some:
            return 0
        due = self._database.run(lambda tx: self._mine(tx, at, before))
        if not due:
            return 0
        self._bus.publish([letter(one) for one in due])
        self._database.run(lambda tx: tx.outbox.sent([one.id for one in due], self._clock()))
        self._meter.count("bus_events", len(due), outcome="published")
        return len(due)

    def _mine(self, tx: Transaction, at: datetime, before: datetime) -> Sequence[Outgoing]:
        """What is due, if it is this process that publishes now."""
        until = at + timedelta(seconds=self._policy.lease_s)
        if not tx.outbox.lead(self._token, at, until):
            return ()
        return tx.outbox.due(before, self._policy.outbox_batch)

    def run(self, stop: threading.Event) -> None:
        """Publish until told to stop."""
        while not stop.is_set():
            self._called.clear()
            try:
                busy = self.run_once() > 0
            except Unavailable as error:
                busy = False
                ours = isinstance(error, DatabaseUnavailable)
                if not ours and self._watch.met("relay", well=False):
                    _log.warning("events wait in the outbox: %s", error.code)
            else:
                if busy and self._watch.met("relay", well=True):
                    _log.warning("events are published again")
            if not busy and not stop.is_set():
                self._called.wait(self._policy.poll_s)

    def notify(self) -> None:
        """Look at once: there may be something to publish, or it is time to stop."""
        self._called.set()


def arrive(database: Database, scope: Scope, key: str, at: datetime) -> int:
    """Make jobs of a user's promises up to this one, in one commit with their leaving the outbox.

    Returns:
        How many; 0 where it came back before, or its user was erased.

    Raises:
        DatabaseUnavailable: nothing was changed.
    """

    def make(tx: Transaction) -> int:
        came = tx.outbox.take(scope, key)
        for one in came:
            tx.jobs.promise(one.promise, at, arrived=True)
        return len(came)

    return database.run(make, scope)


def come_home(database: Database, clock: Clock, limit: int) -> int:
    """Make jobs of all that is still on its way out, since there is no bus any more; how many.

    Raises:
        DatabaseUnavailable: the rest is still on its way.
    """
    done = 0
    while True:
        with database.read() as tx:
            left = tx.outbox.due(_EVER, limit)
        if not left:
            return done
        for one in left:
            done += arrive(database, one.scope, one.promise.key, clock())
