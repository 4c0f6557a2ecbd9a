"""What stands in the desktop file: entries for people and programs, as bytes and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from perdure import text
from perdure.errors import Corrupt
from perdure.store.columns import ID, micros
from perdure.types import MAX_BINDING, MemoryItem

GLOBAL = "global"
"""The ``sourceScope`` of an entry that no conversation led to."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OURS = ("id", "content", "createdAt", "sourceScope")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the array, as far as it says something; what it lacks is None."""

    content: str
    id: str | None = None
    created_at: datetime | None = None
    """Whole milliseconds."""
    conversation: str | None = None
    """``sourceScope``; None is global."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Fields of other programs, kept as they are."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a file, in their order."""

    entries: tuple[Entry, ...]
    whole: bool
    """Everything in the array was an entry."""


def read_listing(data: bytes) -> Listing:
    """The entries of a file; what is no entry, for example without a content, is left out.

    Raises:
        Corrupt: it is no JSON array in UTF-8.
    """
    array = _json(data)
    if not isinstance(array, list):
        raise Corrupt("Expected a JSON array.")
    entries = tuple(entry for entry in map(_entry, array) if entry is not None)
    return Listing(entries, whole=len(entries) == len(array))


def write_listing(items: Sequence[MemoryItem], more: Mapping[str, Mapping[str, Any]]) -> bytes:
    """The file of these memories, oldest first.

    Args:
        items: what the file shows.
        more: fields of other programs, by id.
    """
    array = [
        {
            "id": item.id,
            "content": item.content,
            "createdAt": millis(item.created_at),
            "sourceScope": item.origin.conversation or GLOBAL,
            **more.get(item.id, {}),
        }
        for item in sorted(items, key=lambda item: (item.created_at, item.id))
    ]
    return f"{json.dumps(array, ensure_ascii=False, indent=2)}\n".encode()


def millis(at: datetime) -> int:
    """Whole milliseconds since 1970."""
    return micros(at) // 1_000


def _json(data: bytes) -> Any:
    """The value; half characters and endless numbers are replaced, so that it can be written."""
    try:
        return _clean(json.loads(data.decode("utf-8-sig"), parse_constant=_no_number))
    except (ValueError, RecursionError):
        raise Corrupt("Not valid JSON in UTF-8.") from None


def _no_number(_: str) -> None:
    raise ValueError


def _clean(value: Any) -> Any:
    match value:
        case str():
            return text.clean(value)
        case list():
            return [_clean(one) for one in value]
        case float():
            return value if math.isfinite(value) else None  # such as 1e999
        case dict():
            return {text.clean(key): _clean(one) for key, one in value.items()}
    return value


def _entry(value: Any) -> Entry | None:
    if not isinstance(value, dict):
        return None
    content = value.get("content")
    if not isinstance(content, str) or not content.strip():
        return None
    source = _name(value.get("sourceScope"), MAX_BINDING)
    return Entry(
        content=content,
        id=_name(value.get("id"), ID),
        created_at=_moment(value.get("createdAt")),
        conversation=None if source == GLOBAL else source,
        more={name: one for name, one in value.items() if name not in _OURS},
    )


def _name(value: Any, longest: int) -> str | None:
    return value if isinstance(value, str) and value.strip() and len(value) <= longest else None


def _moment(value: Any) -> datetime | None:
    """Milliseconds since 1970 as a time; None if there is no such time."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return _EPOCH + timedelta(milliseconds=int(value))
    except OverflowError:
        return None
