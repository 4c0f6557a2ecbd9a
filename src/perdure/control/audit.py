"""Who changed what, and who looked: found by user, operation and time."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    Operation,
    Scope,
    compared,
    identifier,
    new_id,
    whole_number,
)

_MOST: Final = 200  # entries of one page


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
        at = self.clock()
        entry = AuditEntry(
            id=new_id(at), item="", namespace=scope.namespace, user=scope.user,
            operation=Operation.READ, actor=Actor.ADMIN, reason=identifier(what, "what", MAX_USER),
            before=None, after=None, at=at, by=identifier(by, "by", MAX_USER),
        )  # fmt: skip
        self.database.run(lambda tx: tx.audit.add([entry]))


def _without_texts(entry: AuditEntry) -> AuditEntry:
    """The entry without what a memory said; values of the namespace are nobody's memory."""
    if entry.operation not in OF_MEMORIES:
        return entry
    return replace(entry, before=None, after=None, was=None)
