"""Which memories were said how often: noted at once, written in the background."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from perdure.errors import Unavailable
from perdure.ports import Clock, Database, Transaction
from perdure.types import Scope

_EVERY_S = 1.0  # how often notes are written
_MOST = 10_000  # notes kept while the database does not answer; more are dropped


@dataclass(frozen=True, slots=True)
class Uses:
    """Counts uses without making a recall wait for a write."""

    database: Database
    clock: Clock
    _noted: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, scope: Scope, ids: Collection[str]) -> None:
        """These memories were said just now."""
        with self._lock:
            if len(self._noted) < _MOST:
                self._noted.update((*scope.owner, item) for item in ids)

    def write(self) -> None:
        """Write what was noted; what cannot be written now is written next time."""
        with self._lock:
            noted = Counter(self._noted)
            self._noted.clear()
        if not noted:
            return
        at = self.clock()
        for owner, items in groupby(sorted(noted.items()), key=lambda one: one[0][:2]):
            self._write(owner, dict(items), at)

    def _write(
        self, owner: tuple[str, str], noted: Mapping[tuple[str, str, str], int], at: datetime
    ) -> None:
        scope = Scope(namespace=owner[0], user=owner[1])

        def write(tx: Transaction) -> None:
            for (_, _, item), times in noted.items():
                for _ in range(times):
                    tx.items.used(scope, [item], at)

        try:
            self.database.run(write, scope)
        except Unavailable:
            with self._lock:
                self._noted.update(noted)

    def run(self, stop: threading.Event) -> None:
        """Write again and again until told to stop, and once more then."""
        while not stop.wait(_EVERY_S):
            self.write()
        self.write()
