"""Reads what a turn said and what is known already, before anything is thought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from perdure.errors import Rejected, Unavailable
from perdure.learn.extract import heard, shortened
from perdure.learn.shown import Numbering, comparison, within
from perdure.policy import Policy
from perdure.ports import Corpus, ItemFilter, Transaction, VectorIndex
from perdure.types import (
    Job,
    MemoryItem,
    Preferences,
    Reason,
    Role,
    Scope,
    Status,
    Utterance,
)

_DISMISSED = ItemFilter(statuses=frozenset({Status.DISMISSED}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Everything that is read before anything is thought."""

    scope: Scope
    said: tuple[Utterance, ...]
    """The lines to learn from, oldest first, at the times of the speaker's clock; of an endless one
    its beginning."""
    truncated: int
    """How many of them are but a beginning."""
    context: tuple[Utterance, ...]
    preferences: Preferences
    at: datetime
    """When it was read."""
    active: tuple[MemoryItem, ...] = ()
    """What the scope sees and is not over, newest first; nothing quarantined."""
    shown: Numbering[MemoryItem] = field(default_factory=Numbering)
    """What of it a model is shown."""
    dismissed: tuple[str, ...] = ()
    """What the user does not want remembered."""

    @property
    def conversation(self) -> str:
        """Where it was said."""
        return self.said[0].conversation

    @property
    def by_user(self) -> str:
        """The user's words of the lines to learn from."""
        return "\n".join(line.content for line in self.said if line.role is Role.USER)


def read_turn(tx: Transaction, job: Job, policy: Policy, at: datetime) -> Reading | Reason:
    """The lines to learn from and those before them; or the reason to leave them alone.

    Args:
        tx: only read.
        job: the promise to learn from them.
        policy: which lines are learnt from.
        at: now.

    Raises:
        Rejected: the payload is none of ours.
    """
    conversation = _field(job, "conversation_id")
    source = _field(job, "source_message_id")
    state = tx.messages.conversation(job.scope, conversation)
    if state is None:
        return Reason.NOTHING_SAID
    if policy.learn.takes == "since_watermark":
        said = tx.messages.since(job.scope, conversation, state.watermark)
    else:
        said = tx.messages.turn(job.scope, conversation, job.trace)
        if all(line.id != source for line in said):  # the reply came behind what it replies to
            said = [*tx.messages.by_id(job.scope, conversation, [source]), *said]
    said = _taken(said, policy)
    lack = _lack(said, policy)
    if lack is not None:
        return lack
    scope = Scope(
        namespace=job.namespace,
        user=job.user,
        project=policy.item.project(state.project),
        assistant=job.payload.get("assistant_id"),
        run=job.payload.get("run_id"),
        conversation=conversation,
    )
    bounded = _bounded(said, policy)
    return Reading(
        scope=scope,
        said=_local(bounded, job),
        truncated=sum(one != line for one, line in zip(bounded, said, strict=True)),
        context=_local(_bounded(_context(tx, scope, said[0], policy), policy), job),
        preferences=tx.users.preferences(scope, policy.defaults),
        at=at,
    )


def read_known(
    tx: Transaction, reading: Reading, index: VectorIndex | None, policy: Policy, *, compares: bool
) -> Reading:
    """The same with what is known already.

    Args:
        tx: only read.
        reading: what was said.
        index: where texts are found by meaning; None if nowhere.
        policy: what a call is shown.
        compares: the call that extracts compares, too, and will be shown some of it.
    """
    active = tuple(
        row
        for row in tx.items.active(reading.scope)
        if not (row.suspicious or row.expired(reading.at))
    )
    if not compares:
        return replace(reading, active=active)
    many = len(active) > policy.decide.shown_nearest
    nearest = _nearest(tx, reading, index, policy) if index is not None and many else ()
    return replace(
        reading,
        active=active,
        shown=comparison(active, policy.decide, nearest),
        dismissed=_dismissed(tx, reading.scope, policy),
    )


def _nearest(
    tx: Transaction, reading: Reading, index: VectorIndex, policy: Policy
) -> tuple[str, ...]:
    """Ids of the memories nearest to what the user said, by the vectors that it has already."""
    owner = Scope(namespace=reading.scope.namespace, user=reading.scope.user)
    said = [str(line.seq) for line in reading.said if line.role is Role.USER]
    best: dict[str, float] = {}
    try:
        for parts in index.get(tx, owner, Corpus.EPISODES, said).values():
            for vector in parts:
                hits = index.search(tx, owner, Corpus.MEMORIES, vector, policy.decide.searched)
                for hit in hits:
                    best[hit.ref] = max(hit.similarity, best.get(hit.ref, 0.0))
    except Unavailable:
        return ()
    return tuple(sorted(best, key=lambda ref: (-best[ref], ref)))


def _bounded(said: Sequence[Utterance], policy: Policy) -> tuple[Utterance, ...]:
    """The lines with the beginning of what is endless."""
    limit = policy.learn.message_chars
    return tuple(replace(line, content=shortened(line.content, limit)) for line in said)


def _local(said: Sequence[Utterance], job: Job) -> tuple[Utterance, ...]:
    """The lines at the times of the speaker's clock, by the offset that stands in the promise."""
    try:
        zone = datetime.fromisoformat(str(job.payload.get("occurred_at"))).tzinfo
    except ValueError:
        zone = None
    return tuple(replace(line, at=line.at.astimezone(zone or UTC)) for line in said)


def _field(job: Job, name: str) -> str:
    value = job.payload.get(name)
    if not isinstance(value, str) or not value:
        raise Rejected("The payload lacks it.", field=name)
    return value


def _taken(said: list[Utterance], policy: Policy) -> list[Utterance]:
    """The lines of a turn that are learnt from."""
    if policy.learn.takes != "last_exchange":
        return said
    last = {line.role: line for line in said if line.content.strip()}
    exchange = [last[role] for role in (Role.USER, Role.ASSISTANT) if role in last]
    return sorted(exchange, key=lambda line: line.seq)


def _lack(said: Sequence[Utterance], policy: Policy) -> Reason | None:
    """What is missing for a look at these lines, or None."""
    if not said:
        learnt = policy.learn.takes == "since_watermark"
        return Reason.ALREADY_LEARNT if learnt else Reason.NOTHING_SAID
    if sum(len(line.content) for line in said) < policy.learn.trigger_chars:
        return Reason.NOT_ENOUGH_NEW
    if not any(line.role is Role.USER for line in heard(said)):
        return Reason.NO_USER_MESSAGE
    return None


def _context(
    tx: Transaction, scope: Scope, first: Utterance, policy: Policy
) -> Sequence[Utterance]:
    """The lines just before the turn."""
    if not policy.learn.context_messages:
        return ()
    return tx.messages.before(
        scope, first.conversation, first.seq - 1, policy.learn.context_messages
    )


def _dismissed(tx: Transaction, scope: Scope, policy: Policy) -> tuple[str, ...]:
    """What the user does not want remembered and this scope may see, the latest first."""
    if not policy.decide.dismissed_tokens:
        return ()
    owner = Scope(namespace=scope.namespace, user=scope.user)
    rows = tx.items.every(owner, _DISMISSED)
    seen = [row for row in rows if row.visible_in(scope) and not row.suspicious]
    return tuple(row.content for row in within(seen, policy.decide.dismissed_tokens))
