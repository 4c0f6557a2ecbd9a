"""An admin's values for a namespace, set while the service runs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select

from perdure.store.dialects import Upsert
from perdure.store.schema import runtime_values

_VALUES = select(runtime_values.c.name, runtime_values.c.value).where(
    runtime_values.c.namespace == bindparam("namespace")
)
_SET = Upsert(runtime_values, ("namespace", "name"), lambda new: {"value": new["value"]})
_HOLD = Upsert(runtime_values, ("namespace", "name"), lambda new: {"name": new["name"]})
_UNSET = delete(runtime_values).where(
    runtime_values.c.namespace == bindparam("in_namespace"),
    runtime_values.c.name == bindparam("named"),
)


class SqlRuntime:
    """`ports.RuntimeStore` on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, namespace: str) -> dict[str, Any]:
        """All values of the namespace by dotted name."""
        rows = self._connection.execute(_VALUES, {"namespace": namespace})
        return {name: value for name, value in rows}  # noqa: C416 - rows are no pairs to mypy

    def hold(self, namespace: str, names: Collection[str]) -> dict[str, Any]:
        """What these have now, None where nothing; nobody else changes them meanwhile."""
        _HOLD.write(
            self._connection,
            [{"namespace": namespace, "name": name, "value": None} for name in names],
        )
        found = self.get(namespace)
        return {name: found[name] for name in names}

    def put(self, namespace: str, name: str, value: Any) -> None:
        """Set one; None removes it."""
        if value is None:
            self._connection.execute(_UNSET, {"in_namespace": namespace, "named": name})
        else:
            row = {"namespace": namespace, "name": name, "value": value}
            _SET.write(self._connection, [row])
