"""JSON lines as they come in: one object a line, or an error that says what to do instead."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perdure.errors import Rejected

_MEMORY = '{"type": "memory", "content": "…"}'
_EXPORT = "perdure --database memory.json --preset desktop export USER"


def split(data: bytes) -> list[bytes]:
    """The lines of a file, without blank ones at its end."""
    return data.rstrip().split(b"\n") if data.strip() else []


def parsed(lines: Sequence[bytes]) -> Iterator[Mapping[str, Any]]:
    """Each line as a JSON object.

    Raises:
        Rejected: a line is none; the error names its number, and what to do where the whole is a
            file of another program.
    """
    for number, line in enumerate(lines, start=1):
        value = _read(line)
        wanted = isinstance(value, dict) and not _is_wrapped(value)
        if not wanted:
            whole = _read(b"\n".join(lines)) if number == 1 else None
            raise _refused(whole, f"line {number}")
        yield value


def _read(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def _is_wrapped(value: Mapping[str, Any]) -> bool:
    """Is it a whole list of mem0, which no line of ours looks like?"""
    return isinstance(value.get("results"), list) and not {"type", "role"} & value.keys()


def _refused(whole: Any, place: str) -> Rejected:
    """What to do with a file that is no JSON lines."""
    if isinstance(whole, dict) and _is_wrapped(whole):
        whole = whole["results"]
    if not isinstance(whole, list):
        return Rejected("Expected one JSON object, in UTF-8.", field=place)
    first = whole[0] if whole and isinstance(whole[0], dict) else {}
    if "memory" in first:
        return Rejected(
            "This is a list of mem0. Write the text of each memory on a line of its own: {line}",
            field=place,
            line=_MEMORY,
        )
    if "createdAt" in first or "sourceScope" in first:
        return Rejected(
            "This is a desktop file. Import what this command writes: {command}",
            field=place,
            command=_EXPORT,
        )
    return Rejected(
        "This is one JSON array. Write each of its objects on a line of its own.", field=place
    )
