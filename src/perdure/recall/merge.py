"""One entry per statement, whatever the number of arms and rows that hold it. Pure. Spec 4.4."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from perdure.types import ItemId, MemoryItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A memory as one arm found it."""

    item: MemoryItem
    relevance: float = 0.0
    """To the question, 0..1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A statement, the arms that found it, and the other rows that say the same."""

    item: MemoryItem
    relevance: float
    arms: tuple[str, ...]
    twins: tuple[MemoryItem, ...] = ()


def merge(arms: Mapping[str, Sequence[Sighting]], barred: Collection[ItemId] = ()) -> list[Merged]:
    """By id (later wins), by content hash (more important wins), by what would be said.

    Args:
        arms: what each arm found.
        barred: ids of rows that may not be said. Such a row speaks for none that may, however
            important it is.
    """
    return by_text(by_hash(by_id(arms), barred), barred)


def by_id(arms: Mapping[str, Sequence[Sighting]]) -> list[Merged]:
    """One entry a row: as the later arm saw it, as relevant as any arm says."""
    seen: dict[str, Merged] = {}
    for arm, sightings in arms.items():
        for sighting in sightings:
            item = sighting.item
            before = seen.get(item.id)
            if before is None:
                seen[item.id] = Merged(item=item, relevance=sighting.relevance, arms=(arm,))
            else:
                seen[item.id] = Merged(
                    item=item,
                    relevance=max(before.relevance, sighting.relevance),
                    arms=before.arms if arm in before.arms else (*before.arms, arm),
                )
    return list(seen.values())


def by_hash(merged: Iterable[Merged], barred: Collection[ItemId] = ()) -> list[Merged]:
    """One entry a content hash; rows without a hash are left alone."""
    return _one_each(merged, lambda entry: entry.item.content_hash or None, barred)


def by_text(merged: Iterable[Merged], barred: Collection[ItemId] = ()) -> list[Merged]:
    """One entry a rendered text: kind and content."""
    return _one_each(merged, lambda entry: (entry.item.kind, entry.item.content), barred)


def _one_each(
    merged: Iterable[Merged], key: Callable[[Merged], Hashable], barred: Collection[ItemId]
) -> list[Merged]:
    """One entry a key, in the order of first appearance; entries without a key stay as they are.

    Rows that may be said and rows that may not never meet.
    """
    seen: dict[Hashable, Merged] = {}
    for entry in merged:
        mark = key(entry)
        mark = ("", entry.item.id) if mark is None else (entry.item.id in barred, mark)
        seen[mark] = _joined(seen[mark], entry) if mark in seen else entry
    return list(seen.values())


def _joined(one: Merged, other: Merged) -> Merged:
    """Both as one: the more important row speaks, else the newer one."""
    winner, loser = one, other
    if (other.item.importance, other.item.id) > (one.item.importance, one.item.id):
        winner, loser = other, one
    return replace(
        winner,
        relevance=max(one.relevance, other.relevance),
        arms=one.arms + tuple(arm for arm in other.arms if arm not in one.arms),
        twins=(*one.twins, *other.twins, loser.item),
    )
