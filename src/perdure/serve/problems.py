"""What went wrong, as problem+json, in the reader's language; never with what was sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from perdure import text
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

SENTENCES: Mapping[str, tuple[str, str]] = {
    "missing": ("This field is required.", "缺少此字段。"),
    "extra_forbidden": ("There is no such field.", "没有这个字段。"),
    "json_invalid": ("This is not JSON.", "这不是 JSON。"),
    "string_type": ("Expected a text.", "应为文本。"),
    "string_unicode": ("May not contain half a character.", "不能包含半个字符。"),
    "string_too_short": ("May not be empty.", "不能为空。"),
    "int_type": ("Expected a whole number.", "应为整数。"),
    "int_parsing": ("Expected a whole number.", "应为整数。"),
    "int_parsing_size": ("Expected a smaller number.", "数字太大。"),
    "int_from_float": ("Expected a whole number.", "应为整数。"),
    "float_type": ("Expected a number.", "应为数字。"),
    "bool_type": ("Expected true or false.", "应为 true 或 false。"),
    "bool_parsing": ("Expected true or false.", "应为 true 或 false。"),
    "list_type": ("Expected a list.", "应为列表。"),
    "dict_type": ("Expected a JSON object.", "应为 JSON 对象。"),
    "model_attributes_type": ("Expected a JSON object.", "应为 JSON 对象。"),
    "enum": ("Expected {expected}.", "应为以下之一：{expected}。"),
    "greater_than_equal": ("Expected {ge} or more.", "不能小于 {ge}。"),
    "less_than_equal": ("Expected {le} or less.", "不能大于 {le}。"),
    "timezone_aware": ("A time needs a zone.", "时间需要注明时区。"),
    "datetime_parsing": ("Expected a time (ISO 8601).", "应为 ISO 8601 时间。"),
    "datetime_from_date_parsing": ("Expected a time (ISO 8601).", "应为 ISO 8601 时间。"),
}
"""What is wrong with a value, by pydantic's name of it."""


def language(headers: Headers) -> text.Language:
    """The language the reader asks for: the first of English and Chinese by preference."""
    wishes = []
    for part in headers.get("accept-language", "").split(","):
        tag, _, weight = part.partition(";q=")
        try:
            wishes.append((-float(weight or 1), tag.strip().lower()[:2]))
        except ValueError:
            continue
    known = [tag for _, tag in sorted(wishes, key=lambda wish: wish[0]) if tag in ("en", "zh")]
    return "zh" if known[:1] == ["zh"] else "en"


def of_error(error: PerdureError, status: int, language: text.Language) -> JSONResponse:
    """An error of ours; what is wrong with the deployment is nobody else's business."""
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
        headers["retry-after"] = str(int(error.retry_after or 1))
    return _problem(
        status,
        error.code,
        error.sentence(language),
        error.message(language),
        field=error.field,
        headers=headers,
        more=more,
    )


def of_values(wrong: Sequence[Any], status: int, language: text.Language) -> JSONResponse:
    """Values that cannot be meant, as pydantic lists them; the first one is told."""
    first = wrong[0]
    sentences = SENTENCES.get(first["type"])
    detail = Rejected.sentence(language)
    if sentences is not None:
        detail = sentences[language == "zh"].format(**first.get("ctx", {}))
    elif language == "en":
        detail = f"{first['msg']}."
    where = _place(first["loc"])
    return _problem(
        status, Rejected.code, Rejected.sentence(language), f"{where}: {detail}", field=where
    )


def of_status(status: int, code: str, title: str | None = None) -> JSONResponse:
    """What the framework refuses: a path or a method that is not there, a body cut short."""
    title = title or HTTPStatus(status).phrase
    return _problem(status, code, title, title)


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
