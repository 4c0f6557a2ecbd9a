"""What is counted, in one place. Names and labels only; never a text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeAlias

Labels: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Meter:
    """Counts and times of one running Perdure."""

    _counts: Counter[tuple[str, Labels]] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter, for example ``count("model_tokens", 120, purpose="extract")``."""
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] += amount  # type: ignore[assignment]

    def gauge(self, name: str, value: float, **labels: str) -> None:
        """Set what rises and falls, for example ``gauge("outbox_depth", 12)``."""
        with self._lock:
            self._counts[name, tuple(sorted(labels.items()))] = value  # type: ignore[assignment]

    def read(self, name: str, **labels: str) -> float:
        """The sum of a counter over everything that carries these labels."""
        wanted = set(labels.items())
        with self._lock:
            return sum(
                n for (key, has), n in self._counts.items() if key == name and wanted <= set(has)
            )
