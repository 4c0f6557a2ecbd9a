"""Tells the way of each memory that was considered: arms, ranks, score, stage, reason. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from perdure.recall.merge import Sighting
from perdure.recall.rank import Ranked
from perdure.types import Considered, Dropped, ItemId, MemoryItem, Place, Stage


def explained(
    arms: Mapping[str, Sequence[Sighting]],
    ranked: Sequence[Ranked],
    dropped: Mapping[Stage, Iterable[Dropped]],
) -> tuple[Considered, ...]:
    """One entry for each memory, best first; rows that another row speaks for stand behind it.

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
            score=entry.score if entry is not None else None,
            relevance=entry.relevance if entry is not None else 0.0,
            places=tuple(places.get(item.id, alone)),
        )

    twins = [one.item for one in dropped.get(Stage.MERGE, ())]
    return (
        *(told(entry.item, entry, rank) for rank, entry in enumerate(ranked, start=1)),
        *map(told, twins),
    )


def ranks(arms: Mapping[str, Sequence[Sighting]]) -> dict[ItemId, list[Place]]:
    """Where each arm put each memory."""
    found: defaultdict[ItemId, list[Place]] = defaultdict(list)
    for arm, sightings in arms.items():
        for rank, sighting in enumerate(sightings, start=1):
            found[sighting.item.id].append(Place(arm=arm, rank=rank))
    return dict(found)
