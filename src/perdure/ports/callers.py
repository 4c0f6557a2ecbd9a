"""Who may ask, and what was asked before."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from perdure.types import Claimed, Key, KeyRole, Scope


class KeyStore(Protocol):
    """Who may ask over the wire. A secret is known by its hash alone."""

    def add(self, key: Key) -> None:
        """Keep a new key."""
        ...

    def by_hash(self, hashed: str) -> Key | None:
        """The key of this secret, revoked or not."""
        ...

    def of(self, namespace: str) -> list[Key]:
        """Every key of a namespace, revoked ones included, oldest first."""
        ...

    def any_of(self, role: KeyRole) -> bool:
        """Was there ever a key of this role, in whatever namespace?"""
        ...

    def used(self, key: Key, at: datetime) -> None:
        """Note when it was last used."""
        ...

    def revoke(self, namespace: str, ident: str, at: datetime) -> Key | None:
        """Let it open nothing any more. None: there is no such key here."""
        ...


class RequestStore(Protocol):
    """Requests that carry a key of their own, so that sending one twice is sending it once."""

    def claim(
        self, scope: Scope, key: str, fingerprint: str, at: datetime, fresh_s: float
    ) -> Claimed | None:
        """Take a key for a request. None: it is taken now; else the request that has it.

        Args:
            scope: whose request it is.
            key: what the client calls it.
            fingerprint: of what is asked.
            at: now.
            fresh_s: seconds after which a request that was never answered is given up.
        """
        ...

    def answered(self, scope: Scope, key: str, at: datetime, ref: str) -> bool:
        """It was served, and this is what it made. False: it is not the one of ``at`` any more."""
        ...

    def release(self, scope: Scope, key: str, at: datetime) -> None:
        """It came to nothing; the key is free, if it still is that of ``at``."""
        ...

    def forget(self, before: datetime) -> int:
        """Remove what was asked before, whoever asked."""
        ...
