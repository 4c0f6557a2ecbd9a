"""What operations read: counters of this process, levels of the tables, and the ten rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from perdure.errors import Unavailable
from perdure.learn.spending import month_of
from perdure.observe import Meter, Told, summary
from perdure.ports import Clock, Database
from perdure.types import JobState, Spend, VectorStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """How one namespace stands, as the tables tell it; the same from every process."""

    queue: Mapping[JobState, int]
    """Jobs in each state."""
    queue_age_s: float
    """Age of the job that has waited longest."""
    vectors: Mapping[VectorStatus, int]
    """Memories by the state of their vector."""
    spend: Sequence[Spend]
    """What models cost this month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Hands out what was counted, with the tables as they are now."""

    database: Database
    meter: Meter
    clock: Clock

    def text(self) -> bytes:
        """Counters of this process and levels of the tables, in Prometheus' text format."""
        self._measure()
        return self.meter.exposition()

    def summary(self, namespace: str | None = None) -> dict[str, Told]:
        """The ten rates that everybody asks for, since this process began; None: nothing yet.

        Args:
            namespace: whose; None: of all together.
        """
        return summary(self.meter if namespace is None else self.meter.within(namespace))

    def levels(self, namespace: str) -> Levels:
        """How a namespace stands. Nothing of another is in it.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        at = self.clock()
        with self.database.read() as tx:
            depth = tx.jobs.depth(at, namespace)
            vectors = tx.owners.vectors(namespace)
            return Levels(
                queue={state: depth.get(state, 0) for state in JobState},
                queue_age_s=_age(tx.jobs.oldest(namespace), at),
                vectors={status: vectors.get(status, 0) for status in VectorStatus},
                spend=tx.spend.together(namespace, month_of(at)),
            )

    def _measure(self) -> None:
        """Set every gauge. Without a database only that: it is down."""
        at = self.clock()
        try:
            with self.database.read() as tx:
                depth = tx.jobs.depth(at)
                oldest = tx.jobs.oldest()
                vectors = tx.owners.vectors()
        except Unavailable:
            self.meter.level("database_up", 0)
            return
        self.meter.level("database_up", 1)
        for state in JobState:
            self.meter.level("queue_depth", depth.get(state, 0), state=state.value)
        self.meter.level("queue_age_seconds", _age(oldest, at))
        for status in VectorStatus:
            self.meter.level("vectors", vectors.get(status, 0), status=status.value)


def _age(since: datetime | None, at: datetime) -> float:
    """Seconds; 0 where nothing waits."""
    return 0.0 if since is None else max(0.0, (at - since).total_seconds())
