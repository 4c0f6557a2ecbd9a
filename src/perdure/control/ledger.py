"""What embedders and rerankers use, by user: noted at once, written down a little later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from perdure.errors import Unavailable
from perdure.learn.spending import month_of
from perdure.observe import Meter
from perdure.policy import Policy
from perdure.ports import Account, Clock, Database, Used
from perdure.types import Scope, Spend

_LATER_S = 1.0  # so long notes are gathered
_MOST = 10_000  # accounts that wait while the database does not answer; more are dropped


@dataclass(slots=True)
class _Sum:
    """What was used on one account since it was last written down."""

    since: datetime
    calls: int = 0
    tokens: int = 0

    def add(self, since: datetime, calls: int, tokens: int) -> None:
        self.since = min(self.since, since)
        self.calls += calls
        self.tokens += tokens


@dataclass(frozen=True, slots=True)
class LateLedger:
    """`ports.Ledger` that makes no recall wait for a write. Share it between threads."""

    database: Database
    policy_of: Callable[[str], Policy]
    clock: Clock
    meter: Meter
    _sums: dict[tuple[Scope, str, str, str], _Sum] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _soon: threading.Event = field(default_factory=threading.Event)
    """They are written soon."""

    def account(self, scope: Scope) -> Account:
        """The account of one user."""
        return partial(self._note, Scope(namespace=scope.namespace, user=scope.user))

    def _note(self, owner: Scope, used: Used) -> None:
        at = self.clock()
        key = (owner, month_of(at), used.model, used.purpose)
        with self._lock:
            if key not in self._sums and len(self._sums) >= _MOST:
                self.meter.count("spend_unnoted")
                return
            self._sums.setdefault(key, _Sum(at)).add(at, 1, used.tokens)
            soon = self._soon.is_set()
            self._soon.set()
        if not soon:
            later = threading.Timer(_LATER_S, self.write)
            later.name, later.daemon = "perdure-ledger", True
            later.start()

    def write(self) -> None:
        """Write down what was noted; what cannot be written now is written with what comes next."""
        with self._lock:
            noted = dict(self._sums)
            self._sums.clear()
            self._soon.clear()
        for (owner, month, model, purpose), one in noted.items():
            cost = self.policy_of(owner.namespace).cost.of(model, one.tokens, 0)
            spent = Spend(
                month=month, model=model, purpose=purpose, calls=one.calls, tokens_in=one.tokens,
                cost=cost,
            )  # fmt: skip
            try:
                self._write(owner, spent, one.since)
            except Unavailable:
                key = (owner, month, model, purpose)
                with self._lock:
                    self._sums.setdefault(key, _Sum(one.since)).add(
                        one.since, one.calls, one.tokens
                    )
                continue
            meter = self.meter.within(owner.namespace)
            meter.count("model_cost", cost, model=model, purpose=purpose)

    def _write(self, owner: Scope, spent: Spend, since: datetime) -> None:
        """Of a user who was erased since only the sum of all."""
        with self.database.begin(owner) as tx:
            gone = tx.erasures.since(owner, since)
            tx.spend.add(owner.namespace, None if gone else owner.user, spent)
