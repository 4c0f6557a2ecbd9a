"""What models cost, by user and month; under the user "" stands all of a namespace together."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, select

from perdure.store.dialect import Incoming
from perdure.store.dialects import Upsert
from perdure.store.schema import spend
from perdure.types import Scope, Spend

_TOGETHER = ""
_SUMS = ("calls", "tokens_in", "tokens_out", "cost")


def _added(new: Incoming) -> dict[str, ColumnElement[Any]]:
    return {name: spend.c[name] + new[name] for name in _SUMS}


_ADD = Upsert(spend, ("namespace", "user_id", "month", "model", "purpose"), _added)
_OF = (
    select(spend)
    .where(
        spend.c.namespace == bindparam("in_namespace"),
        spend.c.user_id == bindparam("spent_by"),
        spend.c.month == bindparam("in_month"),
    )
    .order_by(spend.c.model, spend.c.purpose)
)


class SqlSpend:
    """`ports.SpendStore` on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, namespace: str, user: str | None, spent: Spend) -> None:
        """Add to the month of the namespace, and of the user where one is named."""
        row = {
            "namespace": namespace,
            "month": spent.month,
            "model": spent.model,
            "purpose": spent.purpose,
            **{name: getattr(spent, name) for name in _SUMS},
        }
        who = [_TOGETHER] if user is None else [_TOGETHER, user]
        _ADD.write(self._connection, [{**row, "user_id": one} for one in who])

    def of(self, scope: Scope, month: str) -> list[Spend]:
        """What one user spent in a month, by model and purpose."""
        return self._read(scope.namespace, scope.user, month)

    def together(self, namespace: str, month: str) -> list[Spend]:
        """What all of a namespace spent in a month, erased users included."""
        return self._read(namespace, _TOGETHER, month)

    def _read(self, namespace: str, who: str, month: str) -> list[Spend]:
        wanted = {"in_namespace": namespace, "spent_by": who, "in_month": month}
        return [
            Spend(
                month=row.month,
                model=row.model,
                purpose=row.purpose,
                **{name: getattr(row, name) for name in _SUMS},
            )
            for row in self._connection.execute(_OF, wanted)
        ]
