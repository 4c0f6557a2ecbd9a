"""The figures of a worker, which serves nothing else: what `/metrics` is beside the service."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from perdure.errors import PerdureError
from perdure.memory import Memory
from perdure.serve import problems
from perdure.serve.admin import PROMETHEUS
from perdure.serve.app import noted
from perdure.serve.auth import Callers, at_home, permitted
from perdure.serve.guard import Guard
from perdure.types import Permission


def create_figures(memory: Memory) -> Starlette:
    """The application of one route, around an open memory.

    A program on this machine needs no key, as names, numbers and reasons are all it is told; from
    elsewhere a key that may read them is asked for, as by the service.

    Raises:
        Misconfigured: a key in the settings cannot be used.
    """
    app = Starlette(
        routes=[Route("/metrics", measured)], exception_handlers={PerdureError: _on_error}
    )
    app.state.memory = memory
    app.state.callers = Callers.of(memory.parts.settings, memory.parts.keys)
    app.add_middleware(Guard, answer=_on_the_way)
    return app


def measured(request: Request) -> Response:
    """Everything that this process counted, and the levels of the tables."""
    if not at_home(request):
        permitted(request, [Permission.DEPLOYMENT_READ])
    memory: Memory = request.app.state.memory
    return PlainTextResponse(memory.metrics.text(), media_type=PROMETHEUS)


def _on_the_way(error: PerdureError, scope: Scope) -> Response:
    return problems.of_error(error, noted(error), problems.language(Request(scope).headers))


async def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, PerdureError)  # noqa: S101 - registered for nothing else
    return _on_the_way(error, request.scope)
