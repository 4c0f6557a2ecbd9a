"""What learning cost, by user and by namespace."""

from __future__ import annotations

from dataclasses import dataclass

from perdure.learn.spending import month_of
from perdure.ports import Clock, Database
from perdure.types import Scope, Spend


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Reads what was written down of each month, as 2026-11 in UTC; None: this one."""

    database: Database
    clock: Clock

    def of(self, scope: Scope, month: str | None = None) -> list[Spend]:
        """What learning from a user cost in a month, by model and purpose."""
        with self.database.read() as tx:
            return tx.spend.of(scope, month or month_of(self.clock()))

    def together(self, namespace: str, month: str | None = None) -> list[Spend]:
        """The same of all users of a namespace, erased ones included."""
        with self.database.read() as tx:
            return tx.spend.together(namespace, month or month_of(self.clock()))
