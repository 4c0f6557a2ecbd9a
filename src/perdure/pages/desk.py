"""What a person does with all of their data, and who the browser stands for."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from perdure.errors import Rejected
from perdure.pages.page import (
    PERSON,
    PREFIX,
    PageRoute,
    Person,
    Sent,
    remember,
    signed_in,
)
from perdure.serve.auth import COOKIE
from perdure.serve.moving import handed_out
from perdure.serve.wire import Named
from perdure.types import MAX_USER, identifier

routes = APIRouter(prefix=PREFIX, route_class=PageRoute)


@routes.get("/export")
def exported(view: Person) -> Response:
    """Everything that is known of the person, as a file of JSON lines."""
    reply = handed_out(view.memory, view.who, Named(user_id=view.user))
    reply.headers["Content-Disposition"] = 'attachment; filename="perdure-export.jsonl"'
    return reply


@routes.post("/clear")
def cleared(view: Person, form: Sent) -> Response:
    """Delete every memory, once the person has typed that they mean it."""
    if form["typed"].strip() != view.say("clear_word"):
        raise Rejected("Type “{word}”, exactly.", word=view.say("clear_word"))
    view.memory.items.clear(view.scope)
    return view.go("memory")


@routes.post("/erase")
def erased(view: Person, form: Sent) -> Response:
    """Erase everything of the person, for good, once they have typed their own name."""
    if form["typed"].strip() != view.user:
        raise Rejected("Type “{word}”, exactly.", word=view.user)
    receipt = view.memory.erase(view.scope, by=view.who.name)
    return view.html("erased.html", receipt=receipt)


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
