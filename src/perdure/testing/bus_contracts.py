"""What every bus must do; see `contracts`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

import pytest

from perdure.errors import Unavailable
from perdure.ports import Bus, Letter

Open: TypeAlias = Callable[..., Bus]
"""Opens a bus, always on the same broker and topics; its argument is the ``group``, if any."""

TOPIC, OTHER = "memory.extract.requested", "memory.cleanup.requested"
PATIENCE_S = 30.0


def letter(number: int, key: str = "ann", topic: str = TOPIC) -> Letter:
    """A letter that can be told from others."""
    headers = {"namespace": "default", "version": "1"}
    return Letter(topic=topic, key=key, headers=headers, body=f"{number} 你好".encode())


def taken(bus: Bus, count: int, *, kept: bool = True) -> list[Letter]:
    """The next letters, once there are so many; a broker may need a while to know its groups."""
    found: list[Letter] = []
    until = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < until:
        some = bus.take(100, 0.2)
        found += some
        if some and kept:
            bus.taken()
    assert len(found) >= count, f"{len(found)} of {count} came"
    return found


class BusContract:
    """Letters come as they were sent, in order per key, again until they are taken."""

    @pytest.mark.spec("5")
    def test_letters_come_as_they_were_sent_in_order_per_key(self, open_bus: Open) -> None:
        bus = open_bus()
        sent = [letter(number, key) for number in range(20) for key in ("ann", "小林")]
        bus.publish(sent[:10])
        bus.publish([*sent[10:], letter(99, topic=OTHER)])
        came = taken(bus, 41)
        for key in ("ann", "小林"):
            expected = [one for one in sent if one.key == key]
            assert [one for one in came if (one.key, one.topic) == (key, TOPIC)] == expected
        assert [one for one in came if one.topic == OTHER] == [letter(99, topic=OTHER)]
        assert bus.take(100, 0.3) == []

    @pytest.mark.spec("5")
    def test_a_letter_comes_again_until_it_is_taken(self, open_bus: Open) -> None:
        bus = open_bus()
        bus.publish([letter(1), letter(2)])
        assert taken(bus, 2, kept=False) == [letter(1), letter(2)]
        assert taken(bus, 2, kept=False) == [letter(1), letter(2)]
        bus.close()
        another = open_bus()
        assert taken(another, 2) == [letter(1), letter(2)]
        another.publish([letter(3)])
        another.close()
        assert taken(open_bus(), 1) == [letter(3)]

    def test_what_lies_in_other_topics_is_for_others(self, open_bus: Open) -> None:
        bus = open_bus()
        bus.publish([letter(1, topic="dead"), letter(2)])
        assert taken(bus, 1) == [letter(2)]

    def test_each_group_gets_every_letter(self, open_bus: Open) -> None:
        one, other = open_bus(), open_bus(group="another")
        one.publish([letter(1)])
        for bus in (one, other):  # both are let in while the first is waited for
            bus.take(1, 0.0)
        assert taken(one, 1) == taken(other, 1) == [letter(1)]

    def test_a_broker_that_is_not_there_is_told_and_nothing_else_breaks(
        self, absent_bus: Bus
    ) -> None:
        started = time.monotonic()
        with pytest.raises(Unavailable) as refused:
            absent_bus.publish([letter(1)])
        assert "你好" not in str(refused.value)
        with pytest.raises(Unavailable):
            absent_bus.take(1, 0.1)
        assert time.monotonic() - started < PATIENCE_S
        absent_bus.close()
