"""Whatever is wrong with a value that comes in, there is a sentence for it in both languages."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from perdure.control import lines
from perdure.details import of_value
from perdure.details.values import OF_VALUES
from perdure.errors import Rejected
from perdure.serve import admin, wire
from perdure.testing.replies import ModelReply

BAD: tuple[Any, ...] = (
    None, "", "x", "5x", "1e400", "2026-13-45", "2026-11-30T09:00:00", "2026-11-30", "9" * 5_000,
    "x" * 300, "\ud800", 5, -1, 1.5, 10**30, float("inf"), float("nan"), True, [], ["x"], [None],
    [{}], {}, {"x": None}, {"x": [1]}, {"x": {"y": 1}},
)  # fmt: skip
"""What JSON and an address can bring, and what they cannot."""
OF_THE_FRAMEWORK = {"json_invalid", "model_attributes_type"}


def bodies() -> list[type[BaseModel]]:
    """Everything that comes in over the wire, and the script of a model server."""
    found = [m for room in (wire, admin) for m in vars(room).values()
             if isinstance(m, type) and issubclass(m, BaseModel) and m.__module__ == room.__name__
             and not m.__name__.endswith("Out")]  # fmt: skip
    return [*found, ModelReply]


def wrongs() -> list[Any]:
    """Every error that bad values make, whole and field by field."""
    readers: list[tuple[Any, list[str]]] = [
        (TypeAdapter(body), list(body.model_fields)) for body in bodies()
    ]
    for made in (lines._items, lines._entries, lines._stones, lines._verdicts):
        adapter = made()
        readers.append((adapter, list(adapter._type.__dataclass_fields__)))
    found = []
    for reader, names in readers:
        for bad in (*BAD, *({name: bad, "other": 1} for name in names for bad in BAD)):
            try:
                with suppress(Rejected):  # which has a detail of its own
                    reader.validate_python(bad)
            except ValidationError as wrong:
                found += wrong.errors(include_url=False)
    return found


def test_every_error_of_a_value_has_a_sentence_and_every_sentence_an_error():
    found = wrongs()

    assert {one["type"] for one in found} | OF_THE_FRAMEWORK == OF_VALUES.keys()
    for one in found:
        detail = of_value(one)
        assert "None" not in detail.said("en")
        assert not detail.said("zh").isascii()
        assert not detail.said("en").startswith(("Input", "Value"))


def test_a_choice_is_told_with_all_there_is_to_choose_from(api):
    body = {"user_id": "ann", "content": "x", "kind": "rumour"}
    for language, detail in (
        ("en", "kind: Known are preference, constraint, fact, todo_hint."),
        ("zh", "kind: 可用的有：preference、constraint、fact、todo_hint。"),
    ):
        wrong = api.post("/memory/items", json=body, headers={"Accept-Language": language})
        assert (wrong.status_code, wrong.json()["detail"]) == (422, detail)


@pytest.mark.parametrize(
    ("method", "path", "status", "detail"),
    [
        ("GET", "/nowhere", 404, "这里没有这一项。"),
        ("PUT", "/memory/items", 405, "请求无法按现状完成。此路径不支持该方法。"),
    ],
)
def test_what_the_framework_refuses_is_told_in_chinese(api, method, path, status, detail):
    refused = api.request(method, path, headers={"Accept-Language": "zh"})
    assert (refused.status_code, refused.json()["detail"]) == (status, detail)
    assert refused.json()["status"] == status
    assert ("allow" in refused.headers) is (status == 405)


def test_a_body_that_cannot_be_read_is_told_in_chinese(api):
    headers = {"Accept-Language": "zh", "Content-Type": "application/json"}
    for content in (b"{", b"\xff\xfe", b"[]", b"nul", b""):
        refused = api.post("/memory/search", content=content, headers=headers)
        told = refused.json()
        assert refused.status_code in (400, 422)
        assert not told["title"].isascii()
        assert not told["detail"].isascii()


def test_a_line_of_an_import_is_told_in_chinese_with_its_number_and_field(api):
    bad = {"type": "memory", "content": "x", "kind": "rumour"}
    refused = api.post(
        "/memory/import?user_id=ann",
        content=json.dumps(bad),
        headers={"Accept-Language": "zh", "Content-Type": "application/x-ndjson"},
    ).json()
    assert refused["detail"].startswith("第 1 行，kind: 请求无法按现状完成。可用的有：preference、")
