"""What every page shares: who looks, in which language, behind which walls, and how errors show."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from fastapi import Depends
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from perdure import text
from perdure.errors import Forbidden, PerdureError, Rejected
from perdure.memory import Memory
from perdure.pages.words import say
from perdure.serve.app import answer, noted, status_of
from perdure.serve.auth import COOKIE, Caller, Looking, Mending, Reading, Who
from perdure.serve.door import Door
from perdure.serve.problems import language, outside
from perdure.types import Scope

PREFIX = "/pages"
HOME = "pages/memory"
LANGUAGE = "perdure_language"
"""The cookie of a language that was chosen."""
PERSON = "perdure_user"
"""The cookie of the user whose memories are looked after, where the key names none."""
_NOBODY = "me"  # whose memories a person sees who has not said who they are
_YEAR_S = 365 * 86_400
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Vary": "HX-Request, Accept-Language, Cookie",
}
_HARMLESS = frozenset({"GET", "HEAD"})
_FORM_ID = re.compile(r"form#([\w-]+)")
_UNSEEN = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)


def unmasked(content: str) -> Markup:
    """A text as it is, with a sign in place of each character that hides or turns what it says."""
    marked = _UNSEEN.sub(lambda found: f"\x00{ord(found.group()):04X}\x01", content)
    shown = (
        str(escape(marked)).replace("\x00", '<span class="unseen">U+').replace("\x01", "</span>")
    )
    return Markup(shown)  # noqa: S704 - it was escaped, and only our own tag was added


def day(at: datetime) -> str:
    """A day, as it is in UTC; a script tells it in the reader's own zone."""
    return at.astimezone(UTC).strftime("%Y-%m-%d")


_templates = Environment(
    loader=PackageLoader("perdure.pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters |= {"unmasked": unmasked, "day": day, "quoted": lambda s: quote(s, safe="")}


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One request for a page, and what it may show."""

    request: Request
    memory: Memory
    who: Caller

    @property
    def user(self) -> str:
        """Whose memories are looked after."""
        chosen = unquote(self.request.cookies.get(PERSON, ""))
        return self.who.user or chosen or _NOBODY

    @property
    def scope(self) -> Scope:
        """The same, as the core says it.

        Raises:
            Rejected: the id cannot be meant.
        """
        return Scope(namespace=self.who.namespace, user=self.user)

    @property
    def partial(self) -> bool:
        """Only a piece is wanted, since the rest of the page is there."""
        return self.request.headers.get("hx-request") == "true"

    def say(self, key: str, **values: object) -> str:
        """Words in the reader's language."""
        return say(spoken(self.request), key, **values)

    def html(self, template: str, status: int = 200, /, **values: Any) -> HTMLResponse:
        """A page, or a piece of one."""
        return rendered(self.request, template, status, who=self.who, user=self.user, **values)

    def go(self, path: str) -> Response:
        """Show another page, with or without the script."""
        if self.partial:
            return Response(headers={"HX-Redirect": f"{PREFIX}/{path}"})
        return RedirectResponse(f"{PREFIX}/{path}", status_code=303)


def rendered(request: Request, template: str, code: int, /, **values: Any) -> HTMLResponse:
    """A template with what all of them need."""
    tongue = spoken(request)
    body = _templates.get_template(template).render(
        {
            "base": PREFIX,
            "path": request.url.path,
            "tongue": tongue,
            "t": lambda key, **more: say(tongue, key, **more),
            **values,
        }
    )
    return HTMLResponse(body, status_code=code)


def spoken(request: Request) -> text.Language:
    """The language that was chosen now, or earlier, or that the browser asks for."""
    chosen = request.query_params.get("lang") or request.cookies.get(LANGUAGE)
    if chosen == "zh":
        return "zh"
    return "en" if chosen == "en" else language(request.headers)


# ── the walls ────────────────────────────────────────────────────────────────────────────────────


def own(request: Request) -> bool:
    """A page of ours sent this request. Another port of this machine is another's.

    Every browser names the origin of what it posts; what names none must say that it is ours.
    """
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if origin is None:
        return site == "same-origin"
    try:
        there = urlsplit(origin).netloc
    except ValueError:
        return False
    return site in (None, "same-origin") and there == request.headers.get("host")


class PageRoute(APIRoute):
    """A route whose reply is a page: its headers, its language, and its errors as people read."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """Around the route's own handler."""
        inside = super().get_route_handler()

        async def serve(request: Request) -> Response:
            try:
                if request.method not in _HARMLESS and not own(request):
                    raise Forbidden("Another page sent this.")
                reply: Response = await inside(request)
            except PerdureError as error:
                reply = told(request, error)
            except RequestValidationError:
                reply = told(request, Rejected())
            for name, value in _HEADERS.items():
                reply.headers[name] = value
            chosen = request.query_params.get("lang")
            if chosen in ("en", "zh"):
                remember(request, reply, LANGUAGE, chosen)
            return reply

        return serve


def remember(request: Request, reply: Response, name: str, value: str) -> None:
    """Let the browser keep a choice."""
    reply.set_cookie(
        name, quote(value, safe=""), max_age=_YEAR_S, httponly=True, samesite="strict",
        secure=request.url.scheme == "https",
    )  # fmt: skip


def told(request: Request, error: PerdureError) -> Response:
    """An error as a page, or, where a form was sent by the script, beside that form."""
    if status_of(type(error)) == HTTPStatus.INTERNAL_SERVER_ERROR:
        return answer(error, request.headers)
    status = noted(error)
    sentence = outside(error, status, spoken(request))
    source = _FORM_ID.fullmatch(request.headers.get("hx-source", ""))
    if request.headers.get("hx-request") == "true":
        reply: Response = rendered(request, "_wrong.html", status, sentence=sentence)
        where = f"#{source[1]} .wrong" if source else "#notice"
        reply.headers["HX-Retarget"] = where
        reply.headers["HX-Reswap"] = "innerHTML"
        return reply
    return rendered(
        request, "error.html", status, who=None, user=None, sentence=sentence, status=status
    )


# ── who looks ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form that was sent."""

    fields: Mapping[str, list[str]]

    def __getitem__(self, name: str) -> str:
        """The last value of a field; empty if it has none."""
        return self.fields.get(name, [""])[-1]

    def all(self, name: str) -> list[str]:
        """Every value of a field."""
        return self.fields.get(name, [])


async def _form(request: Request) -> Form:
    """The form; line ends as we keep them, half characters mended.

    Raises:
        Rejected: it is too large to be one of ours.
    """
    body = (await request.body()).decode("utf-8", "replace")
    fields: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(body, keep_blank_values=True, max_num_fields=2_000)
    except ValueError:
        raise Rejected(field="form") from None
    for name, value in pairs:
        fields.setdefault(name, []).append(text.clean(value.replace("\r\n", "\n")))
    return Form(fields)


def _person(request: Request, memory: Door, who: Who) -> View:
    return View(request=request, memory=memory, who=who)


def _looks(request: Request, memory: Door, who: Looking) -> View:
    return View(request=request, memory=memory, who=who)


def _mends(request: Request, memory: Door, who: Mending) -> View:
    return View(request=request, memory=memory, who=who)


def _reads(request: Request, memory: Door, who: Reading) -> View:
    return View(request=request, memory=memory, who=who)


Sent = Annotated[Form, Depends(_form)]
"""The form that was sent."""
Person = Annotated[View, Depends(_person)]
"""A page about a person's own memories."""
Looks = Annotated[View, Depends(_looks)]
"""A page for admins who see how things stand."""
Mends = Annotated[View, Depends(_mends)]
"""A page for admins who look after jobs."""
Reads = Annotated[View, Depends(_reads)]
"""A page for admins who read memories."""


def signed_in(request: Request, reply: Response, key: str) -> None:
    """Let the browser keep a key or token, for this session."""
    reply.set_cookie(
        COOKIE, key, httponly=True, samesite="strict", secure=request.url.scheme == "https"
    )
