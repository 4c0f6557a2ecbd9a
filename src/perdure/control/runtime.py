"""An admin's values for a namespace: the numbers that change while the service runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from perdure.errors import Unavailable
from perdure.policy import Policy
from perdure.ports import Clock, Database

_FRESH = timedelta(seconds=5)  # how long another process's change may go unseen


@dataclass(frozen=True, slots=True)
class Runtime:
    """The policy that holds for a namespace: the deployment's, with the admin's values on top."""

    database: Database
    policy: Policy
    clock: Clock
    check: Callable[[Policy], None] | None = None
    """Refuses numbers that the deployment cannot keep, as Misconfigured."""
    _known: dict[str, tuple[datetime, Policy]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def policy_of(self, namespace: str) -> Policy:
        """The policy of a namespace; the last known one while the database does not answer."""
        at = self.clock()
        known = self._known.get(namespace)
        if known is not None and at - known[0] < _FRESH:
            return known[1]
        try:
            with self.database.read() as tx:
                values = tx.runtime.get(namespace)
        except Unavailable:
            return known[1] if known is not None else self.policy
        knobs: dict[str, dict[str, object]] = {}
        for name, value in values.items():
            group, _, knob = name.partition(".")
            knobs.setdefault(group, {})[knob] = value
        policy = self.policy.turned(knobs, "run time")
        with self._lock:
            self._known[namespace] = (at, policy)
        return policy

    def set(self, namespace: str, name: str, value: object) -> Policy:
        """Set one value, for example ``gate.floor``; None takes it back.

        Raises:
            Misconfigured: there is no such value, or it cannot be that.
        """
        group, _, knob = name.partition(".")
        if value is not None:
            turned = self.policy.turned({group: {knob: value}}, "run time")
            if self.check is not None:
                self.check(turned)
        with self.database.begin() as tx:
            tx.runtime.put(namespace, name, value)
        with self._lock:
            self._known.pop(namespace, None)
        return self.policy_of(namespace)
