"""Who may keep a promise now, and whether they still may: leases, tokens and order."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Update,
    bindparam,
    exists,
    not_,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from perdure import text
from perdure.errors import Fenced
from perdure.store import rows
from perdure.store.schema import ERROR, jobs
from perdure.types import Job, JobState, JobType

WORKER_LOST = "worker_lost: The worker stopped without a word."
"""The last error of a job whose worker died."""

_WAITING = (JobState.PENDING.value, JobState.FAILED.value)
_OVER = {"token": None, "lease_until": None, "running_key": None}
"""What a job that no longer runs lets go."""

# ── claiming ─────────────────────────────────────────────────────────────────────────────────────

_other = jobs.alias("other")


def _another(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """Another ordered job of the same owner for which this holds."""
    return exists().where(
        _other.c.namespace == jobs.c.namespace,
        _other.c.user_id == jobs.c.user_id,
        _other.c.ordered.is_(True),
        *conditions,
    )


_FREE = or_(
    jobs.c.ordered.is_(False),
    not_(
        or_(
            _another(_other.c.state == JobState.PROCESSING.value),
            _another(_other.c.state.in_(_WAITING), _other.c.id < jobs.c.id),
        )
    ),
)
_DUE = (
    select(jobs)
    .where(
        jobs.c.next_retry_at <= bindparam("at_most"),
        jobs.c.type.in_(bindparam("types", expanding=True)),
        _FREE,
    )
    .order_by(jobs.c.next_retry_at, jobs.c.id)
    .limit(1)
    .with_for_update(skip_locked=True, of=jobs)
)
_DUE_OF = _DUE.where(jobs.c.id.in_(bindparam("ids", expanding=True)))
_START = (
    update(jobs)
    .where(jobs.c.id == bindparam("of_id"))
    .values(state=JobState.PROCESSING.value, next_retry_at=None)
)
_LOST = (
    select(jobs.c.id, jobs.c.retry_count, jobs.c.max_retry, jobs.c.lease_until)
    .where(
        jobs.c.state == JobState.PROCESSING.value,  # few, and found by index
        jobs.c.lease_until < bindparam("at_most"),
    )
    .order_by(jobs.c.lease_until, jobs.c.id)
    .with_for_update(skip_locked=True)
)
_TAKE_BACK = (
    update(jobs).where(jobs.c.id == bindparam("of_id")).values(**_OVER, last_error=WORKER_LOST)
)

# ── what the holder of the token may do ──────────────────────────────────────────────────────────

_HELD = (jobs.c.id == bindparam("of_id"), jobs.c.token == bindparam("of_token"))
_BEAT = update(jobs).where(*_HELD)
_END = update(jobs).where(*_HELD).values(_OVER)


class SqlLeases:
    """The part of `ports.JobStore` that workers use."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def claim(self, at: datetime, lease_s: float, types: Collection[JobType]) -> Job | None:
        """Take the next job that is due, in order per user. Returns jobs of dead workers first.

        Call it in a transaction of its own: where another worker was faster, PostgreSQL gives up
        the whole transaction, and then there is nothing to take.
        """
        if not types:
            return None
        wanted = {"at_most": at, "types": sorted(kind.value for kind in types)}
        lost = self._take_back(at)
        row = self._first(_DUE_OF, {**wanted, "ids": lost}) if lost else None
        row = row or self._first(_DUE, wanted)
        if row is None:
            return None
        owner = text.fingerprint(row.namespace, row.user_id)
        taken = {
            "token": secrets.token_hex(16),
            "lease_until": at + timedelta(seconds=lease_s),
            "running_key": owner if row.ordered else None,
            "updated_at": at,
        }
        try:
            self._connection.execute(_START, {"of_id": row.id, **taken})
        except IntegrityError:
            return None
        return rows.job(row, state=JobState.PROCESSING, token=taken["token"], updated_at=at)

    def beat(self, job: Job, until: datetime) -> bool:
        """Keep the lease. False: the job was taken over."""
        return self._as_holder(_BEAT, job, {"lease_until": until})

    def finish(
        self,
        job: Job,
        result: Mapping[str, Any],
        at: datetime,
        *,
        without: Collection[str] = (),
    ) -> None:
        """Done, in the transaction of the effect; these fields of the payload are not kept.

        Raises:
            Fenced: another worker holds the job now; nothing of this transaction may stay.
        """
        done = {
            "state": JobState.SUCCESS.value,
            "result": dict(result),
            "last_error": None,
            "updated_at": at,
            **_stripped(job, without),
        }
        if not self._as_holder(_END, job, done):
            raise Fenced

    def postpone(
        self, job: Job, error: str, next_at: datetime, at: datetime, *, counts: bool = True
    ) -> bool:
        """It failed and will run again. ``counts`` is off where the failure used up no try."""
        return self._as_holder(
            _END,
            job,
            {
                "state": JobState.FAILED.value,
                "last_error": error[:ERROR],
                "retry_count": job.retry_count + (1 if counts else 0),
                "next_retry_at": next_at,
                "updated_at": at,
            },
        )

    def bury(self, job: Job, error: str, at: datetime, *, without: Collection[str] = ()) -> bool:
        """It failed for good; these fields of the payload are not kept."""
        dead = {"state": JobState.DEAD.value, "last_error": error[:ERROR], "updated_at": at}
        return self._as_holder(_END, job, {**dead, **_stripped(job, without)})

    def release(self, at: datetime) -> int:
        """Take back what dead workers held; each loses a try, and is dead without any left."""
        return len(self._take_back(at))

    # ── shared steps ─────────────────────────────────────────────────────────────────────────────

    def _take_back(self, at: datetime) -> list[int]:
        """Ids of the jobs whose lease ran out, back in the queue or dead."""
        lost = self._connection.execute(_LOST, {"at_most": at}).all()
        if lost:
            self._connection.execute(_TAKE_BACK, [_bereft(row, at) for row in lost])
        return [row.id for row in lost]

    def _first(self, statement: Select[Any], wanted: Mapping[str, Any]) -> Row[Any] | None:
        return self._connection.execute(statement, wanted).first()

    def _as_holder(self, statement: Update, job: Job, values: Mapping[str, Any]) -> bool:
        held = {"of_id": job.id, "of_token": job.token, **values}
        return self._connection.execute(statement, held).rowcount == 1


def _bereft(row: Row[Any, Any, Any, Any], at: datetime) -> dict[str, Any]:
    """How a job goes on whose worker died; it was due when its lease ended."""
    spent = row.retry_count >= row.max_retry
    return {
        "of_id": row.id,
        "state": (JobState.DEAD if spent else JobState.FAILED).value,
        "retry_count": row.retry_count + (0 if spent else 1),
        "next_retry_at": None if spent else row.lease_until,
        "updated_at": at,
    }


def _stripped(job: Job, without: Collection[str]) -> dict[str, Any]:
    """The payload as it is kept, where that is not as it is."""
    kept = {name: value for name, value in job.payload.items() if name not in without}
    return {"payload": kept} if len(kept) < len(job.payload) else {}
