"""The memories: one row a statement, each behind its owner's wall."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Insert,
    Select,
    Update,
    bindparam,
    delete,
    func,
    insert,
    select,
    union,
    update,
)
from sqlalchemy.exc import IntegrityError

from perdure.errors import Duplicate, Rejected
from perdure.ports import Corpus, ItemFilter, Page
from perdure.store import filters, rows
from perdure.store.columns import owned, whose
from perdure.store.dialects import bunches
from perdure.store.fulltext import SqlFullText
from perdure.store.schema import conversations, memories
from perdure.store.tombstones import SqlTombstones
from perdure.store.users import SqlUsers
from perdure.store.vectors import SqlVectors
from perdure.types import MemoryItem, Scope, Status, VectorStatus

_OWNER = owned(memories)
_ID = memories.c.id == bindparam("of_id")
_IDS = memories.c.id.in_(bindparam("ids", expanding=True))
_ALL = select(*rows.COLUMNS)
_NEWEST = _ALL.order_by(*filters.NEWEST_FIRST)
_LISTED = _ALL.order_by(*filters.LISTED)

_GET = _ALL.where(*_OWNER, *filters.REACHED, _IDS)
_BY_HASH = _ALL.where(*_OWNER, memories.c.content_hash == bindparam("statement"))
_ACTIVE = _NEWEST.where(*_OWNER, *filters.SEEN, memories.c.status == Status.ACTIVE.value)
_COUNT = select(func.count()).select_from(memories)
_PROJECTS = union(
    *(
        select(table.c.project).where(*owned(table), table.c.project.is_not(None))
        for table in (memories, conversations)
    )
)

_ADD = insert(memories).execution_options(preserve_rowcount=True)  # some drivers forget it
_PUT = update(memories).where(*_OWNER, _ID)
_PUT_UNCHANGED = _PUT.where(memories.c.updated_at == bindparam("shown"))
_REACHED = select(memories.c.id).where(*_OWNER, *filters.REACHED, _IDS)
_REMOVE = delete(memories).where(*_OWNER, _IDS)
_USED = (
    update(memories)
    .where(*_OWNER, *filters.REACHED, _IDS)
    .values(use_count=memories.c.use_count + 1)
)
_MARK = update(memories).where(*_OWNER, *filters.REACHED, _IDS)

_NOT_PUT = frozenset({"namespace", "user_id", "id", "use_count", "last_access_at"})


class SqlItems(SqlTombstones):
    """`ports.MemoryStore` on one connection."""

    def __init__(
        self, connection: Connection, users: SqlUsers, vectors: SqlVectors, fulltext: SqlFullText
    ) -> None:
        super().__init__(connection)
        self._users = users
        self._vectors = vectors
        self._fulltext = fulltext

    # ── reading ──────────────────────────────────────────────────────────────────────────────────

    def get(self, scope: Scope, ids: Collection[str]) -> list[MemoryItem]:
        """The rows with these ids, in the order asked, whatever their status.

        A binding that the scope names hides rows bound elsewhere; one left empty hides nothing.
        """
        found = {
            row.id: rows.item(row)
            for some in bunches(ids)
            for row in self._connection.execute(
                _GET, {**whose(scope), **filters.place(scope), "ids": some}
            )
        }
        return [found[one] for one in dict.fromkeys(ids) if one in found]

    def by_hash(self, scope: Scope, content_hash: str) -> MemoryItem | None:
        """The row of this statement, whatever its status."""
        row = self._connection.execute(
            _BY_HASH, {**whose(scope), "statement": content_hash}
        ).one_or_none()
        return None if row is None else rows.item(row)

    def page(
        self, scope: Scope, which: ItemFilter, limit: int = 50, after: str | None = None
    ) -> Page:
        """Newest ``created_at`` first, ties by newer id. Bindings left empty list everything.

        No change moves a row, so that a walk over pages returns each row that is there throughout
        once.

        Raises:
            Rejected: ``after`` is no cursor.
        """
        wanted = [*filters.bound(scope), *filters.matches(which)]
        further = [filters.behind(after)] if after is not None else []
        found = self._select(_LISTED, [*wanted, *further], scope, limit + 1)
        items = tuple(found[:limit])
        return Page(
            items=items,
            next=filters.cursor(items[-1]) if items and len(found) > limit else None,
            total=self._count(wanted, scope),
        )

    def every(self, scope: Scope, which: ItemFilter) -> list[MemoryItem]:
        """All that match, newest ``updated_at`` first."""
        wanted = [*filters.bound(scope), *filters.matches(which)]
        return self._select(_NEWEST, wanted, scope, None)

    def walk(self, scope: Scope, after: str, limit: int) -> list[MemoryItem]:
        """The rows with an id above ``after``, whatever their status, by id."""
        statement = _ALL.where(*_OWNER, *filters.bound(scope), memories.c.id > after)
        found = self._connection.execute(
            statement.order_by(memories.c.id).limit(limit), whose(scope)
        )
        return [rows.item(row) for row in found.all()]

    def active(self, scope: Scope) -> list[MemoryItem]:
        """The active rows visible in the scope, newest ``updated_at`` first."""
        found = self._connection.execute(_ACTIVE, {**whose(scope), **filters.place(scope)})
        return [rows.item(row) for row in found.all()]

    def count(self, scope: Scope, which: ItemFilter) -> int:
        """How many match."""
        return self._count([*filters.bound(scope), *filters.matches(which)], scope)

    def projects(self, scope: Scope) -> list[str]:
        """Project keys seen in memories and conversations, sorted."""
        return sorted(self._connection.execute(_PROJECTS, whose(scope)).scalars())

    def _select(
        self,
        ordered: Select[Any],
        wanted: Collection[ColumnElement[bool]],
        scope: Scope,
        limit: int | None,
    ) -> list[MemoryItem]:
        statement = ordered.where(*_OWNER, *wanted).limit(limit)
        found = self._connection.execute(statement, whose(scope))
        return [rows.item(row) for row in found.all()]

    def _count(self, wanted: Collection[ColumnElement[bool]], scope: Scope) -> int:
        statement = _COUNT.where(*_OWNER, *wanted)
        return self._connection.execute(statement, whose(scope)).scalar_one()

    # ── writing ──────────────────────────────────────────────────────────────────────────────────

    def add(self, item: MemoryItem) -> None:
        """Write a new row.

        Raises:
            Duplicate: its statement is stored already; the transaction stays usable.
        """
        self._write(_ADD, rows.row(item), item)

    def put(self, item: MemoryItem, *, shown: datetime | None = None) -> bool:
        """Overwrite the row of the same id and owner; uses are counted by `used` alone.

        Args:
            item: the row as it should be.
            shown: its ``updated_at`` when it was read; a row changed since is left alone.

        Returns:
            False if there is no such row or it was changed since.

        Raises:
            Duplicate: another row has this statement; the transaction stays usable.
        """
        values = {k: v for k, v in rows.row(item).items() if k not in _NOT_PUT}
        values |= {"of_namespace": item.namespace, "of_user": item.user, "of_id": item.id}
        if shown is None:
            return self._write(_PUT, values, item)
        return self._write(_PUT_UNCHANGED, {**values, "shown": shown}, item)

    def remove(self, scope: Scope, ids: Collection[str]) -> int:
        """Delete rows for good; their vectors and search terms go with them."""
        owner = whose(scope)
        gone = 0
        for some in bunches(ids):
            found = {**owner, **filters.place(scope), "ids": some}
            reached = self._connection.execute(_REACHED, found).scalars().all()
            if not reached:
                continue
            self._connection.execute(_REMOVE, {**owner, "ids": reached})
            self._vectors.remove(scope, Corpus.MEMORIES, reached)
            self._fulltext.remove(scope, Corpus.MEMORIES, reached)
            gone += len(reached)
        if gone:
            self._users.changed(scope, Corpus.MEMORIES)
        return gone

    def used(self, scope: Scope, ids: Collection[str], at: datetime) -> None:
        """Count a use of each and note the time. Does not move ``updated_at``."""
        self._touch(_USED, scope, ids, {"last_access_at": at})

    def mark_vectors(self, scope: Scope, ids: Collection[str], status: VectorStatus) -> None:
        """Note what the vector index says of these rows."""
        self._touch(_MARK, scope, ids, {"vector_status": status.value})

    def _touch(
        self, statement: Update, scope: Scope, ids: Collection[str], values: Mapping[str, Any]
    ) -> None:
        found = {**whose(scope), **filters.place(scope), **values}
        for some in bunches(ids):
            self._connection.execute(statement, {**found, "ids": some})

    def _write(
        self, statement: Insert | Update, values: Mapping[str, Any], item: MemoryItem
    ) -> bool:
        scope = Scope(namespace=item.namespace, user=item.user)
        try:
            with self._connection.begin_nested():
                written = self._connection.execute(statement, values).rowcount == 1
        except IntegrityError:
            taken = self.by_hash(scope, item.content_hash)
            if taken is None:
                raise Rejected("Another memory has this id.", field="id") from None
            restorable = taken.status is not Status.ACTIVE
            raise Duplicate(item=taken.id, restorable=restorable) from None
        if written:
            self._users.changed(scope, Corpus.MEMORIES)
        return written
