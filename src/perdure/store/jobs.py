"""Promises in a table: written with their cause, found again, looked after."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy import bindparam, delete, func, select, update

from perdure import text
from perdure.store import rows
from perdure.store.columns import owned, whose
from perdure.store.dialects import Addition, bunches
from perdure.store.leases import SqlLeases
from perdure.store.schema import jobs
from perdure.types import Job, JobState, JobType, Promise, Scope, Trace

_PROMISE = Addition(jobs, ("idempotency_key",))
_BY_KEY = select(jobs).where(*owned(jobs), jobs.c.idempotency_key == bindparam("of_key"))
_OF = select(jobs).where(*owned(jobs), jobs.c.trace == bindparam("of_trace")).order_by(jobs.c.id)
_IDS = jobs.c.id.in_(bindparam("ids", expanding=True))
_DEPTH = select(jobs.c.state, func.count()).group_by(jobs.c.state)
_WAITING = select(jobs.c.id).where(
    jobs.c.state.in_([state.value for state in JobState if not state.finished])
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
_FORGET = delete(jobs).where(
    jobs.c.state == JobState.SUCCESS.value, jobs.c.updated_at < bindparam("before")
)


class SqlJobs(SqlLeases):
    """`ports.JobStore` on one connection."""

    def promise(self, promise: Promise, at: datetime) -> tuple[Job, bool]:
        """Write the job, or find the one that has its key. The flag says that it is new."""
        key = text.fingerprint(promise.namespace, promise.user, promise.key)
        number = _PROMISE.write(
            self._connection,
            {
                "type": promise.type.value,
                "namespace": promise.namespace,
                "user_id": promise.user,
                "conversation_id": promise.conversation,
                "source_message_id": promise.source_message,
                "idempotency_key": key,
                "key": promise.key,
                "payload": dict(promise.payload),
                "result": {},
                "trace": promise.trace,
                "state": JobState.PENDING.value,
                "ordered": promise.ordered,
                "retry_count": 0,
                "max_retry": promise.max_retry,
                "next_retry_at": promise.run_at or at,
                "created_at": at,
                "updated_at": at,
            },
        )
        if number is None:
            owner = Scope(namespace=promise.namespace, user=promise.user)
            row = self._connection.execute(_BY_KEY, {**whose(owner), "of_key": key}).one()
            return rows.job(row), False
        return Job(
            id=number,
            type=promise.type,
            namespace=promise.namespace,
            user=promise.user,
            key=promise.key,
            payload=promise.payload,
            trace=promise.trace,
            state=JobState.PENDING,
            conversation=promise.conversation,
            source_message=promise.source_message,
            max_retry=promise.max_retry,
            next_retry_at=promise.run_at or at,
            created_at=at,
            updated_at=at,
        ), True

    # ── looking at promises ──────────────────────────────────────────────────────────────────────

    def find(self, scope: Scope, key: str) -> Job | None:
        """The job that was promised with this key, while it is kept."""
        whole = text.fingerprint(scope.namespace, scope.user, key)
        row = self._connection.execute(_BY_KEY, {**whose(scope), "of_key": whole}).one_or_none()
        return None if row is None else rows.job(row)

    def of(self, scope: Scope, trace: Trace) -> list[Job]:
        """The jobs of one trace."""
        found = self._connection.execute(_OF, {**whose(scope), "of_trace": trace})
        return [rows.job(row) for row in found]

    def page(
        self, states: Collection[JobState], limit: int = 50, after: int | None = None
    ) -> list[Job]:
        """Jobs by state, newest first."""
        wanted = select(jobs).where(jobs.c.state.in_([state.value for state in states]))
        if after is not None:
            wanted = wanted.where(jobs.c.id < after)
        found = self._connection.execute(wanted.order_by(jobs.c.id.desc()).limit(limit))
        return [rows.job(row) for row in found]

    def waiting(self, types: Collection[JobType], most: int) -> int:
        """How many jobs of these types wait or run; counted up to ``most``."""
        some = _WAITING.where(jobs.c.type.in_([kind.value for kind in types])).limit(most)
        return self._connection.execute(
            select(func.count()).select_from(some.subquery())
        ).scalar_one()

    def depth(self, at: datetime) -> Mapping[JobState, int]:  # noqa: ARG002 - the port asks "when"
        """How many jobs are in each state."""
        return {JobState(state): count for state, count in self._connection.execute(_DEPTH)}

    # ── looking after the table ──────────────────────────────────────────────────────────────────

    def retry(self, ids: Collection[int], at: datetime) -> int:
        """Make dead or failed jobs due now, with all their tries."""
        due = {"next_retry_at": at, "updated_at": at}
        return sum(
            self._connection.execute(_RETRY, {**due, "ids": some}).rowcount for some in bunches(ids)
        )

    def drop(self, ids: Collection[int]) -> int:
        """Forget jobs that do not run."""
        return sum(self._connection.execute(_DROP, {"ids": some}).rowcount for some in bunches(ids))

    def forget(self, before: datetime) -> int:
        """Remove jobs that succeeded before that time."""
        return self._connection.execute(_FORGET, {"before": before}).rowcount

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
