"""Tells the way of each memory that was considered: arms, ranks, score, stage, reason. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from perdure.recall.merge import Sighting
from perdure.recall.rank import Ranked
from perdure.types import Considered, Dropped, ItemId, MemoryItem, Place, Reason, Stage


def explained(
    arms: Mapping[str, Sequence[Sighting]],
    ranked: Sequence[Ranked],
    dropped: Mapping[Stage, Iterable[Dropped]],
) -> tuple[Considered, ...]:
    """One entry for each memory, best first.

    Behind stand those that may not be said here whatever their rank, those that another one
    speaks for, and those that no arm found.

    Args:
        arms: what each arm found, its best first.
        ranked: everything that was ranked, best first.
        dropped: what each stage left out.
    """
    places = ranks(arms)
    left_out = {one.item.id: (stage, one) for stage, some in dropped.items() for one in some}

    def told(item: MemoryItem, entry: Ranked | None = None, rank: int = 0) -> Considered:
        stage, why = left_out.get(item.id, (Stage.SAID, None))
        alone = [Place(arm=arm, rank=rank) for arm in entry.arms] if entry else []
        return Considered(
            item=item,
            stage=stage,
            reason=why.reason if why is not None else None,
            score=entry.score if entry is not None else why.score if why is not None else None,
            relevance=entry.relevance if entry is not None else 0.0,
            places=tuple(places.get(item.id, alone)),
        )

    placed = {entry.item.id for entry in ranked}
    unranked = [one.item for some in dropped.values() for one in some if one.item.id not in placed]
    return (
        *(told(entry.item, entry, rank) for rank, entry in enumerate(ranked, start=1)),
        *map(told, unranked),
    )


def unfound(
    arms: Mapping[str, Sequence[Sighting]],
    ranked: Sequence[Ranked],
    seen: Mapping[str, MemoryItem],
    most: int,
) -> list[Dropped]:
    """Memories that could have been said and that no arm found, newest first.

    Args:
        arms: what each arm found.
        ranked: everything that was ranked; a road without arms ranks all there is.
        seen: the active rows that the scope may see, newest first.
        most: so many at most.
    """
    found = {sighting.item.id for some in arms.values() for sighting in some}
    found |= {entry.item.id for entry in ranked}
    left = (item for ref, item in seen.items() if ref not in found)
    return [Dropped(item=item, reason=Reason.NOT_FOUND) for item in islice(left, most)]


def ranks(arms: Mapping[str, Sequence[Sighting]]) -> dict[ItemId, list[Place]]:
    """Where each arm put each memory."""
    found: defaultdict[ItemId, list[Place]] = defaultdict(list)
    for arm, sightings in arms.items():
        for rank, sighting in enumerate(sightings, start=1):
            found[sighting.item.id].append(Place(arm=arm, rank=rank))
    return dict(found)
