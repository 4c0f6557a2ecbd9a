"""What a person does with all of their data: take it along, clear it, erase it."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from perdure.errors import Rejected
from perdure.pages.asked import Person, Sent
from perdure.pages.page import PageRoute
from perdure.serve.moving import handed_out
from perdure.serve.wire import Named

routes = APIRouter(route_class=PageRoute)


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
    view.items.clear(view.scope)
    return view.go("memory")


@routes.post("/erase")
def erased(view: Person, form: Sent) -> Response:
    """Erase everything of the person, for good, once they have typed their own name."""
    if form["typed"].strip() != view.user:
        raise Rejected("Type “{word}”, exactly.", word=view.user)
    receipt = view.memory.erase(view.scope, by=view.who.name)
    template = "_erased.html" if view.partial else "erased.html"
    return view.html(template, receipt=receipt)
