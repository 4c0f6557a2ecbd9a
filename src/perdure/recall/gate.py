"""What may be said: splits ranked memories into those to say and those to withhold. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from perdure.policy import Policy
from perdure.recall.rank import Ranked, Sifted
from perdure.types import MemoryItem, Preferences, Reason, Scope, Status


def gate(
    ranked: Sequence[Ranked], at: datetime, scope: Scope, user: Preferences, policy: Policy
) -> Sifted:
    """Split ranked memories into those to say and those to withhold, each with its reason."""
    verdicts = [(entry, objection(entry, at, scope, user, policy)) for entry in ranked]
    return Sifted(
        kept=tuple(entry for entry, why in verdicts if why is None),
        dropped=tuple(entry.dropped(why) for entry, why in verdicts if why is not None),
    )


def objection(
    entry: Ranked, at: datetime, scope: Scope, user: Preferences, policy: Policy
) -> Reason | None:
    """The first reason to withhold this memory, or None.

    What may not be said comes before what is only not worth saying.
    """
    knobs = policy.gate
    irrelevant = entry.relevance < knobs.min_relevance
    weak = entry.floored and entry.score.total < knobs.floor
    low = Reason.LOW_SCORE if not entry.pinned and (irrelevant or weak) else None
    return barred(entry.item, at, scope, user, policy) or low


def barred(
    item: MemoryItem, at: datetime, scope: Scope, user: Preferences, policy: Policy
) -> Reason | None:
    """The first reason why this memory may not be said, however well it answers, or None.

    A new rule is a new line here.
    """
    knobs = policy.gate
    rules = (
        (not item.visible_in(scope), Reason.SCOPE),
        (item.status is not Status.ACTIVE, Reason.DISMISSED),
        (item.suspicious, Reason.SUSPICIOUS),
        (policy.item.expires and item.expired(at), Reason.EXPIRED),
        (
            item.sensitivity >= knobs.sensitive_from and not user.sensitive_allowed,
            Reason.SENSITIVE_BLOCKED,
        ),
        (item.confidence < knobs.min_confidence, Reason.LOW_CONFIDENCE),
    )
    return next((reason for holds, reason in rules if holds), None)
