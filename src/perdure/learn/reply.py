"""Finds the JSON in a model's reply, whatever stands around it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import json_repair

from perdure.errors import ReplyCutOff, ReplyUnusable

Json: TypeAlias = Any
"""What a model meant as JSON: nothing is known of its shape yet."""

LISTS = ("memories", "facts", "memory", "items", "results", "statements", "记忆", "事实")
"""Names under which models put their list of statements."""
CONTENTS = ("content", "text", "fact", "memory", "statement", "内容", "事实")
"""Names under which models put one statement."""

_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_OPENING = re.compile(r"[{\[]")
_LIKE_JSON = re.compile(r"[{\[]\s*(?:[\"'“‘{\[]|\w+\s*:)")
_NAMED_LIST = 4
"""The likeness of an object with a list under one of its expected names."""
_NAMED = re.compile(rf"\{{\s*[\"'](?:{'|'.join(LISTS)})")


def extract_json(reply: str) -> Json:
    """The object or list that a reply means, from between fences, chatter and thoughts.

    A fence inside a string value is part of the value: the JSON is found by its own grammar, not
    by its wrapping. Of several the likest counts, then the one that was whole, then the last.

    Raises:
        ReplyCutOff: it ends in the middle of a statement.
        ReplyUnusable: there is nothing like JSON.
    """
    said = reply.strip().lstrip("\ufeff")
    try:
        whole = json.loads(said)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict | list):
        return whole
    found, lost = _values(_THOUGHT_END.sub("", _THOUGHT.sub("", said)))
    if found:
        return max(enumerate(found), key=lambda entry: (*entry[1][:2], entry[0]))[1][2]
    raise ReplyCutOff if lost else ReplyUnusable


def _values(said: str) -> tuple[list[tuple[int, bool, Json]], bool]:
    """Every object and list in a text, with its likeness and whether it was whole.

    The flag says that one was begun and never closed; what stands in it is a part of it and
    counts only if it is a named list itself.
    """
    decoder = json.JSONDecoder(strict=False)
    found: list[tuple[int, bool, Json]] = []
    lost = False
    place = 0
    while (opening := _OPENING.search(said, place)) is not None:
        start, place = opening.span()
        if lost and not _NAMED.match(said, start):
            continue
        try:
            value, place = decoder.raw_decode(said, start)
        except RecursionError:
            lost = True
        except ValueError:
            if lost or not _LIKE_JSON.match(said, start):
                continue
            region = _region(said[start:])
            lost = region is None
            if region is not None:
                place = start + len(region)
                found.extend(_mended(region))
        else:
            likeness = _likeness(value)
            if not lost or likeness == _NAMED_LIST:
                found.append((likeness, True, value))
    return found, lost


def _likeness(value: Json) -> int:
    """How much a value looks like the reply that was asked for, and not like some example."""
    if isinstance(value, dict):
        if any(isinstance(value.get(name), list) for name in LISTS):
            return _NAMED_LIST
        return 2 if any(isinstance(value.get(name), str) for name in CONTENTS) else 0
    return 3 if any(isinstance(item, dict | str) for item in value) else 1


def _mended(region: str) -> Iterator[tuple[int, bool, Json]]:
    """What almost is JSON, as its writer meant it."""
    try:
        value = json_repair.loads(region)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict | list):
        yield _likeness(value), False, value


def _region(said: str) -> str | None:
    """The text up to the bracket that closes the first one; None if it ends inside an entry.

    Where only closing brackets are missing behind a whole entry, nothing is lost.
    """
    depth = 0
    quoted = escaped = False
    for place, char in enumerate(said):
        if quoted:
            quoted = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            quoted = True
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 0:
                return said[: place + 1]
    rest = said.rstrip().removesuffix("```").rstrip()
    return rest if not quoted and rest.endswith(("}", "]")) else None
