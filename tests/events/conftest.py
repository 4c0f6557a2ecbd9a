"""A database whose promises leave over a bus in memory, and a clock that is turned by hand."""

from __future__ import annotations

from datetime import timedelta

import pytest

from perdure import ASSISTANT, Message
from perdure.events.consumer import Consumer
from perdure.events.outbox import Relay
from perdure.events.watch import Watch
from perdure.learn.capture import capture
from perdure.observe import Meter
from perdure.policy import JobsPolicy
from perdure.store.database import WAITING, SqlDatabase
from perdure.testing.bus import MemoryBroker
from perdure.testing.samples import ANN, NOW, promise
from perdure.types import EVENTS, JobState, Role, Switches, Turn


class Office:
    """Relay and consumer beside a database, with a broker between them."""

    def __init__(self, url):
        self.url = url
        self.now = NOW
        self.policy = JobsPolicy(republish_s=60.0, outbox_batch=10)
        self.database = self.opened()
        self.broker = MemoryBroker()
        self.meter = Meter()
        self.watch = Watch(self.clock)
        self.woken = 0
        self.relay = self.relay_of(self.database)
        self.consumer = self.consumer_of(self.broker.bus())

    def opened(self, leaving=tuple(EVENTS)):
        return SqlDatabase.open(
            self.url, clock=self.clock, policy=WAITING.but(busy_s=5), leaving=leaving
        )

    def relay_of(self, database):
        return Relay(
            database, self.broker.bus(), self.policy, clock=self.clock, meter=self.meter,
            watch=self.watch,
        )  # fmt: skip

    def consumer_of(self, bus):
        return Consumer(
            self.database, bus, self.policy, clock=self.clock, meter=self.meter,
            watch=self.watch, arrived=self.wake,
        )  # fmt: skip

    def clock(self):
        return self.now

    def turn(self, seconds):
        self.now += timedelta(seconds=seconds)

    def wake(self):
        self.woken += 1

    def promise(self, key, scope=ANN, **about):
        with self.database.begin(scope) as tx:
            return tx.jobs.promise(promise(scope, key, **about), self.now)

    def capture(self, said, scope=ANN, message="m1", assistant=None):
        turn = Turn(conversation="chat-1", messages=(Message(Role.USER, said, id=message),))
        with self.database.begin(scope) as tx:
            return capture(tx, scope, turn, ASSISTANT, Switches(), self.now)

    def jobs(self):
        """Keys of all jobs, oldest first."""
        with self.database.read() as tx:
            return [job.key for job in tx.jobs.page(list(JobState), limit=1_000)[::-1]]

    def waiting(self):
        with self.database.read() as tx:
            return tx.outbox.waiting()[0]

    def outcomes(self, outcome):
        return self.meter.read("bus_events", outcome=outcome)


@pytest.fixture
def office(database_url):
    """On each database."""
    office = Office(database_url)
    yield office
    office.database.close()


@pytest.fixture
def small_office(tmp_path):
    """On SQLite."""
    office = Office(f"sqlite:///{tmp_path / 'perdure.db'}")
    yield office
    office.database.close()
