"""What comes with a request for a page: who looks, and the form that was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from perdure import text
from perdure.errors import Rejected
from perdure.memory import Memory
from perdure.pages.page import View, frame
from perdure.serve.auth import (
    COOKIE,
    Caller,
    Callers,
    Looking,
    Mending,
    Reading,
    Setting,
    permitted,
)
from perdure.serve.door import Door
from perdure.serve.frames import Frames, Guest, remaining
from perdure.types import Permission

SESSION = "perdure_frame"
"""The cookie of a frame that is open."""


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form that was sent."""

    fields: Mapping[str, list[str]]

    def __getitem__(self, name: str) -> str:
        """The last value of a field; empty if it has none."""
        return self.fields.get(name, [""])[-1]

    def all(self, name: str) -> list[str]:
        """Every value of a field."""
        return self.fields.get(name, [])


async def _form(request: Request) -> Form:
    """The form; line ends as we keep them, half characters mended.

    Raises:
        Rejected: it is too large to be one of ours.
    """
    body = (await request.body()).decode("utf-8", "replace")
    fields: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(body, keep_blank_values=True, max_num_fields=2_000)
    except ValueError:
        raise Rejected(field="form") from None
    for name, value in pairs:
        fields.setdefault(name, []).append(text.clean(value.replace("\r\n", "\n")))
    return Form(fields)


def visitor(request: Request, memory: Door) -> Caller:
    """Whose key or token the browser has; in a frame, the user that it was opened for.

    Raises:
        Unauthenticated: nobody's.
        Forbidden: it opens something else.
        TooMany: too often.
    """
    named = frame(request)
    if named is None:
        return permitted(request, [Permission.MEMORY_USE])
    callers: Callers = request.app.state.callers
    who = guest(request, memory, named).caller
    callers.limits.take(who.name)
    return who


def guest(request: Request, memory: Memory, named: str) -> Guest:
    """For whom the browser has opened this frame.

    Raises:
        Unauthenticated: for nobody, not any more, or their data was erased since.
    """
    frames: Frames = request.app.state.frames
    return remaining(
        memory, frames.visitor(request.cookies.get(SESSION), named, memory.parts.clock())
    )


def _person(request: Request, memory: Door, who: Annotated[Caller, Depends(visitor)]) -> View:
    return View.of(request, memory, who)


def _looks(request: Request, memory: Door, who: Looking) -> View:
    return View.of(request, memory, who)


def _mends(request: Request, memory: Door, who: Mending) -> View:
    return View.of(request, memory, who)


def _sets(request: Request, memory: Door, who: Setting) -> View:
    return View.of(request, memory, who)


def _reads(request: Request, memory: Door, who: Reading) -> View:
    return View.of(request, memory, who)


Sent = Annotated[Form, Depends(_form)]
"""The form that was sent."""
Person = Annotated[View, Depends(_person)]
"""A page about a person's own memories."""
Looks = Annotated[View, Depends(_looks)]
"""A page for admins who see how things stand."""
Mends = Annotated[View, Depends(_mends)]
"""A page for admins who look after jobs."""
Sets = Annotated[View, Depends(_sets)]
"""A page for admins who set run-time values."""
Reads = Annotated[View, Depends(_reads)]
"""A page for admins who read memories."""


def signed_in(request: Request, reply: Response, key: str) -> None:
    """Let the browser keep a key or token, for this session."""
    reply.set_cookie(
        COOKIE, key, httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )
