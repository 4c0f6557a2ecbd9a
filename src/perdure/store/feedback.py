"""What users said about memories that were said: ids, verdicts and times, never a text."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select

from perdure.store.columns import owned, whose
from perdure.store.dialects import Addition
from perdure.store.schema import feedback
from perdure.types import Feedback, Scope, Verdict

_ADD = Addition(feedback, ("namespace", "user_id", "item_id", "trace", "verdict"))
_OF = (
    select(feedback.c.trace, feedback.c.item_id, feedback.c.verdict, feedback.c.at)
    .where(*owned(feedback), feedback.c.item_id == bindparam("item"))
    .order_by(feedback.c.id)
)


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

    def of(self, scope: Scope, item: str) -> list[Feedback]:
        """All that was said about one memory, oldest first."""
        return [
            Feedback(trace=row.trace, item=row.item_id, verdict=Verdict(row.verdict), at=row.at)
            for row in self._connection.execute(_OF, {**whose(scope), "item": item})
        ]
