"""Ids, times and words: what a caller gives, as it is meant or refused by name."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from perdure import text
from perdure.errors import NotFound, Rejected

Word = TypeVar("Word", bound=StrEnum)

ItemId: TypeAlias = str
Trace: TypeAlias = str

_DAY = re.compile(r"\s*\d{4}-")  # how a written time begins
MAX_USER = 255
MAX_NAMESPACE = 64
MAX_BINDING = 128
MAX_MESSAGE = 1_000_000


def new_id(at: datetime) -> str:
    """An opaque id of 32 hex digits that sorts by time (RFC 9562, version 7)."""
    millis = int(at.timestamp() * 1000) & ((1 << 48) - 1)
    low = secrets.randbits(74)
    value = (
        (millis << 80) | (0x7 << 76) | ((low >> 62) << 64) | (0b10 << 62) | (low & ((1 << 62) - 1))
    )
    return f"{value:032x}"


def made_at(made: str) -> datetime:
    """The latest moment at which `new_id` can have made this id; the end of time if it did not."""
    try:
        began = datetime.fromtimestamp(int(made[:12], 16) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.max.replace(tzinfo=UTC)
    return began + timedelta(milliseconds=1) - datetime.resolution


def aware(value: datetime, where: str) -> datetime:
    """The same moment in UTC.

    Raises:
        Rejected: as `zoned`.
    """
    return zoned(value, where).astimezone(UTC)


def zoned(value: datetime, where: str) -> datetime:
    """The same moment with its offset from UTC, which tells the day that was meant.

    Raises:
        Rejected: it is no time, or has no zone, so nobody can know which moment is meant; or it
            lies beyond the calendar.
    """
    if not isinstance(value, datetime):
        raise Rejected("Expected a time.", field=where)
    offset = value.utcoffset()
    if value.tzinfo is None or offset is None:
        raise Rejected("A time needs a zone, for example 2026-11-30T09:00:00+01:00.", field=where)
    try:
        value.astimezone(UTC)
        return value.astimezone(timezone(offset))
    except OverflowError:
        raise Rejected("There is no such time in UTC.", field=where) from None


def written(value: Any) -> bool:
    """Is it a time as people write it?

    A number is none, also as a text: nobody knows whether it counts seconds, milliseconds or years.
    """
    return isinstance(value, datetime) or (isinstance(value, str) and _DAY.match(value) is not None)


def just_after(at: datetime, than: datetime) -> datetime:
    """``at``, or the next moment after ``than`` if that is later; every change moves a time."""
    last = datetime.max.replace(tzinfo=UTC)
    return at if at > than else than + min(datetime.resolution, last - than)


def identifier(value: Any, where: str, limit: int) -> str:
    """An id as the caller means it, exactly: no trimming, no folding.

    Raises:
        Rejected: it is not a text, blank, longer than ``limit`` characters, or holds a NUL or
            half a character.
    """
    if not isinstance(value, str):
        raise Rejected("Expected a text.", field=where)
    if not value.strip():
        raise Rejected("May not be blank.", field=where)
    if len(value) > limit:
        raise Rejected("May have at most {limit} characters.", field=where, limit=limit)
    if text.clean(value) != value:
        raise Rejected("May not contain NUL or half a character.", field=where)
    return value


def sought(value: Any, where: str) -> str:
    """An id that is looked for, as it was given.

    Raises:
        Rejected: it is not a text.
        NotFound: nothing can have it: it holds a NUL or half a character.
    """
    if not isinstance(value, str):
        raise Rejected("Expected a text.", field=where)
    if text.clean(value) != value:
        raise NotFound(field=where)
    return value


def whole_number(value: Any, where: str, low: int, high: int) -> int:
    """A number as the caller means it; a text or a truth is none.

    Raises:
        Rejected: it is no whole number, or beyond the ends.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Rejected("Expected {low} to {high:,}.", field=where, low=low, high=high)
    return value


def optional_identifier(value: Any, where: str, limit: int) -> str | None:
    """As `identifier`; None and the empty text mean that nothing is named."""
    return None if value is None or value == "" else identifier(value, where, limit)


def one_of(words: type[Word], value: Any, where: str) -> Word:
    """The word of an enumeration.

    Raises:
        Rejected: there is no such word; the error lists those there are.
    """
    try:
        return words(value)
    except ValueError:
        raise Rejected("Known are {known}.", field=where, known=list(words)) from None


def some_of(words: type[Word], values: Any, where: str) -> Collection[Word] | None:
    """The words of an enumeration that a caller names; None: whichever.

    Raises:
        Rejected: there is no such word, or they are not given as a collection.
    """
    if values is None:
        return None
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise Rejected("Expected a list.", field=where)
    return frozenset(one_of(words, value, where) for value in values)


def compared(value: Any, where: str) -> str | None:
    """A text that others are compared with, as it was given; None: with nothing.

    Raises:
        Rejected: it is not a text, or holds a NUL or half a character.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        raise Rejected("Expected a text.", field=where)
    if text.clean(value) != value:
        raise Rejected("May not contain NUL or half a character.", field=where)
    return value
