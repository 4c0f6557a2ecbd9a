"""What users said about memories that were said: ids, verdicts and times, never a text."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from perdure.store.columns import owned, whose
from perdure.store.dialects import Addition
from perdure.store.schema import feedback
from perdure.types import Feedback, Scope, Verdict

_ADD = Addition(feedback, ("namespace", "user_id", "item_id", "trace", "verdict"))
_ALL = select(feedback).where(*owned(feedback)).order_by(feedback.c.id)
_OF = _ALL.where(feedback.c.item_id == bindparam("item"))
_AFTER = _ALL.where(feedback.c.id > bindparam("place")).limit(bindparam("most"))


class SqlFeedback:
    """`ports.FeedbackStore` on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

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
