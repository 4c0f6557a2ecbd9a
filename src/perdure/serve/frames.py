"""My memory in a host's frame: which hosts may show it, and the signed link that opens it."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address
from typing import Annotated, Literal
from urllib.parse import urlencode

import jwt
from fastapi import APIRouter, Query
from starlette.requests import Request

from perdure.errors import Misconfigured, Rejected, Unauthenticated
from perdure.memory import Memory
from perdure.ports import Transaction
from perdure.serve.auth import Caller, Who, loopback
from perdure.serve.door import Door
from perdure.serve.replies import PageLinkOut
from perdure.serve.tokens import SECRET_CHARS
from perdure.settings import Settings
from perdure.types import Scope

routes = APIRouter(tags=["users"])

PATH = "/pages/in"
"""Below this are the pages of a frame: one folder for each link."""
_LINK = "perdure page link"  # what a signed text is for: neither opens where the other is asked for
_SESSION = "perdure page session"
_ALGORITHM = "HS256"
_REMEMBERED = timedelta(days=1)  # so long it is known that a link was used
_ORIGIN = re.compile(r"(https?)://(\[[\da-f:.]+\]|[a-z\d.-]+)(?::(\d{1,5}))?")
_NAME = re.compile(r"(?=.{1,253}$)[a-z\d-]{1,63}(?:\.[a-z\d-]{1,63})*")
_NUMBERED = re.compile(r"(?:.*\.)?(?:\d+|0x[\da-f]*)")  # browsers take it for an IPv4 address
_USUAL_PORT = {"https": 443, "http": 80}
_LAST_PORT = 65_535
_BYTES = 16  # of chance in the name of a frame


@dataclass(frozen=True, slots=True)
class Guest:
    """For whom a frame is open."""

    scope: Scope
    erased: str | None
    """The last erasure of this user as the link was made; None: there was none."""

    @property
    def caller(self) -> Caller:
        """The same as routes ask for it."""
        return Caller.of_user(self.scope.namespace, self.scope.user)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """Signs and reads what opens a frame. No key of the service opens one, nor the other way."""

    origins: tuple[str, ...] = ()
    """Who may show pages in a frame, as browsers write them."""
    secret: str = ""

    @classmethod
    def of(cls, settings: Settings) -> Frames:
        """The hosts that the settings name.

        Raises:
            Misconfigured: one is no origin, or there is nothing to sign with.
        """
        secret = settings.embed_secret or ""
        if secret and len(secret) < SECRET_CHARS:
            raise Misconfigured(
                "Expected {count} characters.", field="embed_secret", count=SECRET_CHARS
            )
        if settings.embed_origins and not secret:
            raise Misconfigured("It signs the links into a frame.", field="embed_secret")
        return cls(origins=tuple(map(_origin, settings.embed_origins)), secret=secret)

    @property
    def ancestors(self) -> str:
        """The same as a Content-Security-Policy has it."""
        return " ".join(self.origins) or "'none'"

    def link(self, guest: Guest, frame: str, until: datetime) -> str:
        """What opens a frame for a guest, once."""
        return self._signed(_LINK, guest, frame, until)

    def session(self, guest: Guest, frame: str, until: datetime) -> str:
        """What keeps it open; a cookie has room for it, whatever the user is called."""
        return self._signed(_SESSION, guest, frame, until)

    def opens(self, link: str, frame: str, at: datetime) -> Guest:
        """Whom a link opens this frame for.

        Raises:
            Unauthenticated: it was altered, has expired, or is another frame's.
        """
        guest = self._read(_LINK, link, frame, at)
        if guest is None:
            raise Unauthenticated("The link was used, changed, or has expired.")
        return guest

    def visitor(self, session: str | None, frame: str, at: datetime) -> Guest:
        """Who looks through this frame: its user and nobody else.

        Raises:
            Unauthenticated: it is not open, or not any more.
        """
        guest = self._read(_SESSION, session or "", frame, at)
        if guest is None:
            raise Unauthenticated("Its time is over, or it was never opened here.")
        return guest

    def _signed(self, purpose: str, guest: Guest, frame: str, until: datetime) -> str:
        claims = {
            "aud": purpose, "frame": frame, "ns": guest.scope.namespace, "sub": guest.scope.user,
            "erased": guest.erased, "exp": until.timestamp(),
        }  # fmt: skip
        # Written as it is: escaped, an emoji takes twelve bytes, and browsers drop a long cookie.
        body = json.dumps(claims, ensure_ascii=False, separators=(",", ":")).encode()
        return jwt.PyJWS().encode(body, self.secret, _ALGORITHM)

    def _read(self, purpose: str, signed: str, frame: str, at: datetime) -> Guest | None:
        """Whom it is for; None: it opens nothing here, or not any more."""
        if not self.secret:
            return None
        try:
            claims = jwt.decode(
                signed, self.secret, algorithms=[_ALGORITHM], audience=purpose,
                options={"require": ["exp", "sub"], "verify_exp": False},
            )  # fmt: skip
        except (jwt.PyJWTError, UnicodeError):
            return None
        if claims.get("frame") != frame or claims["exp"] <= at.timestamp():
            return None
        return Guest(Scope(namespace=claims["ns"], user=claims["sub"]), claims.get("erased"))


def erased(memory: Memory, scope: Scope) -> str | None:
    """The last erasure of a user and whether it came to its end; None: there was none."""
    with memory.parts.database.read() as tx:
        last = tx.erasures.last(scope)
    if last is None:
        return None
    return last.id if last.done_at is not None else f"{last.id} begun"


def remaining(memory: Memory, guest: Guest) -> Guest:
    """The guest, of whom nothing was erased since the link was made.

    Which erasure was the last one is compared, not when: clocks of two machines differ.

    Raises:
        Unauthenticated: everything was.
    """
    if erased(memory, guest.scope) != guest.erased:
        raise Unauthenticated("All of your data was erased.")
    return guest


def _origin(written: str) -> str:
    """An origin as browsers write it.

    Raises:
        Misconfigured: it is none, no policy of a page can name it, or it could be listened to on
            the way.
    """
    found = _ORIGIN.fullmatch(written.strip().lower())
    if found is None:
        raise Misconfigured("Expected as https://app.example, with no path.", field="embed_origins")
    scheme, host, port = found[1], found[2], int(found[3] or _USUAL_PORT[found[1]])
    if host.startswith("["):
        raise Misconfigured(
            "Browsers let no IPv6 address show a frame; give it a name.", field="embed_origins"
        )
    if not _is_host(host):
        raise Misconfigured("There can be no host of this name.", field="embed_origins")
    if not 0 < port <= _LAST_PORT:
        raise Misconfigured(
            "A port is {low} to {high}.", field="embed_origins", low=1, high=_LAST_PORT
        )
    if scheme == "http" and not loopback(host):
        raise Misconfigured("Expected https, or this machine.", field="embed_origins")
    return f"{scheme}://{host}" + ("" if port == _USUAL_PORT[scheme] else f":{port}")


def _is_host(host: str) -> bool:
    """A name of a host; what ends in a number has to be an IPv4 address, written in full."""
    if _NUMBERED.fullmatch(host) is None:
        return _NAME.fullmatch(host) is not None
    try:
        IPv4Address(host)
    except ValueError:
        return False
    return True


def used(memory: Memory, scope: Scope, frame: str) -> bool:
    """Was the link of this frame used before? From now on it was, also once its user is erased."""
    at, key = memory.parts.clock(), f"page link {frame}"
    scope = Scope(namespace=scope.namespace, user=frame)

    def claimed(tx: Transaction) -> bool:
        tx.requests.forget(at - _REMEMBERED)
        before = tx.requests.claim(scope, key, frame, at, _REMEMBERED.total_seconds())
        if before is None:
            tx.requests.answered(scope, key, at, frame)
        return before is not None

    return memory.parts.database.run(claimed, scope)


@routes.post(
    "/users/{user_id:id}/page-link",
    status_code=201,
    summary="Make a link that opens My memory in a frame of yours",
)
def linked(
    request: Request,
    memory: Door,
    who: Who,
    user_id: str,
    language: Annotated[
        Literal["en", "zh"] | None,
        Query(description="Of the page; the browser's wish, if left out."),
    ] = None,
) -> PageLinkOut:
    """For one user, once, within minutes: the `src` of an iframe.

    The host must be one of `PERDURE_EMBED_ORIGINS`. In the browser that used it the link goes on
    to work until the frame's session ends; then ask for a new one. Erasing the user ends it, too.
    """
    frames: Frames = request.app.state.frames
    scope = Scope(namespace=who.namespace, user=who.whom(user_id))
    if not frames.origins:
        raise Rejected("Set PERDURE_EMBED_ORIGINS first.", field="embed_origins")
    frame = secrets.token_urlsafe(_BYTES)
    lasts = timedelta(seconds=memory.parts.policy_of(scope.namespace).frame.link_s)
    until = memory.parts.clock() + min(lasts, _REMEMBERED)
    guest = Guest(scope, erased(memory, scope))
    asked = {"link": frames.link(guest, frame, until)} | ({"lang": language} if language else {})
    path = f"{PATH}/{frame}?{urlencode(asked)}"
    return PageLinkOut(url=f"{str(request.base_url).rstrip('/')}{path}", path=path,
                       expires_at=until)  # fmt: skip
