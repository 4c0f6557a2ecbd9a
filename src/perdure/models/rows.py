"""What goes into an embedder and what comes out: texts of bearable length, rows of length 1."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perdure import text
from perdure.errors import Misconfigured, ModelUnavailable
from perdure.ports import Vectors


def bearable(said: str, limit: int) -> str:
    """The beginning of a text: at most ``limit`` code points, no character cut in half."""
    said = text.clean(said)
    if len(said) <= limit:
        return said
    head = said[:limit]
    whole = text.cut(head, text.graphemes(head) - 1)  # the last one may be half a character
    return whole or head


def unit(rows: NDArray[Any]) -> Vectors:
    """The rows at length 1, as 32-bit numbers.

    Raises:
        ModelUnavailable: a row has no direction: all zeros, or not numbers.
    """
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ModelUnavailable("The embedding model answers with rows that have no direction.")
    even: Vectors = (rows / lengths).astype(np.float32)
    return even


class Dimension:
    """How many numbers a text has. Learnt from the first rows, then held to."""

    def __init__(self, setting: str, model: str) -> None:
        self._setting = setting
        self._model = model
        self._lock = Lock()
        self.value = 0
        """0 until the first rows came."""

    def hold(self, rows: Vectors) -> Vectors:
        """The same rows.

        Raises:
            Misconfigured: they have another dimension than the rows before.
        """
        found = rows.shape[1]
        with self._lock:
            self.value = self.value or found
        if found != self.value:
            raise Misconfigured(
                f"{self._model} gave {self.value} numbers a text and now gives {found}.",
                field=self._setting,
            )
        return rows
