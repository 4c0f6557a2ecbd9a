"""One line of an export: a message or a memory with its history, as JSON and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from perdure import text
from perdure.control.fields import checked_content
from perdure.errors import Rejected
from perdure.policy import ItemPolicy
from perdure.types import (
    MAX_BINDING,
    AuditEntry,
    MemoryItem,
    Message,
    Scope,
    Source,
    Utterance,
    VectorStatus,
    aware,
    content_hash,
    identifier,
    new_id,
    one_of,
)


class LineType(StrEnum):
    """What a line holds. A line with a role and no type is a message."""

    MESSAGE = "message"
    MEMORY = "memory"


_DERIVED = {"namespace", "user", "content_hash", "normalized_content", "vector_status"}
"""What the reader of a line knows or computes; it is not written."""


@cache
def _items() -> TypeAdapter[MemoryItem]:
    return TypeAdapter(MemoryItem)


@cache
def _entries() -> TypeAdapter[AuditEntry]:
    return TypeAdapter(AuditEntry)


def message_line(said: Utterance, *, learnt: bool) -> dict[str, Any]:
    """A message as a line; ``learnt`` says that memories were taken from it already."""
    line: dict[str, Any] = {
        "type": LineType.MESSAGE.value,
        "conversation": said.conversation,
        "role": said.role.value,
        "content": said.content,
        "time": said.at.isoformat(),
        "id": said.id,
        "learnt": learnt,
    }
    return line if said.name is None else {**line, "name": said.name}


def memory_line(item: MemoryItem, history: Iterable[AuditEntry]) -> dict[str, Any]:
    """A memory as a line, with everything that happened to it."""
    line: dict[str, Any] = _items().dump_python(item, mode="json", exclude=_DERIVED)
    past = [
        _entries().dump_python(entry, mode="json", exclude={"namespace", "user", "item"})
        for entry in history
    ]
    return {"type": LineType.MEMORY.value, **line, "history": past}


def line_type(line: Any) -> LineType:
    """What a line holds.

    Raises:
        Rejected: it is no JSON object, or says neither type nor role.
    """
    if not isinstance(line, Mapping):
        raise Rejected("Expected a JSON object.", field="line")
    return one_of(LineType, line.get("type", "message" if "role" in line else None), "type")


def read_message(line: Mapping[str, Any]) -> tuple[str, Message]:
    """The conversation and the message of a line.

    Raises:
        Rejected: a field cannot be meant; the error names it.
    """
    conversation = identifier(line.get("conversation"), "conversation", MAX_BINDING)
    at = line.get("time")
    try:
        said_at = None if at is None else aware(datetime.fromisoformat(at), "time")
    except (TypeError, ValueError):
        raise Rejected("Expected a time as in 2026-11-30T09:00:00+00:00.", field="time") from None
    role, content = line.get("role", ""), line.get("content")
    return conversation, Message(
        role, content, at=said_at, id=line.get("id"), name=line.get("name")
    )


def read_memory(
    scope: Scope, line: Mapping[str, Any], policy: ItemPolicy, now: datetime
) -> tuple[MemoryItem, list[AuditEntry]]:
    """The memory of a line and its history.

    Raises:
        Rejected: a field cannot be meant; the error names it.
    """
    given = {k: v for k, v in line.items() if k not in ("type", "history", *_DERIVED)}
    content = checked_content(given.get("content"), policy)
    created = given.setdefault("created_at", now)
    given.setdefault("updated_at", created)
    given.setdefault("id", new_id(now))
    given.setdefault("source", Source.IMPORTED)
    owner = {"namespace": scope.namespace, "user": scope.user}
    item = _checked(_items(), {**given, **owner, "content": content, "content_hash": ""})
    item = replace(
        item,
        content_hash=content_hash(item.bound, item.level, content, policy.normalisation),
        normalized_content=text.normalise(content, policy.normalisation),
        vector_status=VectorStatus.PENDING,
        created_at=aware(item.created_at, "created_at"),
        updated_at=aware(item.updated_at, "updated_at"),
    )
    past = line.get("history", ())
    if not isinstance(past, list | tuple):
        raise Rejected("Expected a list.", field="history")
    history = [
        _checked(_entries(), {**entry, **owner, "item": item.id})
        for entry in past
        if isinstance(entry, Mapping)
    ]
    return item, history


def _checked(words: TypeAdapter[Any], given: Mapping[str, Any]) -> Any:
    """The value, or an error that names the field and never repeats what stood there."""
    try:
        return words.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Rejected(f"{first['msg']}.", field=where) from None
