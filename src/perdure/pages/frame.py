"""In a frame of a host: a link opens My memory for one user, and a cookie of its own keeps it."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from perdure.errors import Unauthenticated
from perdure.memory import Memory
from perdure.pages.asked import SESSION, guest
from perdure.pages.page import PageRoute, base, remember
from perdure.serve.door import Door
from perdure.serve.frames import Frames, remaining, used

routes = APIRouter(route_class=PageRoute)


@routes.get("")
def opened(
    request: Request, memory: Door, frame: str, link: Annotated[str, Query()] = ""
) -> Response:
    """Open the frame, once. The browser that did so may come by the same link again.

    What this browser may see lies in a cookie that is sent from this frame in pages of this host
    alone: it is no third party's, and no other frame's.
    """
    reply = RedirectResponse(f"{base(request)}/memory", status_code=303)
    if not _is_open(request, memory, frame):
        frames: Frames = request.app.state.frames
        at = memory.parts.clock()
        invited = remaining(memory, frames.opens(link, frame, at))
        if used(memory, invited.scope, frame):
            raise Unauthenticated("The link was used before.")
        lasts = memory.parts.policy_of(invited.scope.namespace).frame.session_s
        session = frames.session(invited, frame, at + timedelta(seconds=lasts))
        remember(request, reply, SESSION, session, round(lasts))
    return reply


def _is_open(request: Request, memory: Memory, frame: str) -> bool:
    try:
        guest(request, memory, frame)
    except Unauthenticated:
        return False
    return True
