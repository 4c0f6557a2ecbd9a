"""What answers said, and what users said about it: ids, verdicts and times, never a text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, select

from perdure.store.columns import owned, whose
from perdure.store.dialects import Addition
from perdure.store.schema import answers, feedback
from perdure.types import Feedback, ItemId, Scope, Trace, Verdict

_ANSWERED = Addition(answers, ("namespace", "user_id", "trace"))
_SAID = select(answers.c.item_ids).where(*owned(answers), answers.c.trace == bindparam("of_trace"))
_OLDER = (
    select(answers.c.id)
    .where(*owned(answers))
    .order_by(answers.c.id.desc())
    .offset(bindparam("newest"))
    .limit(1)
)
_LET_GO = delete(answers).where(*owned(answers), answers.c.id <= bindparam("up_to"))

_ADD = Addition(feedback, ("namespace", "user_id", "item_id", "trace", "verdict"))
_ALL = select(feedback).where(*owned(feedback)).order_by(feedback.c.id)
_OF = _ALL.where(feedback.c.item_id == bindparam("item"))
_AFTER = _ALL.where(feedback.c.id > bindparam("place")).limit(bindparam("most"))


class SqlFeedback:
    """`ports.FeedbackStore` on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def answered(
        self, scope: Scope, told: Mapping[Trace, Collection[ItemId]], at: datetime, keep: int
    ) -> None:
        """Note which memories each answer said, and let go of all but the newest of the owner."""
        whole = {"namespace": scope.namespace, "user_id": scope.user, "at": at}
        for trace, items in told.items():
            _ANSWERED.write(self._connection, {**whole, "trace": trace, "item_ids": sorted(items)})
        older = self._connection.execute(_OLDER, {**whose(scope), "newest": keep}).scalar()
        if older is not None:
            self._connection.execute(_LET_GO, {**whose(scope), "up_to": older})

    def said(self, scope: Scope, trace: Trace) -> frozenset[ItemId]:
        """What that answer said; nothing, if it was none of the owner's, or is not known now."""
        found = self._connection.execute(_SAID, {**whose(scope), "of_trace": trace}).scalar()
        return frozenset(found or ())

    def add(self, scope: Scope, said: Feedback) -> bool:
        """Keep it. False: the same verdict on the same memory of the same answer is known."""
        number = _ADD.write(
            self._connection,
            {
                "namespace": scope.namespace,
                "user_id": scope.user,
                "trace": said.trace,
                "item_id": said.item,
                "verdict": said.verdict.value,
                "at": said.at,
            },
        )
        return number is not None

    def after(self, scope: Scope, place: int, limit: int) -> list[tuple[int, Feedback]]:
        """The owner's verdicts behind a place, oldest first, each with its own place."""
        found = self._connection.execute(_AFTER, {**whose(scope), "place": place, "most": limit})
        return [(row.id, _feedback(row)) for row in found]

    def of(self, scope: Scope, item: str) -> list[Feedback]:
        """All that was said about one memory, oldest first."""
        found = self._connection.execute(_OF, {**whose(scope), "item": item})
        return [_feedback(row) for row in found]


def _feedback(row: Row[Any]) -> Feedback:
    return Feedback(trace=row.trace, item=row.item_id, verdict=Verdict(row.verdict), at=row.at)
