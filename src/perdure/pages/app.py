"""The pages beside the service: their routes, and the files that they need."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from perdure.pages import audit, desk, mine, one, operations, why
from perdure.pages.page import HOME, PREFIX

_STATIC = Path(__file__).parent / "static"


def with_pages(app: FastAPI) -> FastAPI:
    """The same service, with the pages; the link of the first start leads to them."""
    app.state.home = HOME
    for room in (mine, one, desk, why, operations, audit):
        app.include_router(room.routes, include_in_schema=False)
    app.mount(f"{PREFIX}/static", StaticFiles(directory=_STATIC))
    return app
