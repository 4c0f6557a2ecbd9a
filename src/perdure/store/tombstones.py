"""What was deleted: hashes, message ids and times, never a text; and whose text is still there."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, delete, func, select, tuple_

from perdure.store.columns import owned, whose
from perdure.store.dialects import Upsert, bunches
from perdure.store.schema import deletions, tombstones
from perdure.types import MemoryItem, Scope, Tombstone

_BURY = Upsert(
    tombstones,
    ("namespace", "user_id", "content_hash", "conversation_id", "message_id"),
    lambda new: {"at": new["at"]},
)
_DELETED = Upsert(deletions, ("namespace", "user_id", "item_id"), lambda new: {"at": new["at"]})
_UNSCRUBBED = (
    select(deletions.c.item_id)
    .where(*owned(deletions), deletions.c.at <= bindparam("before"))
    .order_by(deletions.c.item_id)
)
_SCRUBBED = delete(deletions).where(
    *owned(deletions), deletions.c.item_id.in_(bindparam("ids", expanding=True))
)
_OWNER = owned(tombstones)
_STATEMENTS = select(tombstones.c.content_hash, tombstones.c.at).where(
    *_OWNER,
    tombstones.c.message_id == "",
    tombstones.c.content_hash.in_(bindparam("hashes", expanding=True)),
)
_MESSAGES = (
    select(tombstones.c.message_id, func.max(tombstones.c.at, type_=tombstones.c.at.type))
    .where(*_OWNER, tombstones.c.message_id.in_(bindparam("messages", expanding=True)))
    .group_by(tombstones.c.message_id)
)
_MESSAGES_HERE = _MESSAGES.where(tombstones.c.conversation_id.in_([bindparam("here"), ""]))
_PLACE = (tombstones.c.content_hash, tombstones.c.conversation_id, tombstones.c.message_id)
_GRAVES = (
    select(tombstones)
    .where(
        *_OWNER,
        tuple_(*_PLACE)
        > tuple_(bindparam("statement"), bindparam("conversation"), bindparam("message")),
    )
    .order_by(*_PLACE)
    .limit(bindparam("most"))
)
_GRAVE = select(tombstones.c.at).where(
    *_OWNER, *(column == bindparam(f"this_{column.name}") for column in _PLACE)
)
_UNBURY = delete(tombstones).where(*_OWNER, tombstones.c.content_hash == bindparam("statement"))


class SqlTombstones:
    """The part of `ports.MemoryStore` that remembers what is gone."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def bury(self, scope: Scope, item: MemoryItem, at: datetime) -> None:
        """Leave a tombstone: the hash, the source messages and the time, never the text.

        That the text is still to be scrubbed is noted apart, by id: the statement may be made
        again, and forgotten as a tombstone, before that.
        """
        owner = {"namespace": scope.namespace, "user_id": scope.user}
        _DELETED.write(self._connection, [{**owner, "item_id": item.id, "at": at}])
        sources = [(item.origin.conversation or "", message) for message in item.origin.messages]
        _BURY.write(
            self._connection,
            [
                {
                    **owner,
                    "content_hash": item.content_hash,
                    "conversation_id": conversation,
                    "message_id": message,
                    "at": at,
                }
                for conversation, message in [("", ""), *sources]
            ],
        )

    def buried(self, scope: Scope, hashes: Collection[str]) -> dict[str, datetime]:
        """When statements with these hashes were last deleted."""
        return {
            statement: at
            for some in bunches(hashes)
            for statement, at in self._connection.execute(
                _STATEMENTS, {**whose(scope), "hashes": some}
            )
        }

    def buried_messages(self, scope: Scope, messages: Collection[str]) -> dict[str, datetime]:
        """Which of these message ids a deleted memory was learnt from, and when it went.

        Message ids are unique in their conversation only; a scope with a conversation asks of
        its messages alone.
        """
        statement = _MESSAGES if scope.conversation is None else _MESSAGES_HERE
        here = {} if scope.conversation is None else {"here": scope.conversation}
        return {
            message: at
            for some in bunches(one for one in messages if one)
            for message, at in self._connection.execute(
                statement, {**whose(scope), **here, "messages": some}
            )
        }

    def graves(self, scope: Scope, after: Tombstone | None, limit: int) -> list[Tombstone]:
        """The tombstones behind this one, in a fixed order."""
        last = after or Tombstone(content_hash="", at=datetime.min.replace(tzinfo=UTC))
        found = self._connection.execute(
            _GRAVES,
            {
                **whose(scope),
                "statement": last.content_hash,
                "conversation": last.conversation,
                "message": last.message,
                "most": limit,
            },
        )
        return [
            Tombstone(
                content_hash=row.content_hash,
                at=row.at,
                conversation=row.conversation_id,
                message=row.message_id,
            )
            for row in found
        ]

    def entomb(self, scope: Scope, stone: Tombstone) -> bool:
        """Set a tombstone as it was. False: it stands there already, as late or later."""
        place = {
            "content_hash": stone.content_hash,
            "conversation_id": stone.conversation,
            "message_id": stone.message,
        }
        there = self._connection.execute(
            _GRAVE, {**whose(scope), **{f"this_{name}": value for name, value in place.items()}}
        ).scalar()
        if there is not None and there >= stone.at:
            return False
        owner = {"namespace": scope.namespace, "user_id": scope.user}
        _BURY.write(self._connection, [{**owner, **place, "at": stone.at}])
        return True

    def unbury(self, scope: Scope, content_hash: str) -> None:
        """Forget that it was deleted: a person brought it back."""
        self._connection.execute(_UNBURY, {**whose(scope), "statement": content_hash})

    def unscrubbed(self, scope: Scope, before: datetime) -> list[str]:
        """Ids of the memories buried up to then whose text was not scrubbed since, sorted.

        One of them may live again: its row says so.
        """
        found = self._connection.execute(_UNSCRUBBED, {**whose(scope), "before": before})
        return list(found.scalars())

    def scrubbed(self, scope: Scope, ids: Collection[str]) -> None:
        """Nothing is left to scrub of these."""
        for some in bunches(ids):
            self._connection.execute(_SCRUBBED, {**whose(scope), "ids": some})
