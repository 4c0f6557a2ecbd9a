"""What every page shares: its address, its language, its walls, and how errors show."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from perdure import text
from perdure.control.items import Items
from perdure.errors import Forbidden, PerdureError, Rejected, Unauthenticated, Unavailable
from perdure.memory import Memory
from perdure.pages.charts import amount, seconds
from perdure.pages.words import say
from perdure.policy import DESKTOP
from perdure.serve.app import noted, status_of
from perdure.serve.auth import Caller
from perdure.serve.frames import PATH, Frames
from perdure.serve.problems import language, outside, wait
from perdure.serve.signed import Signature
from perdure.types import Scope, Told

PREFIX = "/pages"
HOME = "pages/memory"
LANGUAGE = "perdure_language"
"""The cookie of a language that was chosen."""
PERSON = "perdure_user"
"""The cookie of the user whose memories are looked after, where the key names none."""
_NOBODY = "me"  # whose memories a person sees who has not said who they are
_YEAR_S = 365 * 86_400
_CONTENT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors "
)
_HEADERS = {
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


def told_of(tongue: text.Language, name: str, value: Told) -> str:
    """A field of a memory as a person reads it."""
    match value:
        case None | "":
            return "–"
        case bool():
            return "✓" if value else "–"
        case str() if name == "kind":
            return say(tongue, f"kind_{value}")
        case str() if name == "expires_at":
            return value.partition("T")[0]
        case Mapping():
            return ", ".join(f"{key}: {held}" for key, held in value.items()) or "–"
        case _:
            return str(value)


_templates = Environment(
    loader=PackageLoader("perdure.pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters |= {
    "unmasked": unmasked, "day": day, "amount": amount, "seconds": seconds,
    "quoted": lambda words: quote(words, safe=""), "cut": text.cut,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One request for a page, and what it may show."""

    request: Request
    memory: Memory
    who: Caller
    signed: Signature

    @classmethod
    def of(cls, request: Request, memory: Memory, who: Caller) -> View:
        """What somebody may see."""
        return cls(request=request, memory=memory, who=who, signed=Signature.of(memory, who))

    @property
    def items(self) -> Items:
        """The memories, under the hand of whoever looks."""
        return self.signed.on(self.memory.items)

    @property
    def user(self) -> str:
        """Whose memories are looked after."""
        if self.who.user is not None:
            return self.who.user
        chosen = unquote(self.request.cookies.get(PERSON, ""))
        return chosen or _NOBODY

    @property
    def scope(self) -> Scope:
        """The same, as the core says it.

        Raises:
            Rejected: the id cannot be meant.
        """
        return Scope(namespace=self.who.namespace, user=self.user)

    @property
    def desktop(self) -> bool:
        """Everything here is one person's own, who also says how much of it there may be."""
        return self.memory.parts.settings.policy.preset == DESKTOP.preset

    @property
    def partial(self) -> bool:
        """Only a piece is wanted, since the rest of the page is there."""
        return partial(self.request)

    def say(self, key: str, **values: object) -> str:
        """Words in the reader's language."""
        return say(spoken(self.request), key, **values)

    def html(self, template: str, status: int = 200, /, **values: Any) -> HTMLResponse:
        """A page, or a piece of one."""
        about = {"who": self.who, "user": self.user, "desktop": self.desktop}
        return rendered(self.request, template, status, **about, **values)

    def go(self, path: str) -> Response:
        """Show another page, with or without the script."""
        where = f"{base(self.request)}/{path}"
        if self.partial:
            return Response(headers={"HX-Redirect": where})
        return RedirectResponse(where, status_code=303)


def rendered(request: Request, template: str, code: int, /, **values: Any) -> HTMLResponse:
    """A template with what all of them need."""
    tongue = spoken(request)
    body = _templates.get_template(template).render(
        {
            "base": base(request),
            "static": f"{PREFIX}/static",
            "framed": frame(request) is not None,
            "path": request.url.path,
            "tongue": tongue,
            "t": lambda key, **more: say(tongue, key, **more),
            "told": lambda name, value: told_of(tongue, name, value),
            **values,
        }
    )
    return HTMLResponse(body, status_code=code)


def frame(request: Request) -> str | None:
    """The frame of a host that the page stands in; None: a window of its own."""
    inside = request.url.path.partition(f"{PATH}/")
    return None if inside[0] else inside[2].partition("/")[0] or None


def base(request: Request) -> str:
    """Where this page and those around it lie: each frame has a place of its own."""
    named = frame(request)
    return PREFIX if named is None else f"{PATH}/{quote(named, safe='')}"


def spoken(request: Request) -> text.Language:
    """The language that was chosen now, or earlier, or that the browser asks for."""
    chosen = request.query_params.get("lang") or request.cookies.get(language_kept(request))
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

    everywhere = frozenset({"lang"})
    """Names in a query that any page takes."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """Around the route's own handler."""
        inside = super().get_route_handler()

        async def serve(request: Request) -> Response:
            try:
                if request.method not in _HARMLESS and not own(request):
                    raise Forbidden("Another page sent this.")
                reply: Response = await inside(request)
            except PerdureError as error:
                reply = told(request, error, noted(error))
            except RequestValidationError:
                reply = told(request, Rejected(), status_of(Rejected))
            return walled(request, reply)

        return serve


def walled(request: Request, reply: Response) -> Response:
    """A page with what browsers have to know of it; a language that was chosen now is kept."""
    frames: Frames = request.app.state.frames
    by = "'none'" if frame(request) is None else frames.ancestors
    for name, value in _HEADERS.items():
        reply.headers[name] = value
    reply.headers["Content-Security-Policy"] = _CONTENT + by
    chosen = request.query_params.get("lang")
    if chosen in ("en", "zh"):
        remember(request, reply, language_kept(request), chosen)
    return reply


def remember(
    request: Request, reply: Response, name: str, value: str, lasts_s: int = _YEAR_S
) -> None:
    """Let the browser keep a choice; in a frame, for this frame in this host's page alone."""
    value = quote(value, safe="")
    if frame(request) is not None:
        # By hand: the library writes "Partitioned" from Python 3.14 on.
        reply.headers.append(
            "Set-Cookie",
            f"{name}={value}; Path={base(request)}; Max-Age={lasts_s}; "
            "HttpOnly; Secure; SameSite=None; Partitioned",
        )
        return
    reply.set_cookie(
        name, value, max_age=lasts_s, httponly=True, samesite="strict",
        secure=request.url.scheme == "https",
    )  # fmt: skip


def language_kept(request: Request) -> str:
    """The cookie of a chosen language. A frame has one of its own name: it may see both."""
    return LANGUAGE if frame(request) is None else f"{LANGUAGE}_here"


def looked_at(request: Request) -> bool:
    """A browser asks for a page, or for a piece of one."""
    path = request.url.path
    html = "text/html" in request.headers.get("accept", "")
    return (path == PREFIX or path.startswith(f"{PREFIX}/")) and (html or partial(request))


def told(request: Request, error: PerdureError, status: int) -> Response:
    """An error as a page, or, where a form was sent by the script, beside that form."""
    tongue = spoken(request)
    if frame(request) is not None and isinstance(error, Unauthenticated):
        why = error.detail.said(tongue)
        if partial(request):
            return beside(request, say(tongue, "frame_over", why=why), status)
        return rendered(request, "closed.html", status, who=None, why=why)
    inside = status == HTTPStatus.INTERNAL_SERVER_ERROR  # nobody else's business
    reply = beside(
        request, error.sentence(tongue) if inside else outside(error, status, tongue), status
    )
    if isinstance(error, Unavailable):
        reply.headers["Retry-After"] = wait(error)
    return reply


def beside(request: Request, sentence: str, status: int) -> Response:
    """What is wrong, beside the form that the script sent; without it, on a page."""
    if not partial(request):
        return rendered(request, "error.html", status, who=None, sentence=sentence, status=status)
    reply: Response = rendered(request, "_wrong.html", status, sentence=sentence)
    source = _FORM_ID.fullmatch(request.headers.get("hx-source", ""))
    reply.headers["HX-Retarget"] = f"#{source[1]} .wrong" if source else "#notice"
    reply.headers["HX-Reswap"] = "innerHTML"
    return reply


def partial(request: Request) -> bool:
    """Only a piece is wanted, since the rest of the page is there."""
    return request.headers.get("hx-request") == "true"
