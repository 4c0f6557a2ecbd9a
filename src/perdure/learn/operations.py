"""Which operations on a group of memories hold: nothing invented, nothing lost, not too many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from perdure import text
from perdure.errors import ReplyUnusable
from perdure.learn import polarity, secret
from perdure.learn.details import beyond, details, forgets
from perdure.learn.facts import string, whole, word
from perdure.learn.reply import Json
from perdure.learn.screen import poses_as_order
from perdure.learn.shown import Numbering
from perdure.policy import ConsolidatePolicy
from perdure.types import Drop, Kind, MemoryItem, Merge, Reason, Spared

_COVERS = 0.5  # share of a dropped memory's words that the covering one has


@dataclass(slots=True)
class Operations:
    """What holds, and what is left alone with its reason."""

    merges: list[Merge] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    spared: list[Spared] = field(default_factory=list)

    @property
    def removals(self) -> int:
        """How many memories leave."""
        return sum(len(merge.sources) for merge in self.merges) + len(self.drops)

    def beside(self, other: Operations) -> Operations:
        """These and those: of two parts of one group."""
        return Operations(
            merges=[*self.merges, *other.merges],
            drops=[*self.drops, *other.drops],
            spared=[*self.spared, *other.spared],
        )


def operations(parsed: Json, shown: Numbering[MemoryItem], policy: ConsolidatePolicy) -> Operations:
    """The operations of a reply that hold; what it does not name is kept.

    Args:
        parsed: as `extract_json` found it.
        shown: the group's memories by the numbers of that one call.
        policy: how long a merged statement may be, and how many memories may leave.

    Raises:
        ReplyUnusable: it holds no list of operations.
    """
    held = Operations()
    named: set[int | None] = set()
    dropped: list[MemoryItem] = []
    for entry in _entries(parsed):
        numbers = _numbers(entry)
        rows = [row for number in numbers if (row := shown.find(number)) is not None]
        op = word(entry.get("op", entry.get("action")))
        reason = _unclear(op, numbers, rows, named)
        named.update(numbers)
        if reason is None and op == "merge":
            merge = Merge(
                sources=tuple(rows), content=text.clean(string(entry.get("content"))).strip()
            )
            reason = _objection(merge, held, policy)
            if reason is None:
                held.merges.append(merge)
        elif reason is None and op == "drop":
            dropped += rows
        if reason is not None:
            held.spared.append(Spared(items=tuple(row.id for row in rows), reason=reason))
    _drop(dropped, held, shown, policy)
    return held


def _unclear(
    op: str, numbers: Sequence[int | None], rows: Sequence[MemoryItem], named: set[int | None]
) -> Reason | None:
    """Why an operation cannot be meant, or None."""
    if op not in ("merge", "keep", "drop") or (op == "merge" and len(numbers) < 2):  # noqa: PLR2004 - one is no merge
        return Reason.UNKNOWN_ACTION
    if len(rows) < len(numbers) or not rows:
        return Reason.UNKNOWN_REFERENCE
    repeated = len(set(numbers)) < len(numbers) or named.intersection(numbers)
    return Reason.REPEATED if repeated else None


def _objection(merge: Merge, held: Operations, policy: ConsolidatePolicy) -> Reason | None:
    """Why these memories must not become that one, or None."""
    said = [source.content for source in merge.sources]
    wording = _wording(merge.content, policy)
    if wording is not None:
        return wording
    new = beyond(merge.content, said)
    if new.names or new.numbers or new.weight > policy.new_words:
        return Reason.UNSUPPORTED
    if any(forgets(one, merge.content) or _turns(one, merge.content) for one in said):
        return Reason.LOSES_DETAILS
    too_many = held.removals + len(merge.sources) > policy.max_removals
    return Reason.TOO_MANY_ITEMS if too_many else None


def _wording(content: str, policy: ConsolidatePolicy) -> Reason | None:
    """Why no memory may be worded so, or None."""
    if not content:
        return Reason.EMPTY
    if text.graphemes(text.normalise(content, "space")) > policy.content_chars:
        return Reason.TOO_LONG
    if secret.has_secret(content):
        return Reason.SECRET
    return Reason.SUSPICIOUS if poses_as_order(content) else None


def _drop(
    dropped: Sequence[MemoryItem],
    held: Operations,
    shown: Numbering[MemoryItem],
    policy: ConsolidatePolicy,
) -> None:
    """Drop what another memory says that stays, or that is merged just now."""
    leaving = {row.id for row in dropped} | {s.id for m in held.merges for s in m.sources}
    staying = [(row.content, row.kind) for row in shown.rows if row.id not in leaving]
    staying += [(merge.content, strictest(merge.sources)) for merge in held.merges]
    for row in dropped:
        covers = (
            said for said, kind in staying if as_strict(kind, row) and _covers(said, row.content)
        )
        cover = next(covers, None)
        if cover is None:
            held.spared.append(Spared(items=(row.id,), reason=Reason.LOSES_DETAILS))
        elif held.removals >= policy.max_removals:
            held.spared.append(Spared(items=(row.id,), reason=Reason.TOO_MANY_ITEMS))
        else:
            held.drops.append(Drop(item=row, covered_by=cover))


_BY_STRICTNESS = (Kind.CONSTRAINT, Kind.PREFERENCE, Kind.FACT, Kind.TODO_HINT)


def strictest(rows: Sequence[MemoryItem]) -> Kind:
    """What a memory that stands for all of these is: a rule that became a fact would not hold."""
    return min((row.kind for row in rows), key=_BY_STRICTNESS.index)


def as_strict(kind: Kind, row: MemoryItem) -> bool:
    """May a memory of this kind stand for that one?"""
    return _BY_STRICTNESS.index(kind) <= _BY_STRICTNESS.index(row.kind)


def _covers(cover: str, dropped: str) -> bool:
    """Does the one say what the other says?"""
    all_words, missing = details(dropped).words, beyond(dropped, [cover]).words
    return (
        not forgets(dropped, cover)
        and not _turns(dropped, cover)
        and len(missing) <= (1 - _COVERS) * len(all_words)
    )


def _turns(old: str, new: str) -> bool:
    """Does the new wording mean the opposite?"""
    return polarity.opposed(old, new) or polarity.flips(new, old)


def _entries(parsed: Json) -> Iterable[dict[str, Json]]:
    if isinstance(parsed, dict):
        lists = [value for value in parsed.values() if isinstance(value, list)]
        parsed = lists[0] if lists else None
    if not isinstance(parsed, list):
        raise ReplyUnusable
    return [entry if isinstance(entry, dict) else {} for entry in parsed]


def _numbers(entry: dict[str, Json]) -> list[int | None]:
    given = entry.get("memories", entry.get("ids", entry.get("sourceIds")))
    return [whole(number) for number in (given if isinstance(given, list) else [given])]
