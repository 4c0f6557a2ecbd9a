"""The pages beside the service: their routes, and the files that they need."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from perdure.pages import audit, desk, frame, mine, one, operations, sign, tune, why
from perdure.pages.page import HOME, PREFIX
from perdure.serve.frames import PATH

_STATIC = Path(__file__).parent / "static"
_WINDOW = (mine, one, desk, sign, why, tune, operations, audit)
_FRAME = (frame, mine, one, desk)


def with_pages(app: FastAPI) -> FastAPI:
    """The same service, with the pages; the link of the first start leads to them."""
    app.state.home = HOME
    for room in _WINDOW:
        app.include_router(room.routes, prefix=PREFIX, include_in_schema=False)
    for room in _FRAME:
        app.include_router(room.routes, prefix=f"{PATH}/{{frame}}", include_in_schema=False)
    app.mount(f"{PREFIX}/static", StaticFiles(directory=_STATIC))
    return app
