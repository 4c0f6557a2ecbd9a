"""Promises in a table: written with their cause, found again, looked after."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, select, update

from perdure import text
from perdure.observe import here
from perdure.store import rows
from perdure.store.columns import owned, whose
from perdure.store.dialects import Addition, bunches
from perdure.store.leases import SqlLeases
from perdure.store.outbox import SqlOutbox
from perdure.store.schema import jobs
from perdure.types import Job, JobState, JobType, Promise, Scope, Trace

_PROMISE = Addition(jobs, ("idempotency_key",))
_NEW = {"state": JobState.PENDING.value, "result": {}, "retry_count": 0}
_BY_KEY = select(jobs).where(*owned(jobs), jobs.c.idempotency_key == bindparam("of_key"))
_OF = select(jobs).where(*owned(jobs), jobs.c.trace == bindparam("of_trace")).order_by(jobs.c.id)
_IDS = jobs.c.id.in_(bindparam("ids", expanding=True))
_DEPTH = select(jobs.c.state, func.count()).group_by(jobs.c.state)
_WAITING = select(jobs.c.id).where(
    jobs.c.state.in_([state.value for state in JobState if not state.finished])
)
_OLDEST = (
    select(jobs.c.created_at)
    .where(jobs.c.state.in_((JobState.PENDING.value, JobState.FAILED.value)))
    .order_by(jobs.c.id)
    .limit(1)
)
_OF_TYPES = jobs.c.type.in_(bindparam("types", expanding=True))
_OVERDUE = (
    select(jobs.c.next_retry_at)
    .where(jobs.c.next_retry_at <= bindparam("at_most"), _OF_TYPES)
    .order_by(jobs.c.next_retry_at)
    .limit(1)
)
_LEFT = (
    select(jobs.c.lease_until)
    .where(
        jobs.c.state == JobState.PROCESSING.value,
        jobs.c.lease_until <= bindparam("at_most"),
        _OF_TYPES,
    )
    .order_by(jobs.c.lease_until)
    .limit(1)
)
_TRIED = (
    select(jobs.c.updated_at, jobs.c.last_error)
    .where(jobs.c.state == bindparam("of_state"), _OF_TYPES)
    .order_by(jobs.c.updated_at.desc(), jobs.c.id.desc())
    .limit(1)
)
_RETRY = (
    update(jobs)
    .where(_IDS, jobs.c.state.in_((JobState.DEAD.value, JobState.FAILED.value)))
    .values(state=JobState.PENDING.value, retry_count=0)
)
_DROP = delete(jobs).where(_IDS, jobs.c.state != JobState.PROCESSING.value)
_OVER = select(jobs.c.id, jobs.c.payload).where(
    *owned(jobs), jobs.c.state.in_([state.value for state in JobState if state.finished])
)
_REWRITE = update(jobs).where(jobs.c.id == bindparam("of_id"))
_TAKE_AWAY = delete(jobs).where(*owned(jobs), jobs.c.type != JobType.ERASE.value)
_FORGET = delete(jobs).where(
    jobs.c.state == JobState.SUCCESS.value, jobs.c.updated_at < bindparam("before")
)


class SqlJobs(SqlLeases):
    """`ports.JobStore` on one connection.

    Args:
        connection: of the unit of work.
        outbox: what is on its way out.
        leaving: types of promises that go there first; they become jobs when they come back.
    """

    def __init__(
        self, connection: Connection, outbox: SqlOutbox, leaving: Collection[JobType] = ()
    ) -> None:
        super().__init__(connection)
        self._outbox = outbox
        self._leaving = leaving

    def promise(self, promise: Promise, at: datetime, *, arrived: bool = False) -> tuple[Job, bool]:
        """Write the job, or find the one that has its key. The flag says that it is new.

        Where there is a bus, promises that it announces go to the outbox first; one that
        ``arrived`` from there becomes a job.
        """
        row = rows.promised(promise, at)
        if promise.type in self._leaving and not arrived:
            found = self._named(row)
            return self._outbox.put(promise, row, at) if found is None else (found, False)
        due = {"next_retry_at": promise.run_at or at, "updated_at": at}
        number = _PROMISE.write(self._connection, {**row, **_NEW, **due, "span": here()})
        if number is None and (found := self._named(row)) is not None:
            return found, False
        return rows.waiting(number or 0, promise, at), True

    def settle(self, promise: Promise, result: Mapping[str, Any], at: datetime) -> None:
        """Write a job that is done already; it is kept as long as others that are."""
        done = {"state": JobState.SUCCESS.value, "result": dict(result), "retry_count": 0}
        times = {"next_retry_at": None, "updated_at": at, "span": None}
        _PROMISE.write(self._connection, {**rows.promised(promise, at), **done, **times})

    def _named(self, row: Mapping[str, Any]) -> Job | None:
        """The job with this row's key."""
        key = {"of_namespace": row["namespace"], "of_user": row["user_id"]}
        key["of_key"] = row["idempotency_key"]
        found = self._connection.execute(_BY_KEY, key).one_or_none()
        return None if found is None else rows.job(found)

    # ── looking at promises ──────────────────────────────────────────────────────────────────────

    def find(self, scope: Scope, key: str) -> Job | None:
        """The job that was promised with this key, while it is kept; on its way out, as pending."""
        whole = text.fingerprint(scope.namespace, scope.user, key)
        row = self._connection.execute(_BY_KEY, {**whose(scope), "of_key": whole}).one_or_none()
        if row is not None:
            return rows.job(row)
        leaving = self._outbox.find(scope, key)
        return None if leaving is None else rows.waiting(0, leaving.promise, leaving.at)

    def of(self, scope: Scope, trace: Trace) -> list[Job]:
        """The jobs of one trace; what is still on its way out is among them, as pending."""
        found = self._connection.execute(_OF, {**whose(scope), "of_trace": trace})
        leaving = [rows.waiting(0, one.promise, one.at) for one in self._outbox.of(scope, trace)]
        return [*(rows.job(row) for row in found), *leaving]

    def page(
        self,
        states: Collection[JobState],
        limit: int = 50,
        after: int | None = None,
        *,
        namespace: str | None = None,
    ) -> list[Job]:
        """Jobs by state, newest first; of one namespace, or None: of all."""
        wanted = select(jobs).where(
            jobs.c.state.in_([state.value for state in states]), *_within(namespace)
        )
        if after is not None:
            wanted = wanted.where(jobs.c.id < after)
        found = self._connection.execute(wanted.order_by(jobs.c.id.desc()).limit(limit))
        return [rows.job(row) for row in found]

    def numbered(self, ids: Collection[int], *, namespace: str | None = None) -> list[Job]:
        """The jobs with these numbers, oldest first; of one namespace, or None: of all."""
        wanted = select(jobs).where(_IDS, *_within(namespace)).order_by(jobs.c.id)
        return [
            rows.job(row)
            for some in bunches(sorted(ids))
            for row in self._connection.execute(wanted, {"ids": some})
        ]

    def waiting(self, types: Collection[JobType], most: int) -> int:
        """How many jobs of these types wait or run; counted up to ``most``."""
        some = _WAITING.where(jobs.c.type.in_([kind.value for kind in types])).limit(most)
        return self._connection.execute(
            select(func.count()).select_from(some.subquery())
        ).scalar_one()

    def depth(
        self,
        at: datetime,  # noqa: ARG002 - the port asks "when"
        namespace: str | None = None,
    ) -> Mapping[JobState, int]:
        """How many jobs are in each state; of one namespace, or None: of all."""
        found = self._connection.execute(_DEPTH.where(*_within(namespace)))
        return {JobState(state): count for state, count in found}

    def oldest(self, namespace: str | None = None) -> datetime | None:
        """When the job that has waited longest was promised; None: none waits."""
        return self._connection.execute(_OLDEST.where(*_within(namespace))).scalar()

    def overdue(self, at: datetime, types: Collection[JobType]) -> datetime | None:
        """Since when the job is due that nobody has taken for longest; None: none is.

        One that a worker died with is due since its lease ended.
        """
        wanted = {"at_most": at, "types": [kind.value for kind in types]}
        found = [self._connection.execute(one, wanted).scalar() for one in (_OVERDUE, _LEFT)]
        return min((since for since in found if since is not None), default=None)

    def last_error(self, types: Collection[JobType]) -> str | None:
        """Why the last try of a job of these types failed; None: it did not, or none was tried."""
        wanted = {"types": [kind.value for kind in types]}
        tried = (JobState.SUCCESS, JobState.FAILED, JobState.DEAD)
        found = [  # one after the other, since each is found by its index then
            self._connection.execute(_TRIED, {**wanted, "of_state": state.value}).one_or_none()
            for state in tried
        ]
        last = max(filter(None, found), key=lambda row: row.updated_at, default=None)
        return None if last is None else last.last_error

    # ── looking after the table ──────────────────────────────────────────────────────────────────

    def retry(self, ids: Collection[int], at: datetime) -> int:
        """Make dead or failed jobs due now, with all their tries. Returns how many."""
        due = {"next_retry_at": at, "updated_at": at}
        return sum(
            self._connection.execute(_RETRY, {**due, "ids": some}).rowcount for some in bunches(ids)
        )

    def drop(self, ids: Collection[int]) -> int:
        """Forget jobs that do not run. Returns how many."""
        return sum(self._connection.execute(_DROP, {"ids": some}).rowcount for some in bunches(ids))

    def forget(self, before: datetime) -> int:
        """Remove jobs that succeeded before that time."""
        return self._connection.execute(_FORGET, {"before": before}).rowcount

    def take_away(self, scope: Scope) -> Mapping[str, int]:
        """Remove every job of an owner but `erase`, running ones too: their holders are fenced."""
        return {"jobs": self._connection.execute(_TAKE_AWAY, whose(scope)).rowcount}

    def strip(self, scope: Scope, fields: Collection[str]) -> int:
        """Take these fields out of the payloads of an owner's jobs that will not run by themselves.

        Returns how many jobs had one.
        """
        kept = [
            {"of_id": number, "payload": {k: v for k, v in payload.items() if k not in fields}}
            for number, payload in self._connection.execute(_OVER, whose(scope)).all()
            if not payload.keys().isdisjoint(fields)
        ]
        if kept:
            self._connection.execute(_REWRITE, kept)
        return len(kept)


def _within(namespace: str | None) -> tuple[ColumnElement[bool], ...]:
    """Of one namespace; None: of all."""
    return () if namespace is None else (jobs.c.namespace == namespace,)
