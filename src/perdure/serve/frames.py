"""My memory in a host's frame: which hosts may show it, and the signed link that opens it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
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
_ORIGIN = re.compile(r"(https?)://([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::(\d{1,5}))?")
_USUAL_PORT = {"https": "443", "http": "80"}
_BYTES = 16  # of chance in the name of a frame


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

    def link(self, scope: Scope, frame: str, until: datetime) -> str:
        """What opens a frame for the user of this scope, once."""
        return self._signed(_LINK, scope, frame, until)

    def session(self, scope: Scope, frame: str, until: datetime) -> str:
        """What keeps it open."""
        return self._signed(_SESSION, scope, frame, until)

    def opens(self, link: str, frame: str, at: datetime) -> Scope:
        """Whom a link opens this frame for.

        Raises:
            Unauthenticated: it was altered, has expired, or is another frame's.
        """
        return self._read(_LINK, link, frame, at)

    def visitor(self, session: str | None, frame: str, at: datetime) -> Caller:
        """Who looks through this frame: its user and nobody else.

        Raises:
            Unauthenticated: it is not open, or not any more.
        """
        scope = self._read(_SESSION, session or "", frame, at)
        name = f"user:{scope.namespace}:{scope.user}"
        return Caller(namespace=scope.namespace, user=scope.user, name=name)

    def _signed(self, purpose: str, scope: Scope, frame: str, until: datetime) -> str:
        claims = {"aud": purpose, "frame": frame, "ns": scope.namespace, "sub": scope.user}
        return jwt.encode({**claims, "exp": until.timestamp()}, self.secret, _ALGORITHM)

    def _read(self, purpose: str, signed: str, frame: str, at: datetime) -> Scope:
        claims: Mapping[str, Any] = {}
        if self.secret:
            try:
                claims = jwt.decode(
                    signed, self.secret, algorithms=[_ALGORITHM], audience=purpose,
                    options={"require": ["exp", "sub"], "verify_exp": False},
                )  # fmt: skip
            except (jwt.PyJWTError, UnicodeError):
                claims = {}
        if claims.get("frame") != frame or claims["exp"] <= at.timestamp():
            raise Unauthenticated("The link was used, changed, or has expired.")
        return Scope(namespace=claims["ns"], user=claims["sub"])


def _origin(written: str) -> str:
    """An origin as browsers write it.

    Raises:
        Misconfigured: it is none, or could be listened to on the way.
    """
    found = _ORIGIN.fullmatch(written.strip().lower())
    if found is None:
        raise Misconfigured("Expected as https://app.example, with no path.", field="embed_origins")
    scheme, host, port = found.groups()
    if scheme == "http" and not loopback(host):
        raise Misconfigured("Expected https, or this machine.", field="embed_origins")
    return f"{scheme}://{host}" + ("" if port in (None, _USUAL_PORT[scheme]) else f":{port}")


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
    to work until the frame's session ends; then ask for a new one.
    """
    frames: Frames = request.app.state.frames
    scope = Scope(namespace=who.namespace, user=who.whom(user_id))
    if not frames.origins:
        raise Rejected("Set PERDURE_EMBED_ORIGINS first.", field="embed_origins")
    frame = secrets.token_urlsafe(_BYTES)
    lasts = timedelta(seconds=memory.parts.policy_of(scope.namespace).frame.link_s)
    until = memory.parts.clock() + min(lasts, _REMEMBERED)
    asked = {"link": frames.link(scope, frame, until)} | ({"lang": language} if language else {})
    path = f"{PATH}/{frame}?{urlencode(asked)}"
    return PageLinkOut(url=f"{str(request.base_url).rstrip('/')}{path}", path=path,
                       expires_at=until)  # fmt: skip
