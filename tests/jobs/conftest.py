"""A worker on a real database, with a clock that is turned by hand."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

from perdure.jobs.worker import Worker
from perdure.observe import Meter
from perdure.policy import JobsPolicy
from perdure.store.database import WAITING, SqlDatabase
from perdure.testing.samples import ANN, NOW, promise
from perdure.types import JobState, JobType


class Hall:
    """A database, a worker and a clock."""

    def __init__(self, url):
        self.now: datetime = NOW
        self.meter = Meter()
        self.policy = JobsPolicy(jitter=0.0)
        self.database = SqlDatabase.open(url, clock=self.clock, policy=WAITING.but(busy_s=5))
        self.handlers = {}

    def clock(self):
        return self.now

    def turn(self, seconds):
        self.now += timedelta(seconds=seconds)

    def worker(self, handler, policy=None):
        """A worker that does this for every job of learning."""
        return Worker(
            self.database,
            {JobType.EXTRACT: handler},
            policy or self.policy,
            clock=self.clock,
            meter=self.meter,
            rng=random.Random(1),
        )

    def promise(self, key, scope=ANN, **about):
        with self.database.begin() as tx:
            return tx.jobs.promise(promise(scope, key, **about), self.now)[0]

    def jobs(self):
        """Every job, oldest first."""
        with self.database.read() as tx:
            return tx.jobs.page(list(JobState), limit=1_000)[::-1]

    def outcomes(self, outcome):
        return self.meter.read("jobs", outcome=outcome)


@pytest.fixture
def hall(tmp_path):
    hall = Hall(f"sqlite:///{tmp_path / 'perdure.db'}")
    yield hall
    hall.database.close()
