"""Run-time values of a namespace as a form: the model that learns, first switches, limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from fastapi import APIRouter
from starlette.responses import Response

from perdure.errors import Misconfigured, PerdureError, Rejected, Stale
from perdure.pages.asked import Form, Looks, Sent, Sets
from perdure.pages.page import PageRoute, View, spoken
from perdure.policy import Policy
from perdure.serve import admin
from perdure.serve.app import status_of
from perdure.types import Permission

routes = APIRouter(route_class=PageRoute)

GROUPS: Mapping[str, tuple[str, ...]] = {
    "learning": ("learn.extraction_model",),
    "defaults": ("defaults.memory_enabled", "defaults.auto_learn", "defaults.sensitive_allowed"),
    "limits": (
        "capacity.active_limit", "cost.user_month", "cost.user_tokens_month",
        "cost.namespace_month",
    ),
    "answers": (
        "search.mode", "render.form", "budget.constraint", "budget.preference",
        "budget.todo_hint", "budget.fact",
    ),
}  # fmt: skip
"""What is set here, by the heading that it stands under; all else is set over HTTP."""
NAMES = tuple(name for names in GROUPS.values() for name in names)

Shape: TypeAlias = Literal["text", "switch", "choice", "whole", "number"]
_SHAPES: Mapping[object, Shape] = {str: "text", bool: "switch", int: "whole", float: "number"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One value in the form. Written as a text; an empty one takes it back."""

    name: str
    shape: Shape
    choices: tuple[str, ...]
    deployed: str
    """What holds where nothing is set; empty: no limit, or no other model."""
    was: str
    """What is set, as the form was made: JSON, to be compared before it is changed."""
    typed: str
    wrong: str
    """What is wrong with it, in the reader's language; empty: nothing."""


@routes.get("/operations/settings")
def values(view: Looks) -> Response:
    """The form; whoever may not set values only reads it."""
    return _page(view, admin.values(view.memory, view.who).values)


@routes.post("/operations/settings")
def valued(view: Sets, form: Sent) -> Response:
    """Set what was changed in the form: all of it, or nothing. What others set since stays."""
    runtime, namespace = view.memory.parts.runtime, view.who.namespace
    before = {name: _was(form, name) for name in NAMES}
    typed = {
        name: form[name].strip() for name in NAMES if form[name].strip() != _text(before[name])
    }
    wanted: dict[str, object] = {}
    wrong: dict[str, str] = {}
    status = status_of(Rejected)
    for name, words in typed.items():
        try:
            wanted[name] = _meant(view.memory.parts.settings.policy, name, words)
        except Misconfigured as refused:
            large = "high" in refused.detail.values
            tongue = spoken(view.request)
            wrong[name] = refused.detail.said(tongue) if large else _expected(view, name)
    if wanted and not wrong:
        try:
            runtime.change(namespace, wanted, by=view.who.name, shown=before)
        except Stale as late:
            status, name = status_of(Stale), late.field or ""
            now = _text(runtime.values(namespace).get(name)) or view.say("unset")
            wrong[name] = view.say("value_changed", now=now)
        except Misconfigured as refused:
            wrong[_named(refused)] = refused.unplaced(spoken(view.request))
    if wrong:
        return _page(view, runtime.values(namespace), typed=typed, wrong=wrong, status=status)
    if not view.partial:
        return view.go("operations/settings")
    return _page(view, runtime.values(namespace), said="values_saved" if wanted else "values_same")


def _page(
    view: View,
    now: Mapping[str, Any],
    *,
    typed: Mapping[str, str] = {},
    wrong: Mapping[str, str] = {},
    status: int = 200,
    said: str = "",
) -> Response:
    policy = view.memory.parts.settings.policy
    groups = {
        group: [_field(policy, name, now.get(name), typed.get(name), wrong.get(name, ""))
                for name in names]
        for group, names in GROUPS.items()
    }  # fmt: skip
    return view.html(
        "_settings.html" if view.partial else "settings.html",
        status,
        groups=groups,
        others={name: _text(value) for name, value in sorted(now.items()) if name not in NAMES},
        may_set=Permission.SETTINGS_WRITE in view.who.permissions,
        said=said,
    )


def _field(policy: Policy, name: str, now: object, typed: str | None, wrong: str) -> Field:
    shape, choices = _shape(name)
    return Field(
        name=name, shape=shape, choices=choices, deployed=_text(_knob(policy, name)),
        was=json.dumps(now), typed=_text(now) if typed is None else typed, wrong=wrong,
    )  # fmt: skip


def _shape(name: str) -> tuple[Shape, tuple[str, ...]]:
    """What may be written, and the choices where there are some."""
    wanted = _hint(name)
    if get_origin(wanted) is Literal:
        return "choice", get_args(wanted)
    if get_origin(wanted) is UnionType:
        wanted = get_args(wanted)[0]
    return _SHAPES[wanted], ("true", "false") if wanted is bool else ()


def _hint(name: str) -> Any:
    """The type of a knob."""
    group, _, knob = name.partition(".")
    return get_type_hints(type(getattr(Policy(), group)))[knob]


def _expected(view: View, name: str) -> str:
    """What may stand in a field, in the reader's language."""
    sentence = view.say(f"wrong_{_shape(name)[0]}")
    endless = get_origin(_hint(name)) is UnionType
    return view.say("or_none", expected=sentence) if endless else sentence


def _meant(policy: Policy, name: str, words: str) -> object:
    """What was written as a value; None takes it back.

    Raises:
        Misconfigured: it cannot be that.
    """
    if not words:
        return None
    group, _, knob = name.partition(".")
    value = _knob(policy.turned({group: {knob: words}}, "run time"), name)
    return "none" if value is None else value


def _knob(policy: Policy, name: str) -> object:
    group, _, knob = name.partition(".")
    value: object = getattr(getattr(policy, group), knob)
    return value


def _text(value: object) -> str:
    """A value as it is written into a field; empty where there is none."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _was(form: Form, name: str) -> object:
    """What was set when the form was made.

    Raises:
        Rejected: the form is none of ours.
    """
    try:
        value: object = json.loads(form[f"was:{name}"])
    except (ValueError, RecursionError):
        raise Rejected(field=name) from None
    return value


def _named(refused: PerdureError) -> str:
    """The field of the form that an error of the policy means; the first where it means none."""
    name = (refused.field or "").rpartition("policy.")[2]
    return name if name in NAMES else NAMES[0]
