"""What a scripted model server says, and how it goes wrong: one value a reply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from perdure.details import of_value
from perdure.errors import Corrupt


class Fault(StrEnum):
    """What goes wrong with a reply whose status is 200."""

    HANG = "hang"
    """The connection is accepted and nothing ever comes."""
    DRIP = "drip"
    """The head comes, then a space now and then, for ever."""
    DRIP_HEAD = "drip_head"
    """Even the head comes a byte now and then, for ever."""
    CUT = "cut"
    """The connection ends in the middle of the reply, streamed or not."""
    GARBAGE = "garbage"
    """The body is not JSON."""
    EMPTY = "empty"
    """The body has no byte."""
    HTML = "html"
    """A page of some gateway."""
    NULL = "null"
    """The message has no content."""
    NO_CHOICES = "no_choices"
    """The list of choices is empty."""


class ModelReply(BaseModel):
    """One reply of the server; a line of a replies file has the same fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    content: str | None = ""
    """What the model says; for another status than 200, what the error says."""
    finish_reason: Literal["stop", "length", "content_filter", "tool_calls"] = "stop"
    status: int = 200
    headers: Mapping[str, str] = {}
    """Sent besides, for example ``{"Retry-After": "2"}``."""
    fault: Fault | None = None
    delay_s: float = 0.0
    """Seconds before the first byte."""
    usage: bool = True
    """Tokens are counted."""
    stage: str | None = None
    """A note for people who read the file."""

    @classmethod
    def of(cls, said: object) -> Self:
        """A reply from a text, or from anything that can be written as JSON."""
        if isinstance(said, cls):
            return said
        return cls(content=said if isinstance(said, str) else as_json(said))


def as_json(value: object) -> str:
    """JSON with characters as they are."""
    return json.dumps(value, ensure_ascii=False)


def busy(retry_after: str | None = None) -> ModelReply:
    """A reply that asks to slow down, with seconds or a date in ``Retry-After``, or without."""
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return ModelReply(status=429, headers=headers, content="Rate limit reached.")


def failing(status: int = 500) -> ModelReply:
    """A reply that says that the server is in trouble."""
    return ModelReply(status=status, content="Something went wrong.")


def refusing(parameter: str) -> ModelReply:
    """A reply that refuses a parameter of the request, such as ``response_format``."""
    return ModelReply(status=400, content=f"Unsupported parameter: '{parameter}'.")


def read_replies(file: Path) -> list[ModelReply]:
    """The replies of a JSON-lines file, in order; blank lines are skipped.

    Raises:
        Corrupt: a line is no reply; the error names it.
    """
    replies = []
    for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            replies.append(ModelReply.model_validate_json(line))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            raise Corrupt(
                "Line {number}: {place}: {what}",
                field=str(file),
                number=number,
                place=".".join(map(str, first["loc"])),
                what=of_value(first),
            ) from None
    return replies


def completion(reply: ModelReply, request: Mapping[str, Any]) -> dict[str, Any]:
    """A whole chat completion as the API gives it."""
    message = {
        "role": "assistant",
        "content": None if reply.fault is Fault.NULL else reply.content,
    }
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
    body = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": request.get("model", ""),
        "choices": [] if reply.fault is Fault.NO_CHOICES else [choice],
    }
    return body | ({"usage": _usage(reply, request)} if reply.usage else {})


def events(reply: ModelReply, request: Mapping[str, Any]) -> list[str]:
    """The same as server-sent events, one a word or Chinese character, ``[DONE]`` at the end."""
    frame = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": request.get("model", ""),
    }
    steps: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": ""}, None)]
    if reply.fault is not Fault.NULL:
        steps += [({"content": piece}, None) for piece in _pieces(reply.content or "")]
    steps.append(({}, reply.finish_reason))
    chunks: list[dict[str, Any]] = [
        frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        for delta, finish in steps
    ]
    if (request.get("stream_options") or {}).get("include_usage"):
        chunks.append(frame | {"choices": [], "usage": _usage(reply, request)})
    return [f"data: {as_json(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]


def _pieces(said: str) -> Sequence[str]:
    """About a word each, so that joining them gives the text back."""
    return [said[at : at + 4] for at in range(0, len(said), 4)]


def _usage(reply: ModelReply, request: Mapping[str, Any]) -> dict[str, int]:
    asked = sum(len(as_json(message)) for message in request.get("messages", ())) // 4
    said = len(reply.content or "") // 4
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
