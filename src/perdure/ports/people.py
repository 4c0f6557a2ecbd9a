"""What is kept for an owner beside memories: switches, costs, verdicts, erasures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from perdure.ports.vectors import Corpus
from perdure.types import (
    Erasure,
    Feedback,
    ItemId,
    Preferences,
    Scope,
    Spend,
    Trace,
    VectorStatus,
)


class UserStore(Protocol):
    """A user's switches, and the counters that make caches honest."""

    def preferences(self, scope: Scope, default: Preferences) -> Preferences:
        """The user's switches; what the user never set comes from the default."""
        ...

    def prefer(self, scope: Scope, **switches: bool) -> None:
        """Set switches of the user."""
        ...

    def revision(self, scope: Scope, corpus: Corpus) -> int:
        """Rises with every commit that changes what a recall of this corpus could find."""
        ...

    def changed(self, scope: Scope, corpus: Corpus) -> None:
        """Raise the revision."""
        ...

    def consolidated(self, scope: Scope) -> tuple[datetime, str] | None:
        """When the user's memories were last tidied up, and by which run; None: never."""
        ...

    def consolidate(self, scope: Scope, run: str, at: datetime) -> None:
        """Note that a run tidied them up."""
        ...


class RuntimeStore(Protocol):
    """An admin's values for a namespace, set while the service runs."""

    def get(self, namespace: str) -> dict[str, Any]:
        """All values of the namespace by dotted name."""
        ...

    def hold(self, namespace: str, names: Collection[str]) -> dict[str, Any]:
        """What these have now, None where nothing; nobody else changes them meanwhile.

        Each of them is put in the same unit of work.
        """
        ...

    def put(self, namespace: str, name: str, value: Any) -> None:
        """Set one; None removes it."""
        ...


class FeedbackStore(Protocol):
    """What answers said, by id, and what users said about that."""

    def answered(
        self, scope: Scope, told: Mapping[Trace, Collection[ItemId]], at: datetime, keep: int
    ) -> None:
        """Note which memories each answer said, and let go of all but the newest of the owner."""
        ...

    def said(self, scope: Scope, trace: Trace) -> frozenset[ItemId]:
        """What that answer said; nothing, if it was none of the owner's, or is not known now."""
        ...

    def add(self, scope: Scope, said: Feedback) -> bool:
        """Keep it. False: the same verdict on the same memory of the same answer is known."""
        ...

    def after(self, scope: Scope, place: int, limit: int) -> list[tuple[int, Feedback]]:
        """The owner's verdicts behind a place, oldest first, each with its own place."""
        ...

    def of(self, scope: Scope, item: str) -> list[Feedback]:
        """All that was said about one memory, oldest first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What is overdue in one namespace. None: such things are left alone there."""

    expired: datetime | None
    """Active memories whose time was up by then."""
    deleted: datetime
    """Memories deleted up to then whose text is still somewhere."""
    kept: datetime | None
    """Messages that came in before."""
    merged: datetime
    """Memories merged or dropped up to then that could still be brought back."""


class OwnerStore(Protocol):
    """Who needs looking after. The only questions that name no user; they give no row away."""

    def namespaces(self) -> list[str]:
        """Every namespace that holds anything, sorted."""
        ...

    def every(self, namespace: str) -> list[Scope]:
        """Everyone who has a memory, a conversation or a switch here."""
        ...

    def vectors(self, namespace: str | None = None) -> Mapping[VectorStatus, int]:
        """How many memories of a namespace, or of all, have which vector status."""
        ...

    def overdue(self, namespace: str, due: Due) -> list[Scope]:
        """Owners of something that is overdue."""
        ...

    def unfindable(self, namespace: str, *, model: str | None, episodes: bool) -> list[Scope]:
        """Owners whose rows, terms and vectors disagree, while no job will mend that anyway.

        Args:
            namespace: whose users are meant.
            model: of the vectors there should be; None where there should be none.
            episodes: messages should have terms and vectors too.
        """
        ...


class ErasureStore(Protocol):
    """Everything of a user at once: gone, counted, and the receipt that stays."""

    def add(self, erasure: Erasure) -> None:
        """Note that a user is to be erased."""
        ...

    def put(self, erasure: Erasure) -> None:
        """Note how far it has come."""
        ...

    def last(self, scope: Scope) -> Erasure | None:
        """The last erasure of this user; None: there was none."""
        ...

    def since(self, scope: Scope, at: datetime) -> bool:
        """Was the user erased, or is being erased, since then?"""
        ...

    def wipe(self, scope: Scope) -> Mapping[str, int]:
        """Remove every row of the user, in whatever table; how many went, by place.

        What stays are receipts of erasures, the job that goes on with one, and who looked.
        """
        ...

    def held(self, scope: Scope) -> Mapping[str, int]:
        """How many rows of the user `wipe` would remove, by place."""
        ...


class SpendStore(Protocol):
    """What models cost, by month."""

    def add(self, namespace: str, user: str | None, spent: Spend) -> None:
        """Add to the month of the namespace, and of the user where one is named."""
        ...

    def of(self, scope: Scope, month: str) -> list[Spend]:
        """What one user spent in a month, by model and purpose."""
        ...

    def together(self, namespace: str, month: str) -> list[Spend]:
        """What all of a namespace spent in a month, erased users included."""
        ...
