"""What was said, in order, while it is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    bindparam,
    delete,
    func,
    select,
    update,
)

from perdure.ports import ConversationState, Corpus
from perdure.store.columns import owned, whose
from perdure.store.dialects import Addition, Upsert, bunches
from perdure.store.fulltext import SqlFullText
from perdure.store.schema import conversations, messages
from perdure.store.users import SqlUsers
from perdure.store.vectors import SqlVectors
from perdure.types import Message, Role, Scope, Trace, Utterance, new_id

_SEEN = Upsert(
    conversations,
    ("namespace", "user_id", "conversation_id"),
    lambda new: {
        name: func.coalesce(new[name], conversations.c[name])
        for name in ("project", "assistant", "run", "updated_at")
    },
)
_ADD = Addition(messages, ("namespace", "user_id", "conversation_id", "message_id"))
_OWNER = owned(messages)
_HERE = (*_OWNER, messages.c.conversation_id == bindparam("conversation"))
_SAID = select(
    messages.c.id,
    messages.c.message_id,
    messages.c.conversation_id,
    messages.c.role,
    messages.c.content,
    messages.c.at,
    messages.c.name,
    messages.c.trace,
)
_OLDEST_FIRST = _SAID.order_by(messages.c.id)
_SINCE = _OLDEST_FIRST.where(*_HERE, messages.c.id > bindparam("after")).limit(bindparam("most"))
_BEFORE = (
    _SAID.where(*_HERE, messages.c.id <= bindparam("upto"))
    .order_by(messages.c.id.desc())
    .limit(bindparam("most"))
)
_TURN = _OLDEST_FIRST.where(*_HERE, messages.c.trace == bindparam("of_trace"))
_BY_ID = _OLDEST_FIRST.where(*_HERE, messages.c.message_id.in_(bindparam("ids", expanding=True)))
_BY_SEQ = _OLDEST_FIRST.where(*_OWNER, messages.c.id.in_(bindparam("seqs", expanding=True)))
_OUTLINE = (
    select(
        messages.c.id,
        messages.c.conversation_id,
        func.coalesce(messages.c.name, messages.c.role),
        messages.c.at,
    )
    .where(*_OWNER)
    .order_by(messages.c.id)
)
_BINDINGS = select(
    conversations.c.conversation_id,
    conversations.c.project,
    conversations.c.assistant,
    conversations.c.run,
).where(*owned(conversations))
_STATE_KEY = (
    *owned(conversations),
    conversations.c.conversation_id == bindparam("conversation"),
)
_WAITING = (
    select(func.coalesce(func.sum(messages.c.chars), 0))
    .where(
        messages.c.namespace == conversations.c.namespace,
        messages.c.user_id == conversations.c.user_id,
        messages.c.conversation_id == conversations.c.conversation_id,
        messages.c.id > conversations.c.watermark,
    )
    .scalar_subquery()
)
_STATE = select(
    conversations.c.watermark,
    _WAITING.label("waiting_chars"),
    conversations.c.project,
    conversations.c.assistant,
    conversations.c.run,
).where(*_STATE_KEY)
_LEARNT = (
    update(conversations)
    .where(*_STATE_KEY, conversations.c.watermark < bindparam("upto"))
    .values(watermark=bindparam("upto"))
)
_SEQS = select(messages.c.id).where(*_OWNER)
_REMOVE = delete(messages).where(*_OWNER, messages.c.id.in_(bindparam("seqs", expanding=True)))


class SqlMessages:
    """`ports.MessageStore` on one connection."""

    def __init__(
        self, connection: Connection, users: SqlUsers, vectors: SqlVectors, fulltext: SqlFullText
    ) -> None:
        self._connection = connection
        self._users = users
        self._vectors = vectors
        self._fulltext = fulltext

    def add(
        self,
        scope: Scope,
        conversation: str,
        messages: Sequence[Message],
        at: datetime,
        trace: Trace,
    ) -> list[Utterance]:
        """Keep the messages in order; one whose id is known already is left out.

        The conversation's row comes first: on databases that lock rows it makes captures of one
        conversation wait for each other, so that places rise in the order of commits. What can be
        found changes when the messages are indexed, so no revision moves here.
        """
        if not messages:
            return []
        owner = {
            "namespace": scope.namespace,
            "user_id": scope.user,
            "conversation_id": conversation,
        }
        _SEEN.write(
            self._connection,
            [
                {
                    **owner,
                    "watermark": 0,
                    "project": scope.project,
                    "assistant": scope.assistant,
                    "run": scope.run,
                    "created_at": at,
                    "updated_at": at,
                }
            ],
        )
        said: dict[str, Message] = {}
        for message in messages:
            said.setdefault(message.id or new_id(at), message)
        kept: list[Utterance] = []
        for name, message in said.items():
            seq = _ADD.write(
                self._connection,
                {
                    **owner,
                    "message_id": name,
                    "role": message.role.value,
                    "name": message.name,
                    "content": message.content,
                    "chars": len(message.content),
                    "at": message.at or at,
                    "trace": trace,
                    "kept_at": at,
                },
            )
            if seq is not None:
                kept.append(
                    Utterance(
                        seq=seq,
                        id=name,
                        conversation=conversation,
                        role=message.role,
                        content=message.content,
                        at=(message.at or at).astimezone(UTC),
                        name=message.name,
                        trace=trace,
                    )
                )
        return kept

    def conversation(self, scope: Scope, conversation: str) -> ConversationState | None:
        """The state of one conversation."""
        row = self._connection.execute(_STATE, _here(scope, conversation)).one_or_none()
        if row is None:
            return None
        return ConversationState(
            conversation=conversation,
            watermark=row.watermark,
            waiting_chars=int(row.waiting_chars),  # a sum is a decimal number to some databases
            project=row.project,
            assistant=row.assistant,
            run=row.run,
        )

    def since(
        self, scope: Scope, conversation: str, after: int, limit: int = 1_000
    ) -> list[Utterance]:
        """Messages of one conversation with ``seq`` above ``after``, oldest first."""
        found = {**_here(scope, conversation), "after": after, "most": limit}
        return _utterances(self._connection.execute(_SINCE, found))

    def before(self, scope: Scope, conversation: str, seq: int, limit: int) -> list[Utterance]:
        """The last messages of one conversation with ``seq`` up to ``seq``, oldest first."""
        found = {**_here(scope, conversation), "upto": seq, "most": limit}
        return _utterances(self._connection.execute(_BEFORE, found))[::-1]

    def turn(self, scope: Scope, conversation: str, trace: Trace) -> list[Utterance]:
        """The messages that one capture kept, oldest first."""
        found = {**_here(scope, conversation), "of_trace": trace}
        return _utterances(self._connection.execute(_TURN, found))

    def by_id(self, scope: Scope, conversation: str, ids: Collection[str]) -> list[Utterance]:
        """Messages of one conversation by the host's ids, oldest first."""
        here = _here(scope, conversation)
        return sorted(
            (
                one
                for some in bunches(ids)
                for one in _utterances(self._connection.execute(_BY_ID, {**here, "ids": some}))
            ),
            key=lambda one: one.seq,
        )

    def by_seq(self, scope: Scope, seqs: Collection[int]) -> list[Utterance]:
        """Messages of the owner by place, oldest first."""
        owner = whose(scope)
        return [
            one
            for some in bunches(sorted(seqs))
            for one in _utterances(self._connection.execute(_BY_SEQ, {**owner, "seqs": some}))
        ]

    def outline(self, scope: Scope) -> list[tuple[int, str, str, datetime]]:
        """Of every kept message of the owner: seq, conversation, speaker, time; by seq."""
        rows = self._connection.execute(_OUTLINE, whose(scope)).all()
        return [(seq, conversation, speaker, at) for seq, conversation, speaker, at in rows]

    def bindings(self, scope: Scope) -> dict[str, Scope]:
        """Where each conversation of the owner took place: its project, assistant and run."""
        rows = self._connection.execute(_BINDINGS, whose(scope)).all()
        return {
            row.conversation_id: Scope(
                namespace=scope.namespace, user=scope.user, project=row.project,
                assistant=row.assistant, run=row.run,
            )
            for row in rows
        }  # fmt: skip

    def learnt(self, scope: Scope, conversation: str, upto: int) -> None:
        """Move the watermark forward, never back."""
        self._connection.execute(_LEARNT, {**_here(scope, conversation), "upto": upto})

    def remove(
        self,
        scope: Scope,
        *,
        before: datetime | None = None,
        kept_before: datetime | None = None,
        upto: int | None = None,
        conversation: str | None = None,
    ) -> int:
        """Delete messages for good, with their vectors and search terms.

        A message goes that meets every condition; without a condition nothing goes. ``before`` is
        when it was said, ``kept_before`` when it came in. The watermark of the conversation stays.
        """
        wanted = []
        if before is not None:
            wanted.append(messages.c.at < before)
        if kept_before is not None:
            wanted.append(messages.c.kept_at < kept_before)
        if upto is not None:
            wanted.append(messages.c.id <= upto)
        if conversation is not None:
            wanted.append(messages.c.conversation_id == conversation)
        if not wanted:
            return 0
        owner = whose(scope)
        seqs = self._connection.execute(_SEQS.where(*wanted), owner).scalars().all()
        for some in bunches(seqs):
            self._connection.execute(_REMOVE, {**owner, "seqs": some})
            refs = [str(seq) for seq in some]
            self._vectors.remove(scope, Corpus.EPISODES, refs)
            self._fulltext.remove(scope, Corpus.EPISODES, refs)
        if seqs:
            self._users.changed(scope, Corpus.EPISODES)
        return len(seqs)


def _here(scope: Scope, conversation: str) -> dict[str, Any]:
    return {**whose(scope), "conversation": conversation}


def _utterances(rows: Iterable[Row[Any]]) -> list[Utterance]:
    return [
        Utterance(
            seq=row.id,
            id=row.message_id,
            conversation=row.conversation_id,
            role=Role(row.role),
            content=row.content,
            at=row.at,
            name=row.name,
            trace=row.trace,
        )
        for row in rows
    ]
