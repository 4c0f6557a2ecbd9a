"""What a filter, a binding and a place in a list mean as conditions on the memories' table."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, false, func, or_

from perdure import text
from perdure.errors import Rejected
from perdure.ports import ItemFilter
from perdure.store.columns import micros, moment, pair
from perdure.store.schema import memories
from perdure.types import MemoryItem, Scope, Source

BINDINGS = {
    "project": memories.c.project,
    "assistant": memories.c.assistant,
    "run": memories.c.run,
    "conversation": memories.c.conversation_id,
}
NEWEST_FIRST = (memories.c.updated_at.desc(), memories.c.id.desc())
LISTED = (memories.c.created_at.desc(), memories.c.id.desc())
"""Of lists that are read page by page: whatever happens to a row meanwhile, its place stays."""

_MACHINE = (Source.AUTO.value, Source.CONSOLIDATED.value)
_CURSOR = re.compile(r"(-?\d{1,18}):(.+)", re.DOTALL)


# ── bindings ─────────────────────────────────────────────────────────────────────────────────────

SEEN = tuple(
    or_(column.is_(None), column == bindparam(f"in_{name}")) for name, column in BINDINGS.items()
)
"""The row may be seen in the scope that `place` gives: as `MemoryItem.visible_in`."""

REACHED = tuple(
    or_(
        bindparam(f"in_{name}", type_=column.type).is_(None),
        column.is_(None),
        column == bindparam(f"in_{name}"),
    )
    for name, column in BINDINGS.items()
)
"""As `SEEN`, but a binding that the scope leaves empty keeps nothing out."""


def place(scope: Scope) -> dict[str, Any]:
    """The values of `SEEN` and `REACHED`."""
    return {f"in_{name}": getattr(scope, name) for name in BINDINGS}


def bound(scope: Scope) -> Iterator[ColumnElement[bool]]:
    """The row is bound to what the scope names; a binding left empty lists everything."""
    for name, column in BINDINGS.items():
        value = getattr(scope, name)
        if value is not None:
            yield column == value


# ── filters ──────────────────────────────────────────────────────────────────────────────────────


def matches(which: ItemFilter) -> Iterator[ColumnElement[bool]]:
    """The row is one of those that the filter means."""
    for column, values in (
        (memories.c.status, which.statuses),
        (memories.c.kind, which.kinds),
        (memories.c.source, which.sources),
    ):
        if values is not None:
            yield column.in_([str(value) for value in values])
    for column, value in (
        (memories.c.level, which.level and which.level.value),
        (memories.c.project, which.project),
        (memories.c.suspicious, which.suspicious),
    ):
        if value is not None:
            yield column == value
    if which.machine_written is not None:
        machine = and_(memories.c.source.in_(_MACHINE), memories.c.edited_by_user.is_(False))
        yield machine if which.machine_written else ~machine
    if which.since is not None:
        yield memories.c.updated_at >= which.since
    if which.until is not None:
        yield memories.c.updated_at < which.until
    if which.words is not None:
        words = text.normalise(which.words)
        yield contains(memories.c.folded_content, words) if words else false()
    for key, value in sorted(which.metadata.items()):
        yield contains(memories.c.metadata, pair(key, value))


def contains(column: ColumnElement[Any], literal: str) -> ColumnElement[bool]:
    """The text holds exactly this text. Not LIKE: it has wildcards, and may ignore case."""
    return func.length(func.replace(column, literal, "")) < func.length(column)


# ── cursors ──────────────────────────────────────────────────────────────────────────────────────


def cursor(last: MemoryItem) -> str:
    """Where a list that ended with this memory goes on; opaque."""
    place = f"{micros(last.created_at)}:{last.id}"
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def behind(after: str) -> ColumnElement[bool]:
    """The row comes later in the list than the one the cursor was made of.

    Raises:
        Rejected: it is no cursor of ours.
    """
    at, item = _place(after)
    return or_(
        memories.c.created_at < at,
        and_(memories.c.created_at == at, memories.c.id < item),
    )


def _place(after: str) -> tuple[datetime, str]:
    try:
        padded = after + "=" * (-len(after) % 4)
        found = _CURSOR.fullmatch(base64.b64decode(padded, altchars=b"-_", validate=True).decode())
        if found is not None:
            return moment(int(found[1])), found[2]
    except (binascii.Error, ValueError, OverflowError):
        pass
    raise Rejected("Expected the cursor of the page before.", field="after")
