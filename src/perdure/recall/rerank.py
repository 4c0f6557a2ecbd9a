"""A second opinion on the order of what was searched; pinned memories keep their places. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.recall.rank import Ranked


def searched(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The memories whose order a reranker may change."""
    return [entry for entry in ranked if not entry.pinned]


def reordered(ranked: Sequence[Ranked], opinions: Sequence[float]) -> list[Ranked]:
    """The same memories with the searched ones by falling opinion; ties keep their order.

    Args:
        ranked: best first.
        opinions: one number for each of `searched`.
    """
    paired = sorted(
        zip(searched(ranked), opinions, strict=True), key=lambda pair: pair[1], reverse=True
    )
    better = iter([entry for entry, _ in paired])
    return [entry if entry.pinned else next(better) for entry in ranked]
