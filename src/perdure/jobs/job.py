"""What a job does when it runs, and when it runs again after a failure. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from perdure.ports import Transaction
from perdure.types import Job

Effect: TypeAlias = Callable[[Transaction], Mapping[str, Any]]
"""Writes what a job found out, inside the transaction that finishes the job. Returns the result
that the job keeps: ids, reasons and counts, never a text."""

Handler: TypeAlias = Callable[[Job], Effect]
"""Reads and thinks, with no transaction open while a model is asked; writes nothing by itself."""
