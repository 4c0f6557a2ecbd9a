"""Which memories answers said: noted at once, and written down a little later."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime

from perdure.errors import Unavailable
from perdure.policy import Policy
from perdure.ports import Clock, Database, Transaction
from perdure.types import ItemId, Scope, Trace

_LATER_S = 1.0  # so long notes are gathered
_MOST = 10_000  # answers kept while the database does not answer; more are dropped


@dataclass(slots=True)
class _Notes:
    """What was said to one user since it was last written down."""

    since: datetime
    answers: dict[Trace, tuple[ItemId, ...]] = field(default_factory=dict)
    uses: Counter[ItemId] = field(default_factory=Counter)

    def add(self, other: _Notes) -> None:
        self.since = min(self.since, other.since)
        self.answers.update(other.answers)
        self.uses.update(other.uses)


@dataclass(frozen=True, slots=True)
class Uses:
    """Knows what answers said without making a recall wait for a write. Share it between threads.

    It counts uses, and keeps of each user what the newest answers said, so that the user can judge
    it. A process that is killed takes what it noted in the last second along.
    """

    database: Database
    policy_of: Callable[[str], Policy]
    clock: Clock
    _notes: dict[Scope, _Notes] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _soon: threading.Event = field(default_factory=threading.Event)
    """They are written soon."""

    def note(
        self, scope: Scope, trace: Trace, ids: Collection[ItemId], *, counts: bool = True
    ) -> None:
        """An answer said these just now.

        Args:
            scope: to whom.
            trace: of the answer.
            ids: of memories.
            counts: that is a use of them; a look at what was believed earlier is none.
        """
        if not ids:
            return
        at = self.clock()
        said = _Notes(at, {trace: tuple(ids)}, Counter(ids if counts else ()))
        with self._lock:
            if sum(len(one.answers) for one in self._notes.values()) >= _MOST:
                return
            self._keep(Scope(namespace=scope.namespace, user=scope.user), said)
            soon = self._soon.is_set()
            self._soon.set()
        if not soon:
            later = threading.Timer(_LATER_S, self.write)
            later.name, later.daemon = "perdure-uses", True
            later.start()

    def write(self, only: Scope | None = None) -> None:
        """Write what was noted; what cannot be written now is written with what comes next.

        Args:
            only: of this user alone, so that it can be judged now; None: of everybody.
        """
        with self._lock:
            if only is None:
                noted = dict(self._notes)
                self._notes.clear()
                self._soon.clear()
            else:
                owner = Scope(namespace=only.namespace, user=only.user)
                own = self._notes.pop(owner, None)
                noted = {} if own is None else {owner: own}
        for owner, notes in noted.items():
            try:
                self._write(owner, notes, self.clock())
            except Unavailable:
                with self._lock:
                    self._keep(owner, notes)

    def _keep(self, owner: Scope, notes: _Notes) -> None:
        self._notes.setdefault(owner, _Notes(notes.since)).add(notes)

    def _write(self, owner: Scope, notes: _Notes, at: datetime) -> None:
        """Nothing is written of a user who was erased since."""
        keep = self.policy_of(owner.namespace).item.judged_answers

        def write(tx: Transaction) -> None:
            if tx.erasures.since(owner, notes.since):
                return
            for item, times in notes.uses.items():
                for _ in range(times):
                    tx.items.used(owner, [item], at)
            tx.feedback.answered(owner, notes.answers, at, keep)

        self.database.run(write, owner)
