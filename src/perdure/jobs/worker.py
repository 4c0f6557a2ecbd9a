"""Keeps promises one after the other: claim, think, write, and say what went wrong."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta

from perdure.errors import DatabaseUnavailable, Fenced, Unavailable
from perdure.jobs.backlog import Backlog
from perdure.jobs.job import Again, Effect, Handler, cause, verdict
from perdure.observe import Meter, span
from perdure.policy import JobsPolicy
from perdure.ports import Clock, Database, Transaction
from perdure.types import Job, JobType

_log = logging.getLogger(__name__)

_BEATS = 3  # heartbeats in one lease: two may fail


class Worker:
    """Runs the jobs whose handlers it has; any number of threads may share one.

    Args:
        database: where the promises are.
        handlers: what to do for each type of job; other types are left to other workers.
        policy: how promises are kept.
        clock: now.
        meter: counts ``jobs`` by ``type`` and ``outcome``: success, retry, busy, dead, fenced; and
            when the database did not answer.
        rng: spreads retries.
        forgets: fields of payloads that hold words; a job that is over does not keep them.
        backlog: says when some types have to wait.
    """

    def __init__(
        self,
        database: Database,
        handlers: Mapping[JobType, Handler],
        policy: JobsPolicy,
        *,
        clock: Clock,
        meter: Meter,
        rng: random.Random,
        forgets: Collection[str] = (),
        backlog: Backlog | None = None,
    ) -> None:
        self._database = database
        self._handlers = dict(handlers)
        self._policy = policy
        self._clock = clock
        self._meter = meter
        self._rng = rng
        self._forgets = frozenset(forgets)
        self._backlog = backlog
        self._paused: dict[JobType, datetime] = {}
        self._in_hand: dict[int, Job] = {}
        self._calls = 0
        self._called = threading.Condition()

    def run(self, stop: threading.Event) -> None:
        """Work until told to stop; the job in hand is brought to its end first.

        Set ``stop`` and call `notify` to stop at once; whoever cannot wait for the job in hand
        calls `let_go` and lets the thread die.
        """
        while not stop.is_set():
            calls = self._calls
            try:
                busy = self.run_once()
            except Unavailable as error:
                if isinstance(error, DatabaseUnavailable):
                    self._meter.count("database_refused")
                _log.warning("worker waits: %s", error.code)
                busy = False
            except Exception as failure:  # noqa: BLE001 - the job boundary: a worker outlives any job
                _log.error("worker goes on after: %s", cause(failure))
                busy = False
            if not busy:
                with self._called:
                    self._called.wait_for(
                        lambda calls=calls: stop.is_set() or self._calls != calls,  # type: ignore[misc]
                        timeout=self._policy.poll_s,
                    )

    def notify(self) -> None:
        """Look at once: there may be something to do, or it is time to stop."""
        with self._called:
            self._calls += 1
            self._called.notify_all()

    def run_once(self) -> bool:
        """Do one job, if one is due. False: there was none.

        Raises:
            Unavailable: the database does not answer; a job in hand is done again later.
        """
        at = self._clock()
        types = {kind for kind in self._handlers if self._paused.get(kind, at) <= at}
        if self._backlog is not None and self._backlog.over():
            types -= self._backlog.later
        lease_s = self._policy.lease_s
        job = self._database.run(lambda tx: tx.jobs.claim(at, lease_s, types))
        if job is None:
            return False
        self._in_hand[job.id] = job
        try:
            with span(f"job {job.type.value}", job.span, job=job.id, trace=job.trace):
                with self._heartbeat(job):
                    effect = self._handlers[job.type](job)
                self._write(job, effect)
        except Fenced:
            self._count(job, "fenced")
        except Exception as failure:  # noqa: BLE001 - the job boundary: one job never stops the rest
            self._failed(job, failure)
        else:
            self._count(job, "success")
        finally:
            if self._in_hand.get(job.id) is job:  # a thread that took it over holds its own
                del self._in_hand[job.id]
        return True

    def let_go(self) -> int:
        """Give the jobs in hand back, due now and with all their tries; others may do them.

        What their handlers still find out is dropped. Returns how many there were.

        Raises:
            Unavailable: the database does not answer; the jobs come back when their lease ends.
        """
        at, held = self._clock(), list(self._in_hand.values())
        return self._database.run(
            lambda tx: sum(tx.jobs.postpone(job, "stopped", at, at, counts=False) for job in held)
        )

    def _write(self, job: Job, effect: Effect) -> None:
        """The effect and the job's end in one commit; nothing if the job was taken over.

        Where it loses to another unit of work the whole job is put off, since what it found out
        may no longer hold.
        """
        with self._database.begin(job.scope) as tx:
            if not tx.jobs.beat(job, self._lease_end()):
                raise Fenced
            result = effect(tx)
            tx.jobs.finish(job, result, self._clock(), without=self._forgets)

    def _failed(self, job: Job, failure: Exception) -> None:
        at = self._clock()
        told = verdict(failure, job, at, self._policy, self._rng.random())
        error = cause(failure)

        def note(tx: Transaction) -> bool:
            if isinstance(told, Again):
                return tx.jobs.postpone(job, error, told.at, at, counts=told.counts)
            return tx.jobs.bury(job, error, at, without=self._forgets)

        if not self._database.run(note):
            self._count(job, "fenced")
        elif isinstance(told, Again):
            if told.pause:
                self._paused[job.type] = told.at
            self._count(job, "retry" if told.counts else "busy")
        else:
            self._count(job, "dead")
        _log.warning("job %s (%s) failed: %s", job.id, job.type.value, error)

    @contextmanager
    def _heartbeat(self, job: Job) -> Iterator[None]:
        """Keep the lease while a handler thinks."""
        done = threading.Event()
        beating = threading.Thread(
            target=self._beat, args=(job, done), name=f"perdure-beat-{job.id}", daemon=True
        )
        beating.start()
        try:
            yield
        finally:
            done.set()
            beating.join()

    def _beat(self, job: Job, done: threading.Event) -> None:
        while not done.wait(self._policy.lease_s / _BEATS):
            try:
                if not self._database.run(lambda tx: tx.jobs.beat(job, self._lease_end())):
                    return
            except Unavailable as error:
                _log.warning("heartbeat of job %s missed: %s", job.id, error.code)

    def _lease_end(self) -> datetime:
        return self._clock() + timedelta(seconds=self._policy.lease_s)

    def _count(self, job: Job, outcome: str) -> None:
        self._meter.within(job.namespace).count("jobs", type=job.type.value, outcome=outcome)
