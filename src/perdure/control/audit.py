"""Who changed what, and who looked: found by user, operation and time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from perdure.errors import Rejected
from perdure.ports import AuditFilter, Clock, Database
from perdure.types import (
    MAX_NAMESPACE,
    MAX_USER,
    OF_MEMORIES,
    Actor,
    AuditEntry,
    AuditPage,
    Moved,
    Operation,
    Scope,
    compared,
    identifier,
    new_id,
    whole_number,
)

_MOST: Final = 200  # entries of one page
_ONCE_IN: Final = timedelta(hours=1)  # what is scraped is noted so often


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Reads the audit of a namespace, and notes who looked at a user's memories."""

    database: Database
    clock: Clock

    def page(
        self,
        namespace: str,
        which: AuditFilter,
        limit: int = 50,
        after: str | None = None,
        *,
        texts: bool = False,
    ) -> AuditPage:
        """Entries newest first.

        Args:
            namespace: whose users' memories.
            which: which of them.
            limit: of one page, 1 to 200.
            after: the cursor of the page before.
            texts: with what memories said; only for whoever may read memories.

        Raises:
            Rejected: the limit or the cursor cannot be meant.
        """
        whole_number(limit, "limit", 1, _MOST)
        if not isinstance(which, AuditFilter):
            raise Rejected("Expected an AuditFilter.", field="which")
        identifier(namespace, "namespace", MAX_NAMESPACE)
        compared(after, "after")
        with self.database.read() as tx:
            found = tx.audit.page(namespace, which, limit, after)
        if texts:
            return found
        return replace(found, entries=tuple(map(_without_texts, found.entries)))

    def looked(self, scope: Scope, by: str, what: str) -> None:
        """Note that somebody else looked at a user's memories; it stays when they are erased.

        Args:
            scope: whose memories.
            by: the key or the admin.
            what: the route or the command, never a text of the request.
        """
        entry = self._look(scope.namespace, by, what, user=scope.user)
        self.database.run(lambda tx: tx.audit.add([entry]))

    def read(self, namespace: str, by: str, what: str) -> None:
        """Note that an admin looked at something of the namespace that is of no single user.

        Args:
            namespace: that it is of.
            by: the key or the admin.
            what: jobs, keys, figures and the like.
        """
        entry = self._look(namespace, by, what, item=what)
        self.database.run(lambda tx: tx.audit.add([entry]))

    def watched(self, namespace: str, by: str, what: str) -> None:
        """The same of what is read again and again: once an hour is enough to tell who does."""
        at = self.clock()
        which = AuditFilter(user="", item=what, by=by, since=at - _ONCE_IN)
        with self.database.read() as tx:
            told = tx.audit.page(namespace, which, 1).entries
        if not told:
            self.read(namespace, by, what)

    def _look(
        self, namespace: str, by: str, what: str, user: str = "", item: str = ""
    ) -> AuditEntry:
        at = self.clock()
        return AuditEntry(
            id=new_id(at), item=item, namespace=namespace, user=user,
            operation=Operation.READ, actor=Actor.ADMIN, reason=identifier(what, "what", MAX_USER),
            before=None, after=None, at=at, by=identifier(by, "by", MAX_USER),
        )  # fmt: skip


def _without_texts(entry: AuditEntry) -> AuditEntry:
    """The entry without what a memory said and was; fields that moved stand there by name alone.

    Values of the namespace are nobody's memory.
    """
    if entry.operation not in OF_MEMORIES:
        return entry
    return replace(
        entry, before=None, after=None, was=None, moved=dict.fromkeys(entry.moved, Moved())
    )
