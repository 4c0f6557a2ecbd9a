"""What each candidate does to what is stored: the model proposes, code disposes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Generic, TypeVar

from perdure import text
from perdure.policy import DecidePolicy, Policy
from perdure.types import (
    Action,
    Candidate,
    Change,
    Decision,
    Level,
    MemoryItem,
    Reason,
    Refused,
    Scope,
    Status,
    content_hash,
)

Row = TypeVar("Row")

# ── what is shown ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Numbering(Generic[Row]):
    """Small numbers from 1 for the rows of one call. Real ids never reach a model."""

    rows: tuple[Row, ...] = ()

    def numbered(self) -> dict[int, Row]:
        """The rows by number."""
        return dict(enumerate(self.rows, start=1))

    def find(self, number: int | None) -> Row | None:
        """The row of a number; None if it was not shown."""
        if number is None or not 1 <= number <= len(self.rows):
            return None
        return self.rows[number - 1]


def home(scope: Scope, policy: Policy) -> Scope:
    """Where learnt memories live: the valid project, and the bindings the policy keeps."""
    bindings = ("assistant", "run", "conversation")
    kept = {name: getattr(scope, name) for name in bindings if name in policy.learn.bind_to}
    empty: dict[str, str | None] = dict.fromkeys(bindings)
    return scope.within(project=policy.item.project(scope.project), **{**empty, **kept})


def comparison(active: Sequence[MemoryItem], policy: DecidePolicy) -> Numbering[MemoryItem]:
    """The memories that a call is shown, the user's own before the project's.

    Args:
        active: what the scope sees, newest first.
        policy: ``exact`` is shown everything; otherwise only rows that a machine may change.
    """
    machine = policy.strategy != "exact"
    wanted = [item for item in active if item.machine_written or not machine]
    wanted.sort(key=lambda item: item.level is Level.PROJECT)
    shown: list[MemoryItem] = []
    left = policy.shown_tokens
    for item in wanted:
        left -= text.model_tokens(item.content)
        if left < 0:
            break
        shown.append(item)
    return Numbering(tuple(shown))


# ── strategies: candidates and what was shown become decisions ───────────────────────────────────


def decide_exact(
    candidates: Sequence[Candidate], shown: Numbering[MemoryItem], how: text.Normalisation
) -> tuple[Decision, ...]:
    """Every statement is new unless it is stored word for word; what was shown is not news."""
    echoes = {text.normalise(row.content, how) for row in shown.rows}
    return tuple(
        Decision(action=Action.ADD, candidate=candidate)
        for candidate in candidates
        if text.normalise(candidate.content, how) not in echoes
    )


def decide_one_call(candidates: Sequence[Candidate]) -> tuple[Decision, ...]:
    """The call that proposed a candidate said what it does; without a word of it, it is new."""
    return tuple(
        Decision(action=Action.ADD, candidate=candidate)
        if candidate.proposed in (None, Action.ADD)
        else Decision(
            action=candidate.proposed or Action.ADD,
            candidate=candidate,
            reference=candidate.about,
        )
        for candidate in candidates
    )


# ── check: only what was shown, never against a person's word ────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the store knows of the proposed statements, read in the transaction that writes."""

    by_hash: Mapping[str, MemoryItem] = field(default_factory=dict)
    """Rows with the same statement, whatever their status."""
    buried: Mapping[str, datetime] = field(default_factory=dict)
    """When statements were deleted, by hash."""
    buried_messages: Mapping[str, datetime] = field(default_factory=dict)
    """When a memory learnt from a message was deleted, by message."""
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
    """Accept only decisions about memories the model was actually shown, each row once."""
    changes: list[Change] = []
    refused: list[Refused] = []
    done: set[str] = set()
    for decision in decisions:
        candidate = _settled(decision.candidate, checking)
        verdict = _verdict(replace(decision, candidate=candidate), checking)
        if isinstance(verdict, Change):
            target = verdict.target
            touched = target.id if target is not None else checking.hash_of(candidate)
            if touched in done:
                verdict = Reason.REPEATED
            done.add(touched)
        if isinstance(verdict, Change):
            changes.append(verdict)
        else:
            refused.append(Refused(candidate=candidate, reason=verdict))
    return Checked(tuple(changes), tuple(refused))


def _settled(candidate: Candidate, checking: Checking) -> Candidate:
    """A project statement without a project is the user's; without expiry nothing expires."""
    if candidate.level is Level.PROJECT and checking.home.project is None:
        candidate = replace(candidate, level=Level.USER)
    if candidate.expires_at is not None and not checking.policy.item.expires:
        candidate = replace(candidate, expires_at=None)
    return candidate


def _verdict(decision: Decision, checking: Checking) -> Change | Reason:
    """The change that a decision makes, or the reason why it makes none."""
    candidate = decision.candidate
    if candidate.expires_at is not None and candidate.expires_at <= checking.at:
        return Reason.EXPIRED
    if decision.action is Action.ADD:
        return _addition(candidate, checking)
    if decision.action not in (Action.TOUCH, Action.UPDATE):
        return Reason.UNKNOWN_ACTION
    target = checking.shown.find(decision.reference)
    if target is None or target.level is not candidate.level:
        return Reason.UNKNOWN_REFERENCE
    if decision.action is Action.TOUCH:
        return Change(action=Action.TOUCH, candidate=candidate, target=target)
    return _rewriting(candidate, target, checking)


def _addition(candidate: Candidate, checking: Checking) -> Change | Reason:
    """What a new statement does: the same one may be stored, refused or deleted already."""
    hashed = checking.hash_of(candidate)
    same = checking.known.by_hash.get(hashed)
    match same.status if same is not None else None:
        case Status.ACTIVE:
            return Change(action=Action.TOUCH, candidate=candidate, target=same)
        case Status.DISMISSED:
            return Reason.DISMISSED
        case Status.ARCHIVED:
            return Change(action=Action.ADD, candidate=candidate, target=same)
    if _deleted_since(candidate, hashed, checking.known, same):
        return Reason.DELETED_EARLIER
    return Change(action=Action.ADD, candidate=candidate, target=same)


def _rewriting(candidate: Candidate, target: MemoryItem, checking: Checking) -> Change | Reason:
    """What a new wording of a row does; the words may be another row's already."""
    if target.protected:
        return Reason.PROTECTED
    if candidate.suspicious:
        return Reason.SUSPICIOUS
    hashed = checking.hash_of(candidate, target)
    same = checking.known.by_hash.get(hashed)
    if same is not None and same.status is Status.DISMISSED:
        return Reason.DISMISSED
    if same is not None and same.status is not Status.DELETED:
        return Change(action=Action.TOUCH, candidate=candidate, target=target)
    if _deleted_since(candidate, hashed, checking.known, same):
        return Reason.DELETED_EARLIER
    action = Action.UPDATE if same is None else Action.TOUCH
    return Change(action=action, candidate=candidate, target=target)


def _deleted_since(
    candidate: Candidate, hashed: str, known: Known, same: MemoryItem | None
) -> bool:
    """Was this statement, or one from the same messages, deleted after it was made?"""
    times = [known.said[m] for m in candidate.messages if m in known.said]
    made = max(times or known.said.values(), default=None)
    gone = known.buried.get(hashed)
    if gone is None and same is not None and same.status is Status.DELETED:
        gone = same.updated_at
    if gone is not None and (made is None or made <= gone):
        return True
    return bool(candidate.messages) and all(
        m in known.buried_messages
        and known.said.get(m, known.buried_messages[m]) <= known.buried_messages[m]
        for m in candidate.messages
    )
