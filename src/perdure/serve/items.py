"""Routes by which people look after their memories and switches."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query
from starlette.responses import Response

from perdure.errors import Rejected, Stale
from perdure.serve.auth import Who
from perdure.serve.door import Door
from perdure.serve.once import Shown, Write, tagged
from perdure.serve.problems import problems
from perdure.serve.replies import (
    ClearedOut,
    HistoryOut,
    ItemOut,
    PageOut,
    ProjectsOut,
    SwitchesOut,
)
from perdure.serve.signed import Signed
from perdure.serve.wire import (
    ClearQuery,
    ItemEdit,
    ListQuery,
    Named,
    NewItem,
    SwitchesChange,
)

routes = APIRouter(tags=["memories"])


OfUser = Annotated[Named, Query()]
OfBody = Annotated[Named, Body(default_factory=Named)]
_ONE = problems(404, 409, 412)


@routes.get("/memory/items", summary="List memories, newest first")
def listed(memory: Door, who: Who, query: Annotated[ListQuery, Query()]) -> PageOut:
    """Active ones unless `status` says otherwise; `next` is the cursor of the following page."""
    page = memory.items.list(who.scope(query), query.filter(), query.limit, query.after)
    return PageOut.model_validate(page)


@routes.post(
    "/memory/items", status_code=201, summary="Write a memory by hand", responses=problems(409)
)
def added(write: Write, body: NewItem) -> ItemOut:
    """No machine changes what a person wrote. 409 names the memory that says it already."""
    scope, about = write.who.scope(body), body.about()
    return write.item(
        scope, lambda items: items.add(scope, body.content, level=body.level, **about)
    )


@routes.delete("/memory/items", summary="Forget everything about a user", responses=problems(409))
def cleared(write: Write, query: Annotated[ClearQuery, Query()]) -> ClearedOut:
    """Needs `confirm=true`. What was said in conversations stays."""
    if not query.confirm:
        raise Rejected("Say confirm=true to delete every memory.", field="confirm")
    scope = write.who.scope(query)
    deleted = write.serve(
        scope, lambda also: write.hand(write.memory.items, also).clear(scope), ref=str, again=int
    )
    return ClearedOut(deleted=deleted)


@routes.get("/memory/items/{item_id}", summary="Read one memory", responses=problems(404))
def read(memory: Door, who: Who, item_id: str, query: OfUser, response: Response) -> ItemOut:
    """404 also if it is another user's. `ETag` names this state of it, for `If-Match`."""
    return tagged(response, memory.items.get(who.scope(query), item_id))


@routes.patch("/memory/items/{item_id}", summary="Correct a memory", responses=_ONE)
def edited(write: Write, item_id: str, body: ItemEdit, shown: Shown) -> ItemOut:
    """Its status stays. With `If-Match`, 412 if somebody changed it meanwhile."""
    if shown and body.shown and shown != body.shown:
        raise Stale(field="shown")
    scope, about = write.who.scope(body), body.about()
    seen = shown or body.shown
    return write.item(
        scope,
        lambda items: items.edit(scope, item_id, content=body.content, shown=seen, **about),
    )


@routes.delete(
    "/memory/items/{item_id}", status_code=204, summary="Delete a memory", responses=_ONE
)
def deleted(write: Write, item_id: str, query: OfUser, shown: Shown) -> None:
    """Older turns cannot bring it back."""
    scope = write.who.scope(query)
    write.serve(
        scope,
        lambda also: write.hand(write.memory.items, also).delete(scope, item_id, shown=shown),
        again=lambda _: None,
    )


@routes.post("/memory/items/{item_id}/dismiss", summary="Refuse a memory", responses=_ONE)
def dismissed(write: Write, item_id: str, body: OfBody, shown: Shown) -> ItemOut:
    """It is not said again, and never learnt again by itself."""
    scope = write.who.scope(body)
    return write.item(scope, lambda items: items.dismiss(scope, item_id, shown=shown))


@routes.post(
    "/memory/items/{item_id}/restore", summary="Take a memory back into use", responses=_ONE
)
def restored(write: Write, item_id: str, body: OfBody, shown: Shown) -> ItemOut:
    """From dismissed, from archived, or, while its text is kept, from deleted."""
    scope = write.who.scope(body)
    return write.item(scope, lambda items: items.restore(scope, item_id, shown=shown))


@routes.post(
    "/memory/items/{item_id}/accept",
    summary="Let a memory be said that reads like an order",
    responses=_ONE,
)
def accepted(write: Write, item_id: str, body: OfBody, shown: Shown) -> ItemOut:
    """To refuse it, dismiss it."""
    scope = write.who.scope(body)
    return write.item(scope, lambda items: items.accept(scope, item_id, shown=shown))


@routes.get(
    "/memory/items/{item_id}/history", summary="What happened to a memory", responses=problems(404)
)
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
def switched(memory: Door, who: Who, signed: Signed, body: SwitchesChange) -> SwitchesOut:
    """Those that are not named stay. POST does the same as PATCH."""
    preferences = signed.on(memory.preferences)
    return SwitchesOut.model_validate(preferences.set(who.scope(body), **body.given()))
