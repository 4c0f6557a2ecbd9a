"""Who asks: the namespace comes from the key, the user from the request or from a user token."""

from __future__ import annotations

import hmac
from collections.abc import Collection
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Security
from fastapi.security import HTTPBearer, SecurityScopes
from fastapi.security.utils import get_authorization_scheme_param
from starlette.requests import Request

from perdure.control.keys import Keys, hashed
from perdure.errors import Forbidden, Misconfigured, Rejected, Unauthenticated
from perdure.serve import DEFAULT_NAMESPACE
from perdure.serve.limits import Limits
from perdure.serve.tokens import Tokens
from perdure.serve.wire import Named
from perdure.settings import Settings
from perdure.types import MAX_NAMESPACE, MAX_USER, MAY, KeyRole, Permission, Scope

COOKIE = "perdure_key"
"""Holds a key in a browser on this machine, set by the link that the first start prints."""
_HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})
_OURS = frozenset({"none", "same-origin"})  # another port of this machine is another's
_APP = MAY[KeyRole.APP]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks. An app may name any user of its namespace, a user only itself."""

    namespace: str
    user: str | None = None
    """The user that a token is bound to; None for a key."""
    permissions: frozenset[Permission] = _APP
    name: str = "local"
    """Which key or user it is, for the audit and for limits; never a secret."""

    @classmethod
    def of_user(cls, namespace: str, user: str) -> Caller:
        """A user who asks for themselves; an id that is too long for a name has its hash there."""
        name = f"user:{namespace}:{user}"
        if len(name) > MAX_USER:
            name = f"user:{namespace}:{hashed(user)}"
        return cls(namespace=namespace, user=user, name=name)

    def scope(self, asked: Named) -> Scope:
        """The scope that a request means.

        Raises:
            Forbidden: a user token names another user.
            Rejected: no user is named, or an id cannot be meant.
        """
        return Scope(namespace=self.namespace, user=self.whom(asked.user_id), **asked.bindings())

    def whom(self, user: str | None) -> str:
        """The user that is meant.

        Raises:
            Forbidden: a user token names another user.
            Rejected: no user is named.
        """
        if self.user is not None and user not in (None, self.user):
            raise Forbidden("The token belongs to another user.", field="user_id")
        user = self.user or user
        if user is None:
            raise Rejected("Name the user.", field="user_id")
        return user


@dataclass(frozen=True, slots=True, kw_only=True)
class Callers:
    """Recognises callers by the deployment's keys, by those in the table, and by tokens."""

    configured: tuple[tuple[str, bytes], ...]
    """Namespace and key of each app in the settings."""
    tokens: Tokens
    keys: Keys | None = None
    limits: Limits = field(default_factory=lambda: Limits(0))

    @classmethod
    def of(cls, settings: Settings, keys: Keys | None = None) -> Callers:
        """The callers that the settings and the table admit.

        Raises:
            Misconfigured: a key is not written as ``namespace=key``, or a token could not be
                checked.
        """
        found = []
        for entry in settings.api_keys:
            namespace, _, key = entry.partition("=")
            if not namespace.strip() or not key or len(namespace) > MAX_NAMESPACE:
                raise Misconfigured("Expected namespace=key.", field="api_keys")
            found.append((namespace, key.encode()))
        return cls(
            configured=tuple(found),
            tokens=Tokens(settings),
            keys=keys,
            limits=Limits(settings.rate_limit),
        )

    @property
    def open(self) -> bool:
        """There never was a key for apps, nor a token: this machine is served, nobody else.

        Admin routes ask for their key all the same.
        """
        if self.configured or self.tokens.configured:
            return False
        return self.keys is None or not self.keys.any_of(KeyRole.APP)

    def recognise(self, request: Request) -> Caller:
        """Who sent this request.

        Raises:
            Unauthenticated: a key or token is missing, unknown, malformed, revoked or expired.
            Forbidden: without keys, only this machine itself is served.
            TooMany: the caller asks too often.
            DatabaseUnavailable: the database does not answer, and the key may be in it.
        """
        presented = _presented(request)
        if presented is None:
            if self.open:
                return _neighbour(request)
            raise Unauthenticated("Send a header: Authorization: Bearer KEY.")
        caller = self.known(presented)
        self.limits.take(caller.name)
        return caller

    def known(self, presented: str) -> Caller:
        """Whose key or token this is.

        Raises:
            Unauthenticated: nobody's: it is unknown, malformed, revoked or expired.
            DatabaseUnavailable: the database does not answer, and the key may be in it.
        """
        return self._app(presented) or self._keyed(presented) or self._user(presented)

    def _app(self, presented: str) -> Caller | None:
        """The configured app with this key. All are compared, so that time tells nothing."""
        sent = presented.encode("latin-1")
        matches = [ns for ns, key in self.configured if hmac.compare_digest(key, sent)]
        if not matches:
            return None
        return Caller(namespace=matches[0], name=f"configured:{hashed(presented)[:12]}")

    def _keyed(self, presented: str) -> Caller | None:
        """Whoever has this key of the table."""
        key = None if self.keys is None else self.keys.find(presented)
        if key is None:
            return None
        granted = key.permissions | (_APP if self.open else frozenset())
        return Caller(namespace=key.namespace, permissions=granted, name=f"key:{key.id}")

    def _user(self, token: str) -> Caller:
        """The user that a signed token is bound to."""
        if not self.tokens.configured:
            raise Unauthenticated("The key is not known.")
        bound = self.tokens.read(token)
        return Caller.of_user(bound.namespace, bound.user)


def _presented(request: Request) -> str | None:
    """The key or token that was sent; None if nothing was.

    Raises:
        Unauthenticated: what was sent is in no form that we know.
    """
    header = request.headers.get("authorization")
    if header is None:
        return _from_browser(request)
    scheme, presented = get_authorization_scheme_param(header)
    if scheme.lower() != "bearer" or not presented:
        raise Unauthenticated("Send a header: Authorization: Bearer KEY.")
    return presented


def _from_browser(request: Request) -> str | None:
    """The key in the cookie, unless another page sent this request in its name."""
    found = request.cookies.get(COOKIE)
    if not found or request.method in _HARMLESS:
        return found or None
    origin = request.headers.get("origin")
    own = origin is not None and urlsplit(origin).netloc == request.headers.get("host")
    return found if own else None


def _neighbour(request: Request) -> Caller:
    """A program on this machine, spoken to by a name of this machine.

    The names keep web pages out: a page elsewhere can make a browser send requests to loopback,
    under a host name or an origin of its own.
    """
    if not at_home(request):
        raise Forbidden("Without keys only this machine is served; set PERDURE_API_KEYS.")
    return Caller(namespace=DEFAULT_NAMESPACE)


def at_home(request: Request) -> bool:
    """It comes from this machine, by a name of this machine, and from no page of another."""
    origin = request.headers.get("origin")
    return (
        request.client is not None
        and loopback(request.client.host)
        and loopback(_host(f"//{request.headers.get('host', '')}"))
        and (origin is None or loopback(_host(origin)))
    )


def by_hand(request: Request) -> bool:
    """Somebody typed or pasted this address here, or a page of ours led to it; no page elsewhere.

    A browser says where a visit comes from, also one that carries no origin.
    """
    return at_home(request) and request.headers.get("sec-fetch-site", "none") in _OURS


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


def check_listening(settings: Settings, keys: Keys | None = None) -> None:
    """Nobody else may reach a service that asks for no key.

    Raises:
        Misconfigured: the address is reachable from elsewhere and there is no key for apps.
        DatabaseUnavailable: whether there is one cannot be read.
    """
    if not loopback(settings.host) and Callers.of(settings, keys).open:
        raise Misconfigured(
            "Listening beyond this machine needs keys: perdure keys create NAME, or set "
            "PERDURE_API_KEYS to namespace=key.",
            field="host",
        )


_bearer = HTTPBearer(auto_error=False, description="A key, or a user token.")


def _recognised(
    request: Request, asked: SecurityScopes, _: Annotated[object, Depends(_bearer)]
) -> Caller:
    """The caller, if it may do what the route asks for; a thread's work, since keys are rows."""
    return permitted(request, asked.scopes)


def permitted(request: Request, wanted: Collection[str]) -> Caller:
    """The caller, if it has these permissions.

    Raises:
        Unauthenticated: it is not known who asks.
        Forbidden: whoever asks may not.
    """
    callers: Callers = request.app.state.callers
    caller = callers.recognise(request)
    if not caller.permissions.issuperset(wanted):
        raise Forbidden("It needs {permissions}.", permissions=wanted)
    return caller


Who = Annotated[Caller, Security(_recognised, scopes=[Permission.MEMORY_USE])]
"""The caller of a route about one user's memories."""
Looking = Annotated[Caller, Security(_recognised, scopes=[Permission.ADMIN_READ])]
"""An admin who sees how things stand."""
Reading = Annotated[Caller, Security(_recognised, scopes=[Permission.MEMORY_READ])]
"""An admin who reads memories."""
Mending = Annotated[Caller, Security(_recognised, scopes=[Permission.JOBS_WRITE])]
"""An admin who looks after jobs."""
Setting = Annotated[Caller, Security(_recognised, scopes=[Permission.SETTINGS_WRITE])]
"""An admin who sets run-time values."""
Watching = Annotated[Caller, Security(_recognised, scopes=[Permission.DEPLOYMENT_READ])]
"""Who sees how the whole deployment stands."""
Keeping = Annotated[Caller, Security(_recognised, scopes=[Permission.KEYS_WRITE])]
"""An admin who looks after keys."""
