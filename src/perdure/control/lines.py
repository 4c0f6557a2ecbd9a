"""One line of an export: a message or a memory with its history, as JSON and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from perdure import text
from perdure.control.fields import checked_content, checked_fields
from perdure.details import of_value
from perdure.errors import ProjectKeyRequired, Rejected
from perdure.policy import ItemPolicy
from perdure.types import (
    FIELDS,
    MAX_BINDING,
    MAX_USER,
    OF_MEMORIES,
    AuditEntry,
    Feedback,
    Level,
    MemoryItem,
    Message,
    Moved,
    Origin,
    Preferences,
    Scope,
    Source,
    Told,
    Tombstone,
    Utterance,
    VectorStatus,
    aware,
    content_hash,
    identifier,
    new_id,
    one_of,
    optional_identifier,
    written,
)

MAX_ID = 64
"""Characters of an id that this store made."""
PLACES = ("project", "assistant", "run")
"""Where a conversation took place."""
_MOST_USES = 2**31 - 1
_TIMES = ("created_at", "updated_at", "expires_at", "last_access_at")


class LineType(StrEnum):
    """What a line holds. A line with a role and no type is a message."""

    PREFERENCES = "preferences"
    """The switches that the user has set."""
    MESSAGE = "message"
    TOMBSTONE = "tombstone"
    """A deleted statement, or a message that one was learnt from: its hash, never a text."""
    MEMORY = "memory"
    HISTORY = "history"
    """One thing that happened to a memory which is gone: merged, or deleted."""
    FEEDBACK = "feedback"


_DERIVED = {"namespace", "user", "content_hash", "normalized_content", "vector_status"}
"""What the reader of a line knows or computes; it is not written."""

_NOT_TOLD = {"namespace", "user", "item", "was", "imported_by"}
"""The same of a history. The row that a merge took out can be brought back where that happened, for
as long as that is so; it is no part of the memory that took it in. Who hands an entry in is known
where that happens."""


@cache
def _items() -> TypeAdapter[MemoryItem]:
    return TypeAdapter(MemoryItem)


@cache
def _entries() -> TypeAdapter[AuditEntry]:
    return TypeAdapter(AuditEntry)


@cache
def _stones() -> TypeAdapter[Tombstone]:
    return TypeAdapter(Tombstone)


@cache
def _verdicts() -> TypeAdapter[Feedback]:
    return TypeAdapter(Feedback)


def preferences_line(switches: Mapping[str, bool]) -> dict[str, Any]:
    """The switches that a user has set, as a line."""
    return {"type": LineType.PREFERENCES.value, **switches}


def tombstone_line(stone: Tombstone) -> dict[str, Any]:
    """A tombstone as a line."""
    return {"type": LineType.TOMBSTONE.value, **_stones().dump_python(stone, mode="json")}


def feedback_line(said: Feedback) -> dict[str, Any]:
    """A verdict as a line."""
    return {"type": LineType.FEEDBACK.value, **_verdicts().dump_python(said, mode="json")}


def history_line(entry: AuditEntry, *, texts: bool) -> dict[str, Any]:
    """One thing that happened to a memory that is gone, without its words where they are to go."""
    if not texts:
        entry = replace(entry, before=None, after=None, moved={})
    return {"type": LineType.HISTORY.value, "item": entry.item, **_past(entry)}


def message_line(said: Utterance, where: Scope, *, learnt: bool) -> dict[str, Any]:
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
    about = {"name": said.name, **{name: getattr(where, name) for name in PLACES}}
    return line | {name: value for name, value in about.items() if value is not None}


def memory_line(item: MemoryItem, history: Iterable[AuditEntry]) -> dict[str, Any]:
    """A memory as a line, with everything that happened to it."""
    line: dict[str, Any] = _items().dump_python(item, mode="json", exclude=_DERIVED)
    return {"type": LineType.MEMORY.value, **line, "history": [_past(one) for one in history]}


def _past(entry: AuditEntry) -> dict[str, Any]:
    """An entry without what its line says already."""
    line: dict[str, Any] = _entries().dump_python(entry, mode="json", exclude=_NOT_TOLD)
    return line


def line_type(line: Any) -> LineType:
    """What a line holds.

    Raises:
        Rejected: it is no JSON object, or says neither type nor role.
    """
    if not isinstance(line, Mapping):
        raise Rejected("Expected a JSON object.", field="line")
    return one_of(LineType, line.get("type", "message" if "role" in line else None), "type")


def read_place(scope: Scope, line: Mapping[str, Any]) -> Scope:
    """Where a message was said, as far as its line tells; else where the scope is.

    Raises:
        Rejected: a field cannot be meant; the error names it.
    """
    return scope.within(**{name: line[name] for name in PLACES if line.get(name) is not None})


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


def read_preferences(line: Mapping[str, Any]) -> dict[str, bool]:
    """The switches of a line.

    Raises:
        Rejected: one is unknown, or neither true nor false.
    """
    switches = {name: value for name, value in line.items() if name != "type"}
    for name, value in switches.items():
        if name not in Preferences.__dataclass_fields__ or not isinstance(value, bool):
            raise Rejected("Expected a known switch, true or false.", field=str(name))
    return switches


def read_tombstone(line: Mapping[str, Any]) -> Tombstone:
    """The tombstone of a line.

    Raises:
        Rejected: a field cannot be meant; the error names it.
    """
    stone: Tombstone = _checked(_stones(), _timed(_without_type(line), "at"))
    identifier(stone.content_hash, "content_hash", MAX_ID)
    for name in ("conversation", "message"):
        optional_identifier(getattr(stone, name), name, MAX_BINDING)
    return replace(stone, at=aware(stone.at, "at"))


def read_feedback(line: Mapping[str, Any]) -> Feedback:
    """The verdict of a line.

    Raises:
        Rejected: a field cannot be meant; the error names it.
    """
    said: Feedback = _checked(_verdicts(), _timed(_without_type(line), "at"))
    identifier(said.trace, "trace", MAX_ID)
    identifier(said.item, "item", MAX_ID)
    return replace(said, at=aware(said.at, "at"))


def read_history(scope: Scope, line: Mapping[str, Any]) -> AuditEntry:
    """What happened to a memory that is gone.

    Raises:
        Rejected: a field cannot be meant; the error names it.
    """
    item = identifier(line.get("item"), "item", MAX_ID)
    given = {name: value for name, value in _without_type(line).items() if name != "item"}
    return _entry(scope, item, given)


def _without_type(line: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name != "type"}


def read_memory(
    scope: Scope, line: Mapping[str, Any], policy: ItemPolicy, now: datetime
) -> tuple[MemoryItem, list[AuditEntry]]:
    """The memory of a line and its history.

    Raises:
        Rejected: a field cannot be meant; the error names it.
    """
    given = {k: v for k, v in line.items() if k not in ("type", "history", *_DERIVED)}
    for name in given:
        if name not in MemoryItem.__dataclass_fields__:
            raise Rejected("Unknown field.", field=str(name))
    _timed(given, *_TIMES)
    content = checked_content(given.get("content"), policy)
    created = given.setdefault("created_at", now)
    given.setdefault("updated_at", created)
    given.setdefault("id", new_id(now))
    given.setdefault("source", Source.IMPORTED)
    owner = {"namespace": scope.namespace, "user": scope.user}
    item = _checked(_items(), {**given, **owner, "content": content, "content_hash": ""})
    item = replace(
        _sane(item, policy, now),
        content_hash=content_hash(item.bound, item.level, content, policy.normalisation),
        normalized_content=text.normalise(content, policy.normalisation),
        vector_status=VectorStatus.PENDING,
    )
    past = line.get("history", ())
    if not isinstance(past, list | tuple):
        raise Rejected("Expected a list.", field="history")
    return item, [_entry(scope, item.id, entry) for entry in past]


def _sane(item: MemoryItem, policy: ItemPolicy, now: datetime) -> MemoryItem:
    """The same with each field within its limits, or an error that names the field."""
    identifier(item.id, "id", MAX_ID)
    for name in ("project", "assistant", "run", "conversation"):
        optional_identifier(getattr(item, name), name, MAX_BINDING)
    if item.level is Level.PROJECT and item.project is None:
        raise ProjectKeyRequired(field="project")
    if not 0 <= item.confidence <= 1:
        raise Rejected("Expected {low} to {high:,}.", field="confidence", low=0, high=1)
    if not 0 <= item.use_count <= _MOST_USES:
        raise Rejected("Expected {low} to {high:,}.", field="use_count", low=0, high=_MOST_USES)
    checked: dict[str, Any] = checked_fields(
        {
            "title": item.title,
            "importance": item.importance,
            "sensitivity": item.sensitivity,
            "metadata": item.metadata,
        },
        policy,
    )
    for name in _TIMES:
        at = getattr(item, name)
        checked[name] = None if at is None else aware(at, name)
    checked["created_at"] = min(checked["created_at"], now)
    checked["updated_at"] = min(checked["updated_at"], now)
    return replace(item, origin=_origin(item.origin), **checked)


def _origin(given: Origin) -> Origin:
    """Where it came from, as texts that can be stored."""
    for place in fields(Origin):
        value = getattr(given, place.name)
        for said in value if isinstance(value, tuple) else (value,):
            optional_identifier(said, f"origin.{place.name}", MAX_BINDING)
    return given


def _entry(scope: Scope, item: str, line: Any) -> AuditEntry:
    """One entry of a history; whatever it says, it is the owner's own."""
    if not isinstance(line, Mapping):
        raise Rejected("Expected a JSON object.", field="history")
    owner = {"namespace": scope.namespace, "user": scope.user, "item": item}
    nothing = {"was": None, "imported_by": None}
    entry: AuditEntry = _checked(_entries(), {**_timed(line, "at"), **owner, **nothing})
    if entry.operation not in OF_MEMORIES:
        raise Rejected("Expected what happens to a memory.", field="history.operation")
    if not entry.moved.keys() <= set(FIELDS):
        raise Rejected("Expected fields of a memory.", field="history.moved")
    identifier(entry.id, "history.id", MAX_ID)
    return replace(
        entry,
        at=aware(entry.at, "history.at"),
        reason=text.clean(entry.reason),
        before=None if entry.before is None else text.clean(entry.before),
        after=None if entry.after is None else text.clean(entry.after),
        trace=optional_identifier(entry.trace, "history.trace", MAX_ID),
        by=optional_identifier(entry.by, "history.by", MAX_USER),
        moved={
            name: Moved(_cleaned(one.before), _cleaned(one.after))
            for name, one in entry.moved.items()
        },
    )


def _timed(line: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """The same line, whose times are written as times."""
    for name in names:
        if line.get(name) is not None and not written(line[name]):
            raise Rejected("Expected a time (ISO 8601).", field=name)
    return line


def _cleaned(told: Told) -> Told:
    """A value of a field as it can be stored."""
    if isinstance(told, Mapping):
        return {text.clean(key): text.clean(value) for key, value in told.items()}
    return text.clean(told) if isinstance(told, str) else told


def _checked(words: TypeAdapter[Any], given: Mapping[str, Any]) -> Any:
    """The value, or an error that names the field and never repeats what stood there."""
    try:
        return words.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Rejected(of_value(first), field=where) from None
