"""Keeps what was said and promises to learn from it: both in one commit, or neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from perdure import text
from perdure.learn import outcome
from perdure.learn.extract import shortened
from perdure.learn.gate import blank, refusal
from perdure.policy import Policy
from perdure.ports import ConversationState, Transaction
from perdure.prompts.words import without_blocks
from perdure.types import (
    JobType,
    Message,
    Promise,
    Reason,
    Receipt,
    ReceiptState,
    Role,
    Scope,
    Switches,
    Trace,
    Turn,
    Utterance,
    new_id,
)

_STILL_KEPT = frozenset(
    {
        Reason.TOO_SHORT,
        Reason.NOT_ENOUGH_NEW,
        Reason.NO_REPLY,
        Reason.NO_USER_MESSAGE,
        Reason.NOT_A_STATEMENT,
    }
)
"""A turn that is not learnt from for one of these was still said. Every other reason is a wish, of
the user, the host or the deployment, that nothing comes of it."""

_LEAVES_NOTHING = frozenset({Reason.DISABLED, Reason.AUTO_LEARN_OFF, Reason.MODE_OFF})
"""Wishes to be left alone: the caller is told, and nothing is written."""


def capture(  # noqa: PLR0917 - whose turn, by which rules, when: the order of every stage
    tx: Transaction, scope: Scope, turn: Turn, policy: Policy, switches: Switches, at: datetime
) -> Receipt:
    """Keep a turn and promise to learn from it. Redelivery has no effect.

    Args:
        tx: the caller's transaction; nothing is kept unless it commits.
        scope: whose turn it is, and where it took place.
        turn: the finished turn.
        policy: the numbers that hold for the namespace.
        switches: the deployment's switches.
        at: now.

    Returns:
        A receipt: queued, or skipped with the reason. The same turn again gives the receipt of
        the first time, as far as learning has come since.
    """
    turn = _without_our_words(turn)
    preferences = tx.users.preferences(scope, policy.defaults)
    waits = policy.learn.trigger_chars > 0
    said = [message for message in turn.messages if not blank(message)]
    known = _known(tx, scope, turn.conversation, said)
    state = tx.messages.conversation(scope, turn.conversation) if waits or known else None
    news, state = _news(turn, known, state)
    reason = refusal(news, preferences, switches, state, policy.learn)
    if reason in _STILL_KEPT and _is_promised(tx, scope, turn.conversation, said, known):
        reason = None  # it was enough when it came first
    trace = new_id(at)
    skipped = Receipt(trace=trace, scope=scope, state=ReceiptState.SKIPPED, reason=reason)
    quotable = policy.capture.episodes and policy.capture.keep_messages_s > 0
    if reason is not None and not (reason in _STILL_KEPT and (quotable or waits)):
        _note(tx, scope, trace, reason, at)
        return skipped
    kept = tx.messages.add(scope, turn.conversation, said, at, trace)
    if kept and quotable:
        tx.jobs.promise(_to_embed(scope, turn, trace, policy, reason), at)
    elif reason is not None:
        _note(tx, scope, trace, reason, at)
    if reason is not None:
        return skipped
    source = _source(said, kept)
    promise = _to_extract(scope, turn, source, policy, trace=trace, at=at)
    job, _ = tx.jobs.promise(promise, at)
    return outcome.receipt_of(job, scope)


def _note(tx: Transaction, scope: Scope, trace: Trace, reason: Reason, at: datetime) -> None:
    """Let it be asked later why nothing is learnt from a turn: the reason alone, as of a done job.

    Of those who switched memory or learning off not even that stays: it would tell when they spoke.
    """
    if reason in _LEAVES_NOTHING:
        return
    about = Promise(
        type=JobType.EXTRACT,
        namespace=scope.namespace,
        user=scope.user,
        key=text.fingerprint("skipped", trace),
        payload={},
        trace=trace,
        ordered=False,
    )
    tx.jobs.settle(about, outcome.skipped(reason), at)


def _known(
    tx: Transaction, scope: Scope, conversation: str, said: Sequence[Message]
) -> dict[str, Utterance]:
    """The messages that were delivered before, by the host's ids."""
    ids = [message.id for message in said if message.id is not None]
    return {line.id: line for line in tx.messages.by_id(scope, conversation, ids)} if ids else {}


def _news(
    turn: Turn, known: Mapping[str, Utterance], state: ConversationState | None
) -> tuple[Turn, ConversationState | None]:
    """The turn without what was learnt from, and the conversation without what it brings again."""
    if state is None or not known:
        return turn, state
    waiting = {name: line for name, line in known.items() if line.seq > state.watermark}
    fresh = tuple(m for m in turn.messages if m.id not in known or m.id in waiting)
    counted = sum(len(line.content) for line in waiting.values())
    return (
        replace(turn, messages=fresh or turn.messages),
        replace(state, waiting_chars=state.waiting_chars - counted),
    )


def _is_promised(
    tx: Transaction,
    scope: Scope,
    conversation: str,
    said: Sequence[Message],
    known: Mapping[str, Utterance],
) -> bool:
    """This turn came before, and learning from it was promised then."""
    last = _spoken_last(said)
    if last is None or last.id not in known:
        return False
    return tx.jobs.find(scope, _promised(scope, conversation, last)) is not None


def _without_our_words(turn: Turn) -> Turn:
    """The turn without what recall put into it."""
    return replace(
        turn,
        messages=tuple(
            replace(message, content=without_blocks(message.content)) for message in turn.messages
        ),
    )


def _source(said: Sequence[Message], kept: Sequence[Utterance]) -> Utterance | Message:
    """The last message of the user, with its id: given by the host, or by the store just now."""
    last = _spoken_last(said)
    if last is not None and last.id is not None:
        return last
    by_store = [line for line in kept if line.role is Role.USER] or list(kept)
    return by_store[-1]


def _spoken_last(said: Sequence[Message]) -> Message | None:
    """The last message of the user, or of anybody where the user said nothing."""
    by_user = [message for message in said if message.role is Role.USER]
    return next(reversed(by_user or list(said)), None)


def _to_extract(
    scope: Scope,
    turn: Turn,
    source: Utterance | Message,
    policy: Policy,
    *,
    trace: Trace,
    at: datetime,
) -> Promise:
    """The promise to learn from a turn. Its payload is ``memory.extract.requested`` v1 (C 6.2)."""
    message = source.id or ""
    key = _promised(scope, turn.conversation, source)
    return Promise(
        type=JobType.EXTRACT,
        namespace=scope.namespace,
        user=scope.user,
        key=key,
        payload={
            "user_id": scope.user,
            "conversation_id": turn.conversation,
            "assistant_id": scope.assistant,
            "run_id": scope.run,
            "source_message_id": message,
            "source_role": source.role.value,
            "source_text": shortened(source.content, policy.capture.source_chars),
            "occurred_at": _said_at(turn, source, at).isoformat(),
            "trace_id": trace,
            "idempotency_key": key,
        },
        trace=trace,
        conversation=turn.conversation,
        source_message=message,
        max_retry=policy.jobs.max_retry,
    )


def _said_at(turn: Turn, source: Utterance | Message, at: datetime) -> datetime:
    """When the source was said, with the offset that the host gave; the job counts days by it."""
    moment = source.at or at
    given = (one.at for one in reversed(turn.messages) if one.role is source.role)
    zone = next((said.tzinfo for said in given if said is not None), None)
    return moment.astimezone(zone) if zone is not None else moment


def _to_embed(
    scope: Scope, turn: Turn, trace: Trace, policy: Policy, skipped: Reason | None
) -> Promise:
    """The promise that what was said can be found; it says why nothing is learnt, if so."""
    why = {"skipped": skipped.value} if skipped is not None else {}
    return Promise(
        type=JobType.EMBED,
        namespace=scope.namespace,
        user=scope.user,
        key=_key(scope, turn.conversation, trace, JobType.EMBED),
        payload={"conversation": turn.conversation, "trace": trace, **why},
        trace=trace,
        conversation=turn.conversation,
        max_retry=policy.jobs.max_retry,
        ordered=False,
    )


def _promised(scope: Scope, conversation: str, source: Utterance | Message) -> str:
    """The key of the promise to learn from the turn of this message."""
    return _key(scope, conversation, source.id or "", JobType.EXTRACT)


def _key(scope: Scope, conversation: str, source: str, job: JobType) -> str:
    """Asking twice with the same key is asking once (C 7.3)."""
    return text.fingerprint(scope.namespace, scope.user, conversation, source, job)
