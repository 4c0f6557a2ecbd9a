"""My memory: what is known of a person, listed, searched, added to, switched on and off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from starlette.responses import Response

from perdure import text
from perdure.errors import LimitReached, NotFound, Rejected, Stale
from perdure.pages.asked import Person, Sent
from perdure.pages.limit import limit
from perdure.pages.page import PageRoute, View
from perdure.ports import ItemFilter
from perdure.types import Kind, Level, MemoryItem, Status, one_of

routes = APIRouter(route_class=PageRoute)

_PAGE = 50  # memories that are shown at once
_UNUSED = frozenset({Status.DISMISSED, Status.ARCHIVED})
_NEEDS_YOU = 50  # suspicious ones that are shown at once
SWITCHES = ("auto_learn", "memory_enabled", "sensitive_allowed")
TABS = ("all", Level.USER.value, Level.PROJECT.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """Which part of the list is shown."""

    tab: str = "all"
    unused: bool = False
    words: str = ""

    @classmethod
    def of(cls, level: str, status: str, q: str) -> Looked:
        """What an address asks for; what cannot be meant shows everything."""
        return cls(
            tab=level if level in TABS else "all",
            unused=status == "unused",
            words=text.clean(q).strip(),
        )

    def filter(self, tab: str | None = None) -> ItemFilter:
        """The same as the core says it."""
        tab = self.tab if tab is None else tab
        return ItemFilter(
            statuses=_UNUSED if self.unused else frozenset({Status.ACTIVE}),
            level=None if tab == "all" else Level(tab),
            words=self.words or None,
        )

    def shows(self, item: MemoryItem | None) -> bool:
        """Does this memory belong among those that are listed?"""
        return item is not None and (item.status is Status.ACTIVE) != self.unused

    def query(self, **other: str) -> str:
        """The end of the list's address, with something else."""
        asked = {
            "level": self.tab,
            "status": "unused" if self.unused else "active",
            "q": self.words,
        }
        shown = {name: value for name, value in (asked | other).items() if value}
        return urlencode(shown)


@routes.get("/memory")
def listed(
    view: Person,
    level: Annotated[str, Query()] = "all",
    status: Annotated[str, Query()] = "active",
    q: Annotated[str, Query()] = "",
    after: Annotated[str | None, Query()] = None,
) -> Response:
    """The page; its list alone while somebody types; further rows alone where more are wanted."""
    looked = Looked.of(level, status, q)
    page = view.items.list(view.scope, looked.filter(), _PAGE, after)
    if view.partial and after is not None:
        return view.html("_rows.html", page=page, looked=looked, projects=())
    values = around(view, looked)
    if view.partial:
        return view.html("_list.html", page=page, **values)
    return view.html("memory.html", page=page, **values, **about(view))


def around(view: View, looked: Looked) -> dict[str, Any]:
    """What stands around the rows: tabs with counts, and what waits for the person."""
    with view.memory.parts.database.read() as tx:
        counts = {tab: tx.items.count(view.scope, looked.filter(tab)) for tab in TABS}
        unused = ItemFilter(statuses=_UNUSED)
        active = ItemFilter(statuses=frozenset({Status.ACTIVE}))
        totals = (tx.items.count(view.scope, active), tx.items.count(view.scope, unused))
    doubtful = ItemFilter(statuses=frozenset({Status.ACTIVE}), suspicious=True)
    waits = view.memory.items.list(view.scope, doubtful, _NEEDS_YOU).items
    return {"looked": looked, "tabs": counts, "totals": totals, "waits": waits}


def about(view: View) -> dict[str, Any]:
    """The rest of the page: switches, projects, the longest a memory may be."""
    policy = view.memory.parts.policy_of(view.scope.namespace)
    return {
        "switches": switches(view),
        "limit": limit(view),
        "said": "",
        "projects": view.items.projects(view.scope),
        "longest": policy.item.content_chars,
        "draft": {"content": "", "kind": Kind.PREFERENCE.value, "project": ""},
        "added": None,
    }


def switches(view: View) -> list[tuple[str, bool, str]]:
    """Each switch, whether it is on, and what it means here; what people look for comes first."""
    now = view.memory.preferences.get(view.scope)
    asked = view.memory.parts.policy_of(view.scope.namespace).learn.explicit_when_off
    means = {name: f"{name}_says" for name in SWITCHES}
    if not asked:
        means["auto_learn"] = "auto_learn_alone_says"
    return [(name, bool(getattr(now, name)), means[name]) for name in SWITCHES]


@routes.post("/memory")
def added(view: Person, form: Sent) -> Response:
    """Write a memory by hand. Its row comes, and the form is empty again."""
    project = form["project"].strip() or None
    item = view.items.add(
        view.scope.within(project=project),
        form["content"].strip(),
        level=Level.PROJECT if project else Level.USER,
        kind=one_of(Kind, form["kind"], "kind"),
    )
    if not view.partial:
        return view.go("memory")
    values = about(view) | {
        "added": item,
        "draft": {"content": "", "kind": item.kind.value, "project": project or ""},
    }
    return view.html("_added.html", item=item, **values, **around(view, Looked()))


@routes.post("/switches")
def switched(view: Person, form: Sent) -> Response:
    """Set one switch; the others stay as they are."""
    name = form["name"]
    if name not in SWITCHES:
        raise Rejected(field="name")
    view.signed.on(view.memory.preferences).set(view.scope, **{name: form["on"] == "on"})
    if not view.partial:
        return view.go("memory")
    return view.html("_switches.html", switches=switches(view))


@routes.post("/several")
def several(view: Person, form: Sent) -> Response:
    """Do the same with each of the chosen memories; one changed meanwhile is left alone."""
    looked, what = Looked.of(form["level"], form["status"], form["q"]), form["do"]
    done: list[tuple[str, MemoryItem | None]] = []
    left = 0
    for ident, shown in chosen(form.all("chosen")):
        try:
            done.append((ident, change(view, ident, what, shown)))
        except (NotFound, Stale, LimitReached):
            left += 1
    if not view.partial:
        return view.go("memory")
    return view.html(
        "_several.html", done=done, left=left, what=what, undo=undoable(view, what),
        **around(view, looked),
    )  # fmt: skip


def chosen(values: list[str]) -> Iterator[tuple[str, str]]:
    """Ids, and when each memory was changed last as the person saw it."""
    for value in values:
        ident, _, shown = value.partition("@")
        yield ident, shown


def change(view: View, ident: str, what: str, shown: str) -> MemoryItem | None:
    """One thing that people do to a memory; None once it is deleted.

    Raises:
        Rejected: there is no such thing to do.
        Stale: it was changed since it was shown.
    """
    items, at = view.items, seen(shown)
    if what == "delete":
        items.delete(view.scope, ident, shown=at)
        return None
    verbs = {"dismiss": items.dismiss, "restore": items.restore, "accept": items.accept}
    if what not in verbs:
        raise Rejected(field="do")
    return verbs[what](view.scope, ident, shown=at)


def undoable(view: View, what: str) -> bool:
    """Is there a way back? What is accepted stays, and some deployments keep nothing deleted."""
    kept_s = view.memory.parts.policy_of(view.scope.namespace).item.scrub_after_s
    return kept_s > 0 if what == "delete" else what != "accept"


def seen(shown: str) -> datetime | None:
    """When the memory that the person saw was changed last; None: whenever.

    Raises:
        Rejected: it is no time.
    """
    if not shown:
        return None
    try:
        return datetime.fromisoformat(shown)
    except ValueError:
        raise Rejected(field="shown") from None
