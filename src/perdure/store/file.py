"""The desktop file: one person's memories as memory.json, and beside it what makes them work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from perdure.errors import Corrupt, DatabaseUnavailable, Misconfigured
from perdure.policy import DESKTOP_LIMITS, Policy
from perdure.ports import Clock, Result
from perdure.store.database import WAITING, SqlDatabase, SqlTransaction
from perdure.store.file_format import Listing, read_listing
from perdure.store.file_place import Found, Place, Seen, digest
from perdure.store.file_rows import FileRows
from perdure.store.file_state import State, read_state
from perdure.text import Normalisation
from perdure.types import MemoryItem, Scope

_PATIENCE_S = 0.25  # a reader waits so long for a writer, and then answers from what it knows
_WRITING_S = 1.0  # a file that cannot be read may just be being written for so long
_AGAIN_S = 0.05  # how often it is read again meanwhile


def check_policy(policy: Policy) -> None:
    """Refuse numbers that a desktop file cannot keep.

    Raises:
        Misconfigured: the error names the knob.
    """
    if policy.preset != "desktop":
        raise Misconfigured('A .json file is for the preset "desktop" alone.', field="preset")
    if policy.capacity.active_limit not in DESKTOP_LIMITS:
        raise Misconfigured(
            "A desktop file takes {low} to {high:,}.",
            field="capacity.active_limit",
            low=DESKTOP_LIMITS[0],
            high=DESKTOP_LIMITS[-1],
        )
    if policy.capture.episodes:
        raise Misconfigured("A desktop file keeps no conversations.", field="capture.episodes")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What was last read from the files, or written to them."""

    seen: Seen
    fresh: bool
    memory: str
    """Digest of the file."""
    state: str
    """Digest of the state."""
    behind: bool = False
    """The files lack something: the next unit of work that may write writes it."""
    aside: tuple[tuple[Path, bytes], ...] = ()
    """What could not be read, to be kept before anything is written."""


class FileDatabase:
    """`ports.Database` on one person's file; share it between threads, the file with processes.

    The rows live in SQLite in memory. A unit of work that may write waits for its turn among all
    processes, reads the files again if they changed, and replaces them before it ends. What a
    person or another program did to the file meanwhile is understood as theirs: entries that are
    new, reworded or gone.
    """

    def __init__(self, place: Place, memory: SqlDatabase, rows: FileRows, busy_s: float) -> None:
        self._place = place
        self._memory = memory
        self._rows = rows
        self._busy_s = busy_s
        self._known: _Known | None = None
        self._open: dict[int, SqlTransaction] = {}  # units of work by thread

    @classmethod
    def open(
        cls,
        where: Path,
        *,
        clock: Clock,
        normalisation: Normalisation = "exact",
        busy_s: float = 30.0,
    ) -> FileDatabase:
        """Open a file; it and its folder are made with the first memory.

        Args:
            where: the file; beside it lie ``<stem>.state.json`` and ``<stem>.lock``.
            clock: now.
            normalisation: what makes two statements the same.
            busy_s: seconds to wait for another writer.

        Raises:
            Misconfigured: a newer Perdure wrote it.
            DatabaseUnavailable: it is there and cannot be read.
        """
        memory = SqlDatabase.open("sqlite://", clock=clock, policy=WAITING.but(busy_s=busy_s))
        database = cls(Place(where), memory, FileRows(memory, clock, normalisation), busy_s)
        try:
            database._catch_up()
        except BaseException:
            database.close()
            raise
        return database

    @contextmanager
    def begin(self, scope: Scope | None = None) -> Iterator[SqlTransaction]:  # noqa: ARG002 - one writer at a time
        """A unit of work that may write; the files hold all of it at its end, or nothing.

        Raises:
            DatabaseUnavailable: the files cannot be written, or somebody else writes for too long.
                What was learnt stays in memory, and is saved with what is written next.
            Rejected: the file is another person's.
        """
        if threading.get_ident() in self._open:
            raise DatabaseUnavailable("A unit of work is open in this thread already.")
        with self._place.turn(self._busy_s):
            known = self._look()
            saved = None
            learnt: list[MemoryItem] = []
            try:
                with self._memory.begin() as tx:
                    before = _changes(tx)
                    with self._shared(tx):
                        yield tx
                    if known.behind or _changes(tx) != before:
                        learnt = self._rows.learnt(tx)
                        saved = self._save(tx, known)
            except BaseException:
                self._rows.remember(learnt)
                raise
            if saved is not None:
                self._known = saved
                self._rows.saved()

    def run(self, work: Callable[[SqlTransaction], Result], scope: Scope | None = None) -> Result:
        """Do a unit of work as `begin` does; there is one writer at a time, so none loses.

        Raises:
            DatabaseUnavailable: as `begin`.
            Rejected: the file is another person's.
        """
        with self.begin(scope) as tx:
            return work(tx)

    @contextmanager
    def read(self) -> Iterator[SqlTransaction]:
        """A unit of work that only reads; it waits for no writer of another process for long.

        Inside another unit of work of the same thread it is a part of that.

        Raises:
            DatabaseUnavailable: the files are there and cannot be read.
            Rejected: the file is another person's.
        """
        outer = self._open.get(threading.get_ident())
        if outer is not None:
            yield outer
            return
        self._catch_up()
        with self._memory.read() as tx, self._shared(tx):
            yield tx

    def purge(self) -> None:
        """Remove what could not be read once and was kept aside: it is the same person's.

        Raises:
            DatabaseUnavailable: the files cannot be removed.
        """
        with self._place.turn(self._busy_s):
            self._place.clear_aside()

    def close(self) -> None:
        """Forget what is in memory."""
        self._memory.close()

    @contextmanager
    def _shared(self, tx: SqlTransaction) -> Iterator[None]:
        """Let what this thread reads meanwhile be a part of this unit of work."""
        thread = threading.get_ident()
        self._open[thread] = tx
        try:
            with self._rows.watched(tx):
                yield
        finally:
            del self._open[thread]

    # ── from the files ───────────────────────────────────────────────────────────────────────────

    def _catch_up(self) -> None:
        """Read the files again if they changed."""
        known = self._known
        if known is not None and not known.fresh and known.seen == self._place.look():
            return
        if not self._place.writable:  # so nobody writes there now
            self._look()
            return
        with ExitStack() as held:
            try:
                held.enter_context(self._place.turn(self._busy_s if known is None else _PATIENCE_S))
            except DatabaseUnavailable:
                if known is None:
                    raise
                return
            self._look()

    def _look(self) -> _Known:
        """The files as they are now; read if they may have changed, parsed if they have."""
        known = self._known
        if known is not None and not known.fresh and known.seen == self._place.look():
            return known
        found = self._place.read()
        if known is not None and (known.memory, known.state) == (
            digest(found.memory), digest(found.state),
        ):  # fmt: skip
            known = replace(known, seen=found.seen, fresh=found.fresh)
        else:
            known = self._load(found)
        self._known = known
        return known

    def _load(self, found: Found) -> _Known:
        """Make the rows what the files say."""
        found, listing = self._listing(found)
        aside = []
        if found.memory is not None and not (listing is not None and listing.whole):
            aside.append((self._place.memory, found.memory))
        state = State()
        try:
            state = state if found.state is None else read_state(found.state)
        except Corrupt:
            aside.append((self._place.state, found.state or b""))
        behind = self._rows.load(found, listing, state)
        return _Known(
            seen=found.seen,
            fresh=found.fresh,
            memory=digest(found.memory),
            state=digest(found.state),
            behind=behind,
            aside=tuple(aside),
        )

    def _listing(self, found: Found) -> tuple[Found, Listing | None]:
        """The entries, None if they cannot be read even when nobody writes there any more."""
        while True:
            try:
                nothing = Listing((), whole=True)
                return found, nothing if found.memory is None else read_listing(found.memory)
            except Corrupt:
                if not 0 <= found.age_s < _WRITING_S:
                    return found, None
            time.sleep(_AGAIN_S)
            found = self._place.read()

    # ── to the files ─────────────────────────────────────────────────────────────────────────────

    def _save(self, tx: SqlTransaction, known: _Known) -> _Known:
        """Write both files: the state with everything, and the file with what it shows of it."""
        memory = self._rows.file(tx)
        there = known.memory if memory is None else digest(memory)
        state = self._rows.state(tx, there, known.memory)
        for file, data in known.aside:
            self._place.keep_aside(file, data)
        done = self._place.replace(None if there == known.memory else memory, state)
        return _Known(
            seen=self._place.look(),
            fresh=True,
            memory=there if done else known.memory,
            state=digest(state),
            behind=not done,
        )


def _changes(tx: SqlTransaction) -> int:
    """How many rows this connection has changed so far."""
    changes: int = tx.connection.connection.driver_connection.total_changes  # type: ignore[union-attr]
    return changes
