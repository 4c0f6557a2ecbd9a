"""What admins do with jobs: try them again, or forget them, each noted in the same commit."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from perdure.ports import Clock, Database, Transaction
from perdure.types import Actor, AuditEntry, Job, Operation, new_id

_NUMBER = 2**63 - 1  # the largest of a job


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Looks after jobs by hand."""

    database: Database
    clock: Clock

    def retry(self, ids: Collection[int], *, by: str, namespace: str | None = None) -> int:
        """Make dead or failed jobs due now, with all their tries. Returns how many there were.

        Args:
            ids: numbers of jobs.
            by: who does it, as the audit keeps it.
            namespace: whose jobs; None: whosever they are.
        """
        at = self.clock()
        return self._each(
            ids, namespace, "job tried again", by, lambda tx, job: tx.jobs.retry([job.id], at)
        )

    def drop(self, ids: Collection[int], *, by: str, namespace: str | None = None) -> int:
        """Forget jobs that do not run; see `retry`. What they would have learnt is not learnt."""
        return self._each(ids, namespace, "job dropped", by, lambda tx, job: tx.jobs.drop([job.id]))

    def _each(
        self,
        ids: Collection[int],
        namespace: str | None,
        what: str,
        by: str,
        do: Callable[[Transaction, Job], int],
    ) -> int:
        meant = {number for number in ids if 0 < number <= _NUMBER}

        def write(tx: Transaction) -> int:
            done = [job for job in tx.jobs.numbered(meant, namespace=namespace) if do(tx, job)]
            tx.audit.add([self._entry(job, what, by) for job in done])
            return len(done)

        return self.database.run(write)

    def _entry(self, job: Job, what: str, by: str) -> AuditEntry:
        at = self.clock()
        return AuditEntry(
            id=new_id(at), item=str(job.id), namespace=job.namespace, user="",
            operation=Operation.SET, actor=Actor.ADMIN, reason=what, before=None, after=None,
            at=at, by=by,
        )  # fmt: skip
