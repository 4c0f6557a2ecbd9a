"""Refuses what a route does not know, so that nothing that somebody asked for is passed over."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from fastapi import Depends
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request

from perdure.errors import Rejected

_KEY = "Idempotency-Key"
_NO_WORDS = frozenset({b"", b"{}"})  # bodies of clients that always send one


async def _names(request: Request) -> None:
    """Refuse a query with a name that the route does not declare.

    Raises:
        RequestValidationError: there is one. A misspelt `dry_run` would be no rehearsal.
    """
    route = request.scope["route"]
    if not request.query_params or not isinstance(route, APIRoute):
        return
    known = {*_declared(route.dependant, "query_params"), *getattr(route, "everywhere", ())}
    for name in request.query_params:
        if name not in known:
            wrong = {"type": "extra_forbidden", "loc": ("query", name)}
            raise RequestValidationError([wrong])


async def _body(request: Request) -> None:
    """Refuse a body where the route reads none.

    Raises:
        Rejected: there is one. What it asks for belongs into the query.
    """
    if request.scope["route"].body_field is None and await request.body() not in _NO_WORDS:
        raise Rejected("This path takes no body.", field="body")


async def _repeated(request: Request) -> None:
    """Refuse a key that should keep a repetition from happening, where nothing would.

    Raises:
        Rejected: there is one. What is kept with a key may be read, so that what is shown only once
            cannot be kept.
    """
    if request.method == "GET" or _KEY not in request.headers:
        return
    if _KEY not in _declared(request.scope["route"].dependant, "header_params"):
        raise Rejected("It is not kept here: a repetition would happen again.", field=_KEY)


def _declared(asked: Dependant, kind: str) -> Iterator[str]:
    """Every name of this kind that a route, or what it depends on, declares."""
    for one in attrgetter(kind)(asked):
        wanted: Any = one.field_info.annotation
        if isinstance(wanted, type) and issubclass(wanted, BaseModel):
            yield from (about.alias or name for name, about in wanted.model_fields.items())
        else:
            yield one.alias
    for further in asked.dependencies:
        yield from _declared(further, kind)


NAMES = Depends(_names)
"""Of every route: no name in a query is passed over."""
BODY = Depends(_body)
"""Of every route of the API: no body is passed over."""
KEY = Depends(_repeated)
"""Of every route that writes: a key is kept, or refused."""
