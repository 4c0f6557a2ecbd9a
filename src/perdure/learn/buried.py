"""Does a statement say again, in other words, what its user deleted? While the words are there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from perdure import text
from perdure.learn import polarity
from perdure.learn.details import beyond, details
from perdure.policy import DecidePolicy
from perdure.ports import Transaction
from perdure.types import Operation, Scope, Status

_FRAME = frozenset(
    text.stem(word)
    for word in "like love enjoy prefer live based work use have own want need go".split()
) | frozenset("喜欢爱住在用有想要我的是做去")
"""Words around what a statement is about."""


def read_deleted(tx: Transaction, owner: Scope, since: datetime) -> dict[str, datetime]:
    """What was deleted or corrected away from then on and is not scrubbed yet, and when.

    Args:
        tx: only read.
        owner: whose memories.
        since: when the oldest message was said that is learnt from; mostly nothing is so young.
    """
    before = set(tx.items.unscrubbed(owner, max(since, _FIRST) - datetime.resolution))
    gone = [item for item in tx.items.unscrubbed(owner, _EVER) if item not in before]
    rows = tx.items.get(owner, gone) if gone else []
    back = {row.content for row in rows if row.status is not Status.DELETED}
    return {
        entry.before: entry.at
        for item in gone
        for entry in tx.audit.of(owner, item)
        if entry.operation in _TAKES_AWAY
        and entry.before is not None
        and entry.before not in (entry.after, *back)
        and entry.at >= since
    }


_EVER = datetime.max.replace(tzinfo=UTC)
_FIRST = datetime.min.replace(tzinfo=UTC) + datetime.resolution  # the calendar begins just before
_TAKES_AWAY = frozenset({Operation.DELETE, Operation.UPDATE})


def says_again(
    statement: str, made: datetime, deleted: Mapping[str, datetime], policy: DecidePolicy
) -> bool:
    """Was it made before something was deleted that says about the same?

    A new name, a new number or a "not" makes it another statement.
    """
    return any(made <= at and _alike(statement, gone, policy) for gone, at in deleted.items())


def _alike(statement: str, gone: str, policy: DecidePolicy) -> bool:
    new = beyond(statement, [gone])
    if new.names or new.numbers or polarity.denies(statement) != polarity.denies(gone):
        return False
    words = details(statement).words - _FRAME
    shared = words & details(gone).words
    return bool(words) and len(shared) >= policy.like_deleted * len(words)
