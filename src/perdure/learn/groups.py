"""Which memories can become one, and when it is time to tidy them up."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from perdure import text
from perdure.policy import Policy
from perdure.ports import ItemFilter, Transaction
from perdure.types import JobState, JobType, Level, MemoryItem, Promise, Scope, Status, new_id

_ACTIVE = ItemFilter(statuses=frozenset({Status.ACTIVE}))
MERGEABLE = ItemFilter(statuses=frozenset({Status.ACTIVE}), machine_written=True)
"""What a machine may merge: never what a person wrote, edited or refused."""
BINDINGS = ("project", "assistant", "run", "conversation")


@dataclass(frozen=True, slots=True)
class Group:
    """Memories that can become one: of one level, bound to one place."""

    level: Level
    place: Scope

    @classmethod
    def of(cls, item: MemoryItem) -> Group:
        """The group of a memory."""
        return cls(item.level, item.bound)

    @property
    def owner(self) -> Scope:
        """Whose memories they are."""
        return Scope(namespace=self.place.namespace, user=self.place.user)

    def payload(self) -> dict[str, str | None]:
        """As a job keeps it."""
        return {"level": self.level.value} | {name: getattr(self.place, name) for name in BINDINGS}

    def target(self, policy: Policy) -> int:
        """How many memories it should have at most."""
        mine = self.level is Level.USER
        return policy.consolidate.user_target if mine else policy.consolidate.project_target

    def rows(self, tx: Transaction) -> list[MemoryItem]:
        """Its machine-written active memories, those longest not confirmed first."""
        which = replace(MERGEABLE, level=self.level, project=self.place.project)
        found = tx.items.every(self.owner, which)
        return [item for item in reversed(found) if Group.of(item) == self]


def promise_due(tx: Transaction, groups: Collection[Group], policy: Policy, at: datetime) -> None:
    """Promise to tidy up the groups into which a round put something, if it is time for that.

    A group is promised once until a run succeeds, and at most once in a cooldown: a model that is
    broken is asked again by the job alone, after growing pauses, and not by every turn. Once the
    job has given up, the next new memory promises it anew, after the longest of those pauses.

    Args:
        tx: the transaction of that round.
        groups: of one user, each of which got a new memory.
        policy: when it is time.
        at: now.
    """
    owner = next((group.owner for group in groups), None)
    last = tx.users.consolidated(owner) if owner is not None else None
    if owner is None or cooling(last, policy, at):
        return
    crowded = tx.items.count(owner, _ACTIVE) > policy.consolidate.active_over
    period = max(policy.consolidate.cooldown_s, policy.jobs.backoff_max_s)
    since = f"{last[1] if last is not None else ''} {int(at.timestamp() // period)}"
    run = new_id(at)
    for group in groups:
        if crowded or len(group.rows(tx)) > group.target(policy):
            promise = _promise(group, run, since, policy)
            _free(tx, owner, promise.key, policy, at)
            tx.jobs.promise(promise, at)


def _free(tx: Transaction, owner: Scope, key: str, policy: Policy, at: datetime) -> None:
    """Let a new promise take the place of a job that was given up: failure starts no cooldown."""
    job = tx.jobs.find(owner, key)
    if job is None or job.state is not JobState.DEAD or job.updated_at is None:
        return
    if at - job.updated_at >= timedelta(seconds=policy.jobs.backoff_max_s):
        tx.jobs.drop([job.id])


def cooling(last: tuple[datetime, str] | None, policy: Policy, at: datetime) -> bool:
    """Was the user's last run too short a time ago?"""
    return last is not None and at - last[0] < timedelta(seconds=policy.consolidate.cooldown_s)


def _promise(group: Group, run: str, since: str, policy: Policy) -> Promise:
    """The promise of one run; ``since`` is the same until the next one is due."""
    return Promise(
        type=JobType.CONSOLIDATE,
        namespace=group.place.namespace,
        user=group.place.user,
        key=text.fingerprint("consolidate", since, *map(str, group.payload().values())),
        payload={**group.payload(), "consolidation": run},
        trace=run,
        max_retry=policy.jobs.max_retry,
        ordered=False,  # learning does not wait for it; what changes meanwhile is spared
    )
