"""A user's switches, and the revisions that make caches honest."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, delete, event, not_, or_, select

from perdure.errors import Rejected
from perdure.ports import Clock, Corpus
from perdure.store.columns import owned, whose
from perdure.store.dialect import Change
from perdure.store.dialects import Upsert, spoken
from perdure.store.schema import users
from perdure.types import Preferences, Scope

_SWITCHES = ("memory_enabled", "auto_learn", "sensitive_allowed")
_REVISIONS = {Corpus.MEMORIES: "memories_revision", Corpus.EPISODES: "episodes_revision"}
_LARGEST_STEP = 1 << 31


def _replaced(name: str) -> Change:
    return lambda new: {name: new[name], "updated_at": new["updated_at"]}


def _raised(name: str) -> Change:
    return lambda new: {name: users.c[name] + new[name], "updated_at": new["updated_at"]}


_KEY = ("namespace", "user_id")
_HOLD = select(users.c.user_id).where(*owned(users)).with_for_update()
_APPEAR = Upsert(users, _KEY, lambda new: {"user_id": new["user_id"]})
SAYS = or_(
    *(users.c[name].is_not(None) for name in _SWITCHES),
    users.c.consolidated_at.is_not(None),
    *(users.c[name] != 0 for name in _REVISIONS.values()),
)
"""The row says something of its user; another only stands there to be held."""
LET_GO = delete(users).where(*owned(users), not_(SAYS))
"""Removes a user's row that says nothing."""
_READ = select(*(users.c[name] for name in _SWITCHES)).where(*owned(users))
_SET = {name: Upsert(users, _KEY, _replaced(name)) for name in _SWITCHES}
_REVISION = {
    corpus: select(users.c[name]).where(*owned(users)) for corpus, name in _REVISIONS.items()
}
_CHANGED = {corpus: Upsert(users, _KEY, _raised(name)) for corpus, name in _REVISIONS.items()}

_CONSOLIDATED = select(users.c.consolidated_at, users.c.consolidated_by).where(*owned(users))
_CONSOLIDATE = Upsert(
    users,
    _KEY,
    lambda new: {n: new[n] for n in ("consolidated_at", "consolidated_by", "updated_at")},
)


def _let_go(connection: Connection, owner: Mapping[str, str]) -> None:
    connection.execute(LET_GO, owner)


class SqlUsers:
    """`ports.UserStore` on one connection."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock

    def hold(self, scope: Scope) -> None:
        """Let nobody else who holds the user go on until this unit of work ends.

        Where a unit of work shuts out every other writer anyway, there is nothing to do. A row
        that was made to be held goes with the commit, unless it says something by then.
        """
        if spoken(self._connection).writes_alone:
            return
        if self._connection.execute(_HOLD, whose(scope)).first() is None:
            self._write(_APPEAR, scope)
            goes = partial(_let_go, owner=whose(scope))
            event.listen(self._connection, "commit", goes, once=True)

    def preferences(self, scope: Scope, default: Preferences) -> Preferences:
        """The user's switches; what the user never set comes from the default."""
        row = self._connection.execute(_READ, whose(scope)).one_or_none()
        said = row._asdict() if row is not None else {}
        return Preferences(
            **{
                name: getattr(default, name) if said.get(name) is None else said[name]
                for name in _SWITCHES
            }
        )

    def prefer(self, scope: Scope, **switches: bool) -> None:
        """Set switches of the user.

        Raises:
            Rejected: there is no such switch.
        """
        for name, value in switches.items():
            if name not in _SET:
                raise Rejected("Known are {known}.", field=name, known=_SWITCHES)
            self._write(_SET[name], scope, **{name: value})

    def revision(self, scope: Scope, corpus: Corpus) -> int:
        """Rises with every commit that changes what a recall of this corpus could find."""
        found = self._connection.execute(_REVISION[corpus], whose(scope)).scalar_one_or_none()
        return found or 0

    def changed(self, scope: Scope, corpus: Corpus) -> None:
        """Raise the revision.

        By a random step: what a transaction saw before it was rolled back stands under a number
        that no other transaction reaches.
        """
        step = 1 + secrets.randbelow(_LARGEST_STEP)
        self._write(_CHANGED[corpus], scope, **{_REVISIONS[corpus]: step})

    def consolidated(self, scope: Scope) -> tuple[datetime, str] | None:
        """When the user's memories were last tidied up, and by which run; None: never."""
        row = self._connection.execute(_CONSOLIDATED, whose(scope)).one_or_none()
        return None if row is None or row[0] is None else (row[0], row[1])

    def consolidate(self, scope: Scope, run: str, at: datetime) -> None:
        """Note that a run tidied them up."""
        self._write(_CONSOLIDATE, scope, consolidated_at=at, consolidated_by=run)

    def _write(self, statement: Upsert, scope: Scope, **values: object) -> None:
        row = {
            "namespace": scope.namespace,
            "user_id": scope.user,
            "updated_at": self._clock(),
            **values,
        }
        statement.write(self._connection, [row])
