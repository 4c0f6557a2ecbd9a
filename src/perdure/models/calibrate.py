"""What the cosines of an embedder mean, learnt on a user's own texts beside one that is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from perdure.errors import Misconfigured, Rejected
from perdure.policy import Group
from perdure.ports import Embedder, Similarity, Vectors

SETTING = "PERDURE_EMBEDDING_SIMILARITY"
_PAIR = re.compile(r"\s*(\w+)\s*=\s*(-?\d+(?:\.\d+)?)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratePolicy(Group):
    """How much is compared."""

    least: int = 20  # fewer memories tell nothing
    most: int = 500  # memories, and as many questions; each is embedded by both


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """One threshold, and how it was found."""

    name: str
    known: float
    """Cosine of the embedder that is known."""
    found: float
    """Cosine of the other one above which as many pairs lie."""
    above: float
    """Share of the pairs above it, 0..1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What the cosines of an embedder mean, and on how much that rests."""

    similarity: Similarity
    thresholds: tuple[Threshold, ...]
    memories: int
    questions: int


def calibrate(
    memories: Sequence[str],
    questions: Sequence[str],
    *,
    known: Embedder,
    other: Embedder,
    policy: CalibratePolicy | None = None,
) -> Calibration:
    """The thresholds of an embedder, carried over from one whose thresholds were measured.

    Both embed the same texts. A threshold of the known one leaves a share of all pairs above it;
    the other one's is the cosine that leaves the same share. ``unrelated`` and ``answer`` go by
    questions and memories, ``topic`` and ``same`` by memories and small rewordings of them.

    Args:
        memories: contents; more than the policy says are not looked at.
        questions: what users say; without enough of them the memories stand in.
        known: an embedder with measured thresholds.
        other: the embedder to learn about.
        policy: how much is compared.

    Raises:
        Rejected: there are too few memories, or their cosines do not tell the thresholds apart.
        Unavailable: the other embedder does not answer.
    """
    policy = policy or CalibratePolicy()
    texts = list(dict.fromkeys(memories))[: policy.most]
    if len(texts) < policy.least:
        raise Rejected(
            "Needs at least {least} memories; there are {count}.",
            least=policy.least,
            count=len(texts),
        )
    asked = list(dict.fromkeys(questions))[: policy.most]
    asked = asked if len(asked) >= policy.least else texts
    pairs = [_Cosines.of(embedder, texts, asked) for embedder in (known, other)]
    measured = known.similarity
    found = [
        _carried(name, cosine, *(getattr(each, pool) for each in pairs))
        for name, pool, cosine in (
            ("unrelated", "asked", measured.unrelated),
            ("answer", "asked", measured.answer),
            ("topic", "told", measured.topic),
            ("same", "told", measured.same),
        )
        if cosine is not None
    ]
    similarity = Similarity(**{one.name: one.found for one in found})
    if _muddled(similarity):
        raise Rejected("The cosines of these memories do not tell the thresholds apart.")
    return Calibration(
        similarity=similarity,
        thresholds=tuple(found),
        memories=len(texts),
        questions=len(asked),
    )


def written(similarity: Similarity) -> str:
    """The thresholds as a setting."""
    values = ((f.name, getattr(similarity, f.name)) for f in fields(similarity))
    return ",".join(f"{name}={value:g}" for name, value in values if value is not None)


def read(said: str) -> Similarity:
    """The thresholds of a setting, as `written` writes them.

    Raises:
        Misconfigured: a name is unknown or missing, or the numbers cannot be thresholds.
    """
    known = {field.name for field in fields(Similarity)}
    parts = [_PAIR.fullmatch(part) for part in said.split(",")]
    given = {part[1]: float(part[2]) for part in parts if part is not None}
    if None in parts or len(given) != len(parts) or not known - {"answer"} <= given.keys() <= known:
        raise Misconfigured(
            "Expected unrelated=…,topic=…,same=… and perhaps answer=…, as `perdure calibrate` "
            "prints them.",
            field=SETTING,
        )
    similarity = Similarity(**given)
    if _muddled(similarity) or not all(-1 <= value <= 1 for value in given.values()):
        raise Misconfigured(
            "Cosines lie in -1..1, unrelated below answer and topic, those below same.",
            field=SETTING,
        )
    return similarity


@dataclass(frozen=True, slots=True)
class _Cosines:
    """Of one embedder, sorted."""

    asked: NDArray[np.float64]
    """Of questions and memories."""
    told: NDArray[np.float64]
    """Of two memories, and of memories and their rewordings."""

    @classmethod
    def of(cls, embedder: Embedder, texts: Sequence[str], asked: Sequence[str]) -> _Cosines:
        rows, questions = embedder.embed(texts, "add"), embedder.embed(asked, "search")
        same = np.array([[question == text for text in texts] for question in asked])
        reworded = _paired(rows, embedder.embed([_reworded(text) for text in texts], "add"))
        two = np.triu_indices(len(texts), k=1)
        return cls(
            asked=_sorted((questions @ rows.T)[~same]),
            told=_sorted(np.concatenate([(rows @ rows.T)[two], reworded])),
        )


def _carried(
    name: str, cosine: float, known: NDArray[np.float64], other: NDArray[np.float64]
) -> Threshold:
    """The cosine that leaves the same share of pairs above it; between two pairs, between them."""
    found = float(np.interp(cosine, [*known, 1.0], [*other, 1.0]))
    above = 1 - np.searchsorted(known, cosine) / len(known)
    return Threshold(name=name, known=cosine, found=round(found, 3), above=float(above))


def _reworded(said: str) -> str:
    """The same statement, hardly changed: its full stop comes or goes."""
    return said[:-1] if said.endswith((".", "。")) else f"{said}."


def _paired(left: Vectors, right: Vectors) -> NDArray[np.float64]:
    return np.asarray((left * right).sum(axis=1), dtype=np.float64)


def _sorted(cosines: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.sort(np.asarray(cosines, dtype=np.float64))


def _muddled(similarity: Similarity) -> bool:
    """The thresholds do not stand in their order."""
    middle = [similarity.topic, *(() if similarity.answer is None else (similarity.answer,))]
    return not all(similarity.unrelated < value < similarity.same for value in middle)
