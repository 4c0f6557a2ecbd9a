"""Who needs looking after: the only questions that name no user, and they give no row away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Exists,
    Select,
    String,
    Table,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    not_,
    or_,
    select,
    union,
)

from perdure.ports import Corpus, Due
from perdure.store.columns import ID
from perdure.store.schema import (
    audit_log,
    conversations,
    deletions,
    jobs,
    memories,
    messages,
    outbox,
    texts,
    users,
    vectors,
)
from perdure.types import JobState, JobType, Role, Scope, Status, VectorStatus

_HOLDING = (users, conversations)
"""Whoever has a memory stands in the first, whoever said something in the second."""
_SPOKEN = (Role.USER.value, Role.ASSISTANT.value)
_MENDING = (JobType.EMBED.value, JobType.RECONCILE.value)
_VECTORS = select(memories.c.vector_status, func.count()).group_by(memories.c.vector_status)
_NOT_OVER = [state.value for state in JobState if not state.finished]


class SqlOwners:
    """`ports.OwnerStore` on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def namespaces(self) -> list[str]:
        """Every namespace that holds anything, sorted."""
        return sorted({name for table in _HOLDING for name in self._walk(table)})

    def _walk(self, table: Table) -> Iterator[str]:
        """One step in the key's index for each namespace, however many rows it has."""
        following = select(func.min(table.c.namespace)).where(table.c.namespace > bindparam("last"))
        found = self._connection.execute(following, {"last": ""}).scalar()
        while found is not None:
            yield found
            found = self._connection.execute(following, {"last": found}).scalar()

    def every(self, namespace: str) -> list[Scope]:
        """Everyone who has a memory, a conversation or a switch here."""
        return self._owners(namespace, *(_of(table) for table in _HOLDING))

    def vectors(self, namespace: str | None = None) -> Mapping[VectorStatus, int]:
        """How many memories of a namespace, or of all, have which vector status."""
        here = () if namespace is None else (memories.c.namespace == namespace,)
        found = self._connection.execute(_VECTORS.where(*here))
        return {VectorStatus(name): count for name, count in found}

    def overdue(self, namespace: str, due: Due) -> list[Scope]:
        """Owners of something that is overdue."""
        undoable = _of(audit_log, audit_log.c.was_at <= due.merged)
        wanted = [_of(deletions, deletions.c.at <= due.deleted), undoable]
        if due.expired is not None:
            active = memories.c.status == Status.ACTIVE.value
            wanted.append(_of(memories, active, memories.c.expires_at <= due.expired))
        if due.kept is not None:
            wanted.append(_of(messages, messages.c.kept_at < due.kept))
        return self._owners(namespace, *wanted)

    def unfindable(self, namespace: str, *, model: str | None, episodes: bool) -> list[Scope]:
        """Owners whose rows, terms and vectors disagree, while no job will mend that anyway.

        Args:
            namespace: whose users are meant.
            model: of the vectors there should be; None where there should be none.
            episodes: messages should have terms and vectors too.
        """
        found = self._owners(namespace, *_disagreeing(model, episodes=episodes))
        mended = _of(jobs, jobs.c.type.in_(_MENDING), jobs.c.state.in_(_NOT_OVER))
        leaving = _of(outbox, outbox.c.type.in_(_MENDING))
        mending = set(self._owners(namespace, mended, leaving)) if found else set()
        return [owner for owner in found if owner not in mending]

    def _owners(self, namespace: str, *questions: Select[Any]) -> list[Scope]:
        found = self._connection.execute(union(*questions), {"in_namespace": namespace})
        return [Scope(namespace=namespace, user=user) for user in sorted(found.scalars())]


def _of(table: Table, *conditions: ColumnElement[bool]) -> Select[Any]:
    """The users of a namespace who have a row like this."""
    here = table.c.namespace == bindparam("in_namespace")
    return select(table.c.user_id).where(here, *conditions).distinct()


# ── rows, terms and vectors that disagree ────────────────────────────────────────────────────────


def _disagreeing(model: str | None, *, episodes: bool) -> Iterator[Select[Any]]:
    """The users who have a row without its terms or vectors, or one of those without its row."""
    lives = memories.c.status != Status.DELETED.value
    unsynced = memories.c.vector_status != VectorStatus.SYNCED.value
    bare = _bare(memories, memories.c.id, Corpus.MEMORIES, model)
    yield _of(memories, lives, bare if model is None else or_(bare, unsynced))
    if episodes:
        spoken = and_(messages.c.role.in_(_SPOKEN), messages.c.chars > 0)
        place = cast(messages.c.id, String(ID))
        yield _of(messages, spoken, _bare(messages, place, Corpus.EPISODES, model))
    for index in (texts, vectors):
        remembered = _same_owner(memories, index).where(memories.c.id == index.c.ref, lives)
        yield _of(index, index.c.corpus == Corpus.MEMORIES.value, not_(remembered))
        # Only the refs of messages are numbers; CASE keeps every database from trying the others.
        number = case((index.c.corpus == Corpus.EPISODES.value, cast(index.c.ref, BigInteger)))
        said = _same_owner(messages, index).where(messages.c.id == number)
        yield _of(index, index.c.corpus == Corpus.EPISODES.value, not_(said))


def _bare(
    rows: Table, ref: ColumnElement[str], corpus: Corpus, model: str | None
) -> ColumnElement[bool]:
    """The row has no terms, or, where there is a model, no vectors of it."""
    terms = _same_owner(texts, rows).where(texts.c.corpus == corpus.value, texts.c.ref == ref)
    if model is None:
        return not_(terms)
    meaning = _same_owner(vectors, rows).where(
        vectors.c.corpus == corpus.value, vectors.c.model == model, vectors.c.ref == ref
    )
    return or_(not_(terms), not_(meaning))


def _same_owner(inner: Table, outer: Table) -> Exists:
    """There is a row of the inner table that belongs to the owner of the outer one's."""
    return exists().where(
        inner.c.namespace == outer.c.namespace, inner.c.user_id == outer.c.user_id
    )
