"""Whatever is asked of the audit, an export or a filter is a value; times are instants."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import pytest

from perdure import ItemFilter, Scope
from perdure.errors import Rejected
from perdure.ports import AuditFilter
from perdure.types import Status

ann = Scope(user="ann")
bo = Scope(user="bo")
ODD = (
    "k' = 'v' OR '1'='1' --", "k') OR 1=1 --", "k.$where", 'a" OR "1"="1', "user_id",
    "metadata->>'k'", "%", "_", "' UNION SELECT * FROM perdure_memories --",
)  # fmt: skip


@pytest.mark.case("SEC-07")
@pytest.mark.parametrize("odd", ODD)
def test_odd_keys_and_values_never_reach_a_neighbour(home, odd):
    """As keys of metadata, as words, ids, names and cursors: of lists, the audit and an export."""
    home = home()
    home.items.add(ann, "ann-marker", metadata={"k": "v"})
    home.items.add(bo, "bo-marker", metadata={"k": "v"})
    every = frozenset(Status)
    found = [
        *home.items.list(ann, ItemFilter(statuses=every, metadata={odd: "v"})),
        *home.items.list(ann, ItemFilter(statuses=every, metadata={"k": odd})),
        *home.items.list(ann, ItemFilter(statuses=every, words=odd)),
        *home.items.list(ann, ItemFilter(statuses=every, project=odd)),
    ]
    assert found == []
    for asked in ({"user": odd}, {"item": odd}, {"by": odd}):
        assert home.memory.audit.page("default", AuditFilter(**asked)).entries == ()
    assert home.memory.audit.page(odd, AuditFilter()).entries == ()
    assert list(home.memory.export(Scope(user=odd))) == []
    with pytest.raises(Rejected):
        home.memory.audit.page("default", AuditFilter(), after=odd)
    assert "bo-marker" not in str(home.memory.search(ann, f'" OR NEAR( * ^ : {odd}'))
    home.items.clear(ann, ItemFilter(statuses=every, metadata={odd: "v"}))
    assert home.memory.erase(Scope(user=odd)).clean
    assert home.contents(bo) == ["bo-marker"]
    assert home.contents(ann) == ["ann-marker"]


@pytest.mark.spec("9")
def test_knowing_an_id_of_somebody_else_gives_nothing(home):
    """SEC-05 below HTTP: ids and traces of ann in bo's hands are as ones that never were."""
    home = home()
    receipt = home.says("I live in Bergen.", ann)
    (item,) = home.items.list(ann)
    before = list(home.memory.export(ann))
    refusals = []
    for name in (item.id, "0" * 32):
        for ask in (
            lambda name: home.items.get(bo, name),
            lambda name: home.items.history(bo, name),
            lambda name: home.items.edit(bo, name, content="Mine"),
            lambda name: home.items.delete(bo, name),
            lambda name: home.items.dismiss(bo, name),
            lambda name: home.memory.feedback(bo, receipt.trace, name, "useful"),
            lambda name: home.memory.receipt(bo, receipt.trace if name == item.id else name),
            lambda _: home.memory.erasure(bo),
        ):
            with pytest.raises(Rejected) as refused:
                ask(name)
            refusals.append((type(refused.value), str(refused.value)))
    assert refusals[: len(refusals) // 2] == refusals[len(refusals) // 2 :]
    assert list(home.memory.export(bo)) == []
    line = next(one for one in before if one["type"] == "memory")
    list(home.memory.import_lines(bo, [{**line, "content": "Mine", "user": "ann"}]))
    home.memory.erase(bo)
    assert list(home.memory.export(ann)) == before


@pytest.mark.case("TIME-03")
@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/Los_Angeles"])
def test_a_day_is_the_same_day_wherever_the_host_stands(home, monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        home = home()
        for at in ("2026-07-25T02:00:00+00:00", "2026-07-25T23:30:00+00:00"):
            home.now = datetime.fromisoformat(at)
            home.items.add(ann, f"Noted at {at[11:16]}")
        first = datetime(2026, 7, 25, tzinfo=UTC)
        last = datetime.fromisoformat("2026-07-26T09:00:00+09:00")
        listed = home.items.list(ann, ItemFilter(since=first, until=last)).items
        day = AuditFilter(since=first, until=last)
        audited = home.memory.audit.page("default", day).entries
        exported = list(home.memory.export(ann))
    finally:
        monkeypatch.undo()
        time.tzset()

    assert [item.content[-5:] for item in listed] == ["23:30", "02:00"]
    assert [entry.item for entry in audited] == [item.id for item in listed]
    assert [line["content"][-5:] for line in exported] == ["02:00", "23:30"]
    times = [line[name] for line in exported for name in ("created_at", "updated_at")]
    times += [entry["at"] for line in exported for entry in line["history"]]
    assert len(times) == 6
    assert all(re.fullmatch(r"2026-07-25T[\d:.]+(Z|\+00:00)", at) for at in times)
