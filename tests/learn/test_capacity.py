"""Who makes room when memories are learnt and no further one fits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from perdure.learn.capacity import evictions
from perdure.policy import CapacityPolicy
from perdure.types import Action, Candidate, Change, Level, MemoryItem, Reason, Source

NOW = datetime(2026, 11, 30, tzinfo=UTC)
TEAM = CapacityPolicy(active_limit=10)
DESKTOP = TEAM.but(evict_per_round=1_000, evicts="created", evicts_protected=True, trims=True)


def row(name, *, updated=0, created=0, source=Source.AUTO, level=Level.USER):
    """Days are counted back from now."""
    return MemoryItem(
        id=name,
        namespace="default",
        user="ann",
        content=name,
        content_hash=name,
        created_at=NOW - timedelta(days=created),
        updated_at=NOW - timedelta(days=updated),
        source=source,
        level=level,
    )


def add(content="x", target=None, action=Action.ADD, level=Level.USER):
    return Change(action=action, candidate=Candidate(content=content, level=level), target=target)


def names(items):
    return [item.id for item in items]


@pytest.mark.spec("3.6")
def test_with_room_nothing_has_to_leave():
    room = evictions([add(), add()], 8, [row("old", updated=9)], TEAM)

    assert (len(room.admitted), room.set_aside, room.refused) == (2, (), ())


@pytest.mark.spec("3.6")
@pytest.mark.point("A10.6.15")
def test_at_the_limit_one_leaves_for_one_the_longest_untouched_first():
    """A D14."""
    rows = [row("b", updated=2), row("c", updated=3), row("a", updated=1)]

    room = evictions([add("x"), add("y")], 9, rows, TEAM)

    assert names(room.set_aside) == ["c"]
    assert [c.candidate.content for c in room.admitted] == ["x", "y"]
    assert names(evictions([add(), add()], 10, rows, TEAM).set_aside) == ["c", "b"]


@pytest.mark.spec("3.6")
def test_at_most_three_leave_in_one_round_and_the_rest_is_refused():
    rows = [row(f"r{n}", updated=n) for n in range(9)]

    room = evictions([add(str(n)) for n in range(5)], 10, rows, TEAM)

    assert names(room.set_aside) == ["r8", "r7", "r6"]
    assert [r.candidate.content for r in room.refused] == ["3", "4"]
    assert {r.reason for r in room.refused} == {Reason.CAPACITY}


@pytest.mark.spec("3.6")
def test_a_person_s_row_another_group_s_row_and_a_row_in_use_never_leave():
    mine = row("mine", updated=9, source=Source.MANUAL)
    project = row("project", updated=9, level=Level.PROJECT)
    target = row("target", updated=9)
    rows = [mine, project, target]
    changes = [add("t", target=target, action=Action.UPDATE), add("x")]

    room = evictions(changes, 10, rows, TEAM)

    assert room.set_aside == ()
    assert [c.candidate.content for c in room.admitted] == ["t"]
    assert names(evictions([add(level=Level.PROJECT)], 10, rows, TEAM).set_aside) == ["project"]


@pytest.mark.spec("3.6")
def test_on_the_desktop_the_oldest_leaves_whoever_wrote_it():
    """B 6.2."""
    rows = [row("new", updated=9, created=1), row("old", created=5, source=Source.MANUAL)]

    assert names(evictions([add()], 10, rows, DESKTOP).set_aside) == ["old"]


@pytest.mark.spec("3.6")
def test_on_the_desktop_all_that_is_over_the_limit_leaves_at_the_next_save():
    """B 6.2: a file that was filled by hand, or a limit that was lowered, is cut to the limit."""
    rows = [row(f"r{n}", created=n) for n in range(14)]

    room = evictions([add("x"), add("y")], 14, rows, DESKTOP)

    assert names(room.set_aside) == ["r13", "r12", "r11", "r10", "r9", "r8"]
    assert len(room.admitted) == 2
    assert names(evictions([add()], 14, rows, TEAM).set_aside) == ["r0"]  # one for one


def test_a_touch_needs_no_room():
    old = row("old")

    room = evictions([add(target=old, action=Action.TOUCH)], 10, [old], TEAM)

    assert (len(room.admitted), room.set_aside) == (1, ())


def test_a_limit_of_zero_admits_nothing():
    room = evictions([add()], 0, [], CapacityPolicy(active_limit=0))

    assert [r.reason for r in room.refused] == [Reason.CAPACITY]
