"""Routes about all of a user's data: out, in again, and gone for good."""

from __future__ import annotations

import json
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Annotated

from fastapi import APIRouter, Body, Query
from starlette.responses import StreamingResponse

from perdure.control.imported import counted
from perdure.control.json_lines import parsed, split
from perdure.serve.auth import Caller, Who
from perdure.serve.door import Door
from perdure.serve.items import OfUser
from perdure.serve.problems import problems
from perdure.serve.replies import ErasureOut, ImportedOut
from perdure.serve.wire import ImportQuery
from perdure.types import Scope

routes = APIRouter(tags=["users"])

LINES = "application/x-ndjson"
_IN_MEMORY = 8 * 1024 * 1024  # bytes of an export; a longer one waits in a file without a name
_PIECE = 64 * 1024  # bytes that are sent at once
_EXAMPLE = '{"type": "message", "conversation": "chat-1", "role": "user", "content": "I moved."}\n'


@routes.get(
    "/memory/export",
    summary="Hand out everything that is known of a user",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "JSON lines: messages, memories, their history.",
            "content": {LINES: {"schema": {"type": "string"}, "example": _EXAMPLE}},
        }
    },
)
def handed_out(memory: Door, who: Who, query: OfUser) -> StreamingResponse:
    """Read in one piece before the first byte is sent, so that a failure is a status."""
    scope = who.scope(query)
    file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed once it is sent
    try:
        for line in memory.export(scope):
            written = json.dumps(line, ensure_ascii=False, default=str)
            file.write(written.encode("utf-8", "replace") + b"\n")
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return StreamingResponse(_pieces(file), media_type=LINES)


def _pieces(file: SpooledTemporaryFile[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE):
            yield piece


@routes.post("/memory/import", summary="Take in what an export handed out, or conversations")
def taken_in(
    memory: Door,
    who: Who,
    query: Annotated[ImportQuery, Query()],
    body: Annotated[bytes, Body(media_type=LINES, examples=[_EXAMPLE])],
) -> ImportedOut:
    """One JSON object a line. What is known already stays as it is, so doing it twice does no harm.

    Every line is read before the first is taken in.
    """
    scope = who.scope(query)
    lines = list(parsed(split(body)))
    reports = list(memory.import_lines(scope, lines, dry_run=True, by=who.name))
    if not query.dry_run:
        reports = list(memory.import_lines(scope, lines, by=who.name))
    traces = [one.receipt.trace for one in reports if one.receipt is not None]
    return ImportedOut(lines=len(lines), outcomes=counted(reports), captures=traces)


# ── a person's right to be forgotten ─────────────────────────────────────────────────────────────


@routes.delete("/users/{user_id:id}", summary="Erase everything of a user, for good")
def erased(memory: Door, who: Who, user_id: str) -> ErasureOut:
    """Memories, messages, vectors, jobs, history, switches. The receipt says how much went."""
    return ErasureOut.model_validate(memory.erase(_user(who, user_id), by=who.name))


@routes.get(
    "/users/{user_id:id}/erasure",
    summary="Prove that a user was erased",
    responses=problems(404),
)
def erasure(memory: Door, who: Who, user_id: str) -> ErasureOut:
    """The receipt of the last erasure, and what a new search of every place finds now."""
    return ErasureOut.model_validate(memory.erasure(_user(who, user_id)))


def _user(who: Caller, user_id: str) -> Scope:
    return Scope(namespace=who.namespace, user=who.whom(user_id))
