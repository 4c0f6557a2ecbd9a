"""Where promises wait, and the way out for those that are announced."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Protocol

from perdure.types import Job, JobState, JobType, Outgoing, Promise, Scope, Trace


class JobStore(Protocol):
    """Promises: written with their cause, kept by whoever holds the token."""

    def promise(self, promise: Promise, at: datetime, *, arrived: bool = False) -> tuple[Job, bool]:
        """Write the job, or find the one that has its key. The flag says that it is new.

        Where there is a bus, promises that it announces go to the outbox first; one that
        ``arrived`` from there becomes a job.
        """
        ...

    def settle(self, promise: Promise, result: Mapping[str, Any], at: datetime) -> None:
        """Write a job that is done already; it is kept as long as others that are."""
        ...

    def claim(self, at: datetime, lease_s: float, types: Collection[JobType]) -> Job | None:
        """Take the next job that is due, in order per user. Returns jobs of dead workers first."""
        ...

    def beat(self, job: Job, until: datetime) -> bool:
        """Keep the lease. False: the job was taken over."""
        ...

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
        ...

    def postpone(
        self, job: Job, error: str, next_at: datetime, at: datetime, *, counts: bool = True
    ) -> bool:
        """It failed and will run again. ``counts`` is off where the failure used up no try."""
        ...

    def bury(self, job: Job, error: str, at: datetime, *, without: Collection[str] = ()) -> bool:
        """It failed for good; these fields of the payload are not kept."""
        ...

    def find(self, scope: Scope, key: str) -> Job | None:
        """The job that was promised with this key, while it is kept."""
        ...

    def of(self, scope: Scope, trace: Trace) -> list[Job]:
        """The jobs of one trace."""
        ...

    def page(
        self,
        states: Collection[JobState],
        limit: int = 50,
        after: int | None = None,
        *,
        namespace: str | None = None,
    ) -> list[Job]:
        """Jobs by state, newest first; of one namespace, or None: of all."""
        ...

    def numbered(self, ids: Collection[int], *, namespace: str | None = None) -> list[Job]:
        """The jobs with these numbers, oldest first; of one namespace, or None: of all."""
        ...

    def retry(self, ids: Collection[int], at: datetime) -> int:
        """Make dead or failed jobs due now, with all their tries. Returns how many."""
        ...

    def drop(self, ids: Collection[int]) -> int:
        """Forget jobs that do not run. Returns how many."""
        ...

    def waiting(self, types: Collection[JobType], most: int) -> int:
        """How many jobs of these types wait or run; counted up to ``most``."""
        ...

    def depth(self, at: datetime, namespace: str | None = None) -> Mapping[JobState, int]:
        """How many jobs are in each state; of one namespace, or None: of all."""
        ...

    def oldest(self, namespace: str | None = None) -> datetime | None:
        """When the job that has waited longest was promised; None: none waits."""
        ...

    def overdue(self, at: datetime, types: Collection[JobType]) -> datetime | None:
        """Since when the job is due that nobody has taken for longest; None: none is.

        One that a worker died with is due since its lease ended.
        """
        ...

    def last_error(self, types: Collection[JobType]) -> str | None:
        """Why the last try of a job of these types failed; None: it did not, or none was tried."""
        ...

    def forget(self, before: datetime) -> int:
        """Remove jobs that succeeded before that time."""
        ...

    def release(self, at: datetime) -> int:
        """Take back what dead workers held; each loses a try, and is dead without any left."""
        ...

    def take_away(self, scope: Scope) -> Mapping[str, int]:
        """Remove every job of an owner but `erase`, running ones too: their holders are fenced."""
        ...

    def strip(self, scope: Scope, fields: Collection[str]) -> int:
        """Take these fields out of the payloads of an owner's jobs that will not run by themselves.

        Returns how many jobs had one.
        """
        ...


class OutboxStore(Protocol):
    """Promises on their way out. Each stays until its job stands in the same commit."""

    def lead(self, token: str, at: datetime, until: datetime) -> bool:
        """Be the one that publishes until then. False: another process is."""
        ...

    def due(self, resent_before: datetime, limit: int) -> list[Outgoing]:
        """What was not published yet, or last before that time; oldest first."""
        ...

    def sent(self, ids: Collection[int], at: datetime) -> None:
        """The bus has these."""
        ...

    def take(self, scope: Scope, key: str) -> list[Outgoing]:
        """Take out the owner's promises up to the one with this key, in their order.

        None if that one is no longer here: it was taken out before, or erased. What was published
        after another that the bus lost can so never overtake it.
        """
        ...

    def remove(self, scope: Scope) -> int:
        """Take back every promise of an owner that is still here; its event then has no effect."""
        ...

    def waiting(self) -> tuple[int, datetime | None]:
        """How many there are, and when the oldest was made."""
        ...
