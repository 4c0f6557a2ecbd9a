"""Routes by which people look after their memories and switches."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Query
from starlette.requests import Request

from perdure.errors import Rejected
from perdure.memory import Memory
from perdure.serve.auth import Who
from perdure.serve.replies import (
    ClearedOut,
    HistoryOut,
    ItemOut,
    PageOut,
    ProjectsOut,
    SwitchesOut,
)
from perdure.serve.wire import (
    ClearQuery,
    ItemEdit,
    ListQuery,
    Named,
    NewItem,
    SwitchesChange,
)
from perdure.types import MemoryItem

routes = APIRouter(tags=["memories"])


async def front_door(request: Request) -> Memory:
    """The memory behind the service."""
    memory: Memory = request.app.state.memory
    return memory


Door = Annotated[Memory, Depends(front_door)]
"""The memory behind the service."""
OfUser = Annotated[Named, Query()]
OfBody = Annotated[Named, Body(default_factory=Named)]


@routes.get("/memory/items", summary="List memories, newest first")
def listed(memory: Door, who: Who, query: Annotated[ListQuery, Query()]) -> PageOut:
    """Active ones unless `status` says otherwise; `next` is the cursor of the following page."""
    page = memory.items.list(who.scope(query), query.filter(), query.limit, query.after)
    return PageOut.model_validate(page)


@routes.post("/memory/items", status_code=201, summary="Write a memory by hand")
def added(memory: Door, who: Who, body: NewItem) -> ItemOut:
    """No machine changes what a person wrote. 409 names the memory that says it already."""
    about = body.about()
    item = memory.items.add(who.scope(body), body.content, level=body.level, **about)
    return _out(item)


@routes.delete("/memory/items", summary="Forget everything about a user")
def cleared(memory: Door, who: Who, query: Annotated[ClearQuery, Query()]) -> ClearedOut:
    """Needs `confirm=true`."""
    if not query.confirm:
        raise Rejected("Say confirm=true to delete every memory.", field="confirm")
    return ClearedOut(deleted=memory.items.clear(who.scope(query)))


@routes.get("/memory/items/{item_id}", summary="Read one memory")
def read(memory: Door, who: Who, item_id: str, query: OfUser) -> ItemOut:
    """404 also if it is another user's."""
    return _out(memory.items.get(who.scope(query), item_id))


@routes.patch("/memory/items/{item_id}", summary="Correct a memory")
def edited(memory: Door, who: Who, item_id: str, body: ItemEdit) -> ItemOut:
    """Its status stays. With `shown`, 412 if somebody changed it meanwhile."""
    return _out(
        memory.items.edit(
            who.scope(body), item_id, content=body.content, shown=body.shown, **body.about()
        )
    )


@routes.delete("/memory/items/{item_id}", status_code=204, summary="Delete a memory")
def deleted(memory: Door, who: Who, item_id: str, query: OfUser) -> None:
    """Older turns cannot bring it back."""
    memory.items.delete(who.scope(query), item_id)


@routes.post("/memory/items/{item_id}/dismiss", summary="Refuse a memory")
def dismissed(memory: Door, who: Who, item_id: str, body: OfBody) -> ItemOut:
    """It is not said again, and never learnt again by itself."""
    return _out(memory.items.dismiss(who.scope(body), item_id))


@routes.post("/memory/items/{item_id}/restore", summary="Take a memory back into use")
def restored(memory: Door, who: Who, item_id: str, body: OfBody) -> ItemOut:
    """From dismissed, from archived, or, while its text is kept, from deleted."""
    return _out(memory.items.restore(who.scope(body), item_id))


@routes.get("/memory/items/{item_id}/history", summary="What happened to a memory")
def history(memory: Door, who: Who, item_id: str, query: OfUser) -> HistoryOut:
    """Oldest first; also after it was deleted."""
    return HistoryOut.model_validate({"entries": memory.items.history(who.scope(query), item_id)})


@routes.get("/memory/projects", summary="Project keys seen so far")
def projects(memory: Door, who: Who, query: OfUser) -> ProjectsOut:
    """Sorted; channels that only pose as projects are left out."""
    return ProjectsOut(projects=list(memory.items.projects(who.scope(query))))


@routes.get("/memory/settings", summary="A user's switches")
def switches(memory: Door, who: Who, query: OfUser) -> SwitchesOut:
    """What the user never set has the deployment's default."""
    return SwitchesOut.model_validate(memory.preferences.get(who.scope(query)))


@routes.patch("/memory/settings", summary="Set a user's switches")
@routes.post("/memory/settings", summary="Set a user's switches", include_in_schema=False)
def switched(memory: Door, who: Who, body: SwitchesChange) -> SwitchesOut:
    """Those that are not named stay. POST does the same as PATCH."""
    return SwitchesOut.model_validate(memory.preferences.set(who.scope(body), **body.given()))


def _out(item: MemoryItem) -> ItemOut:
    return ItemOut.model_validate(item)
