"""The application: routes put together, and what each error means in HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import Annotated

import structlog
from fastapi import APIRouter, FastAPI, Query
from fastapi.exceptions import RequestValidationError
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from perdure.errors import (
    DatabaseUnavailable,
    Duplicate,
    Erased,
    Forbidden,
    LimitReached,
    NotFound,
    PerdureError,
    Rejected,
    RequestRunning,
    Stale,
    TooLarge,
    TooMany,
    Unauthenticated,
    Unavailable,
)
from perdure.memory import Memory
from perdure.serve import admin, context, frames, health, items, moving, problems, tidying
from perdure.serve.auth import COOKIE, Callers, by_hand
from perdure.serve.declared import BODY, KEY, NAMES
from perdure.serve.frames import Frames
from perdure.serve.guard import Guard
from perdure.serve.health import Health
from perdure.serve.problems import EVERYWHERE
from perdure.settings import Settings

PREFIX = "/api/v1"
STATUS: Mapping[type[PerdureError], int] = {
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Duplicate: 409,
    LimitReached: 409,
    Erased: 409,
    Stale: 412,
    TooLarge: 413,
    Rejected: 422,
    TooMany: 429,
    RequestRunning: 409,
    Unavailable: 503,
    PerdureError: 500,
}
"""What each error means in HTTP; a class that is not listed means what its parent does."""

_DESCRIPTION = """
A long-term memory for assistants: hand in finished turns, get back the few memories that matter
for the next message. Send `Authorization: Bearer KEY`; without configured keys only this machine
is served. Errors are `application/problem+json` with a stable `code`, in English or Chinese by
`Accept-Language`.
"""


_door = APIRouter(include_in_schema=False)
log = structlog.get_logger(__name__)


def create_app(memory: Memory | None, settings: Settings) -> FastAPI:
    """The service around an open memory, which it neither opens nor closes.

    Args:
        memory: what it serves; None only to describe the routes.
        settings: whose keys decide who is served.

    Raises:
        Misconfigured: a key or an origin cannot be used; the error names the setting.
    """
    app = FastAPIOffline(
        title="Perdure",
        version=version("perdure"),
        description=_DESCRIPTION,
        redoc_url=None,
        dependencies=[NAMES],
    )
    app.state.home = "docs"
    app.state.replied = replied
    app.state.memory = memory
    app.state.callers = Callers.of(settings, None if memory is None else memory.parts.keys)
    app.state.frames = Frames.of(settings)
    app.state.health = None if memory is None else Health(memory.parts)
    app.include_router(_door)
    app.include_router(health.routes)
    app.include_router(admin.figures)
    api = APIRouter(prefix=PREFIX, responses=EVERYWHERE, dependencies=[BODY])
    for room in (items, tidying, context, moving, frames, admin):
        reads = room is context  # where it keeps no key it changes nothing
        api.include_router(room.routes, dependencies=[] if reads else [KEY])
    api.include_router(health.routes, include_in_schema=False)
    app.include_router(api)
    app.add_middleware(Guard, answer=_on_the_way)
    app.add_exception_handler(PerdureError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_values)
    app.add_exception_handler(HTTPException, _on_status)
    return app


def replied(request: Request, error: PerdureError, status: int) -> Response:
    """What goes wrong as a reply; beside the pages another one, for people, stands in its place."""
    return problems.of_error(error, status, problems.language(request.headers))


def noted(error: PerdureError) -> int:
    """Its status; of a part that fails the log says where and why, which no answer does."""
    status = status_of(type(error))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR and (error.detail or error.field):
        log.warning("request not served", code=error.code, why=str(error))
    return status


def status_of(error: type[PerdureError]) -> int:
    """The status of the nearest listed class."""
    return next(STATUS[kind] for kind in error.__mro__ if kind in STATUS)


@_door.get("/")
def opened(request: Request, token: Annotated[str | None, Query()] = None) -> Response:
    """Where the link of the first start leads: the browser keeps the key, and shows what there is.

    That is the API, or the pages where they were put beside it. Another key would lock its reader
    out or let them in as somebody else, so only one that opens something is kept, and no page
    elsewhere can have it kept.
    """
    reply = RedirectResponse(request.app.state.home, status_code=303)
    if token is not None and by_hand(request) and _opens(request.app.state.callers, token):
        secure = request.url.scheme == "https"
        reply.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=secure)
    return reply


def _opens(callers: Callers, token: str) -> bool:
    if not token.isascii() or not token.isprintable():
        return False
    try:
        callers.known(token)
    except Unauthenticated:
        return False
    return True


# ── errors ───────────────────────────────────────────────────────────────────────────────────────


def _told(request: Request, error: PerdureError, status: int) -> Response:
    reply: Response = request.app.state.replied(request, error, status)
    return reply


def _on_the_way(error: PerdureError, scope: Scope) -> Response:
    return _told(Request(scope), error, noted(error))


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, PerdureError)  # noqa: S101 - registered for nothing else
    if isinstance(error, DatabaseUnavailable):
        request.app.state.memory.parts.meter.count("database_refused")
    return _told(request, error, noted(error))


async def _on_values(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for nothing else
    language = problems.language(request.headers)
    return problems.of_values(error.errors(), STATUS[Rejected], language)


async def _on_status(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    reply = _told(request, _meant(error.status_code), error.status_code)
    reply.headers.update(error.headers or {})
    return reply


def _meant(status: int) -> PerdureError:
    """What the framework refuses: a path or a method that is not there, a body cut short."""
    match status:
        case HTTPStatus.NOT_FOUND:
            return NotFound()
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return Rejected("This path does not take this method.")
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return TooLarge()
        case HTTPStatus.BAD_REQUEST:
            return Rejected("The request cannot be read.")
        case _:
            return Rejected()
