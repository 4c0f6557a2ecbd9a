"""Takes a consolidation back: the memories that were merged or dropped stand as before."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime

from perdure.control.cleanup import past
from perdure.control.hand import Hand, room
from perdure.errors import NotFound, Rejected
from perdure.policy import Policy
from perdure.ports import Corpus, Transaction
from perdure.types import (
    AuditEntry,
    MemoryItem,
    Operation,
    Scope,
    Source,
    Status,
    Undone,
    VectorStatus,
    just_after,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo(Hand):
    """A person's way back from what a machine tidied up."""

    def take_back(self, scope: Scope, run: str) -> Undone:
        """Bring back what a run merged or dropped, all of it or nothing.

        A merged memory that was changed, refused or deleted since stays as it is, and so does what
        became of it; what was deleted or stored again since is not brought back a second time.

        Args:
            scope: whose memories.
            run: as the consolidation named it.

        Raises:
            NotFound: this user has no such run, or it changed nothing, or it was taken back, or
                too long ago for what left to be still there.
            Rejected: it was too long ago.
            LimitReached: no further active memory fits.
        """
        policy = self.policy_of(scope.namespace)
        owner = Scope(namespace=scope.namespace, user=scope.user)
        at = self.clock()

        def write(tx: Transaction) -> Undone:
            entries = [e for e in tx.audit.every(owner) if e.trace == run and _brings_back(e)]
            if not entries:
                raise NotFound(field="run")
            if min(e.at for e in entries) <= past(at, policy.consolidate.undo_s):
                raise Rejected("It was too long ago.", field="run")
            return self._back(tx, owner, entries, policy, at)

        return self.database.run(write, scope)

    def _back(
        self,
        tx: Transaction,
        owner: Scope,
        entries: list[AuditEntry],
        policy: Policy,
        at: datetime,
    ) -> Undone:
        became: defaultdict[str, list[AuditEntry]] = defaultdict(list)
        for one in entries:
            became[one.item].append(one)
        now = {row.id: row for row in tx.items.get(owner, list(became))}
        coming: list[MemoryItem] = []
        left: list[str] = []
        done: list[str] = []
        for item, merged in became.items():
            row = now.get(item)
            if row is None or not _stands(row, merged[-1]):
                left.append(item)
                continue
            if _made(row, merged[-1]):
                self._take_out(tx, row, at)
                done += [one.id for one in tx.audit.of(owner, item)]
            # What was taken back is nobody's past: whoever deletes the one keeps the other.
            done += [one.id for one in merged]
            coming += [one.was for one in merged if one.was is not None]
        tx.audit.blank(owner, done)
        restored = [self._put_back(tx, row, policy, at) for row in coming if _missing(tx, row)]
        return Undone(restored=tuple(restored), left=tuple(left))

    def _take_out(self, tx: Transaction, row: MemoryItem, at: datetime) -> None:
        """The merged memory goes; that is no wish of its user, so nothing is buried."""
        owner = Scope(namespace=row.namespace, user=row.user)
        tx.items.remove(owner, [row.id])
        if self.index is not None:
            self.index.remove(tx, owner, Corpus.MEMORIES, [row.id])
        moment = just_after(at, row.updated_at)
        tx.audit.add([self._entry(Operation.DELETE, row, None, moment, reason="undone")])

    def _put_back(
        self, tx: Transaction, row: MemoryItem, policy: Policy, at: datetime
    ) -> MemoryItem:
        room(tx, Scope(namespace=row.namespace, user=row.user), policy, at)
        moment = just_after(at, row.updated_at)
        new = replace(
            row, status=Status.ACTIVE, updated_at=moment, vector_status=VectorStatus.PENDING
        )
        note = self._entry(Operation.RESTORE, None, new, moment, reason="undone")
        self._write(tx, new, None, None, note)
        return new


def _brings_back(entry: AuditEntry) -> bool:
    """A run took a row out, which is still kept; what a person deleted is restored by itself."""
    return entry.operation is Operation.MERGE and entry.was is not None


def _stands(row: MemoryItem, merged: AuditEntry) -> bool:
    """It still says what it said when it took the others in, and nobody refused or edited it."""
    whole = row.status is Status.ACTIVE and row.content == merged.after
    return whole and not (_made(row, merged) and row.protected)


def _made(row: MemoryItem, merged: AuditEntry) -> bool:
    """The run itself wrote it."""
    return row.source is Source.CONSOLIDATED and row.origin.trace == merged.trace


def _missing(tx: Transaction, row: MemoryItem) -> bool:
    """Nobody stored the statement again or deleted it meanwhile."""
    owner = Scope(namespace=row.namespace, user=row.user)
    stored = tx.items.by_hash(owner, row.content_hash)
    return stored is None and not tx.items.buried(owner, [row.content_hash])
