"""What an event says, version 1, and the letter that carries it, written and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from perdure import text
from perdure.errors import Rejected
from perdure.ports import Letter
from perdure.types import (
    EVENTS,
    MAX_BINDING,
    MAX_NAMESPACE,
    MAX_USER,
    JobType,
    Outgoing,
    Role,
    Scope,
    Trace,
)

VERSION = "1"
DEAD = "dead"
"""Where letters go that cannot be read, as they came, with the reason in a header."""
DEAD_REASON, DEAD_TOPIC = "reason", "topic"
_NAMESPACE, _VERSION = "namespace", "version"
_MOST_TOLD = 5  # of what is wrong in one letter

_User: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_USER)]
_Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_BINDING)]
_Key: TypeAlias = Annotated[str, Field(min_length=1)]


class _Body(BaseModel):
    """What every event says; anything else is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    user_id: _User
    occurred_at: AwareDatetime
    trace_id: Trace
    idempotency_key: _Key


class ExtractRequested(_Body):
    """``memory.extract.requested``: a turn was captured (C 6.2)."""

    conversation_id: _Name
    assistant_id: _Name | None
    run_id: _Name | None
    source_message_id: _Name
    source_role: Annotated[Role, Field(strict=False)]
    source_text: str


class EmbedRequested(_Body):
    """``memory.embed.requested``: memories or messages should be found by meaning."""

    conversation_id: _Name | None


class CleanupRequested(_Body):
    """``memory.cleanup.requested``: something of a user is overdue."""


_BODIES: Mapping[str, type[_Body]] = {
    EVENTS[JobType.EXTRACT]: ExtractRequested,
    EVENTS[JobType.EMBED]: EmbedRequested,
    EVENTS[JobType.CLEANUP]: CleanupRequested,
}


def letter(leaving: Outgoing) -> Letter:
    """The event of a promise; events of one user have one key."""
    promise = leaving.promise
    body: dict[str, Any] = {
        "user_id": promise.user,
        "occurred_at": leaving.at.isoformat(),
        "trace_id": promise.trace,
        "idempotency_key": promise.key,
    }
    if promise.type is JobType.EXTRACT:
        body = dict(promise.payload)  # which is the event's, field by field
    elif promise.type is JobType.EMBED:
        body["conversation_id"] = promise.conversation
    return Letter(
        topic=EVENTS[promise.type],
        key=text.fingerprint(promise.namespace, promise.user),
        headers={_NAMESPACE: promise.namespace, _VERSION: VERSION},
        body=json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(),
    )


def read(letter: Letter) -> tuple[Scope, str]:
    """Whose promise a letter announces, and the promise's key.

    Raises:
        Rejected: it is no event of ours; the detail names fields and rules, never a value.
    """
    shape = _BODIES.get(letter.topic)
    if shape is None:
        raise Rejected("Unknown event.", field="topic")
    if letter.headers.get(_VERSION) != VERSION:
        raise Rejected("Known are {known}.", field=_VERSION, known=[VERSION])
    namespace = letter.headers.get(_NAMESPACE, "")
    if not 0 < len(namespace) <= MAX_NAMESPACE:
        raise Rejected("Expected a namespace.", field=_NAMESPACE)
    try:
        body = shape.model_validate_json(letter.body)
    except ValidationError as wrong:
        raise Rejected("Broken rules: {rules}.", field="body", rules=_told(wrong, shape)) from None
    return Scope(namespace=namespace, user=body.user_id), body.idempotency_key


def dead(letter: Letter, why: Rejected) -> Letter:
    """The letter as it came, for people to look at."""
    about = {DEAD_TOPIC: letter.topic, DEAD_REASON: str(why)}
    return Letter(topic=DEAD, key=letter.key, headers={**letter.headers, **about}, body=letter.body)


def _told(wrong: ValidationError, shape: type[_Body]) -> tuple[str, ...]:
    """Which fields break which rules; names that are none of ours may be somebody's words."""
    found = wrong.errors(include_url=False, include_context=False, include_input=False)
    places = [str(one["loc"][0]) if one["loc"] else "" for one in found]
    named = [place if place in shape.model_fields else "?" for place in places]
    rules = [f"{name}: {one['type']}" for name, one in zip(named, found, strict=True)]
    return tuple(dict.fromkeys(rules[:_MOST_TOLD]))
