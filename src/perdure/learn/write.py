"""Writes the changes of one round: rows, history, search terms, and vectors or their promise."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from perdure import text
from perdure.errors import Duplicate
from perdure.learn.groups import Group
from perdure.learn.plan import Plan
from perdure.policy import Policy
from perdure.ports import Corpus, Outside, Transaction, VectorEntry, VectorIndex, Vectors
from perdure.types import (
    USUAL_KIND,
    USUAL_SHARE,
    Action,
    Actor,
    AuditEntry,
    Candidate,
    Change,
    JobType,
    Learnt,
    Level,
    MemoryItem,
    Operation,
    Origin,
    Promise,
    Reason,
    Scope,
    Source,
    Status,
    VectorStatus,
    content_hash,
    just_after,
    moved,
    new_id,
)


@dataclass(slots=True)
class Writing:
    """The writes of one round, one change at a time."""

    tx: Transaction
    plan: Plan
    policy: Policy
    index: VectorIndex | None
    at: datetime
    without_vector: list[str] = field(default_factory=list)
    grown: dict[Group, None] = field(default_factory=dict)
    """The groups that got a new memory, in order."""

    def write(self, change: Change) -> Learnt | Reason:
        """Do one change; the reason if the row is no longer as it was shown.

        Each change has a time of its own, so that lists keep the order of the round.
        """
        self.at += datetime.resolution
        match change.action, change.target:
            case Action.ADD, None:
                return self._add(change.candidate)
            case Action.ADD, MemoryItem() as target:
                return self._revive(target, change.candidate)
            case Action.UPDATE, MemoryItem() as target:
                return self._update(target, change.candidate)
            case Action.TOUCH, MemoryItem() as target:
                return self._touch(target, change.candidate)
            case Action.DELETE, MemoryItem() as target:
                return self._supersede(target)
        return Reason.UNKNOWN_ACTION

    def _add(self, candidate: Candidate) -> Learnt | Reason:
        item = self._new(candidate)
        try:
            self.tx.items.add(item)
        except Duplicate:
            return self._stored_meanwhile(item.content_hash, candidate)
        self.tx.items.unbury(self.plan.home, item.content_hash)
        self.grown[Group.of(item)] = None
        self._project(item)
        self._note(Operation.CREATE, None, item, "learnt from a conversation")
        return Learnt(action=Action.ADD, item=item.id)

    def _stored_meanwhile(self, hashed: str, candidate: Candidate) -> Learnt | Reason:
        """Somebody else wrote the same statement first: it was said again."""
        same = self.tx.items.by_hash(self.plan.home, hashed)
        if same is None or same.status is not Status.ACTIVE:
            return Reason.CHANGED_MEANWHILE
        return self._touch(same, candidate)

    def _revive(self, old: MemoryItem, candidate: Candidate) -> Learnt | Reason:
        """A statement that was set aside or deleted was made again.

        What was set aside is what it was, so a person's words and their vector stay; what was
        deleted begins anew.
        """
        if old.status is Status.ARCHIVED:
            new = replace(self._again(old, candidate), status=Status.ACTIVE)
        else:
            fresh = self._new(candidate)
            new = replace(fresh, id=old.id, created_at=old.created_at, updated_at=self._after(old))
        if not self.tx.items.put(new, shown=old.updated_at):
            return Reason.CHANGED_MEANWHILE
        self.tx.items.unbury(self.plan.home, new.content_hash)
        if old.status is not Status.ARCHIVED:
            self._project(new)
        self._note(Operation.RESTORE, old, new, "said again")
        return Learnt(action=Action.ADD, item=new.id)

    def _update(self, old: MemoryItem, candidate: Candidate) -> Learnt | Reason:
        """A new wording of the same memory; what it does not say stays."""
        fresh = self._new(candidate, old.bound)
        new = replace(
            old,
            content=fresh.content,
            content_hash=fresh.content_hash,
            normalized_content=fresh.normalized_content,
            title=fresh.title or old.title,
            kind=candidate.kind or old.kind,
            confidence=_said(candidate.confidence, old.confidence),
            importance=_said(candidate.importance, old.importance),
            sensitivity=max(old.sensitivity, candidate.sensitivity),
            explicit=old.explicit or candidate.explicit,
            expires_at=candidate.expires_at or (None if old.expired(self.at) else old.expires_at),
            origin=self._origin(old, candidate, fresh.origin),
            updated_at=self._after(old),
            vector_status=fresh.vector_status,
        )
        try:
            if not self.tx.items.put(new, shown=old.updated_at):
                return Reason.CHANGED_MEANWHILE
        except Duplicate:
            return self._touch(old, candidate)
        self.tx.items.unbury(self.plan.home, new.content_hash)
        self._project(new)
        self._note(Operation.UPDATE, old, new, "learnt from a conversation")
        return Learnt(action=Action.UPDATE, item=new.id)

    def _touch(self, old: MemoryItem, candidate: Candidate) -> Learnt | Reason:
        """The same was said again: the row is as good as new, its words unchanged."""
        new = self._again(old, candidate)
        if not self.tx.items.put(new, shown=old.updated_at):
            return Reason.CHANGED_MEANWHILE
        self._note(Operation.TOUCH, old, new, "said again")
        return Learnt(action=Action.TOUCH, item=new.id)

    def _again(self, old: MemoryItem, candidate: Candidate) -> MemoryItem:
        """The row as it is once its statement was made again; it ends at the later of its ends.

        What a person wrote ends when the person said.
        """
        expiry = candidate.expires_at if old.expired(self.at) else old.expires_at
        new = replace(old, updated_at=self._after(old), expires_at=expiry)
        if not old.machine_written:
            return new
        if expiry is not None and candidate.expires_at is not None:
            new = replace(new, expires_at=max(expiry, candidate.expires_at))
        explicit = old.explicit or candidate.explicit
        return replace(new, origin=self._origin(old, candidate, old.origin), explicit=explicit)

    def _supersede(self, old: MemoryItem) -> Learnt | Reason:
        """Archive what is no longer true; it stays in the history and can be restored."""
        new = replace(old, status=Status.ARCHIVED, updated_at=self._after(old))
        if not self.tx.items.put(new, shown=old.updated_at):
            return Reason.CHANGED_MEANWHILE
        self._note(Operation.ARCHIVE, old, new, "superseded by what was said later")
        return Learnt(action=Action.DELETE, item=new.id)

    def set_aside(self, old: MemoryItem) -> None:
        """Archive a row that makes room; it can be restored."""
        new = replace(old, status=Status.ARCHIVED)
        self.tx.items.put(new)
        self._note(Operation.ARCHIVE, old, new, "crowded out")

    # ── what every write needs ───────────────────────────────────────────────────────────────────

    def _new(self, candidate: Candidate, where: Scope | None = None) -> MemoryItem:
        """The candidate as a row."""
        where = where or self.plan.home
        how = self.policy.item.normalisation
        in_project = candidate.level is Level.PROJECT
        return MemoryItem(
            id=new_id(self.at),
            namespace=where.namespace,
            user=where.user,
            content=candidate.content,
            content_hash=content_hash(where, candidate.level, candidate.content, how),
            normalized_content=text.normalise(candidate.content, how),
            title=candidate.title,
            level=candidate.level,
            project=where.project if in_project else None,
            assistant=where.assistant,
            run=where.run,
            conversation=where.conversation,
            kind=candidate.kind or USUAL_KIND,
            confidence=_said(candidate.confidence, USUAL_SHARE),
            importance=_said(candidate.importance, USUAL_SHARE),
            sensitivity=candidate.sensitivity,
            explicit=candidate.explicit,
            suspicious=candidate.suspicious,
            expires_at=candidate.expires_at,
            source=Source.AUTO,
            origin=replace(self.plan.origin, messages=candidate.messages),
            created_at=self.at,
            updated_at=self.at,
            vector_status=(
                VectorStatus.SYNCED
                if self._vectors(candidate.content) is not None
                else VectorStatus.PENDING
            ),
        )

    def _origin(self, old: MemoryItem, candidate: Candidate, latest: Origin) -> Origin:
        """Where it came from, the messages that said it again included."""
        messages = dict.fromkeys((*old.origin.messages, *candidate.messages))
        kept = tuple(messages)[-self.policy.item.origin_messages :]
        return replace(latest, conversation=old.origin.conversation, messages=kept)

    def _after(self, old: MemoryItem) -> datetime:
        """Now, and in any case after the row's last change, so that a change is always seen."""
        return just_after(self.at, old.updated_at)

    def _vectors(self, content: str) -> Vectors | None:
        """What is written in this transaction; an index outside of it is written by a job."""
        here = self.index is not None and not isinstance(self.index, Outside)
        return self.plan.vectors.get(content) if here else None

    def _project(self, item: MemoryItem) -> None:
        """The row's search terms, and its vector or the promise of one."""
        owner = self.plan.owner
        self.tx.fulltext.index(owner, Corpus.MEMORIES, {item.id: text.terms(item.content)})
        if item.updated_at > item.created_at:  # of what it said before, of any model
            self.tx.vectors.remove(owner, Corpus.MEMORIES, [item.id])
        vectors = self._vectors(item.content)
        if self.index is not None and vectors is not None:
            entry = VectorEntry(ref=item.id, vectors=vectors)
            self.index.upsert(self.tx, owner, Corpus.MEMORIES, [entry])
        elif self.plan.embeds:
            self.without_vector.append(item.id)

    def promise_vectors(self) -> None:
        """Rows whose vector could not be made now get it from a job."""
        if not self.without_vector:
            return
        origin = self.plan.origin
        self.tx.jobs.promise(
            Promise(
                type=JobType.EMBED,
                namespace=self.plan.home.namespace,
                user=self.plan.home.user,
                key=text.fingerprint("vectors", origin.job or "", *self.without_vector),
                payload={"items": list(self.without_vector)},
                trace=origin.trace or "",
                conversation=self.plan.conversation,
                max_retry=self.policy.jobs.max_retry,
                ordered=False,
            ),
            self.at,
        )

    def _note(
        self, operation: Operation, old: MemoryItem | None, new: MemoryItem, reason: str
    ) -> None:
        self.tx.audit.add(
            [
                AuditEntry(
                    id=new_id(self.at),
                    item=new.id,
                    namespace=new.namespace,
                    user=new.user,
                    operation=operation,
                    actor=Actor.SYSTEM,
                    reason=reason,
                    before=old.content if old is not None else None,
                    after=new.content,
                    at=self.at,
                    trace=self.plan.origin.trace,
                    moved=moved(old, new),
                )
            ]
        )


def _said(share: float | None, otherwise: float) -> float:
    """The share that somebody named; 0 is one."""
    return otherwise if share is None else share
