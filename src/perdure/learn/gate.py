"""May this turn be learnt from? Pure, with a reason for each refusal."""

from __future__ import annotations

from perdure import text
from perdure.learn.asked import explicit_request
from perdure.learn.idle import idle
from perdure.policy import LearnPolicy
from perdure.ports import ConversationState
from perdure.types import (
    ConversationKind,
    Message,
    Outcome,
    Preferences,
    Reason,
    Role,
    Switches,
    Turn,
)


def refusal(
    turn: Turn,
    preferences: Preferences,
    switches: Switches,
    state: ConversationState | None,
    policy: LearnPolicy,
) -> Reason | None:
    """The first reason not to learn from this turn, or None.

    Args:
        turn: as it will be kept, without what recall put into it.
        preferences: the user's switches.
        switches: the deployment's.
        state: of the conversation before this turn; None if it is new.
        policy: what the namespace learns from.
    """
    off = switched_off(preferences, switches, "\n".join(_said(turn, Role.USER)), policy)
    if off is not None:
        return off
    if not turn.mode.writes:
        return Reason.MODE_OFF
    if turn.outcome is not Outcome.COMPLETED:
        return Reason.NOT_COMPLETED
    if turn.kind is not ConversationKind.MAIN:
        return Reason.CONVERSATION_KIND
    return _lack(turn, state, policy)


def switched_off(
    preferences: Preferences, switches: Switches, said: str, policy: LearnPolicy
) -> Reason | None:
    """The switch that forbids learning, or None. Asked at capture, at the job and at its end.

    Args:
        preferences: the user's switches.
        switches: the deployment's.
        said: the user's words; an explicit request counts where the policy lets it.
        policy: what the namespace learns from.
    """
    if not (switches.enabled and switches.learn and preferences.memory_enabled):
        return Reason.DISABLED
    if preferences.auto_learn or (policy.explicit_when_off and explicit_request(said)):
        return None
    return Reason.AUTO_LEARN_OFF


def _lack(turn: Turn, state: ConversationState | None, policy: LearnPolicy) -> Reason | None:
    """What the turn lacks to be worth a look, or None."""
    spoken = [*_said(turn, Role.USER), *_said(turn, Role.ASSISTANT)]
    by_user = _said(turn, Role.USER)
    if not spoken:
        return Reason.NOTHING_SAID
    if not by_user and not policy.trigger_chars:
        return Reason.NO_USER_MESSAGE
    if policy.needs_reply and not _said(turn, Role.ASSISTANT):
        return Reason.NO_REPLY
    return _too_little(by_user, policy) or _too_early(turn, state, policy)


def _too_little(by_user: list[str], policy: LearnPolicy) -> Reason | None:
    """The reason if the user said too little to learn from."""
    counted = by_user[-1:] if policy.takes == "last_exchange" else by_user
    length = sum(text.graphemes(text.normalise(said, "space")) for said in counted)
    if length < policy.min_user_chars:
        return Reason.TOO_SHORT
    return Reason.NOT_A_STATEMENT if policy.skips_idle and all(map(idle, by_user)) else None


def _too_early(turn: Turn, state: ConversationState | None, policy: LearnPolicy) -> Reason | None:
    """The reason if too little is new since the watermark."""
    waiting = state.waiting_chars if state is not None else 0
    if waiting + sum(len(message.content) for message in turn.messages) < policy.trigger_chars:
        return Reason.NOT_ENOUGH_NEW
    return None


def _said(turn: Turn, role: Role) -> list[str]:
    """The texts of one role that are not blank."""
    return [m.content for m in turn.messages if m.role is role and not blank(m)]


def blank(message: Message) -> bool:
    """Nothing to read in it."""
    return not message.content.strip()
