"""An admin's values for a namespace: the numbers that change while the service runs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from perdure.errors import Misconfigured, Stale, Unavailable
from perdure.policy import Policy
from perdure.ports import Clock, Database, Transaction
from perdure.types import MAX_NAMESPACE, Actor, AuditEntry, Operation, identifier, new_id

_OTHER_NAMES = {"memory.extraction_model": "learn.extraction_model"}
"""Names of the design for what stands elsewhere here."""
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

    def known(self, namespace: str) -> tuple[Policy, bool]:
        """The last known policy of a namespace, or the deployment's, and whether it holds now."""
        known = self._known.get(namespace)
        if known is None:
            return self.policy, False
        return known[1], self.clock() - known[0] < _FRESH

    def policy_of(self, namespace: str) -> Policy:
        """The policy of a namespace; the last known one while the database does not answer."""
        last, fresh = self.known(namespace)
        if fresh:
            return last
        at = self.clock()
        try:
            with self.database.read() as tx:
                values = tx.runtime.get(namespace)
        except Unavailable:
            with self._lock:  # nobody else waits for it for a while
                if namespace in self._known:
                    self._known[namespace] = (self.clock(), last)
            return last
        policy = self.policy
        for name, value in values.items():
            group, _, knob = name.partition(".")
            # What another release took and this one does not is left out, until it is taken back.
            with suppress(Misconfigured):
                policy = policy.turned({group: {knob: value}}, "run time")
        with self._lock:
            self._known[namespace] = (at, policy)
        return policy

    def values(self, namespace: str) -> dict[str, Any]:
        """What an admin has set in a namespace, by dotted name."""
        with self.database.read() as tx:
            return tx.runtime.get(namespace)

    def set(self, namespace: str, name: str, value: object, *, by: str | None = None) -> Policy:
        """Set one value, for example ``gate.floor``; None takes it back.

        Args:
            namespace: where it is to hold.
            name: a knob of the policy, or ``memory.extraction_model``.
            value: as a file or the environment would give it.
            by: who sets it, as the audit keeps it.

        Raises:
            Misconfigured: there is no such value, or it cannot be that.
        """
        return self.change(namespace, {name: value}, by=by)

    def change(
        self,
        namespace: str,
        values: Mapping[str, object],
        *,
        by: str | None = None,
        shown: Mapping[str, object] | None = None,
    ) -> Policy:
        """Set several values as `set` does: all of them or none.

        Args:
            namespace: where they are to hold.
            values: by name.
            by: who sets them, as the audit keeps it.
            shown: what each of them was when its admin looked; None: whatever it was.

        Raises:
            Misconfigured: there is no such value, it cannot be that, or two names mean the same.
            Stale: one was changed since it was shown; the error names it.
        """
        identifier(namespace, "namespace", MAX_NAMESPACE)
        values = _named(values)
        turned = self.policy
        for name, value in values.items():
            group, _, knob = name.partition(".")
            # What is taken back is checked, too: a name that is none is refused, not ignored.
            known = getattr(getattr(self.policy, group, None), knob, None)
            meant = ("none" if known is None else known) if value is None else value
            turned = turned.turned({group: {knob: meant}}, "run time")
        if self.check is not None:
            self.check(turned)
        at = self.clock()

        def write(tx: Transaction) -> None:
            before = tx.runtime.hold(namespace, values)
            for name, value in values.items():
                if shown is not None and before[name] != shown[name]:
                    raise Stale(field=name)
                tx.runtime.put(namespace, name, value)
                tx.audit.add([_entry(namespace, name, before[name], value, by, at)])

        self.database.run(write)
        with self._lock:
            self._known.pop(namespace, None)
        return self.policy_of(namespace)


def _named(values: Mapping[str, object]) -> Mapping[str, object]:
    """The same by the names that they have here.

    Raises:
        Misconfigured: two names mean the same value, so one would win without a word.
    """
    named: dict[str, str] = {}
    for name in values:
        here = _OTHER_NAMES.get(name, name)
        if here in named:
            names = sorted([name, named[here]])
            raise Misconfigured("{names} mean the same; give one of them.", field=here, names=names)
        named[here] = name
    return {here: values[name] for here, name in named.items()}


def _entry(  # noqa: PLR0917 - where, what, from what to what, who, when
    namespace: str, name: str, before: object, after: object, by: str | None, at: datetime
) -> AuditEntry:
    """The audit entry of a value; it is of no user."""
    was, is_ = (None if one is None else json.dumps(one) for one in (before, after))
    return AuditEntry(
        id=new_id(at), item=name, namespace=namespace, user="", operation=Operation.SET,
        actor=Actor.ADMIN, reason="at run time", before=was, after=is_, at=at, by=by,
    )  # fmt: skip
