"""Writes what a consolidation found: one row for several, each change with what undoes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from perdure import text
from perdure.learn.operations import Operations, as_strict, strictest
from perdure.policy import Policy
from perdure.ports import Corpus, Transaction, VectorIndex
from perdure.types import (
    Actor,
    AuditEntry,
    Drop,
    JobType,
    Level,
    MemoryItem,
    Merge,
    Operation,
    Origin,
    Promise,
    Reason,
    Scope,
    Source,
    Spared,
    Status,
    content_hash,
    just_after,
    new_id,
)


@dataclass(slots=True, kw_only=True)
class Merging:
    """The writes of one group, in one transaction."""

    tx: Transaction
    owner: Scope
    level: Level
    place: Scope
    origin: Origin
    """Of what is merged: the run, the model and the prompt."""
    policy: Policy
    index: VectorIndex | None
    embeds: bool
    at: datetime
    by: str | None
    """Who asked for it, as the audit keeps it."""

    def write(self, found: Operations) -> Operations:
        """Write each operation whose memories are still as they were shown."""
        done = Operations(spared=list(found.spared))
        for merge in found.merges:
            written = self._merge(merge)
            if isinstance(written, Merge):
                done.merges.append(written)
            else:
                spared = tuple(source.id for source in merge.sources)
                done.spared.append(Spared(items=spared, reason=written))
        for drop in found.drops:
            gone = self._drop(drop)
            if gone is not None:
                done.drops.append(gone)
            else:
                done.spared.append(Spared(items=(drop.item.id,), reason=Reason.CHANGED_MEANWHILE))
        return done

    def _merge(self, merge: Merge) -> Merge | Reason:
        """One row for several; the reason if a source was changed since it was shown."""
        if not self._as_shown(merge.sources):
            return Reason.CHANGED_MEANWHILE
        hashed = self._hash(merge.content)
        same = self.tx.items.by_hash(self.owner, hashed)
        reason = self._refusal(hashed, same) or _softens(merge, same)
        if reason is not None:
            return reason
        leaving = [source for source in merge.sources if same is None or source.id != same.id]
        new = self._new(merge, hashed) if same is None else self._again(merge, same)
        if not self._lock(leaving):
            return Reason.CHANGED_MEANWHILE
        self._remove(leaving)
        if same is None:
            self.tx.items.add(new)
            self._project(new)
        else:
            self.tx.items.put(new)
        self._note([*leaving], new)
        return replace(merge, into=new.id)

    def _drop(self, drop: Drop) -> Drop | None:
        """Take a memory out that another one covers; None if either was changed since."""
        hashed = self._hash(drop.covered_by)
        cover = self.tx.items.by_hash(self.owner, hashed)
        stands = (
            cover is not None
            and cover.status is Status.ACTIVE
            and cover.id != drop.item.id
            and as_strict(cover.kind, drop.item)
        )
        if cover is None or not stands or not self._as_shown([drop.item]):
            return None
        if not self._lock([drop.item]):
            return None
        self._remove([drop.item])
        self._note([drop.item], cover)
        return replace(drop, into=cover.id)

    # ── what holds now ───────────────────────────────────────────────────────────────────────────

    def _hash(self, content: str) -> str:
        return content_hash(self.place, self.level, content, self.policy.item.normalisation)

    def _as_shown(self, rows: Sequence[MemoryItem]) -> bool:
        """Nobody changed, dismissed or deleted one of them meanwhile."""
        now = {item.id: item for item in self.tx.items.get(self.owner, [row.id for row in rows])}
        return all(
            row.id in now
            and now[row.id].updated_at == row.updated_at
            and now[row.id].status is Status.ACTIVE
            and now[row.id].machine_written
            for row in rows
        )

    def _refusal(self, hashed: str, same: MemoryItem | None) -> Reason | None:
        """A merged statement never brings back what its user refused or deleted."""
        if same is not None and same.status is Status.DISMISSED:
            return Reason.DISMISSED
        deleted = same is not None and same.status is Status.DELETED
        if deleted or self.tx.items.buried(self.owner, [hashed]):
            return Reason.DELETED_EARLIER
        return None

    def _lock(self, rows: Sequence[MemoryItem]) -> bool:
        """Take the rows, all or none: whoever edits one at the same moment wins."""
        taken: list[MemoryItem] = []
        for row in rows:
            locked = replace(row, status=Status.ARCHIVED)
            if not self.tx.items.put(locked, shown=row.updated_at):
                for one in taken:
                    self.tx.items.put(one)
                return False
            taken.append(row)
        return True

    # ── rows ─────────────────────────────────────────────────────────────────────────────────────

    def _remove(self, rows: Sequence[MemoryItem]) -> None:
        ids = [row.id for row in rows]
        self.tx.items.remove(self.owner, ids)
        if self.index is not None:
            self.index.remove(self.tx, self.owner, Corpus.MEMORIES, ids)

    def _new(self, merge: Merge, hashed: str) -> MemoryItem:
        """One row with what its sources agree on, and the strictest of what they do not."""
        rows = merge.sources
        ends = [row.expires_at for row in rows]
        last = [end for end in ends if end is not None]
        return MemoryItem(
            id=new_id(self.at),
            namespace=self.owner.namespace,
            user=self.owner.user,
            content=merge.content,
            content_hash=hashed,
            normalized_content=text.normalise(merge.content, self.policy.item.normalisation),
            level=self.level,
            project=self.place.project,
            assistant=self.place.assistant,
            run=self.place.run,
            conversation=self.place.conversation,
            kind=strictest(rows),
            confidence=max(row.confidence for row in rows),
            importance=max(row.importance for row in rows),
            sensitivity=max(row.sensitivity for row in rows),
            explicit=any(row.explicit for row in rows),
            source=Source.CONSOLIDATED,
            expires_at=max(last) if len(last) == len(ends) else None,
            origin=replace(self.origin, messages=self._messages(rows)),
            metadata=_shared(rows),
            created_at=self.at,
            updated_at=self.at,
        )

    def _again(self, merge: Merge, same: MemoryItem) -> MemoryItem:
        """A row that says the merged statement already is confirmed, and active again."""
        moment = just_after(self.at, same.updated_at)
        new = replace(same, status=Status.ACTIVE, updated_at=moment)
        if same.machine_written:
            rows = (same, *merge.sources)
            new = replace(
                new,
                kind=strictest(rows),
                confidence=max(row.confidence for row in rows),
                importance=max(row.importance for row in rows),
                origin=replace(same.origin, messages=self._messages(rows)),
            )
        return new

    def _messages(self, rows: Sequence[MemoryItem]) -> tuple[str, ...]:
        every = dict.fromkeys(message for row in rows for message in row.origin.messages)
        return tuple(every)[-self.policy.item.origin_messages :]

    def _project(self, new: MemoryItem) -> None:
        """The row's search terms, and the promise of its vector."""
        self.tx.fulltext.index(self.owner, Corpus.MEMORIES, {new.id: text.terms(new.content)})
        if not self.embeds:
            return
        self.tx.jobs.promise(
            Promise(
                type=JobType.EMBED,
                namespace=self.owner.namespace,
                user=self.owner.user,
                key=text.fingerprint("merged", new.id),
                payload={"items": [new.id]},
                trace=self.origin.trace or new.id,
                max_retry=self.policy.jobs.max_retry,
                ordered=False,
            ),
            self.at,
        )

    def _note(self, gone: Sequence[MemoryItem], into: MemoryItem) -> None:
        """The history of both sides.

        The whole of what left stands with what it became: whoever deletes that one deletes both.
        """
        entries = []
        for row in gone:
            entries += [
                self._entry(into.id, row.content, into.content, row),
                self._entry(row.id, row.content, None, None),
            ]
        self.tx.audit.add(entries)

    def _entry(
        self, item: str, before: str, after: str | None, was: MemoryItem | None
    ) -> AuditEntry:
        return AuditEntry(
            id=new_id(self.at),
            item=item,
            namespace=self.owner.namespace,
            user=self.owner.user,
            operation=Operation.MERGE,
            actor=Actor.SYSTEM,
            reason="tidied up",
            before=before,
            after=after,
            at=self.at,
            trace=self.origin.trace,
            was=was,
            by=self.by,
        )


def _softens(merge: Merge, same: MemoryItem | None) -> Reason | None:
    """Why a person's own row that says the same cannot stand for the sources, or None."""
    if same is None or same.machine_written:
        return None
    fits = as_strict(same.kind, replace(same, kind=strictest(merge.sources)))
    return None if fits else Reason.PROTECTED


def _shared(rows: Sequence[MemoryItem]) -> Mapping[str, str]:
    """The metadata on which all agree."""
    first, *others = rows
    return {
        key: value
        for key, value in first.metadata.items()
        if all(row.metadata.get(key) == value for row in others)
    }
