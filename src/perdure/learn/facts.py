"""Reads the statements from the JSON of a reply: unwrapped, flattened, each field made sane."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from perdure import text
from perdure.errors import ReplyUnusable
from perdure.learn.reply import CONTENTS, LISTS, Json
from perdure.policy import Policy
from perdure.types import Action, Candidate, Kind, Level, Reason, Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One statement of a reply. Its sources are still the small numbers of that one call."""

    candidate: Candidate
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalized:
    """What a reply proposes, in order, and what of it is of no use."""

    proposals: tuple[Proposal, ...]
    refused: tuple[Refused, ...]
    skipped: int
    """Entries that are no statement at all: null, blank, numbers."""


def normalize_facts(parsed: Json, policy: Policy) -> Normalized:
    """The statements of a reply: unwrapped, flattened, without blanks and repetitions.

    Args:
        parsed: as `extract_json` found it.
        policy: how many statements, and how long.

    Raises:
        ReplyUnusable: it holds no list of statements, or nothing in it is a statement.
    """
    entries = _entries(parsed)
    proposals = list(_proposals(entries))
    skipped = sum(proposal is None for proposal in proposals)
    statements = [proposal for proposal in proposals if proposal is not None]
    if skipped and not statements:
        raise ReplyUnusable
    if policy.learn.abandon_over_max and len(entries) > policy.learn.max_items:
        refused = [Refused(candidate=s.candidate, reason=Reason.TOO_MANY_ITEMS) for s in statements]
        return Normalized(proposals=(), refused=tuple(refused), skipped=skipped)
    return _within_limits(statements, skipped, policy)


def _within_limits(statements: list[Proposal], skipped: int, policy: Policy) -> Normalized:
    """The statements that are new in this reply, short enough and not too many."""
    kept: list[Proposal] = []
    refused: list[Refused] = []
    seen: set[tuple[str, int | None]] = set()
    for statement in statements:
        candidate, reason = _fitting(statement.candidate, policy)
        key = text.normalise(candidate.content, policy.item.normalisation), candidate.about
        if reason is None and key in seen:
            reason = Reason.REPEATED
        if reason is None and len(kept) >= policy.learn.max_items:
            reason = Reason.TOO_MANY_ITEMS
        if reason is not None:
            refused.append(Refused(candidate=candidate, reason=reason))
        else:
            seen.add(key)
            kept.append(Proposal(candidate=candidate, lines=statement.lines))
    return Normalized(proposals=tuple(kept), refused=tuple(refused), skipped=skipped)


def _fitting(candidate: Candidate, policy: Policy) -> tuple[Candidate, Reason | None]:
    """The candidate within the lengths of the policy, or the reason why it does not fit."""
    limit = min(policy.learn.item_chars, policy.item.content_chars)
    if text.graphemes(text.normalise(candidate.content, "space")) > limit:
        if policy.learn.long_item == "drop":
            return candidate, Reason.TOO_LONG
        return replace(candidate, content=text.cut(candidate.content, limit).rstrip()), None
    return replace(candidate, title=text.cut(candidate.title, policy.item.title_chars)), None


def _entries(parsed: Json) -> list[Json]:
    """The list of statements in a reply, whatever it is called."""
    if isinstance(parsed, list):
        return parsed
    if isinstance(parsed, dict):
        for name in LISTS:
            if isinstance(parsed.get(name), list | dict):
                inner = parsed[name]
                return inner if isinstance(inner, list) else [inner]
        if any(parsed.get(name) for name in CONTENTS):
            return [parsed]
    raise ReplyUnusable


def _proposals(entries: list[Json]) -> Iterator[Proposal | None]:
    """One proposal an entry, lists flattened; None for what is no statement."""
    waiting = list(reversed(entries))  # a stack: lists may be nested deeper than calls may
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, list):
            waiting.extend(reversed(entry))
        else:
            yield _proposal(entry)


def _proposal(entry: Json) -> Proposal | None:
    fields = _fields(entry)
    content = text.clean(fields["content"]).strip()
    action = _action(fields)
    about = whole(fields.get("existing", fields.get("existingId", fields.get("id"))))
    if not _readable(content) and not (action is Action.TOUCH and about is not None):
        return None
    return Proposal(
        candidate=Candidate(
            content=content,
            kind=_kind(fields.get("kind")),
            level=Level.PROJECT if word(fields.get("type")) == "project" else Level.USER,
            title=text.clean(string(fields.get("title"))).strip(),
            confidence=_share(fields.get("confidence")),
            importance=_share(fields.get("importance")),
            sensitivity=_sensitivity(fields.get("sensitivity")),
            explicit=fields.get("explicit") is True or word(fields.get("explicit")) == "true",
            expires_at=_time(fields.get("expires_at")),
            proposed=action,
            about=about,
        ),
        lines=tuple(n for n in map(whole, _list(fields.get("lines"))) if n is not None),
    )


def _fields(entry: Json) -> dict[str, Json]:
    """The fields of one entry, the statement under "content"."""
    if isinstance(entry, str):
        return {"content": entry}
    if not isinstance(entry, Mapping):
        return {"content": ""}
    for name in CONTENTS:
        if isinstance(entry.get(name), str):
            return {**entry, "content": entry[name]}
    if len(entry) == 1:
        [(name, value)] = entry.items()
        if isinstance(value, str) and name not in _NO_STATEMENTS:
            return {"content": value, "kind": name}  # {"preference": "likes tea"}
        if value in (True, None) and " " in str(name).strip():
            return {"content": str(name)}  # {"Likes tea": true}
    return {**entry, "content": ""}


_NO_STATEMENTS = frozenset("action event existing id type kind title explicit expires_at".split())
"""Fields whose text is never the statement."""


# ── single fields, each with its sane meaning ────────────────────────────────────────────────────

ACTIONS: Mapping[str, Action] = {
    "insert": Action.ADD,
    "add": Action.ADD,
    "touch": Action.TOUCH,
    "update": Action.UPDATE,
    "delete": Action.DELETE,
    "none": Action.NONE,
    "noop": Action.NONE,
}


def _readable(content: str) -> bool:
    """At least one letter or figure; not the dump of some structure, not a bare number."""
    if content[:1] in "{[" or content.casefold() in ("null", "none", "true", "false", "n/a"):
        return False
    return any(char.isalpha() for char in content)


def _action(fields: Mapping[str, Json]) -> Action | None:
    return ACTIONS.get(word(fields.get("action", fields.get("event"))))


def _kind(value: Json) -> Kind | None:
    named = word(value)
    return Kind(named) if named in tuple(Kind) else None


def word(value: Json) -> str:
    """A word of a fixed set, as it is compared."""
    return value.strip().casefold() if isinstance(value, str) else str(value is True).casefold()


def string(value: Json) -> str:
    """A text; empty where it is none."""
    return value if isinstance(value, str) else ""


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


_FIGURES = 9  # of a number that can be meant


def whole(value: Json) -> int | None:
    """A whole number, also where it was written as a text."""
    if isinstance(value, str):
        figures = value.strip().lstrip("#")
        value = int(figures) if figures.isdecimal() and len(figures) <= _FIGURES else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _share(value: Json) -> float | None:
    """0 to 1; None where the model says nothing sensible."""
    try:
        number = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else min(1.0, max(0.0, number))


def _sensitivity(value: Json) -> int:
    level = {"low": 0, "medium": 1, "high": 2}.get(word(value), whole(value))
    return min(2, max(0, level)) if level is not None else 0


def _time(value: Json) -> datetime | None:
    """A moment in UTC, which is also meant where no zone stands; a day lasts until its end."""
    written = string(value).strip()
    try:
        moment = datetime.fromisoformat(written)
        if len(written) == len("2026-11-30"):
            moment += timedelta(days=1)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
