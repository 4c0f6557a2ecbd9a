"""What each candidate does to what is stored: three strategies with one kind of result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from perdure import text
from perdure.errors import ReplyCutOff, ReplyUnusable, TooLarge
from perdure.learn.extract import Ask
from perdure.learn.facts import ACTIONS, string, whole, word
from perdure.learn.near import Near
from perdure.learn.news import told
from perdure.learn.reply import Json, extract_json
from perdure.learn.shown import Numbering
from perdure.policy import LearnPolicy, Policy
from perdure.ports import Question
from perdure.prompts import decide as prompt
from perdure.types import Action, Candidate, Decision, MemoryItem

# ── exact, one_call: the call that proposes a candidate says what it does ────────────────────────


def as_meant(
    candidates: Sequence[Candidate], shown: Numbering[MemoryItem], policy: Policy
) -> tuple[Candidate, ...]:
    """The proposals as they are to be screened.

    Of a merged list what was shown is not news. What is called a touch and says otherwise than its
    memory is an update, or new.
    """
    if policy.decide.strategy == "exact":
        how = policy.item.normalisation
        echoes = {text.normalise(row.content, how) for row in shown.rows}
        return tuple(one for one in candidates if text.normalise(one.content, how) not in echoes)
    return tuple(_as_meant(one, shown.find(one.about)) for one in candidates)


def _as_meant(candidate: Candidate, row: MemoryItem | None) -> Candidate:
    if candidate.proposed is not Action.TOUCH or row is None:
        return candidate
    does = told(candidate, row)
    return replace(candidate, proposed=does, about=None if does is Action.ADD else candidate.about)


def as_proposed(candidate: Candidate) -> Decision:
    """What the call said that it does; without a word of it, it is new."""
    if candidate.proposed in (None, Action.ADD):
        return Decision(action=Action.ADD, candidate=candidate)
    return Decision(
        action=candidate.proposed or Action.ADD, candidate=candidate, reference=candidate.about
    )


# ── two_call: a second question about all candidates that have neighbours ────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What the second call says of one candidate, as it came."""

    action: Action | None
    """None: it says something that is no action."""
    reference: int | None = None
    content: str = ""
    """The whole new text, where it is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What the second call said of each candidate that it was asked about."""

    proposals: tuple[tuple[Candidate, tuple[Proposed, ...]], ...]
    shown: Numbering[MemoryItem] = field(default_factory=Numbering)
    skipped: int = 0
    """Entries of the reply that are about no candidate."""
    asked: bool = True


def compare(
    ask: Ask, near: Sequence[Near], policy: Policy, halvings: int | None = None
) -> Compared:
    """Ask once what all candidates with a neighbour do to their neighbours; else ask nothing.

    A candidate without a neighbour is new. Where the question is longer than the model can take, or
    its reply is cut off, each half of the candidates is asked about; of a single one the nearer
    half of its neighbours is shown.

    Args:
        ask: asks the model.
        near: the candidates with their neighbours.
        policy: limits of the question and of the reply.
        halvings: how often the candidates may still be halved.

    Raises:
        TooLarge: the question is too long, however few the candidates and their neighbours.
        ReplyUnusable: the reply cannot be read; nothing may be stored then.
        ModelUnavailable: as the chat model raises it.
    """
    met = [one for one in near if one.neighbours]
    new = tuple((one.candidate, (_NEW,)) for one in near if not one.neighbours)
    if not met:
        return Compared(proposals=new, asked=False)
    left = policy.learn.halvings if halvings is None else halvings
    middle = len(met) // 2
    try:
        found = _compared(ask, met, policy)
    except (ReplyCutOff, TooLarge):
        halves = (met[:middle], met[middle:]) if middle else _nearer(met[0])
        if not halves or not left:
            raise
        found = _joined([compare(ask, half, policy, left - 1) for half in halves])
    return replace(found, proposals=(*found.proposals, *new))


def _nearer(one: Near) -> tuple[list[Near], ...]:
    """The same candidate with fewer neighbours; nothing where it has one only."""
    most = len(one.neighbours) // 2
    return ([replace(one, neighbours=one.neighbours[:most])],) if most else ()


def _compared(ask: Ask, met: Sequence[Near], policy: Policy) -> Compared:
    """What one call says of these candidates, each of which has a neighbour."""
    shown = Numbering(tuple({row.id: row for one in met for row in one.neighbours}.values()))
    reply = ask(question(met, shown, policy.learn))
    if reply.cut_off:
        raise ReplyCutOff
    said: dict[int, list[Proposed]] = {}
    skipped = 0
    for entry in _entries(extract_json(reply.text)):
        number, proposed = _proposed(entry, len(met))
        if number is None:
            skipped += 1
        else:
            said.setdefault(number, []).append(proposed)
    decided = ((one.candidate, tuple(said.get(n, ()))) for n, one in enumerate(met, start=1))
    return Compared(proposals=tuple(decided), shown=shown, skipped=skipped)


def _joined(parts: Sequence[Compared]) -> Compared:
    """What several calls say, in one numbering. What a call was not shown it may not name."""
    rows = tuple({row.id: row for part in parts for row in part.shown.rows}.values())
    numbers = {row.id: number for number, row in Numbering(rows).numbered().items()}

    def renumbered(proposed: Proposed, part: Compared) -> Proposed:
        if proposed.reference is None:
            return proposed
        row = part.shown.find(proposed.reference)
        return replace(proposed, reference=_UNKNOWN if row is None else numbers[row.id])

    return Compared(
        proposals=tuple(
            (candidate, tuple(renumbered(one, part) for one in proposed))
            for part in parts
            for candidate, proposed in part.proposals
        ),
        shown=Numbering(rows),
        skipped=sum(part.skipped for part in parts),
    )


_UNKNOWN = 0  # no memory ever has this number
_NEW = Proposed(action=Action.ADD)


def question(near: Sequence[Near], shown: Numbering[MemoryItem], policy: LearnPolicy) -> Question:
    """The question about these candidates and all their neighbours together."""
    statements = {number: one.candidate.content for number, one in enumerate(near, start=1)}
    rows = shown.numbered()
    return Question(
        purpose="decide",
        version=prompt.VERSION,
        messages=prompt.messages(
            statements=statements,
            known={number: row.content for number, row in rows.items()},
            by_hand=[number for number, row in rows.items() if row.protected],
            refused=tuple({row.id: row.content for one in near for row in one.dismissed}.values()),
            language=text.language("\n".join(statements.values())),
        ),
        schema=prompt.schema(),
        timeout_s=policy.timeout_s,
        temperature=policy.temperature,
        top_p=policy.top_p,
        max_tokens=policy.max_reply_tokens,
    )


def _entries(parsed: Json) -> list[Json]:
    """The list of decisions in a reply, whatever it is called."""
    if isinstance(parsed, dict):
        lists = [value for value in parsed.values() if isinstance(value, list)]
        parsed = lists[0] if lists else [parsed]
    if not isinstance(parsed, list):
        raise ReplyUnusable
    return parsed


def _proposed(entry: Json, candidates: int) -> tuple[int | None, Proposed]:
    """The number of the candidate that an entry is about, if any, and what it says of it."""
    fields = entry if isinstance(entry, dict) else {}
    number = whole(fields.get("statement", fields.get("candidate")))
    if number is None and candidates == 1:
        number = 1
    known = number is not None and 1 <= number <= candidates
    return number if known else None, Proposed(
        action=ACTIONS.get(word(fields.get("action", fields.get("event")))),
        reference=whole(fields.get("memory", fields.get("existing", fields.get("id")))),
        content=text.clean(string(fields.get("content", fields.get("text")))).strip(),
    )
