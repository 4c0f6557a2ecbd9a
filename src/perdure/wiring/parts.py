"""One running Perdure, taken apart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from perdure.control.audit import Audit
from perdure.control.cleanup import Cleaner
from perdure.control.costs import Costs
from perdure.control.erase import Eraser
from perdure.control.items import Items
from perdure.control.keys import Keys
from perdure.control.metrics import Metrics
from perdure.control.preferences import UserPreferences
from perdure.control.queue import Queue
from perdure.control.runtime import Runtime
from perdure.control.undo import Undo
from perdure.control.uses import Uses
from perdure.control.verdicts import Verdicts
from perdure.errors import VectorsUnavailable
from perdure.events.way import Way
from perdure.jobs.backlog import Backlog
from perdure.jobs.upkeep import Upkeep
from perdure.jobs.worker import Worker
from perdure.learn.consolidate import Consolidator
from perdure.observe import Meter
from perdure.policy import Policy
from perdure.ports import ChatModel, Clock, Database, Embedder, Outside, Reranker, VectorIndex
from perdure.recall.answer import Recaller
from perdure.settings import Settings
from perdure.types import Switches
from perdure.vectors.fits import check_length
from perdure.vectors.reconcile import Reconciler

VectorsNow: TypeAlias = Literal["on", "off", "paused", "unavailable"]
"""Paused: made later, since much else waits. Unavailable: words answer until the index does."""

Task: TypeAlias = Callable[[threading.Event], None]
"""Runs in a thread of its own until the event is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """One running Perdure, taken apart."""

    settings: Settings
    clock: Clock
    meter: Meter
    database: Database
    chat: ChatModel | None
    embedder: Embedder | None
    index: VectorIndex | None
    reranker: Reranker | None
    recaller: Recaller
    worker: Worker
    upkeep: Upkeep
    items: Items
    verdicts: Verdicts
    consolidator: Consolidator
    undo: Undo
    cleaner: Cleaner
    reconciler: Reconciler
    eraser: Eraser
    audit: Audit
    costs: Costs
    metrics: Metrics
    preferences: UserPreferences
    runtime: Runtime
    keys: Keys
    queue: Queue
    uses: Uses
    backlog: Backlog
    way: Way | None = None
    """The way out over a bus; None: there is none."""
    beside: tuple[tuple[str, Task], ...] = ()
    """More that runs beside the conversation: name and task of each thread."""
    closing: tuple[Callable[[], None], ...] = ()
    """What gives back connections and threads, in order."""

    @property
    def switches(self) -> Switches:
        """The deployment's switches."""
        return self.settings.switches

    def policy_of(self, namespace: str) -> Policy:
        """The numbers that hold for a namespace now."""
        return self.runtime.policy_of(namespace)

    def check(self) -> None:
        """The embedder's vectors go with those that are stored.

        Raises:
            Misconfigured: they have another length; the error says both.
        """
        if self.embedder is not None and self.index is not None:
            check_length(self.database, self.embedder, self.index)

    def vectors_now(self) -> VectorsNow:
        """How the search by meaning does.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        if self.index is None or not self.switches.vectors:
            return "off"
        try:
            if isinstance(self.index, Outside):
                self.index.ping()
        except VectorsUnavailable:
            return "unavailable"
        return "paused" if self.backlog.over() else "on"

    def background(self) -> Sequence[tuple[str, Task]]:
        """What runs beside the conversation: name and task of each thread."""
        workers = [
            (f"perdure-worker-{number}", self.worker.run)
            for number in range(self.settings.worker_threads)
        ]
        return [
            *workers,
            ("perdure-upkeep", self.upkeep.run),
            *(() if self.way is None else self.way.tasks),
            *self.beside,
        ]

    def notify(self) -> None:
        """Wake the workers: there may be something to do, or it is time to stop."""
        if self.way is not None:
            self.way.relay.notify()
        self.worker.notify()

    def close(self) -> None:
        """Give everything back."""
        self.uses.write()
        for close in self.closing:
            close()


@runtime_checkable
class Closing(Protocol):
    """A part that holds connections or threads."""

    def close(self) -> None:
        """Give them back."""
        ...


@runtime_checkable
class Warming(Protocol):
    """A part that is slow the first time."""

    def warm(self) -> None:
        """Be slow now."""
        ...
