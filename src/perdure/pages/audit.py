"""Audit: a user's memories, to read and not to change; that somebody looked is written down."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from perdure.pages.asked import Reads
from perdure.pages.page import PageRoute
from perdure.serve import admin
from perdure.serve.admin import RowsQuery
from perdure.types import Scope

routes = APIRouter(route_class=PageRoute)


@routes.get("/audit")
def audited(
    view: Reads,
    user_id: Annotated[str, Query()] = "",
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    after: Annotated[str | None, Query()] = None,
) -> Response:
    """Find a user; then all of their memories, whatever their status."""
    rows = None
    if user_id:
        asked = RowsQuery(user_id=user_id, page=page, after=after)
        rows = admin.memories(view.memory, view.who, asked)
    return view.html("audit.html", asked=user_id, rows=rows)


@routes.get("/audit/{item_id}")
def happened(view: Reads, item_id: str, user_id: Annotated[str, Query()]) -> Response:
    """What happened to one memory of a user."""
    scope = Scope(namespace=view.who.namespace, user=user_id)
    view.memory.parts.audit.looked(scope, view.who.name, "history")
    history = view.memory.items.history(scope, item_id)
    return view.html("_history.html" if view.partial else "history.html", history=history)
