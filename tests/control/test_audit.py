"""The audit is found by user, actor, operation and time; words are for those who may read them."""

from __future__ import annotations

import pytest

from perdure import Scope
from perdure.errors import Misconfigured, Rejected
from perdure.ports import AuditFilter
from perdure.types import Actor, Operation

ann = Scope(user="ann")
bo = Scope(user="bo")
lin = Scope(user="小林", namespace="shop")


def lived(home):
    home.says("I live in Bergen.")
    home.turn(10)
    kept = home.items.add(bo, "Owns a kayak")
    home.items.edit(bo, kept.id, content="Owns a red kayak")
    home.turn(10)
    home.items.dismiss(bo, kept.id)
    home.items.add(lin, "不吃香菜")
    return kept


def told(page):
    return [(entry.user, entry.operation) for entry in page.entries]


@pytest.mark.spec("9", "6")
def test_changes_are_found_by_whose_what_who_and_when(home):
    home = home()
    start = home.now
    kept = lived(home)

    def ask(namespace="default", which=AuditFilter()):  # noqa: B008 - frozen
        return home.memory.audit.page(namespace, which)

    assert told(ask()) == [
        ("bo", "dismiss"), ("bo", "update"), ("bo", "create"), ("ann", "create"),
    ]  # fmt: skip
    assert told(ask("shop")) == [("小林", "create")]
    assert told(ask(which=AuditFilter(user="ann"))) == [("ann", "create")]
    assert len(ask(which=AuditFilter(item=kept.id)).entries) == 3
    assert told(ask(which=AuditFilter(actors={Actor.SYSTEM}))) == [("ann", "create")]
    some = AuditFilter(operations={Operation.UPDATE, Operation.DISMISS})
    assert told(ask(which=some)) == [("bo", "dismiss"), ("bo", "update")]
    assert told(ask(which=AuditFilter(operations=set()))) == []
    first = start.replace(second=5)
    assert told(ask(which=AuditFilter(until=first))) == [("ann", "create")]
    assert told(ask(which=AuditFilter(since=first, user="ann"))) == []


@pytest.mark.spec("9")
def test_pages_reach_everything_once_while_more_is_written(home):
    home = home()
    lived(home)
    seen, after = [], None
    while True:
        page = home.memory.audit.page("default", AuditFilter(), 1, after)
        seen += told(page)
        home.items.add(ann, f"Number {len(seen)}")
        after = page.next
        if after is None:
            break
    assert seen == [("bo", "dismiss"), ("bo", "update"), ("bo", "create"), ("ann", "create")]
    for wrong in ({"after": "x"}, {"after": "-1"}, {"limit": 0}, {"limit": 201}):
        with pytest.raises(Rejected):
            home.memory.audit.page("default", AuditFilter(), **wrong)


@pytest.mark.spec("9")
def test_words_are_shown_only_to_whoever_may_read_memories(home):
    home = home()
    lived(home)
    plain, whole = (
        home.memory.audit.page("default", AuditFilter()),
        home.memory.audit.page("default", AuditFilter(), texts=True),
    )

    assert {(e.before, e.after, e.was) for e in plain.entries} == {(None, None, None)}
    assert [e.after for e in whole.entries][:2] == ["Owns a red kayak", "Owns a red kayak"]
    assert [e.id for e in plain.entries] == [e.id for e in whole.entries]


@pytest.mark.spec("6", "9")
def test_an_admin_s_look_is_noted_and_outlives_the_user(home):
    home = home()
    lived(home)
    home.parts.audit.looked(bo, by="key 7", what="GET /admin/memory")
    looks = AuditFilter(operations={Operation.READ})

    home.memory.erase(bo)

    (entry,) = home.memory.audit.page("default", looks).entries
    assert (entry.user, entry.by, entry.reason) == ("bo", "key 7", "GET /admin/memory")
    assert told(home.memory.audit.page("default", AuditFilter(user="bo"))) == [
        ("bo", "erase"), ("bo", "read"),
    ]  # fmt: skip
    assert home.memory.audit.page("default", AuditFilter(by="key 8")).entries == ()


@pytest.mark.spec("8", "9")
def test_a_value_set_at_run_time_holds_for_its_namespace_and_is_audited(home):
    home = home()
    runtime = home.parts.runtime
    runtime.set("shop", "memory.extraction_model", "small", by="key 7")
    runtime.set("shop", "defaults.auto_learn", False, by="key 7")  # noqa: FBT003 - a value
    runtime.set("shop", "capacity.active_limit", 10, by="key 7")
    runtime.set("shop", "capacity.active_limit", None, by="key 8")

    policy = home.parts.policy_of("shop")
    assert policy.learn.extraction_model == "small"
    assert not home.memory.preferences.get(lin).auto_learn
    assert home.memory.preferences.get(ann).auto_learn
    assert policy.capacity.active_limit == 2_000
    assert runtime.values("shop") == {
        "learn.extraction_model": "small", "defaults.auto_learn": False,
    }  # fmt: skip
    entries = home.memory.audit.page("shop", AuditFilter(user="")).entries[::-1]
    assert [(e.item, e.before, e.after, e.by) for e in entries] == [
        ("learn.extraction_model", None, '"small"', "key 7"),
        ("defaults.auto_learn", None, "false", "key 7"),
        ("capacity.active_limit", None, "10", "key 7"),
        ("capacity.active_limit", "10", None, "key 8"),
    ]


@pytest.mark.spec("8")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gate.roof", 1),
        ("roof", None),
        ("gate.floor", -1),
        ("defaults.auto_learn", "perhaps"),
        ("learn.extraction_model", 7),
        ("cost.prices", ["free"]),
        ("cost.prices", ["m=-1/2"]),
        ("preset", "team"),
    ],
)
def test_a_value_that_cannot_be_is_refused_and_changes_nothing(home, name, value):
    home = home()
    with pytest.raises(Misconfigured):
        home.parts.runtime.set("shop", name, value)
    assert home.parts.runtime.values("shop") == {}
    assert home.memory.audit.page("shop", AuditFilter()).entries == ()
