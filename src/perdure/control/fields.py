"""What a person may say about a memory, checked field by field."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict

from perdure import text
from perdure.errors import ContentTooLong, Rejected
from perdure.policy import ItemPolicy
from perdure.types import MAX_BINDING, Kind, aware, one_of, optional_identifier

_SIGNS = 12  # code points that one character may have on average; a family emoji has 7
_METADATA_VALUE = 1_000  # characters


class Fields(TypedDict, total=False):
    """What a person may say about a memory besides its content."""

    kind: Kind | str
    title: str
    importance: float
    sensitivity: int
    expires_at: datetime | None
    metadata: Mapping[str, str | None]


def checked_content(content: Any, policy: ItemPolicy, where: str = "content") -> str:
    """A statement as it will be stored.

    Raises:
        Rejected: it is no text or blank.
        ContentTooLong: it is longer than a memory may be, as a person counts.
    """
    if not isinstance(content, str):
        raise Rejected("Expected a text.", field=where)
    statement = text.clean(content).strip()
    if not statement:
        raise Rejected("May not be blank.", field=where)
    if len(statement) > _SIGNS * policy.content_chars:
        raise ContentTooLong("It has too many signs.", field="content")
    length = text.graphemes(statement)
    if length > policy.content_chars:
        raise ContentTooLong(
            "It has {length}; at most {most} characters fit.",
            field=where,
            length=length,
            most=policy.content_chars,
        )
    return statement


def checked_fields(
    given: Fields, policy: ItemPolicy, metadata: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The fields a person gave, checked one by one.

    Args:
        given: what is named.
        policy: what a memory may be.
        metadata: what is there already; what is given comes on top, None takes a key away.
    """
    checked: dict[str, Any] = {}
    for name, value in given.items():
        match name:
            case "kind":
                checked[name] = one_of(Kind, value, name)
            case "title":
                checked[name] = _title(value, policy)
            case "importance":
                checked[name] = _between(value, 0.0, 1.0, name)
            case "sensitivity":
                checked[name] = int(_between(value, 0, 2, name))
            case "expires_at":
                checked[name] = _expiry(value, policy)
            case "metadata":
                checked[name] = _flat(_merged(metadata, value), policy)
            case _:
                raise Rejected("Unknown field.", field=name)
    return checked


def _title(value: Any, policy: ItemPolicy) -> str:
    if not isinstance(value, str):
        raise Rejected("Expected a text.", field="title")
    return text.cut(text.clean(value)[: _SIGNS * policy.title_chars], policy.title_chars)


def _expiry(value: Any, policy: ItemPolicy) -> datetime | None:
    if value is None:
        return None
    if not policy.expires:
        raise Rejected("Memories do not expire here.", field="expires_at")
    if not isinstance(value, datetime):
        raise Rejected("Expected a time.", field="expires_at")
    return aware(value, "expires_at")


def _between(value: Any, low: float, high: float, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise Rejected("Expected {low} to {high:,}.", field=field, low=low, high=high)
    return value


def _merged(old: Mapping[str, str] | None, given: Any) -> Any:
    if old is None or not isinstance(given, Mapping):
        return given
    return {key: value for key, value in {**old, **given}.items() if value is not None}


def _flat(value: Any, policy: ItemPolicy) -> dict[str, str]:
    """A flat map of texts."""
    if not isinstance(value, Mapping):
        raise Rejected("Expected a map of texts.", field="metadata")
    if len(value) > policy.metadata_keys:
        raise Rejected("At most {most} keys fit.", field="metadata", most=policy.metadata_keys)
    flat = {}
    for key, entry_value in value.items():
        if not isinstance(key, str) or not isinstance(entry_value, str):
            raise Rejected("Expected a map of texts.", field="metadata")
        name = optional_identifier(text.clean(key), "metadata", MAX_BINDING)
        if name is None or len(entry_value) > _METADATA_VALUE:
            raise Rejected("A key or value is blank or too long.", field="metadata")
        flat[name] = text.clean(entry_value)
    return flat
