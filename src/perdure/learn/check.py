"""Which decisions hold: only what was shown, never against a person's word, nothing twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias

from perdure.learn.buried import says_again
from perdure.learn.shown import Numbering, level_of
from perdure.policy import Policy
from perdure.types import (
    Action,
    Candidate,
    Change,
    Decision,
    MemoryItem,
    Reason,
    Refused,
    Scope,
    Status,
    content_hash,
)

Verdict: TypeAlias = tuple[Change, ...] | Reason
"""The changes that a decision makes, or why it makes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the store knows of the proposed statements, read in the transaction that writes."""

    by_hash: Mapping[str, MemoryItem] = field(default_factory=dict)
    """Rows with the same statement, whatever their status."""
    buried: Mapping[str, datetime] = field(default_factory=dict)
    """When statements were deleted, by hash."""
    buried_messages: Mapping[str, datetime] = field(default_factory=dict)
    """When a memory learnt from a message was deleted, by message."""
    deleted: Mapping[str, datetime] = field(default_factory=dict)
    """What was deleted since the messages were said, as long as its words are there, and when."""
    said: Mapping[str, datetime] = field(default_factory=dict)
    """When the messages were said."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Accepted decisions, ready to be written, and refused ones with their reason."""

    changes: tuple[Change, ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checking:
    """Everything that a decision is checked against."""

    shown: Numbering[MemoryItem]
    known: Known
    home: Scope
    policy: Policy
    at: datetime

    def hash_of(self, candidate: Candidate, target: MemoryItem | None = None) -> str:
        """The hash of a statement in its own place, or in the place of the row it changes."""
        where = target.bound if target is not None else self.home
        return content_hash(
            where, candidate.level, candidate.content, self.policy.item.normalisation
        )


def hashes(decisions: Sequence[Decision], checking: Checking) -> set[str]:
    """The hashes under which the store must be asked before `check`."""
    wanted = set()
    for decision in decisions:
        candidate = _settled(decision.candidate, checking)
        wanted.add(checking.hash_of(candidate))
        wanted.add(checking.hash_of(candidate, checking.shown.find(decision.reference)))
    return wanted


def check(decisions: Sequence[Decision], checking: Checking) -> Checked:
    """Accept only decisions about memories the model was actually shown, each row once.

    What a statement makes untrue is set aside only where the statement itself is stored: a changed
    opinion ends as one memory, not as none.
    """
    changes: list[Change] = []
    refused: list[Refused] = []
    done: set[str] = set()
    lost: dict[Candidate, Reason] = {}
    for decision in decisions:
        candidate = _settled(decision.candidate, checking)
        verdict = _verdict(replace(decision, candidate=candidate), checking)
        if decision.action is Action.DELETE and candidate in lost:
            verdict = lost[candidate]
        elif not isinstance(verdict, Reason):
            touched = {_touches(change, checking) for change in verdict}
            if touched & done:
                verdict = Reason.REPEATED
            done |= touched
        if isinstance(verdict, Reason):
            lost.setdefault(candidate, verdict)
            refused.append(Refused(candidate=candidate, reason=verdict))
        else:
            changes.extend(verdict)
    return Checked(tuple(changes), tuple(refused))


def _touches(change: Change, checking: Checking) -> str:
    """The row or the statement that a change is about."""
    return change.target.id if change.target is not None else checking.hash_of(change.candidate)


def _settled(candidate: Candidate, checking: Checking) -> Candidate:
    """A project statement without a project is the user's; without expiry nothing expires."""
    expires = candidate.expires_at if checking.policy.item.expires else None
    return replace(candidate, level=level_of(candidate, checking.home), expires_at=expires)


def _verdict(decision: Decision, checking: Checking) -> Verdict:
    candidate = decision.candidate
    if candidate.expires_at is not None and candidate.expires_at <= checking.at:
        return Reason.EXPIRED
    if decision.action is Action.ADD:
        return _addition(candidate, checking)
    if decision.action not in _ACTIONS[checking.policy.decide.strategy]:
        return Reason.UNKNOWN_ACTION
    target = checking.shown.find(decision.reference)
    if target is None or target.level is not candidate.level:
        return Reason.KNOWN if decision.action is Action.NONE else Reason.UNKNOWN_REFERENCE
    return _on(target, decision, checking)


_ACTIONS = {
    "exact": frozenset[Action](),
    "one_call": frozenset({Action.TOUCH, Action.UPDATE}),
    "two_call": frozenset({Action.TOUCH, Action.UPDATE, Action.DELETE, Action.NONE}),
}
"""What a strategy may do to a row that was shown."""


def _on(target: MemoryItem, decision: Decision, checking: Checking) -> Verdict:
    """What a decision does to a row that was shown."""
    candidate = decision.candidate
    if decision.action is Action.NONE:
        return Reason.KNOWN if target.protected else _touch(candidate, target)
    if decision.action is Action.TOUCH:
        return _touch(candidate, target)
    if target.protected and not decision.direct:
        return Reason.PROTECTED
    if decision.action is Action.DELETE:
        return _setting_aside(candidate, target)
    if candidate.suspicious:
        return Reason.SUSPICIOUS
    return (_beside if target.protected else _rewriting)(decision, target, checking)


def _touch(candidate: Candidate, target: MemoryItem) -> Verdict:
    return (Change(action=Action.TOUCH, candidate=candidate, target=target),)


def _setting_aside(candidate: Candidate, target: MemoryItem) -> Verdict:
    return (Change(action=Action.DELETE, candidate=candidate, target=target),)


def _addition(candidate: Candidate, checking: Checking) -> Verdict:
    """What a new statement does: the same one may be stored, refused or deleted already."""
    hashed = checking.hash_of(candidate)
    same = checking.known.by_hash.get(hashed)
    if same is not None and same.status is Status.ACTIVE:
        return _touch(candidate, same)
    if same is not None and same.status is Status.DISMISSED:
        return Reason.DISMISSED
    revives = same is not None and same.status is Status.ARCHIVED
    if not revives and _deleted_since(candidate, hashed, checking, same):
        return Reason.DELETED_EARLIER
    return (Change(action=Action.ADD, candidate=candidate, target=same),)


def _beside(decision: Decision, target: MemoryItem, checking: Checking) -> Verdict:
    """A person's own words are never rewritten: they are set aside, and the new ones are stored."""
    candidate = decision.candidate
    new = _addition(candidate, checking)
    if isinstance(new, Reason) or new[0].target == target:
        return new
    return (*new, *_setting_aside(candidate, target))


def _rewriting(decision: Decision, target: MemoryItem, checking: Checking) -> Verdict:
    """What a new wording of a row does; the words may be another row's already.

    Where that row was set aside or deleted, or its time is up, it takes the target's place: a value
    that comes back is one current memory.
    """
    candidate = decision.candidate
    hashed = checking.hash_of(candidate, target)
    same = checking.known.by_hash.get(hashed)
    if same is not None and same.status is Status.DISMISSED:
        return Reason.DISMISSED
    if same is not None and (same.id == target.id or same.current(checking.at)):
        return _touch(candidate, target)
    gone = same is None or same.status is Status.DELETED
    if gone and _deleted_since(candidate, hashed, checking, same):
        return Reason.DELETED_EARLIER
    if same is None:
        return (Change(action=Action.UPDATE, candidate=candidate, target=target),)
    if same.protected and decision.reworded:
        return Reason.PROTECTED  # a person's words come back only where they are said
    action = Action.TOUCH if same.status is Status.ACTIVE else Action.ADD
    back = Change(action=action, candidate=candidate, target=same)
    return (back, *_setting_aside(candidate, target))


def _deleted_since(
    candidate: Candidate, hashed: str, checking: Checking, same: MemoryItem | None
) -> bool:
    """Was this statement, one like it, or one from its messages deleted after it was made?"""
    known = checking.known
    times = [known.said[m] for m in candidate.messages if m in known.said]
    made = max(times or known.said.values(), default=None)
    gone = known.buried.get(hashed)
    if gone is None and same is not None and same.status is Status.DELETED:
        gone = same.updated_at
    buried = [known.buried_messages[m] for m in candidate.messages if m in known.buried_messages]
    times_gone = [*([] if gone is None else [gone]), *buried]
    if times_gone and (made is None or made <= max(times_gone)):
        return True
    return made is not None and says_again(
        candidate.content, made, known.deleted, checking.policy.decide
    )
