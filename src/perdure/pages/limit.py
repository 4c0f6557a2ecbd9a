"""How many memories are kept, where the preset lets its one person say so."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter
from starlette.responses import Response

from perdure.errors import NotFound, Rejected
from perdure.pages.asked import Sent, Sets
from perdure.pages.page import PageRoute, View
from perdure.policy import DESKTOP_LIMITS
from perdure.types import Permission

routes = APIRouter(route_class=PageRoute)

_VALUE = "capacity.active_limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The limit as it is shown, and between what it may be set."""

    now: int
    low: int
    high: int
    may_set: bool
    """It holds for the namespace, as other run-time values do, and asks for what they ask for."""


def limit(view: View) -> Limit | None:
    """The limit; None where it is none of a person's own business."""
    if not view.desktop:
        return None
    return Limit(
        now=view.memory.parts.policy_of(view.who.namespace).capacity.active_limit,
        low=DESKTOP_LIMITS[0],
        high=DESKTOP_LIMITS[-1],
        may_set=Permission.SETTINGS_WRITE in view.who.permissions,
    )


@routes.post("/limit")
def limited(view: Sets, form: Sent) -> Response:
    """Set the limit; what is over it is set aside when the next memory comes.

    Raises:
        NotFound: this preset has none to set.
        Rejected: it is no number that may be chosen.
    """
    if not view.desktop:
        raise NotFound
    view.memory.parts.runtime.change(
        view.who.namespace, {_VALUE: _chosen(form["limit"])}, by=view.who.name
    )
    if not view.partial:
        return view.go("memory")
    return view.html("_limit.html", limit=limit(view), said="limit_saved")


def _chosen(typed: str) -> int:
    low, high = DESKTOP_LIMITS[0], DESKTOP_LIMITS[-1]
    wrong = Rejected("Expected {low} to {high:,}.", field="limit", low=low, high=high)
    try:
        number = int(typed)
    except ValueError:
        raise wrong from None
    if number not in DESKTOP_LIMITS:
        raise wrong
    return number
