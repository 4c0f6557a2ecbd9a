"""The roads from rows to a ranking, and the knobs that are fixed on each. Pure. Spec 4.1, 4.12."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perdure.policy import Policy
from perdure.recall.gate import barred
from perdure.recall.intent import Intent, intent
from perdure.recall.merge import Sighting, by_id, by_text, merge
from perdure.recall.question import Query
from perdure.recall.rank import Ranked, by_relevance, by_time, rank
from perdure.types import Dropped, MemoryItem, Preferences, Reason

LEGACY_ROWS = 3  # the legacy road scores so many times its limit (spec 4.12)


def fixed(policy: Policy) -> Policy:
    """The policy as its road has it: only ``hybrid`` knows floors, topics and intent."""
    road = policy.search.mode
    if road == "hybrid":
        return policy
    plain = policy.but(
        search=policy.search.but(time_words=False),
        intent=policy.intent.but(enabled=False),
        gate=policy.gate.but(floor=0.0, min_relevance=0.0),
        topics=policy.topics.but(enabled=False),
        rerank=policy.rerank.but(enabled=False),
    )
    if road != "legacy":
        return plain.but(
            search=plain.search.but(pinned=False, semantic=False, fulltext=False, episodes=False)
        )
    return plain.but(
        search=plain.search.but(
            pinned=False, fulltext=False, episodes=False,
            per_arm=policy.search.legacy_limit * LEGACY_ROWS,
        ),
        rank=policy.rank.but(
            searched="typed", constraint_weight=0.0, preference_weight=0.0, todo_hint_weight=0.0,
            fact_weight=0.0,
        ),
        budget=policy.budget.but(
            constraint=None, preference=None, todo_hint=None, fact=None,
            total=policy.search.legacy_limit, constraints_last=False,
        ),
    )  # fmt: skip


def ordered(
    arms: Mapping[str, Sequence[Sighting]],
    seen: Mapping[str, MemoryItem],
    query: Query,
    user: Preferences,
) -> tuple[list[Ranked], list[Dropped]]:
    """Everything that is considered, best first, and rows whose statement another row says.

    Args:
        arms: what each arm found.
        seen: the active rows that the scope may see.
        query: with the policy as `fixed` gives it.
        user: what they allow to be said.
    """
    policy = query.policy
    road = policy.search.mode
    if road in ("newest", "oldest"):
        return by_time(seen.values(), road), []
    items = {sighting.item.id: sighting.item for found in arms.values() for sighting in found}
    shut = {
        ref
        for ref, item in items.items()
        if barred(item, query.at, query.scope, user, policy) is not None
    }
    merged = merge(arms, shut) if road == "hybrid" else by_text(by_id(arms), shut)
    twins = [
        Dropped(item=twin, reason=Reason.REPEATED, arms=entry.arms)
        for entry in merged
        for twin in entry.twins
    ]
    if road == "legacy" and "semantic" in arms:
        return by_relevance(merged), twins
    asks = intent(query.words.message) if policy.intent.enabled else Intent.MIXED
    return rank(merged, query.at, query.scope, asks, policy, times=query.times), twins
