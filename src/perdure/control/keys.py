"""Keys that open the service: made and shown once, found by their hash, revoked."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, TypeVar

from perdure.errors import DatabaseUnavailable, NotFound, Rejected, Unavailable
from perdure.ports import Clock, Database, Transaction
from perdure.types import (
    MAX_NAMESPACE,
    MAY,
    WITHIN,
    Actor,
    AuditEntry,
    Key,
    KeyRole,
    Operation,
    Permission,
    identifier,
    new_id,
    one_of,
)

PREFIX = "pdr_"
"""Begins every secret, so that people and scanners know it for what it is."""
_BYTES = 32  # of chance in a secret
_NAME = 255  # characters
_NOTED = timedelta(minutes=1)  # how exactly the last use is known
_THREADS = 8  # keys that are looked up at once; more wait, within their time

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Makes, lists, finds and revokes keys, one namespace at a time."""

    database: Database
    clock: Clock
    wait_s: float
    """So long whoever asks waits for a look-up, whatever the database does meanwhile."""
    _there: dict[KeyRole, bool] = field(default_factory=dict)
    _noting: set[str] = field(default_factory=set)
    """Keys whose use is being written down."""
    _running: set[Future[Any]] = field(default_factory=set)
    _looking: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(_THREADS, thread_name_prefix="perdure-keys")
    )
    _writing: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="perdure-key-uses")
    )

    def close(self) -> None:
        """Give the threads back; what is late even now ends by itself."""
        for threads in (self._looking, self._writing):
            threads.shutdown(wait=False, cancel_futures=True)
        wait(set(self._running), timeout=self.wait_s)

    def create(
        self,
        namespace: str,
        name: str,
        role: KeyRole | str = KeyRole.APP,
        permissions: Collection[Permission | str] | None = None,
        by: str = "command line",
    ) -> tuple[Key, str]:
        """A new key, and its secret, which is kept nowhere.

        Args:
            namespace: what it opens.
            name: what people call it.
            role: ``app`` or ``admin``.
            permissions: None gives all that the role may have within its namespace.
            by: who makes it, for the audit.

        Raises:
            Rejected: a name cannot be meant, or the role may not have such a permission.
        """
        role = one_of(KeyRole, role, "role")
        wanted = WITHIN[role] if permissions is None else {
            one_of(Permission, one, "permissions") for one in permissions
        }  # fmt: skip
        if not wanted or not wanted <= MAY[role]:
            raise Rejected(
                "A key of this role may have {known}.", field="permissions", known=sorted(MAY[role])
            )
        secret = PREFIX + secrets.token_urlsafe(_BYTES)
        at = self.clock()
        key = Key(
            id=new_id(at),
            namespace=identifier(namespace, "namespace", MAX_NAMESPACE),
            name=identifier(name, "name", _NAME),
            role=role,
            permissions=frozenset(wanted),
            hashed=hashed(secret),
            created_at=at,
        )

        def write(tx: Transaction) -> None:
            tx.keys.add(key)
            tx.audit.add([self._note(key, "key made", by)])

        self.database.run(write)
        return key, secret

    def list(self, namespace: str) -> list[Key]:
        """Every key of a namespace, revoked ones included, oldest first."""
        with self.database.read() as tx:
            return tx.keys.of(namespace)

    def revoke(self, namespace: str, ident: str, by: str = "command line") -> Key:
        """Let a key open nothing any more, from the next request on.

        Raises:
            NotFound: there is no such key in this namespace.
        """

        def write(tx: Transaction) -> Key:
            key = tx.keys.revoke(namespace, ident, self.clock())
            if key is None:
                raise NotFound(field="id")
            tx.audit.add([self._note(key, "key revoked", by)])
            return key

        return self.database.run(write)

    def find(self, secret: str) -> Key | None:
        """The key of a secret; None if there is none, or it was revoked.

        Raises:
            DatabaseUnavailable: the database does not answer, or not in time.
        """
        if not secret.startswith(PREFIX):
            return None  # a user's token, say: nobody has to look
        key = self._soon(lambda tx: tx.keys.by_hash(hashed(secret)))
        if key is None or key.revoked_at is not None:
            return None
        at = self.clock()
        if key.last_used_at is None or at - key.last_used_at >= _NOTED:
            self._note_use(key, at)
        return key

    def any_of(self, role: KeyRole) -> bool:
        """Was there ever a key of this role? Revoking the last one opens nothing again.

        While the database does not answer, what was known before holds: nobody makes keys then.

        Raises:
            DatabaseUnavailable: it does not answer in time, and was never asked before.
        """
        if not self._there.get(role, False):
            try:
                self._there[role] = self._soon(lambda tx: tx.keys.any_of(role))
            except Unavailable:
                if role not in self._there:
                    raise
        return self._there[role]

    def _soon(self, look: Callable[[Transaction], Found]) -> Found:
        """What a look-up finds; one that is late is left behind.

        Raises:
            DatabaseUnavailable: the database does not answer, or not in time.
        """

        def read() -> Found:
            with self.database.read() as tx:
                return look(tx)

        looked = self._started(self._looking, read)
        try:
            return looked.result(timeout=self.wait_s)
        except TimeoutError:
            looked.cancel()
            raise DatabaseUnavailable("Keys cannot be looked up in time.") from None

    def _note_use(self, key: Key, at: datetime) -> None:
        """Write down when a key was used last; nobody waits for it, and one write is enough."""
        if key.id in self._noting:
            return
        self._noting.add(key.id)

        def write() -> None:
            try:
                with suppress(Unavailable):
                    self.database.run(lambda tx: tx.keys.used(key, at))
            finally:
                self._noting.discard(key.id)

        self._started(self._writing, write)

    def _started(self, threads: ThreadPoolExecutor, work: Callable[[], Found]) -> Future[Found]:
        started = threads.submit(work)
        self._running.add(started)
        started.add_done_callback(self._running.discard)
        return started

    def _note(self, key: Key, reason: str, by: str) -> AuditEntry:
        at = self.clock()
        return AuditEntry(
            id=new_id(at),
            item=key.id,
            namespace=key.namespace,
            user="",
            operation=Operation.SET,
            actor=Actor.ADMIN,
            reason=reason,
            before=None,
            after=None,
            at=at,
            by=by,
        )


def hashed(secret: str) -> str:
    """What is kept of a secret."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
