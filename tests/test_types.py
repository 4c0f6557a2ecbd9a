"""The shared words refuse what cannot be meant, by name, and mean the rest exactly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import Rejected, TooLarge
from perdure.types import (
    Level,
    MemoryItem,
    Message,
    Scope,
    Turn,
    content_hash,
    new_id,
)

AT = datetime(2026, 11, 30, 9, tzinfo=UTC)


def test_ids_sort_by_time():
    ids = [new_id(AT + timedelta(milliseconds=step)) for step in range(50)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 50
    assert all(len(one) == 32 for one in ids)


@pytest.mark.case("ISO-05")
@pytest.mark.parametrize(
    "user",
    ["nw-toolkit", "auth0|5f7c", "o'neill\"; --", "léa@ex.org", "用户一", " a ", "a\u200b", "%"],
)
def test_any_id_is_taken_exactly_as_it_is(user):
    assert Scope(user=user).user == user


@pytest.mark.case("ISO-05", "LANG-03")
@pytest.mark.parametrize("user", ["", "   ", "x" * 256, "a\x00b", "\ud83d", None, 7, ["ann"]])
def test_an_id_that_cannot_be_kept_is_refused_by_name(user):
    with pytest.raises(Rejected) as refused:
        Scope(user=user)
    assert refused.value.field == "user"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"role": "wizard", "content": "hi"}, "role"),
        ({"role": None, "content": "hi"}, "role"),
        ({"role": "user", "content": None}, "content"),
        ({"role": "user", "content": 7}, "content"),
        ({"role": "user", "content": b"hi"}, "content"),
        ({"role": "user", "content": [7]}, "content"),
        ({"role": "user", "content": [{"text": 7}]}, "content"),
        ({"role": "user", "content": "hi", "at": datetime.fromisoformat("2026-01-01")}, "at"),
        ({"role": "user", "content": "hi", "at": "2026-01-01"}, "at"),
        ({"role": "user", "content": "hi", "id": "x" * 200}, "id"),
        ({"role": "user", "content": "hi", "name": "\ud83d"}, "name"),
    ],
)
def test_a_message_that_cannot_be_meant_is_refused_by_field(given, field):
    with pytest.raises(Rejected) as refused:
        Message(**given)
    assert refused.value.field == field


@pytest.mark.case("API-05")
def test_a_message_takes_what_clients_send():
    assert Message("assistant", None).content == ""
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, "b"]
    assert Message("user", parts).content == "a\nb"
    assert Message("user", "half \ud83d emoji\x00").content == "half \ufffd emoji"


def test_ten_megabytes_in_one_message_are_too_much():
    with pytest.raises(TooLarge) as refused:
        Message("user", "x" * 10_000_000)
    assert refused.value.field == "content"


@pytest.mark.case("TIME-03")
def test_a_time_is_kept_as_its_moment():
    said = Message(
        "user", "hi", at=datetime(2026, 1, 1, 0, 30, tzinfo=timezone(timedelta(hours=8)))
    )
    assert said.at == datetime(2025, 12, 31, 16, 30, tzinfo=UTC)


def test_a_turn_needs_messages():
    with pytest.raises(Rejected) as refused:
        Turn(conversation="c", messages=())
    assert refused.value.field == "messages"
    with pytest.raises(Rejected) as refused:
        Turn(conversation="c", messages=("hi",))  # type: ignore[arg-type]  # that is the test
    assert refused.value.field == "messages[0]"


def item(**fields) -> MemoryItem:
    told = {"id": "1", "namespace": "default", "user": "ann", "content": "x", "content_hash": "h"}
    return MemoryItem(**{**told, "created_at": AT, "updated_at": AT, **fields})


@pytest.mark.spec("1")
def test_a_bound_memory_is_seen_only_inside_its_binding():
    everywhere, bound = item(), item(project="mao")
    assert everywhere.visible_in(Scope(user="ann", project="mao"))
    assert everywhere.visible_in(Scope(user="ann"))
    assert bound.visible_in(Scope(user="ann", project="mao"))
    assert not bound.visible_in(Scope(user="ann", project="other"))
    assert not bound.visible_in(Scope(user="ann"))
    assert not everywhere.visible_in(Scope(user="bo"))
    assert not everywhere.visible_in(Scope(user="ann", namespace="elsewhere"))


@pytest.mark.spec("2")
def test_the_level_project_and_bindings_make_a_statement_another_one():
    ann = Scope(user="ann", project="mao")
    user_level = content_hash(ann, Level.USER, "Uses pnpm", "fold")
    assert user_level == content_hash(Scope(user="ann"), Level.USER, "uses  PNPM", "fold")
    assert user_level != content_hash(ann, Level.PROJECT, "Uses pnpm", "fold")
    other = Scope(user="ann", project="other")
    assert content_hash(ann, Level.PROJECT, "Uses pnpm", "fold") != content_hash(
        other, Level.PROJECT, "Uses pnpm", "fold"
    )
    assert user_level != content_hash(ann.within(assistant="a"), Level.USER, "Uses pnpm", "fold")


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_what_a_person_wrote_is_protected(content, other):
    assert item(content=content, source="manual").protected
    assert item(content=other, source="auto").machine_written
    assert item(source="auto", edited_by_user=True).protected
