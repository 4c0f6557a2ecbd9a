"""The way out of a process and back, put together: relay, consumer, what they know of the bus."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Self, TypeAlias

from perdure.errors import DatabaseUnavailable
from perdure.events.consumer import Consumer
from perdure.events.outbox import Relay, come_home
from perdure.events.watch import Watch
from perdure.observe import Meter
from perdure.policy import JobsPolicy
from perdure.ports import Bus, Clock, Database

Task: TypeAlias = Callable[[threading.Event], None]
"""Runs in a thread of its own until the event is set."""

_HOME_AT_ONCE, _HOME_AGAIN_S = 100, 5.0  # promises at once, and seconds between two tries


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How promises leave the process, and come back as jobs."""

    relay: Relay
    consumer: Consumer
    watch: Watch

    @classmethod
    def over(
        cls,
        bus: Bus,
        database: Database,
        policy: JobsPolicy,
        *,
        clock: Clock,
        meter: Meter,
        arrived: Callable[[], None],
    ) -> Self:
        """The way over a bus; ``arrived`` is called when there are new jobs."""
        watch = Watch(clock)
        return cls(
            relay=Relay(database, bus, policy, clock=clock, meter=meter, watch=watch),
            consumer=Consumer(
                database, bus, policy, clock=clock, meter=meter, watch=watch, arrived=arrived
            ),
            watch=watch,
        )

    @property
    def tasks(self) -> tuple[tuple[str, Task], ...]:
        """What runs beside the workers: name and task of each thread."""
        return ("perdure-relay", self.relay.run), ("perdure-consumer", self.consumer.run)


def homecoming(database: Database, clock: Clock) -> Task:
    """Makes jobs, once, of what a bus was to carry that is no longer used."""

    def bring(stop: threading.Event) -> None:
        while not stop.is_set():
            with suppress(DatabaseUnavailable):
                come_home(database, clock, _HOME_AT_ONCE)
                return
            stop.wait(_HOME_AGAIN_S)

    return bring
