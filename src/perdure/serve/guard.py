"""Around every request: unreadable addresses, too large bodies, one line of log, no loose end."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

import structlog
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perdure.errors import PerdureError, Rejected, TooLarge

MAX_BODY = 2 * 1024 * 1024
"""Bytes of one request."""
MAX_IMPORT = 32 * 1024 * 1024
"""Bytes of one import."""
_IMPORT = "/memory/import"
_MAX_DRAINED = 64 * 1024 * 1024  # of a refused body, so that the client comes to read the refusal

log = structlog.get_logger(__name__)


class Guard:
    """The HTTP boundary. Nothing of what was said reaches the log, whatever happens inside."""

    def __init__(self, app: ASGIApp, answer: Callable[[PerdureError, Scope], Response]) -> None:
        self.app = app
        self.answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            replay = await _whole(scope, receive)
            if replay is not None:
                await self.app(scope, replay, noted)
        except Exception as error:  # the HTTP boundary
            told = error if isinstance(error, PerdureError) else PerdureError()
            if told is not error:
                log.error(  # noqa: TRY400 - a traceback could carry what was said
                    "request failed", error=type(error).__name__, at=_where(error)
                )
            if status:
                raise
            await self.answer(told, scope)(scope, receive, noted)
        finally:
            log.info(
                "request",
                method=scope["method"],
                route=getattr(scope.get("route"), "path", None),
                status=status,
                ms=round((time.perf_counter() - began) * 1000, 1),
            )


async def _whole(scope: Scope, receive: Receive) -> Receive | None:
    """Read the body and give it on in one piece; None if the client left meanwhile.

    Raises:
        Rejected: the address is not UTF-8, so two different ones could be taken for the same.
        TooLarge: the body is over the limit.
    """
    for part in (scope["raw_path"], scope["query_string"]):
        try:
            unquote_to_bytes(part).decode()
        except UnicodeDecodeError:
            raise Rejected("The address is not UTF-8.", field="url") from None
    limit = MAX_IMPORT if scope["path"].endswith(_IMPORT) else MAX_BODY
    body = bytearray()
    size = 0
    more = True
    while more and size <= _MAX_DRAINED:
        message = await receive()
        if message["type"] != "http.request":
            return None
        size += len(message.get("body", b""))
        if size <= limit:
            body += message["body"]
        more = message.get("more_body", False)
    if size > limit:
        raise TooLarge("A request may have {limit:,} bytes.", field="body", limit=limit)
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": bytes(body), "more_body": False}

    return replay


def _where(error: BaseException) -> str:
    """File and line that raised, without any value."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "?"
