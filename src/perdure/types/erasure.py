"""What stays of an erased user: a receipt without a word of theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The receipt of erasing a user, and what a new search finds."""

    id: str
    namespace: str
    user: str
    by: str
    """Who asked for it."""
    asked_at: datetime
    done_at: datetime | None = None
    """None while it goes on."""
    removed: Mapping[str, int] = field(default_factory=dict)
    """How many rows went, by place."""
    found: Mapping[str, int] | None = None
    """What the last search found, place by place, the empty ones included; None: not searched.
    Once it is done all went in one commit, so whatever is found then was added since."""

    unsearched: tuple[str, ...] = ()
    """Places where nobody can search for one user, and which keep what was said for a time of their
    own: ``bus`` are the topics of events."""

    @property
    def clean(self) -> bool:
        """It is done, and a search found nothing in any place that can be searched."""
        return self.done_at is not None and self.found is not None and not any(self.found.values())
