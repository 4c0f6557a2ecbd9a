"""Who the browser stands for: the key it keeps, and the user whose memories are looked after."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from perdure.pages.asked import Person, Sent, signed_in
from perdure.pages.page import PERSON, PREFIX, PageRoute, remember
from perdure.serve.auth import COOKIE
from perdure.types import MAX_USER, identifier

routes = APIRouter(route_class=PageRoute)


@routes.post("/person")
def chosen(view: Person, form: Sent) -> Response:
    """Look after the memories of this user, where the key is bound to none."""
    reply = view.go("memory")
    remember(
        view.request,
        reply,
        PERSON,
        view.who.whom(identifier(form["user"].strip(), "user", MAX_USER)),
    )
    return reply


@routes.post("/key")
def opened(request: Request, form: Sent) -> Response:
    """Keep a key or a token in the browser until it closes; the next page tells if it opens."""
    reply = RedirectResponse(f"{PREFIX}/memory", status_code=303)
    key = form["key"].strip()
    if key and key.isascii() and key.isprintable():
        signed_in(request, reply, key)
    return reply


@routes.post("/leave")
def left(request: Request) -> Response:  # noqa: ARG001 - the shape of a route
    """Forget the key and the person."""
    reply = RedirectResponse(f"{PREFIX}/memory", status_code=303)
    for name in (COOKIE, PERSON):
        reply.delete_cookie(name, httponly=True, samesite="strict")
    return reply
