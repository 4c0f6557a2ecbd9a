"""The rows behind the desktop file, in memory: whose they are, and what is shown of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from sqlalchemy import event

from perdure.errors import Duplicate, Rejected
from perdure.ports import Clock, ItemFilter
from perdure.store.database import SqlDatabase, SqlTransaction
from perdure.store.file_changes import forget_learnt, index, index_all, set_aside, write_edits
from perdure.store.file_edits import read_edits, shown
from perdure.store.file_format import Entry, Listing, write_listing
from perdure.store.file_place import Found, digest
from perdure.store.file_state import State, clear, draw, pour, write_state
from perdure.text import Normalisation
from perdure.types import MemoryItem, Scope, Status

_ACTIVE = ItemFilter(statuses=frozenset({Status.ACTIVE}))
_ALL = ItemFilter()


class FileRows:
    """One person's rows. Whoever comes first is that person; others are refused."""

    def __init__(self, memory: SqlDatabase, clock: Clock, how: Normalisation) -> None:
        self._memory = memory
        self._clock = clock
        self._how = how
        self._person: Scope | None = None
        self._waiting: tuple[Entry, ...] = ()  # entries that are whoever's comes first
        self._more: Mapping[str, Mapping[str, Any]] = {}  # fields of other programs
        self._unsaved: tuple[MemoryItem, ...] = ()  # learnt, and not yet in the files

    # ── from the files ───────────────────────────────────────────────────────────────────────────

    def load(self, found: Found, listing: Listing | None, state: State) -> bool:
        """Put what the files say in place of all rows.

        Args:
            found: the files as they were read.
            listing: the entries of the first; None if they cannot be read.
            state: the second, or an empty one.

        Returns:
            The files are behind now: somebody changed the first, or it was not written any more.
        """
        with self._memory.begin() as tx:
            clear(tx.connection)
            pour(tx.connection, state.rows)
            index_all(tx)
            self._more = state.more
            self._waiting = () if listing is None else listing.entries
            self._person = None
            behind = False
            if state.person is not None:
                self._person = Scope(namespace=state.person[0], user=state.person[1])
                behind = self._compare(tx, found, listing, state)
            self._put_back(tx)
        return behind

    def _compare(
        self, tx: SqlTransaction, found: Found, listing: Listing | None, state: State
    ) -> bool:
        """Do to the rows what was done to the file since the state was written."""
        there = digest(found.memory)
        if there == state.file:
            return False
        cut_short = digest(found.prepared) == state.file  # its writer ended before the last step
        if cut_short and there == state.before:
            return True
        if listing is None:
            set_aside(tx, shown(self._rows(tx, _ACTIVE)), self._clock())
            return False
        # Whoever edited the file of before did not see what was to come: nothing was removed.
        return self._merge(tx, listing.entries, removes=not cut_short)

    def _merge(self, tx: SqlTransaction, entries: Sequence[Entry], *, removes: bool = True) -> bool:
        """Make the rows what the entries say. Did anything change?"""
        if self._person is None:
            return False
        at = self._clock()
        edits = read_edits(entries, self._rows(tx, _ALL), self._person, self._how, at)
        if not removes:
            edits = replace(edits, removed=())
        write_edits(tx, edits, at)
        self._more = {**self._more, **edits.more}
        return bool(edits.written or edits.removed)

    # ── to the files ─────────────────────────────────────────────────────────────────────────────

    def file(self, tx: SqlTransaction) -> bytes | None:
        """What the file is to say; None while it is nobody's."""
        if self._person is None:
            return None
        return write_listing(shown(self._rows(tx, _ACTIVE)), self._more)

    def state(self, tx: SqlTransaction, file: str, before: str) -> bytes:
        """What the state is to say. What was said and learnt from is forgotten.

        Args:
            tx: the unit of work that ends.
            file: digest of the file that goes with it.
            before: digest of the file that is there.
        """
        forget_learnt(tx)
        ids = [row.id for row in self._rows(tx, _ALL)]
        return write_state(
            State(
                person=None if self._person is None else self._person.owner,
                file=file,
                before=before,
                more={item: dict(self._more[item]) for item in ids if self._more.get(item)},
                rows=draw(tx.connection),
            )
        )

    # ── what could not be saved ──────────────────────────────────────────────────────────────────

    def learnt(self, tx: SqlTransaction) -> list[MemoryItem]:
        """What no person wrote."""
        return [row for row in self._rows(tx, _ACTIVE) if row.machine_written]

    def remember(self, lost: Sequence[MemoryItem]) -> None:
        """Keep what was learnt and is in no file, until `saved`."""
        if lost:
            with self._memory.begin() as tx:
                safe = {row.id for row in self._rows(tx, _ALL)}
                self._unsaved += tuple(row for row in lost if row.id not in safe)
                self._put_back(tx)

    def saved(self) -> None:
        """The files hold everything."""
        self._unsaved = ()

    def _put_back(self, tx: SqlTransaction) -> None:
        for row in self._unsaved:
            with suppress(Duplicate):
                tx.items.add(row)
                index(tx, [row])

    # ── one person ───────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def watched(self, tx: SqlTransaction) -> Iterator[None]:
        """See whose rows each statement is about: every statement about an owner's rows says so."""
        before = self._person, self._waiting, self._more

        def met(_connection: Any, _clause: Any, many: Any, one: Any, _options: Any) -> None:
            for values in many or (one,):
                user = values.get("of_user", values.get("user_id"))
                if user:  # "" is the namespace as a whole
                    self._welcome(tx, values.get("of_namespace", values.get("namespace")), user)

        event.listen(tx.connection, "before_execute", met)
        try:
            yield
        except BaseException:
            self._person, self._waiting, self._more = before
            raise

    def _welcome(self, tx: SqlTransaction, namespace: str, user: str) -> None:
        if self._person is None:
            self._person = Scope(namespace=namespace, user=user)
            self._merge(tx, self._waiting)
            self._waiting = ()
        elif self._person.owner != (namespace, user):
            self._refuse("namespace" if self._person.user == user else "user")

    def _refuse(self, field: str) -> None:
        raise Rejected(
            "This file is another's; a desktop file is one person's. For several, take a database.",
            field=field,
        )

    def _rows(self, tx: SqlTransaction, which: ItemFilter) -> list[MemoryItem]:
        return [] if self._person is None else tx.items.every(self._person, which)
