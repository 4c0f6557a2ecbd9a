"""A user's own switches: memory, automatic learning, sensitive statements."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime

from perdure.errors import Rejected
from perdure.policy import Policy
from perdure.ports import Clock, Corpus, Database, Transaction
from perdure.types import (
    Actor,
    AuditEntry,
    Operation,
    Preferences,
    Scope,
    Trace,
    meant,
    new_id,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPreferences:
    """Reads and sets the switches of one user at a time."""

    database: Database
    policy_of: Callable[[str], Policy]
    clock: Clock
    by: str | None = None
    """Who sets them, as the audit keeps it: a key, a user, a command."""
    trace: Trace | None = None
    """Of the request that it serves."""

    def get(self, scope: Scope) -> Preferences:
        """The user's switches; what the user never set has the preset's default."""
        defaults = self.policy_of(meant(scope).namespace).defaults
        with self.database.read() as tx:
            return tx.users.preferences(scope, defaults)

    def set(self, scope: Scope, **switches: bool) -> Preferences:
        """Set some switches and return all of them.

        Raises:
            Rejected: there is no such switch, or its value is not true or false.
        """
        known = {f.name for f in fields(Preferences)}
        for name, value in switches.items():
            if name not in known:
                raise Rejected("Known are {known}.", field=name, known=sorted(known))
            if not isinstance(value, bool):
                raise Rejected("Expected true or false.", field=name)
        defaults = self.policy_of(meant(scope).namespace).defaults

        def write(tx: Transaction) -> Preferences:
            prefer(tx, scope, switches, self.clock(), by=self.by, trace=self.trace)
            return tx.users.preferences(scope, defaults)

        return self.database.run(write, scope)


def prefer(
    tx: Transaction,
    scope: Scope,
    switches: Mapping[str, bool],
    at: datetime,
    *,
    reason: str = "by hand",
    by: str | None = None,
    trace: Trace | None = None,
) -> None:
    """Set switches, with an entry in the audit for each that was not set so."""
    before = set_by(tx, scope)
    tx.users.prefer(scope, **switches)
    tx.users.changed(scope, Corpus.MEMORIES)
    tx.audit.add(
        [
            AuditEntry(
                id=new_id(at), item=name, namespace=scope.namespace, user=scope.user,
                operation=Operation.SET, actor=Actor.USER, reason=reason, at=at, trace=trace, by=by,
                before=json.dumps(before[name]) if name in before else None,
                after=json.dumps(value),
            )
            for name, value in switches.items()
            if before.get(name) is not value
        ]
    )  # fmt: skip


def set_by(tx: Transaction, scope: Scope) -> dict[str, bool]:
    """The switches that the user has set: those that are the same whatever the defaults."""
    names = tuple(Preferences.__dataclass_fields__)
    on, off = (
        tx.users.preferences(scope, Preferences(**dict.fromkeys(names, default)))
        for default in (True, False)
    )
    return {n: getattr(on, n) for n in names if getattr(on, n) == getattr(off, n)}
