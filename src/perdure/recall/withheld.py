"""What the question would have found, were it allowed here: told on explain, never said."""

from __future__ import annotations

from dataclasses import replace

from perdure.ports import Vector
from perdure.recall.gate import barred, gate
from perdure.recall.question import Query
from perdure.recall.rank import Ranked
from perdure.recall.roads import ordered
from perdure.recall.search import Hits, sightings
from perdure.recall.shelf import Shelf
from perdure.recall.sources import Owner, Sources
from perdure.types import Dropped, MemoryItem, Reason, Status


def withheld(
    sources: Sources, query: Query, owner: Owner, vector: Vector | None
) -> tuple[Dropped, ...]:
    """Dismissed memories, and those bound elsewhere, that nothing else keeps from being said.

    Of one that is bound elsewhere only its id and kind are told: whoever asks in one project does
    not read another one's words here, nor where they belong, while its owner finds it by its id.

    Args:
        sources: where to read.
        query: what is asked.
        owner: the user's rows.
        vector: of the question; None finds by words alone.
    """
    walled = [item for item in owner.shelf.bound if item.id not in owner.seen]
    rows = {item.id: item for item in (*sources.dismissed(query.scope, query.as_of), *walled)}
    free = Shelf.of(map(_set_free, rows.values()))
    anew = frozenset(rows) & (owner.anew or frozenset())
    allowed = Owner(owner.preferences, free, free.rows, anew)
    words = sources.words(query, allowed) if query.policy.search.fulltext else {}
    meant = sources.meaning(query, vector, allowed, words)
    knobs = query.policy.search.but(pinned=False)
    arms = sightings(Hits(dense=meant.dense, words=words), free.rows, (), query.at, knobs)
    ranked, _ = ordered(arms, free.rows, query, owner.preferences)
    found = gate(ranked, query.at, query.scope, owner.preferences, query.policy).kept
    return tuple(
        _told(entry, rows[entry.item.id], query, owner) for entry in found[: knobs.explained]
    )


def _told(entry: Ranked, row: MemoryItem, query: Query, owner: Owner) -> Dropped:
    reason = barred(row, query.at, query.scope, owner.preferences, query.policy)
    if reason is Reason.SCOPE:
        return Dropped(item=_wordless(row), reason=reason)
    return replace(entry, item=row).dropped(reason or Reason.DISMISSED)


def _set_free(row: MemoryItem) -> MemoryItem:
    """As it would be if it were active and seen everywhere."""
    everywhere = replace(row, project=None, assistant=None, run=None, conversation=None)
    return replace(everywhere, status=Status.ACTIVE)


def _wordless(row: MemoryItem) -> MemoryItem:
    """The same row without what it says, where it belongs and where it came from."""
    return MemoryItem(
        id=row.id,
        namespace=row.namespace,
        user=row.user,
        content="",
        content_hash="",
        created_at=row.created_at,
        updated_at=row.updated_at,
        kind=row.kind,
        status=row.status,
    )
