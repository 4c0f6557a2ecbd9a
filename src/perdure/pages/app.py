"""The pages beside the service: their routes, and the files that they need."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from perdure.errors import PerdureError
from perdure.pages import audit, desk, frame, limit, mine, one, operations, sign, tune, why
from perdure.pages.page import HOME, PREFIX, looked_at, told, walled
from perdure.serve.frames import PATH

_STATIC = Path(__file__).parent / "static"
_WINDOW = (mine, one, desk, limit, sign, why, tune, operations, audit)
_FRAME = (frame, mine, one, desk)


def with_pages(app: FastAPI) -> FastAPI:
    """The same service, with the pages; the link of the first start leads to them."""
    app.state.home = HOME
    for room in _WINDOW:
        app.include_router(room.routes, prefix=PREFIX, include_in_schema=False)
    for room in _FRAME:
        app.include_router(room.routes, prefix=f"{PATH}/{{frame}}", include_in_schema=False)
    app.add_api_route(PREFIX, _at_home, include_in_schema=False)
    app.mount(f"{PREFIX}/static", StaticFiles(directory=_STATIC))
    beside = app.state.replied

    def replied(request: Request, error: PerdureError, status: int) -> Response:
        """A page where a browser looks at one, whatever no page of ours could answer."""
        if looked_at(request):
            return walled(request, told(request, error, status))
        reply: Response = beside(request, error, status)
        return reply

    app.state.replied = replied
    return app


def _at_home() -> Response:
    """Whoever knows no page by its name begins with their memories."""
    return RedirectResponse(f"/{HOME}", status_code=303)
