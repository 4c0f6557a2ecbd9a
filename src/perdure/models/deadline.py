"""HTTP connections that end with the call they serve, however slowly the other side drips.

HTTP clients bound the silence between two bytes, not the call. Here every read and write of a
pooled connection is cut to what is left of the call's time.
"""

from __future__ import annotations

import socket
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from urllib.parse import unquote, urlsplit

import httpcore2
import httpx2

_END: ContextVar[float] = ContextVar("end_of_call")
_SLICE = 16_384  # bytes written at once, so that a slow reader is noticed
_LOOPBACK = ("localhost", "::1", "127.")
_FAILURES = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
)


@contextmanager
def until(end: float) -> Iterator[None]:
    """Everything that this thread sends and receives inside ends at ``time.monotonic() == end``."""
    token = _END.set(end)
    try:
        yield
    finally:
        _END.reset(token)


def _left(timeout: float | None) -> float | None:
    """The shorter of a timeout and what is left of the call, in seconds."""
    end = _END.get(None)
    if end is None:
        return timeout
    left = end - time.monotonic()
    if left <= 0:
        raise httpcore2.ReadTimeout
    return left if timeout is None else min(timeout, left)


class _Stream(httpcore2.NetworkStream):
    """A connection that asks before each step how much time is left."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _SLICE):
            self._stream.write(buffer[start : start + _SLICE], _left(timeout))

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def close(self) -> None:
        self._stream.close()


class _Network(httpcore2.SyncBackend):
    """Opens such connections."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        # One address after the other: the time of the call bounds all of them together.
        failure: Exception = httpcore2.ConnectError()
        for address in _addresses(host, port):
            try:
                return _Stream(
                    super().connect_tcp(
                        address, port, _left(timeout), local_address, socket_options
                    )
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure


def _addresses(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        raise httpcore2.ConnectError("The host's name is unknown.") from None
    return [str(where[0]) for *_, where in found]


@contextmanager
def _as_httpx() -> Iterator[None]:
    """The connection's errors as those that the client library knows."""
    try:
        yield
    except httpcore2.TimeoutException:
        raise httpx2.ReadTimeout("The call's time is over.") from None
    except _FAILURES as failure:
        raise httpx2.NetworkError(type(failure).__name__) from None


class _Body(httpx2.SyncByteStream):
    """A reply's bytes as they come."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        with _as_httpx():
            yield from self._stream

    def close(self) -> None:
        self._stream.close()


class PunctualTransport(httpx2.BaseTransport):
    """A pool of connections to one address whose requests end in time; see `until`.

    Goes through the proxy that the environment names for the address (``HTTPS_PROXY``,
    ``NO_PROXY``), never for loopback.
    """

    def __init__(self, address: str, connections: int) -> None:
        common: dict[str, Any] = {
            # Reading the machine's certificates takes a while; nothing else needs them.
            "ssl_context": httpx2.create_ssl_context() if address.startswith("https") else None,
            "max_connections": connections,
            "max_keepalive_connections": connections,
            "keepalive_expiry": 30.0,
            "network_backend": _Network(),
        }
        proxy = _proxy(address)
        if proxy is None:
            self._pool = httpcore2.ConnectionPool(**common)
        else:
            where = urlsplit(proxy)
            login = (unquote(where.username or ""), unquote(where.password or ""))
            self._pool = httpcore2.HTTPProxy(
                f"{where.scheme}://{where.netloc.rpartition('@')[2]}",
                proxy_auth=login if where.username else None,
                **common,
            )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; its reply is read as the caller iterates."""
        with _as_httpx():
            got = self._pool.handle_request(
                httpcore2.Request(
                    request.method,
                    httpcore2.URL(
                        scheme=request.url.raw_scheme,
                        host=request.url.raw_host,
                        port=request.url.port,
                        target=request.url.raw_path,
                    ),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        return httpx2.Response(
            got.status, headers=got.headers, stream=_Body(got.stream), extensions=got.extensions
        )

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


def _proxy(address: str) -> str | None:
    """The HTTP proxy that the environment names for an address, or None."""
    where = urlsplit(address)
    host = where.hostname or ""
    if host.startswith(_LOOPBACK) or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(where.scheme) or proxies.get("all")
    return proxy if proxy and proxy.startswith("http") else None
