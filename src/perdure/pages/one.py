"""One memory in the list: edited in place, dismissed, restored, deleted, and where it is from."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from perdure.errors import Duplicate, NotFound, Rejected, Stale
from perdure.pages.asked import Person, Sent
from perdure.pages.mine import Looked, around, change, seen, undoable
from perdure.pages.page import PageRoute, View, spoken
from perdure.serve.app import status_of
from perdure.serve.problems import outside
from perdure.types import AuditEntry, Kind, MemoryItem, Utterance, one_of

routes = APIRouter(route_class=PageRoute)

_SAID = 20  # messages that are shown where a memory names none of them


@routes.get("/memory/{item_id}")
def row(view: Person, item_id: str) -> Response:
    """Its row as it is now; by itself, a page with where it is from and what happened to it."""
    item = view.items.get(view.scope, item_id)
    if view.partial:
        return view.html("_row.html", item=item, focus="edit")
    return view.html("one.html", item=item, said=said(view, item), history=_history(view, item))


@routes.get("/memory/{item_id}/edit")
def editing(view: Person, item_id: str) -> Response:
    """The row as a form."""
    item = view.items.get(view.scope, item_id)
    return _form(view, item, item.content, item.kind)


@routes.get("/memory/{item_id}/origin")
def origin(view: Person, item_id: str) -> Response:
    """The sentences that it was learnt from, as far as they are kept, and its history."""
    item = view.items.get(view.scope, item_id)
    return view.html("_origin.html", item=item, said=said(view, item), history=_history(view, item))


@routes.post("/memory/{item_id}/edit")
def edited(view: Person, item_id: str, form: Sent) -> Response:
    """Save what was written. If the memory was changed meanwhile, both texts are there to see."""
    items, content = view.items, form["content"].strip()
    try:
        kind = one_of(Kind, form["kind"], "kind")
        item = items.edit(
            view.scope, item_id, content=content, kind=kind, shown=seen(form["shown"])
        )
    except NotFound:
        raise
    except Stale:
        now = items.get(view.scope, item_id)
        return _form(view, now, content, form["kind"], conflict=now, status=status_of(Stale))
    except Rejected as wrong:
        if not view.partial:
            raise
        now = items.get(view.scope, item_id)
        status, known = status_of(type(wrong)), isinstance(wrong, Duplicate)
        told = view.say("duplicate") if known else outside(wrong, status, spoken(view.request))
        return _form(
            view, now, content, form["kind"], wrong=told, status=status, shown=form["shown"]
        )
    if not view.partial:
        return view.go("memory")
    return view.html("_row.html", item=item, focus="edit")


@routes.post("/memory/{item_id}")
def done(view: Person, item_id: str, form: Sent) -> Response:
    """Dismiss, restore, accept or delete; a line in its place offers the way back."""
    looked, what = Looked.of(form["level"], form["status"], form["q"]), form["do"]
    try:
        item = change(view, item_id, what, form["shown"])
    except Stale:
        if not view.partial:
            raise
        now = view.items.get(view.scope, item_id)
        return view.html(
            "_row.html", status_of(Stale), item=now, focus="", wrong=view.say("changed_meanwhile")
        )
    if not view.partial:
        return view.go("memory")
    return view.html(
        "_done.html", item=item, ident=item_id, what=what, undo=undoable(view, what),
        **around(view, looked),
    )  # fmt: skip


def said(view: View, item: MemoryItem) -> list[Utterance]:
    """The messages that a memory was learnt from, oldest first; none if they are gone."""
    where, scope = item.origin, view.scope
    if where.conversation is None:
        return []
    with view.memory.parts.database.read() as tx:
        if where.messages:
            return tx.messages.by_id(scope, where.conversation, where.messages)
        if where.trace is not None:
            return tx.messages.turn(scope, where.conversation, where.trace)[:_SAID]
    return []


def _history(view: View, item: MemoryItem) -> list[AuditEntry]:
    return view.items.history(view.scope, item.id)


def _form(
    view: View,
    item: MemoryItem,
    content: str,
    kind: str,
    *,
    conflict: MemoryItem | None = None,
    wrong: str = "",
    status: int = 200,
    shown: str = "",
) -> Response:
    policy = view.memory.parts.policy_of(view.scope.namespace)
    values: dict[str, Any] = {
        "item": item, "content": content, "kind": kind, "conflict": conflict, "wrong": wrong,
        "longest": policy.item.content_chars, "shown": shown or item.updated_at.isoformat(),
    }  # fmt: skip
    return view.html("_edit.html" if view.partial else "edit.html", status, **values)
