"""A user's own switches: memory, automatic learning, sensitive statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from perdure.errors import Rejected
from perdure.policy import Policy
from perdure.ports import Corpus, Database, Transaction
from perdure.types import Preferences, Scope, meant


@dataclass(frozen=True, slots=True, kw_only=True)
class UserPreferences:
    """Reads and sets the switches of one user at a time."""

    database: Database
    policy_of: Callable[[str], Policy]

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
            tx.users.prefer(scope, **switches)
            tx.users.changed(scope, Corpus.MEMORIES)
            return tx.users.preferences(scope, defaults)

        return self.database.run(write, scope)
