"""The application: routes put together, and what each error means in HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi_offline import FastAPIOffline
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from perdure.errors import (
    Duplicate,
    Forbidden,
    LimitReached,
    NotFound,
    PerdureError,
    Rejected,
    Stale,
    TooLarge,
    TooMany,
    Unauthenticated,
    Unavailable,
)
from perdure.memory import Memory
from perdure.serve import context, items, problems
from perdure.serve.auth import Callers
from perdure.serve.guard import Guard
from perdure.settings import Settings
from perdure.wiring import VectorsNow

PREFIX = "/api/v1"
STATUS: Mapping[type[PerdureError], int] = {
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Duplicate: 409,
    LimitReached: 409,
    Stale: 412,
    TooLarge: 413,
    Rejected: 422,
    TooMany: 429,
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


class Problem(BaseModel):
    """An error, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    field: str | None


class Live(BaseModel):
    """The process answers."""

    status: str


class Way(BaseModel):
    """How promises leave: whether this process reaches the bus, and how many are on their way."""

    state: str
    since: datetime
    waiting: int
    oldest_s: float


class Ready(Live):
    """The database answers too; how many jobs are in each state, what learns, how vectors do."""

    jobs: dict[str, int]
    model: str
    vectors: VectorsNow
    bus: Way | None
    """Null where there is no bus."""


_PROBLEM: dict[int | str, dict[str, Any]] = {
    group: {
        "description": description,
        "content": {"application/problem+json": {"schema": Problem.model_json_schema()}},
    }
    for group, description in (
        ("4XX", "The request must change; `code` and `field` say how."),
        ("5XX", "A part that is needed does not answer."),
    )
}


def create_app(memory: Memory, settings: Settings) -> FastAPI:
    """The service around an open memory, which it neither opens nor closes.

    Args:
        memory: what it serves.
        settings: whose keys decide who is served.

    Raises:
        Misconfigured: a key cannot be used; the error names the setting.
    """
    app = FastAPIOffline(
        title="Perdure",
        version=version("perdure"),
        description=_DESCRIPTION,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.state.memory = memory
    app.state.callers = Callers.of(settings)
    app.include_router(health)
    api = APIRouter(prefix=PREFIX, responses=_PROBLEM)
    api.include_router(items.routes)
    api.include_router(context.routes)
    api.include_router(health, include_in_schema=False)
    app.include_router(api)
    app.add_middleware(Guard, answer=answer)
    app.add_exception_handler(PerdureError, _on_error)
    app.add_exception_handler(RequestValidationError, _on_values)
    app.add_exception_handler(HTTPException, _on_status)
    return app


def answer(error: PerdureError, headers: Headers) -> Response:
    """An error of ours as a reply, in the language that the headers ask for."""
    return problems.of_error(error, status_of(type(error)), problems.language(headers))


def status_of(error: type[PerdureError]) -> int:
    """The status of the nearest listed class."""
    return next(STATUS[kind] for kind in error.__mro__ if kind in STATUS)


# ── health ───────────────────────────────────────────────────────────────────────────────────────

health = APIRouter(prefix="/health", tags=["health"])


@health.get("/live", summary="Does the process answer?")
async def live() -> Live:
    """Says nothing about the parts behind it."""
    return Live(status="live")


@health.get("/ready", summary="Can requests be served?")
def ready(memory: Annotated[Memory, Depends(items.front_door)]) -> Ready:
    """503 while the database does not answer; without vectors words answer."""
    parts = memory.parts
    with parts.database.read() as tx:
        depth = tx.jobs.depth(parts.clock())
        waiting, oldest = tx.outbox.waiting()
    return Ready(
        status="ready",
        jobs={state.value: count for state, count in depth.items()},
        model="basic" if parts.chat is None else parts.chat.name,
        vectors=parts.vectors_now(),
        bus=None
        if parts.way is None
        else Way(
            state=parts.way.watch.health.state,
            since=parts.way.watch.health.since,
            waiting=waiting,
            oldest_s=(parts.clock() - oldest).total_seconds() if oldest else 0.0,
        ),
    )


# ── errors ───────────────────────────────────────────────────────────────────────────────────────


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, PerdureError)  # noqa: S101 - registered for nothing else
    return answer(error, request.headers)


async def _on_values(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for nothing else
    language = problems.language(request.headers)
    return problems.of_values(error.errors(), STATUS[Rejected], language)


async def _on_status(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for nothing else
    known = {STATUS[NotFound]: NotFound, STATUS[TooLarge]: TooLarge}.get(error.status_code)
    if known is not None:
        return answer(known(), request.headers)
    return problems.of_status(error.status_code, Rejected.code)
