"""User tokens: signed by the deployment's secret, or by keys that an address publishes."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import jwt
from jwt.algorithms import has_crypto

from perdure.errors import Misconfigured, MissingExtra, Rejected, Unauthenticated, Unavailable
from perdure.settings import Secret, Settings
from perdure.types import MAX_NAMESPACE, MAX_USER, identifier

SECRET_CHARS = 32
"""A shorter secret can be guessed from any token (RFC 7518, 3.2)."""
_PUBLISHED = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
_FETCH_S = 5.0  # longest wait for the published keys
_KEPT_S = 300  # so long they are used before they are fetched again
_AGAIN_S = 10.0  # an unknown key makes us fetch no sooner: anybody can name one
_LEEWAY_S = 10  # by which two clocks may differ


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Whom a token stands for."""

    namespace: str
    user: str


class Tokens:
    """Reads user tokens. What cannot be proven is refused, whatever it says."""

    def __init__(self, settings: Settings) -> None:
        """Take the secret and the address; nothing is fetched yet.

        Raises:
            Misconfigured: a token could not be checked with these settings.
            MissingExtra: published keys need the extra ``jwks``.
        """
        secret, url = settings.token_secret, settings.token_jwks_url
        if secret is not None and len(secret) < SECRET_CHARS:
            raise Misconfigured(
                "Expected {count} characters.", field="token_secret", count=SECRET_CHARS
            )
        self._secret = secret
        self._published = None if url is None else Published(_checked(url))
        if url is not None and settings.token_audience is None:
            raise Misconfigured(
                "It is needed with token_jwks_url, or tokens for others open this service.",
                field="token_audience",
            )
        self._audience = settings.token_audience
        self._namespace = settings.token_namespace

    @property
    def configured(self) -> bool:
        """There can be a valid token."""
        return self._secret is not None or self._published is not None

    def read(self, token: str) -> Bound:
        """Whom it stands for.

        Raises:
            Unauthenticated: it proves nothing, or has expired.
            Unavailable: the published keys cannot be fetched now.
        """
        try:
            claims = self._claims(token)
            return Bound(
                namespace=identifier(claims.get("ns", self._namespace), "ns", MAX_NAMESPACE),
                user=identifier(claims["sub"], "sub", MAX_USER),
            )
        except jwt.ExpiredSignatureError:
            raise Unauthenticated("The token has expired.") from None
        except (jwt.PyJWTError, Rejected):
            raise Unauthenticated("Neither a known key nor a valid token.") from None

    def _claims(self, token: str) -> dict[str, Any]:
        """The claims, if the signature holds; the algorithm decides which key may have signed."""
        header = jwt.get_unverified_header(token)
        if header.get("alg") == "HS256":
            key: Any = self._secret
            known = ["HS256"]
        else:
            key = None if self._published is None else self._published.key(header.get("kid"))
            known = list(_PUBLISHED)
        if key is None:
            raise jwt.InvalidKeyError
        required = ["sub", "exp"] + (["aud"] if self._audience is not None else [])
        return jwt.decode(
            token, str(key) if isinstance(key, Secret) else key, algorithms=known,
            audience=self._audience, leeway=_LEEWAY_S, options={"require": required},
        )  # fmt: skip


class Published:
    """The public keys at an address, fetched when needed. Share it between threads."""

    def __init__(self, url: str) -> None:
        self._client = jwt.PyJWKClient(url, lifespan=_KEPT_S, timeout=_FETCH_S)
        self._lock = threading.Lock()
        self._fetched = -_AGAIN_S

    def key(self, kid: object) -> Any:
        """The public key of that name; None if there is none.

        Raises:
            Unavailable: they cannot be fetched now.
        """
        try:
            with self._lock:
                found = self._named(kid, refresh=False)
                if found is None and time.monotonic() - self._fetched >= _AGAIN_S:
                    self._fetched = time.monotonic()
                    found = self._named(kid, refresh=True)
        except jwt.PyJWKClientConnectionError:
            raise Unavailable("The keys of user tokens cannot be fetched.") from None
        except jwt.PyJWTError:
            return None
        return found

    def _named(self, kid: object, *, refresh: bool) -> Any:
        return next(
            (one for one in self._client.get_signing_keys(refresh=refresh) if one.key_id == kid),
            None,
        )


def _checked(url: str) -> str:
    """An address that nobody between us can change the answer of."""
    try:
        parts = urlsplit(url)
        home = parts.hostname in ("localhost", "127.0.0.1", "::1")
    except ValueError:
        parts, home = None, False
    if parts is None or not (parts.scheme == "https" or (parts.scheme == "http" and home)):
        raise Misconfigured("Expected an https address.", field="token_jwks_url")
    if not has_crypto:
        raise MissingExtra("jwks")
    return url
