"""What operations read: counters of this process, levels of the tables, and the ten rates."""

from __future__ import annotations

from dataclasses import dataclass

from perdure.errors import Unavailable
from perdure.observe import Meter, Told, summary
from perdure.ports import Clock, Database
from perdure.types import JobState, VectorStatus


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

    def summary(self) -> dict[str, Told]:
        """The ten rates that everybody asks for, since this process began; None: nothing yet."""
        return summary(self.meter)

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
        age = 0.0 if oldest is None else max(0.0, (at - oldest).total_seconds())
        self.meter.level("queue_age_seconds", age)
        for status in VectorStatus:
            self.meter.level("vectors", vectors.get(status, 0), status=status.value)
