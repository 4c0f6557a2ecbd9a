"""One unit of work over all that is kept."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from perdure.ports.audit import AuditStore
from perdure.ports.callers import KeyStore, RequestStore
from perdure.ports.jobs import JobStore, OutboxStore
from perdure.ports.memories import MemoryStore
from perdure.ports.messages import MessageStore
from perdure.ports.people import (
    ErasureStore,
    FeedbackStore,
    OwnerStore,
    RuntimeStore,
    SpendStore,
    UserStore,
)
from perdure.ports.vectors import VectorTable
from perdure.ports.words import FullText
from perdure.types import Scope

Result = TypeVar("Result")


class Transaction(Protocol):
    """One unit of work: everything in it happens, or nothing."""

    @property
    def items(self) -> MemoryStore:
        """Memories."""
        ...

    @property
    def messages(self) -> MessageStore:
        """What was said."""
        ...

    @property
    def users(self) -> UserStore:
        """Switches and revisions."""
        ...

    @property
    def jobs(self) -> JobStore:
        """Promises."""
        ...

    @property
    def audit(self) -> AuditStore:
        """Who changed what."""
        ...

    @property
    def outbox(self) -> OutboxStore:
        """Promises on their way out, where there is a bus."""
        ...

    @property
    def vectors(self) -> VectorTable:
        """Vectors in the same commit."""
        ...

    @property
    def fulltext(self) -> FullText:
        """Search terms in the same commit."""
        ...

    @property
    def runtime(self) -> RuntimeStore:
        """An admin's values."""
        ...

    @property
    def feedback(self) -> FeedbackStore:
        """What users said about memories that were said."""
        ...

    @property
    def owners(self) -> OwnerStore:
        """Who needs looking after."""
        ...

    @property
    def keys(self) -> KeyStore:
        """Who may ask over the wire."""
        ...

    @property
    def requests(self) -> RequestStore:
        """Requests that may be sent twice."""
        ...

    @property
    def erasures(self) -> ErasureStore:
        """Everything of a user at once."""
        ...

    @property
    def spend(self) -> SpendStore:
        """What models cost."""
        ...


Also: TypeAlias = Callable[[Transaction, Any], None]
"""Writes more in the commit of a change, and gets what that came to; what it raises takes the
change back."""


class Database(Protocol):
    """Opens units of work. Never held open while a model thinks."""

    def begin(self, scope: Scope | None = None) -> AbstractContextManager[Transaction]:
        """A unit of work that may write; commits at the end, rolls back on any exception.

        Args:
            scope: whose rows it reads and changes: such units of one owner follow one another.
                None for what stands alone: jobs, an admin's values.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        ...

    def run(self, work: Callable[[Transaction], Result], scope: Scope | None = None) -> Result:
        """Do a unit of work as `begin` does; done again where it lost to another one.

        Args:
            work: reads and writes; has no other effect, since it may be done more than once.
            scope: as in `begin`.

        Raises:
            Contended: it lost every time; nothing was written.
            DatabaseUnavailable: the database does not answer.
        """
        ...

    def read(self) -> AbstractContextManager[Transaction]:
        """A unit of work that only reads, and sees one moment; never waits for writers.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        ...

    def purge(self) -> None:
        """Leave nothing of what was removed where the store can help it: no log, no copy.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        ...

    def close(self) -> None:
        """Give back every connection."""
        ...


@runtime_checkable
class Joining(Protocol):
    """A database that can also work inside a transaction that the host began."""

    @property
    def engine(self) -> Any:
        """SQLAlchemy's engine on it, for the host's own tables; closed with the database."""
        ...

    def joined(
        self,
        connection: Any,
        committed: Callable[[], None] | None = None,
        scope: Scope | None = None,
    ) -> AbstractContextManager[Transaction]:
        """A unit of work that the host commits or rolls back.

        Args:
            connection: the host's, with the tables in its database.
            committed: called once when the host commits, as far as that can be seen.
            scope: as in `Database.begin`.

        Raises:
            Rejected: it is no such connection, or it has no transaction to join.
            Contended: within, it lost to another transaction; only the host can do its own again.
        """
        ...
