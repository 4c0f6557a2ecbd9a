"""Sets right what a model decided: it may neither forget details nor turn a meaning round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from perdure.learn import polarity, voice
from perdure.learn.decide import Compared, Proposed, as_proposed
from perdure.learn.details import beyond, loses
from perdure.learn.news import told
from perdure.learn.screen import reworded
from perdure.learn.shown import Numbering, level_of
from perdure.policy import Policy
from perdure.types import (
    Action,
    Candidate,
    Decision,
    Kind,
    MemoryItem,
    Preferences,
    Reason,
    Refused,
    Scope,
)

_ANSWERS = frozenset({Action.ADD, Action.UPDATE, Action.NONE})


@dataclass(frozen=True, slots=True)
class Words:
    """What the turn said, and what its user lets be stored, as decisions are weighed by it."""

    said: tuple[str, ...]
    """The user's words."""
    around: tuple[str, ...]
    """Every line that explains them."""
    heard: tuple[voice.Clause, ...]
    preferences: Preferences = field(default_factory=Preferences)
    """The user's switches."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """What may be checked, and candidates of which the reply said nothing that can be done."""

    decisions: tuple[Decision, ...]
    refused: tuple[Refused, ...]


def weigh(compared: Compared, words: Words, policy: Policy) -> Weighed:
    """The decisions as they may be checked: for each candidate what stores it, then what it ends.

    A DELETE that stores nothing becomes an UPDATE: a changed opinion is stored, not erased. An
    UPDATE that would lose details leaves the memory alone, and the statement is stored beside it.
    A candidate without an action is dropped, never simply added.
    """
    decisions: list[Decision] = []
    refused: list[Refused] = []
    for candidate, proposals in compared.proposals:
        made = _decisions(candidate, proposals, compared.shown, words, policy)
        decisions += made
        if not made:
            refused.append(Refused(candidate=candidate, reason=Reason.UNKNOWN_ACTION))
    return Weighed(tuple(decisions), tuple(refused))


def weigh_proposed(
    candidates: Sequence[Candidate],
    shown: Numbering[MemoryItem],
    words: Words,
    home: Scope,
    policy: Policy,
) -> Weighed:
    """The same where the call that proposed the candidates said what they do.

    A touch of what the user has just denied confirms nothing.
    """
    decisions: list[Decision] = []
    refused: list[Refused] = []
    for candidate in candidates:
        decision = as_proposed(candidate)
        row = shown.find(decision.reference)
        if row is None or row.level is not level_of(candidate, home):
            decisions.append(decision)
        elif decision.action is Action.UPDATE:
            decisions.append(_update(decision, candidate, row, words, policy))
        elif decision.action is Action.TOUCH and voice.denied(row.content, words.heard):
            refused.append(Refused(candidate=candidate, reason=Reason.UNSUPPORTED))
        else:
            decisions.append(decision)
    return Weighed(tuple(decisions), tuple(refused))


def _decisions(
    candidate: Candidate,
    proposals: Sequence[Proposed],
    shown: Numbering[MemoryItem],
    words: Words,
    policy: Policy,
) -> list[Decision]:
    ends = [one for one in proposals if one.action is Action.DELETE]
    answers = [one for one in proposals if one.action in _ANSWERS]
    if not answers and ends:
        answers = [replace(ends.pop(0), action=Action.UPDATE, content="")]
    if not answers:
        return []
    stored = _stored(candidate, answers[0], shown, words, policy)
    direct = voice.direct(candidate, words.heard, policy.decide.direct_share)
    return [
        replace(stored, direct=direct),
        *(
            Decision(
                action=Action.DELETE,
                candidate=stored.candidate,
                reference=one.reference,
                direct=direct,
            )
            for one in ends
        ),
    ]


def _stored(
    candidate: Candidate,
    proposed: Proposed,
    shown: Numbering[MemoryItem],
    words: Words,
    policy: Policy,
) -> Decision:
    """What stores the candidate: a new memory, a new wording of one, or nothing that is new."""
    row = shown.find(proposed.reference)
    if proposed.action is Action.ADD:
        return Decision(action=Action.ADD, candidate=candidate)
    plain = Decision(
        action=proposed.action or Action.NONE, candidate=candidate, reference=proposed.reference
    )
    if row is None:
        return plain
    if proposed.action is Action.NONE:
        means = told(candidate, row)
        if means is Action.TOUCH:
            return plain
        if means is Action.ADD:
            return Decision(action=Action.ADD, candidate=candidate)
        return _update(replace(plain, action=Action.UPDATE), candidate, row, words, policy)
    new = _rewording(candidate, proposed.content, row, words, policy)
    return _update(plain, new, row, words, policy)


def _update(
    plain: Decision, new: Candidate, row: MemoryItem, words: Words, policy: Policy
) -> Decision:
    """The new wording of a row; where that would forget too much, the statement beside it."""
    candidate = plain.candidate
    if loses(row.content, new.content, words.said, policy.decide.detail_slack):
        known = not beyond(candidate.content, [row.content])
        again = known and not polarity.flips(candidate.content, row.content)
        return replace(plain, action=Action.TOUCH if again else Action.ADD)
    worded = _weighty(new, row)
    return replace(plain, candidate=worded, reworded=new.content != candidate.content)


def _weighty(candidate: Candidate, row: MemoryItem) -> Candidate:
    """The new wording; where it still says all that the row said it weighs no less than the row.

    Who proposed the candidate was not told what the row is. A rule stays one when it is completed.
    """
    if beyond(row.content, [candidate.content]) or polarity.flips(candidate.content, row.content):
        return candidate
    kinds = candidate.kind, row.kind
    return replace(
        candidate,
        kind=next((kind for kind in _STRICT if kind in kinds), candidate.kind),
        confidence=_higher(candidate.confidence, row.confidence),
        importance=_higher(candidate.importance, row.importance),
    )


_STRICT = (Kind.CONSTRAINT, Kind.PREFERENCE)
"""What is pinned into every answer."""


def _higher(share: float | None, known: float) -> float:
    return known if share is None else max(share, known)


def _rewording(
    candidate: Candidate, content: str, row: MemoryItem, words: Words, policy: Policy
) -> Candidate:
    """The candidate in the whole new text that was proposed; in its own where that may not be."""
    if not content or polarity.opposed(content, candidate.content):
        return candidate
    sources = (row.content, candidate.content, *words.said, *words.around)
    new = reworded(candidate, content, sources, words.preferences, policy)
    return new or candidate
