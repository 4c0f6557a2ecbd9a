"""What went wrong, as problem+json, in the reader's language; never with what was sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from perdure import text
from perdure.details import of_value
from perdure.errors import Duplicate, PerdureError, Rejected, Unavailable

_FIELD_CHARS = 100  # of a field's name as the client wrote it
_SENT_NAMES = {"user": "user_id", "assistant": "assistant_id", "run": "run_id",
               "conversation": "conversation_id"}  # fmt: skip
"""What the core calls otherwise than the wire does."""


class Problem(BaseModel):
    """An error, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    field: str | None
    item_id: str | None = None
    """Of a duplicate: the memory that says it already."""
    restorable: bool | None = None
    """Of a duplicate: it was dismissed, and can be taken back into use."""


_MEANINGS: Mapping[int, str] = {
    400: "The request cannot be read.",
    401: "The key or token is missing, unknown, revoked or expired.",
    403: "Whoever asks may not do this.",
    404: "There is no such thing, or it belongs to somebody else.",
    409: "It is there already, no more fits, or the same request is being served now.",
    412: "It was changed meanwhile.",
    413: "The request is too large.",
    422: "The request cannot be meant so; `field` says what is wrong.",
    429: "The caller asks too often; `Retry-After` says how long to wait.",
    500: "Something is wrong with the deployment.",
    503: "A part that is needed does not answer; `Retry-After` says how long to wait.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How errors of a route are described to programs."""
    return {
        status: {
            "description": _MEANINGS[status],
            "content": {
                "application/problem+json": {
                    "schema": Problem.model_json_schema(),
                    "example": {
                        "type": "urn:perdure:problem:rejected",
                        "title": Rejected.sentence(),
                        "status": status,
                        "detail": f"user_id: {Rejected.sentence()} Name the user.",
                        "code": "rejected",
                        "field": "user_id",
                    },
                }
            },
        }
        for status in statuses
    }


EVERYWHERE = problems(400, 401, 403, 413, 422, 429, 503)
"""What any route may answer."""


def language(headers: Headers) -> text.Language:
    """The language the reader asks for: the first of English and Chinese by preference."""
    best, chosen = 0.0, "en"
    for part in headers.get("accept-language", "").split(","):
        tag, *about = (piece.strip().lower() for piece in part.split(";"))
        pairs = (piece.partition("=") for piece in about)
        weight = next((value for name, _, value in pairs if name.strip() == "q"), "1")
        try:
            wish = float(weight)
        except ValueError:
            continue
        if wish > best and tag[:2] in ("en", "zh"):  # 0 means: not this one
            best, chosen = wish, tag[:2]
    return "zh" if chosen == "zh" else "en"


def of_error(error: PerdureError, status: int, language: text.Language) -> JSONResponse:
    """An error of ours; what is wrong with the deployment is nobody else's business.

    Nor is which of its parts does not answer, where that part is, and what it said.
    """
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        title = error.sentence(language)
        return _problem(status, error.code, title, title)
    if error.field in _SENT_NAMES:
        error.field = _SENT_NAMES[error.field]
    more: dict[str, Any] = {}
    headers = {}
    if isinstance(error, Duplicate):
        more = {"item_id": error.item, "restorable": error.restorable}
    if isinstance(error, Unavailable):
        headers["retry-after"] = wait(error)
    return _problem(
        status,
        error.code,
        error.sentence(language),
        error.placed(outside(error, status, language), language),
        field=error.field,
        headers=headers,
        more=more,
    )


def wait(error: Unavailable) -> str:
    """Seconds to wait before trying again, as Retry-After has them."""
    return str(int(error.retry_after or 1))


def outside(error: PerdureError, status: int, language: text.Language) -> str:
    """What an error tells whoever asks, without its place.

    Of a part that fails fixed sentences go out and no others: what stands in them may be a path, a
    host, or the words of a driver.
    """
    inside = status == HTTPStatus.SERVICE_UNAVAILABLE and error.detail.values
    return error.sentence(language) if inside else error.unplaced(language)


def of_values(wrong: Sequence[Any], status: int, language: text.Language) -> JSONResponse:
    """Values that cannot be meant, as pydantic lists them; the first one is told."""
    first = wrong[0]
    where = _place(first["loc"])
    title = Rejected.sentence(language)
    detail = of_value(first).said(language) or title
    return _problem(status, Rejected.code, title, f"{where}: {detail}", field=where)


def _place(loc: Sequence[str | int]) -> str:
    """``("body", "messages", 0, "role")`` as ``messages[0].role``."""
    inner = loc[1:]
    if not inner or isinstance(inner[0], int):
        return str(loc[0])
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in inner)
    return text.cut(text.clean(place[1:]), _FIELD_CHARS)


def _problem(
    status: int,
    code: str,
    title: str,
    detail: str,
    *,
    field: str | None = None,
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> JSONResponse:
    """RFC 9457, with a stable code and the field that is meant."""
    return JSONResponse(
        {
            "type": f"urn:perdure:problem:{code}",
            "title": title,
            "status": status,
            "detail": detail,
            "code": code,
            "field": field,
            **(more or {}),
        },
        status_code=status,
        media_type="application/problem+json",
        headers=dict(headers or {}),
    )
