"""Who may do what: keys, their roles, and the permissions that routes ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Permission(StrEnum):
    """What a route asks for."""

    MEMORY_USE = "memory:use"
    """Capture, recall and look after the memories of one named user."""
    ADMIN_READ = "admin:read"
    """See jobs, settings, figures and the audit, without anything that was said."""
    MEMORY_READ = "memory:read"
    """See any user's memories, also in the audit."""
    JOBS_WRITE = "jobs:write"
    """Retry and drop jobs."""
    SETTINGS_WRITE = "settings:write"
    """Set run-time values."""
    KEYS_WRITE = "keys:write"
    """Make, list and revoke keys."""
    DEPLOYMENT_READ = "deployment:read"
    """See figures of all namespaces together. The only one that reaches beyond its own."""


class KeyRole(StrEnum):
    """What a key is for."""

    APP = "app"
    """An assistant's server: it may use the memories of every user of its namespace."""
    ADMIN = "admin"
    """Somebody who runs the service: reads, and looks after it; never writes a memory."""


MAY: Mapping[KeyRole, frozenset[Permission]] = {
    KeyRole.APP: frozenset({Permission.MEMORY_USE}),
    KeyRole.ADMIN: frozenset(Permission) - {Permission.MEMORY_USE},
}
"""All that a key of a role may be allowed; a key can be given less."""
WITHIN: Mapping[KeyRole, frozenset[Permission]] = {
    role: may - {Permission.DEPLOYMENT_READ} for role, may in MAY.items()
}
"""What a key is allowed where nothing is said: all within its namespace, nothing beyond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key as it is kept: never the secret itself."""

    id: str
    namespace: str
    name: str
    """What people call it."""
    role: KeyRole
    permissions: frozenset[Permission]
    hashed: str
    """SHA-256 of the secret, which has 256 random bits; nothing slower is needed."""
    created_at: datetime
    last_used_at: datetime | None = None
    """To the minute."""
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A request that may be sent twice, as it is kept: no word of it, and none of its answer."""

    fingerprint: str
    """Of what was asked; the same key may not ask for something else."""
    ref: str | None
    """What it made: the id of a memory, the trace of a capture. None while it is being served."""
    at: datetime
