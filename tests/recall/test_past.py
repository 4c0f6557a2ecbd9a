from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perdure.errors import Rejected, Unavailable
from perdure.recall.past import believed
from perdure.types import (
    Actor,
    AuditEntry,
    Kind,
    Operation,
    Origin,
    Preferences,
    Scope,
    Status,
    VectorStatus,
)

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
ANN = Scope(user="ann")


def ago(days):
    return NOW - timedelta(days=days)


def entry(item, operation, days, before=None, after=None, *, actor=Actor.SYSTEM):
    return AuditEntry(
        id=f"{operation}-{days}", item=item.id, namespace=item.namespace, user=item.user,
        operation=operation, actor=actor, reason="test", before=before, after=after, at=ago(days),
    )  # fmt: skip


def then(rows, history, days):
    return {row.content: row for row in believed(rows, history, ago(days), "fold").rows}


@pytest.mark.spec("4")
def test_a_changed_fact_is_believed_as_it_was_before_the_change(item):
    row = item("Lives in Bergen", age=90, vector_status=VectorStatus.SYNCED)
    history = [
        entry(row, Operation.CREATE, 90, None, "Lives in Oslo"),
        entry(row, Operation.TOUCH, 60, "Lives in Oslo", "Lives in Oslo"),
        entry(row, Operation.UPDATE, 30, "Lives in Oslo", "Lives in Bergen"),
    ]

    assert then([row], history, 91) == {}
    assert list(then([row], history, 90)) == list(then([row], history, 31)) == ["Lives in Oslo"]
    assert list(then([row], history, 30)) == ["Lives in Bergen"]
    old = then([row], history, 40)["Lives in Oslo"]
    assert old.updated_at == ago(60)
    assert old.content_hash != row.content_hash
    assert believed([row], history, ago(40), "fold").anew == {row.id}
    assert believed([row], history, ago(10), "fold").anew == frozenset()


@pytest.mark.spec("4")
def test_what_the_machine_set_aside_was_believed_until_then(item):
    row = item("Likes tea", age=90, status=Status.ARCHIVED)
    history = [
        entry(row, Operation.CREATE, 90, None, "Likes tea"),
        entry(row, Operation.ARCHIVE, 30, "Likes tea", "Likes tea"),
    ]
    superseded = item("Works at a mill", 2, age=90, status=Status.DELETED)
    gone = [
        entry(superseded, Operation.CREATE, 90, None, "Works at a mill"),
        entry(superseded, Operation.DELETE, 20, "Works at a mill", None),
    ]

    assert set(then([row, superseded], history + gone, 40)) == {"Likes tea", "Works at a mill"}
    assert set(then([row, superseded], history + gone, 25)) == {"Works at a mill"}
    assert then([row, superseded], history + gone, 10) == {}
    assert set(then([row], history[1:], 40)) == {"Likes tea"}  # its beginning is not known


@pytest.mark.spec("4", "9")
def test_what_a_person_took_back_is_not_said_whatever_the_time(item):
    """C 11.2: deleting means deleting; scrubbed text stays gone."""
    dismissed = item("Is vain", age=90, status=Status.DISMISSED)
    deleted = item("Is ill", 2, age=90, status=Status.DELETED)
    scrubbed = item("", 3, age=90, status=Status.DELETED)
    removed = item("Is poor", 4, age=90)  # its row is gone
    history = [
        *(entry(one, Operation.CREATE, 90, None, one.content) for one in (dismissed, deleted)),
        entry(dismissed, Operation.DISMISS, 30, "Is vain", "Is vain", actor=Actor.USER),
        entry(deleted, Operation.DELETE, 30, "Is ill", None, actor=Actor.USER),
        entry(scrubbed, Operation.CREATE, 90),
        entry(scrubbed, Operation.DELETE, 30),
        entry(removed, Operation.CREATE, 90, None, "Is poor"),
    ]

    assert then([dismissed, deleted, scrubbed], history, 60) == {}


@pytest.mark.spec("4", "3.7")
def test_what_was_merged_is_believed_apart_until_it_was_merged_and_goes_with_what_it_became(item):
    tea, cup = item("Likes tea", 1, age=90), item("Likes a cup of tea", 2, age=80)
    both = item("Likes a cup of tea", 3, age=30)

    def merge(source, into):
        told = entry(into, Operation.MERGE, 30, source.content, into.content)
        return [
            replace(told, was=source),
            entry(source, Operation.MERGE, 30, source.content, None),
        ]

    history = [
        *(entry(one, Operation.CREATE, 90 - 10 * n, None, one.content)
          for n, one in enumerate((tea, cup))),
        *merge(tea, both),
        *merge(cup, both),
    ]  # fmt: skip

    assert {one.id for one in then([both], history, 20).values()} == {both.id}
    assert {one.id for one in then([both], history, 40).values()} == {tea.id, cup.id}
    assert set(then([both], history, 85)) == {"Likes tea"}
    for taken in ([], [replace(both, status=Status.DISMISSED)]):
        assert then(taken, history, 40) == {}
    covered = [*history[:1], *merge(tea, cup)]  # it only confirmed a row that there was
    assert set(then([cup], covered, 85)) == {"Likes tea"}
    assert set(then([cup], covered, 40)) == {"Likes tea", "Likes a cup of tea"}
    undone = [*history, entry(tea, Operation.RESTORE, 10, None, "Likes tea")]
    assert {one.id for one in then([tea, both], undone, 5).values()} == {tea.id, both.id}
    assert {one.id for one in then([tea, both], undone, 20).values()} == {both.id}


@pytest.mark.spec("4")
def test_a_memory_without_a_history_has_the_words_it_has_now(item):
    old, new = item("Likes tea", age=90), item("Likes jam", 2, age=10)

    assert set(then([old, new], [], 20)) == {"Likes tea"}
    corrected = [entry(old, Operation.UPDATE, 30, "Likes coffee", "Likes tea")]
    assert set(then([old], corrected, 60)) == {"Likes coffee"}
    restored = item("Likes rain", 3, age=90)
    back = [entry(restored, Operation.RESTORE, 5, "Likes rain", "Likes rain")]
    assert then([restored], back, 60) == {}


# ── through the front door ───────────────────────────────────────────────────────────────────────


def changes(world, row, days, content, operation=Operation.UPDATE):
    """The row says something else now; its indexes too."""
    new = replace(row, content=content, updated_at=ago(days), vector_status=VectorStatus.SYNCED)
    with world.database.begin() as tx:
        tx.items.put(new)
        tx.audit.add(
            [
                entry(row, Operation.CREATE, 90, None, row.content),
                entry(row, operation, days, row.content, content),
            ]
        )
    return new


@pytest.mark.spec("4")
def test_a_question_about_the_past_is_answered_with_what_was_believed_then(world):
    row = world.knows("Lives in Oslo by the fjord", age=90, confidence=0.9)
    world.knows("Has lived in a house by the fjord since May", age=10, confidence=0.9)
    changes(world, row, 30, "Lives in Bergen by the fjord")
    question = "Who lives in a house by the fjord?"

    now, past = world.asks(question), world.asks(question, as_of=ago(60))

    assert "Oslo" not in now.text
    assert world.said(past) == ["Lives in Oslo by the fjord"]
    assert past.kept[0].arms == ("semantic", "fulltext")
    assert past.degraded == ()
    assert world.contents(world.finds("fjord", as_of=ago(60))) == ["Lives in Oslo by the fjord"]
    assert list(world.finds("fjord", as_of=ago(91))) == []
    with world.database.begin() as tx:
        tx.audit.scrub(ANN, [row.id])
    assert world.asks(question, as_of=ago(60)).text == ""


@pytest.mark.spec("4", "2")
@pytest.mark.case("TIME-05")
def test_what_has_expired_since_is_found_for_a_time_inside_its_life(world):
    """A question 'as of' a time goes by that time's clock, not by today's."""
    made = datetime(2026, 3, 1, 8, tzinfo=UTC)
    age = (NOW - made) / timedelta(days=1)
    world.knows(
        "Is parked on level -3 today", age=age, confidence=0.9,
        expires_at=datetime(2026, 3, 1, 23, 59, 59, tzinfo=UTC),
    )  # fmt: skip
    world.knows("Drives a red car", age=age + 59)
    question, inside = "where is the car parked today", datetime(2026, 3, 1, 12, tzinfo=UTC)

    assert "level -3" not in world.asks(question).text
    assert world.contents(world.finds(question)) == ["Drives a red car"]
    assert "level -3" in world.asks(question, as_of=inside).text
    assert "Is parked on level -3 today" in world.contents(world.finds(question, as_of=inside))
    assert "level -3" not in world.asks(question, as_of=made + timedelta(days=1)).text
    assert world.asks(question, as_of=datetime(2025, 12, 1, tzinfo=UTC)).text == ""


@pytest.mark.spec("4", "1")
def test_the_walls_and_the_switches_of_today_hold_for_the_past_too(world):
    world.knows("Tea is secret", project="mao", age=90)
    world.knows("Tea is for bo", user="bo", age=90)
    world.knows("Tea helps against an illness", sensitivity=2, age=90, kind=Kind.CONSTRAINT)

    answer = world.asks("tea?", as_of=ago(10))

    assert world.reasons(answer) == {"Tea helps against an illness": "SENSITIVE_BLOCKED"}
    assert (
        "Tea is secret" in world.asks("tea?", Scope(user="ann", project="mao"), as_of=ago(9)).text
    )
    with world.database.begin() as tx:
        tx.users.prefer(ANN, memory_enabled=False)
    assert world.parts(world.asks("tea?", as_of=ago(9))) == [("recall", "SWITCHED_OFF")]
    assert Preferences().memory_enabled


@pytest.mark.spec("4", "4.10")
def test_words_find_the_past_where_the_embedder_is_away(world):
    row = world.knows("Lives in Oslo", age=90, origin=Origin(), confidence=0.9)
    changes(world, row, 30, "Lives in Bergen")

    class Away:
        model, dimension, similarity = "words", 1024, world.embedder.similarity

        def embed(self, texts, action):
            raise Unavailable

    world.refit(embedder=Away())

    answer = world.asks("Oslo?", as_of=ago(60))
    assert world.said(answer) == ["Lives in Oslo"]
    assert world.parts(answer) == [("semantic", "SEARCH_FAILED")]


@pytest.mark.spec("4")
def test_what_was_said_later_is_not_quoted_for_an_earlier_time(world):
    world.heard("c-1", "Ann: I bought a red kayak", "Bo: Nice")

    assert world.finds("kayak", arms=("episodes",), as_of=NOW)
    assert list(world.finds("kayak", arms=("episodes",), as_of=ago(1))) == []


@pytest.mark.parametrize("as_of", [NOW + timedelta(seconds=1), NOW.replace(tzinfo=None)])
def test_a_time_that_cannot_be_asked_about_is_refused_by_name(world, as_of):
    for call in (world.asks, world.finds):
        with pytest.raises(Rejected) as refused:
            call("tea?", as_of=as_of)
        assert refused.value.field == "as_of"
