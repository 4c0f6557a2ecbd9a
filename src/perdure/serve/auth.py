"""Who asks: the namespace comes from the key, the user from the request or from a user token."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

import jwt
from fastapi import Depends
from fastapi.security import HTTPBearer
from fastapi.security.utils import get_authorization_scheme_param
from starlette.requests import Request

from perdure.errors import Forbidden, Misconfigured, Rejected, Unauthenticated
from perdure.serve.wire import Named
from perdure.settings import Settings
from perdure.types import MAX_NAMESPACE, MAX_USER, Scope, identifier

DEFAULT_NAMESPACE = "default"
"""Of everybody, where no key is configured."""
_SECRET_CHARS = 32  # a shorter one can be guessed from any token (RFC 7518, 3.2)
_CLAIMS = ("sub", "ns", "exp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks. An app may name any user of its namespace, a user only itself."""

    namespace: str
    user: str | None = None
    """The user that a token is bound to; None for an app."""

    def scope(self, asked: Named) -> Scope:
        """The scope that a request means.

        Raises:
            Forbidden: a user token names another user.
            Rejected: no user is named, or an id cannot be meant.
        """
        if self.user is not None and asked.user_id not in (None, self.user):
            raise Forbidden("The token belongs to another user.", field="user_id")
        user = self.user or asked.user_id
        if user is None:
            raise Rejected("Name the user.", field="user_id")
        return Scope(namespace=self.namespace, user=user, **asked.bindings())


@dataclass(frozen=True, slots=True, kw_only=True)
class Callers:
    """Recognises callers by the deployment's keys."""

    keys: tuple[tuple[str, bytes], ...]
    """Namespace and key of each app."""
    token_secret: str | None = field(repr=False)

    @classmethod
    def of(cls, settings: Settings) -> Callers:
        """The callers that the settings admit.

        Raises:
            Misconfigured: a key is not written as ``namespace=key``, or the secret is short.
        """
        if settings.token_secret is not None and len(settings.token_secret) < _SECRET_CHARS:
            raise Misconfigured(f"Expected {_SECRET_CHARS} characters.", field="token_secret")
        keys = []
        for entry in settings.api_keys:
            namespace, _, key = entry.partition("=")
            if not namespace.strip() or not key or len(namespace) > MAX_NAMESPACE:
                raise Misconfigured("Expected namespace=key.", field="api_keys")
            keys.append((namespace, key.encode()))
        return cls(keys=tuple(keys), token_secret=settings.token_secret)

    @property
    def open(self) -> bool:
        """No key is configured: whoever sits at this machine is served, nobody else."""
        return not self.keys and self.token_secret is None

    def recognise(self, request: Request) -> Caller:
        """Who sent this request.

        Raises:
            Unauthenticated: a key or token is missing, unknown, malformed or expired.
            Forbidden: without keys, only this machine itself is served.
        """
        if self.open:
            return _neighbour(request)
        scheme, presented = get_authorization_scheme_param(request.headers.get("authorization"))
        if scheme.lower() != "bearer" or not presented:
            raise Unauthenticated("Send a header: Authorization: Bearer KEY.")
        return self._app(presented.encode("latin-1")) or self._user(presented)

    def _app(self, presented: bytes) -> Caller | None:
        """The app that has this key. Every key is compared, so that time tells nothing."""
        matches = [ns for ns, key in self.keys if hmac.compare_digest(key, presented)]
        return Caller(namespace=matches[0]) if matches else None

    def _user(self, token: str) -> Caller:
        """The user that a signed token is bound to."""
        if self.token_secret is None:
            raise Unauthenticated("The key is not known.")
        try:
            claims = jwt.decode(
                token, self.token_secret, algorithms=["HS256"], options={"require": list(_CLAIMS)}
            )
            return Caller(
                namespace=identifier(claims["ns"], "ns", MAX_NAMESPACE),
                user=identifier(claims["sub"], "sub", MAX_USER),
            )
        except jwt.ExpiredSignatureError:
            raise Unauthenticated("The token has expired.") from None
        except (jwt.PyJWTError, Rejected):
            raise Unauthenticated("Neither a known key nor a valid token.") from None


def _neighbour(request: Request) -> Caller:
    """A program on this machine, spoken to by a name of this machine.

    The names keep web pages out: a page elsewhere can make a browser send requests to loopback,
    under a host name or an origin of its own.
    """
    origin = request.headers.get("origin")
    at_home = (
        request.client is not None
        and loopback(request.client.host)
        and loopback(_host(f"//{request.headers.get('host', '')}"))
        and (origin is None or loopback(_host(origin)))
    )
    if not at_home:
        raise Forbidden("Without keys only this machine is served; set PERDURE_API_KEYS.")
    return Caller(namespace=DEFAULT_NAMESPACE)


def _host(url: str) -> str:
    """The host of an address; empty if it has none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def loopback(host: str) -> bool:
    """Does this name or address mean this machine alone?"""
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def check_listening(settings: Settings) -> None:
    """Nobody else may reach a service that asks for no key.

    Raises:
        Misconfigured: the address is reachable from elsewhere and no key is configured.
    """
    if Callers.of(settings).open and not loopback(settings.host):
        raise Misconfigured(
            "Listening beyond this machine needs keys; set PERDURE_API_KEYS to namespace=key.",
            field="host",
        )


_bearer = HTTPBearer(auto_error=False, description="An app key, or a user token.")


async def _recognised(request: Request, _: Annotated[object, Depends(_bearer)]) -> Caller:
    callers: Callers = request.app.state.callers
    return callers.recognise(request)


Who = Annotated[Caller, Depends(_recognised)]
"""The caller of a route."""
