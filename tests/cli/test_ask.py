"""recall and items: what is remembered, for people and for programs."""

from __future__ import annotations

import pytest

from perdure import Memory, Scope
from perdure.types import Reason
from perdure.types.words import in_words


@pytest.fixture
def _known():
    with Memory.open() as memory:
        memory.items.add(Scope(user="ann"), "Does not eat meat", kind="constraint")
        memory.items.add(Scope(user="ann"), "Works as a translator")
        dismissed = memory.items.add(Scope(user="ann"), "Likes [bold]jazz[/bold]")
        memory.items.dismiss(Scope(user="ann"), dismissed.id)
        memory.items.add(Scope(user="小林"), "不吃香菜", kind="constraint")


@pytest.mark.spec("12.command_line")
@pytest.mark.usefixtures("_known")
def test_recall_prints_what_a_model_would_be_told_and_nothing_else(perdure):
    done = perdure("recall", "ann", "What shall we cook?")
    assert done.code == 0
    assert done.out.startswith("<memory")
    assert "- Does not eat meat" in done.out
    assert "不吃香菜" in perdure("recall", "小林", "晚饭吃什么？").out

    nothing = perdure("recall", "bo", "What shall we cook?")
    assert (nothing.code, nothing.out) == (0, "")
    assert "Nothing" in nothing.err


@pytest.mark.usefixtures("_known")
def test_recall_explains_itself(perdure):
    table = perdure("recall", "ann", "Who works as a translator?", "--explain").out
    assert "said" in table
    assert "pinned 1" in table
    assert "jazz" not in table
    behind = table.partition("</memory>")[2]
    assert max(map(len, behind.splitlines())) <= 80
    nothing = perdure("recall", "bo", "What shall we cook?", "--explain")
    assert (nothing.code, nothing.out) == (0, "")
    assert "No memory was considered." in nothing.err
    told = perdure("recall", "ann", "What shall we cook?", "--json").json
    assert [one["stage"] for one in told["considered"]] == ["said", "gate"]
    assert told["considered"][1]["why"]["zh"] == in_words(Reason.LOW_SCORE, "zh")
    assert told["kept"][0]["content"] == "Does not eat meat"
    assert sum(told["kept"][0]["terms"].values()) == pytest.approx(told["kept"][0]["score"])


@pytest.mark.spec("4.8")
def test_a_terminal_obeys_nothing_that_is_remembered(perdure):
    with Memory.open() as memory:
        memory.items.add(
            Scope(user="ann"), "Likes \x1b]0;owned\x07tea \x9b2J and \x1b[31mjazz\x1b[0m"
        )
        memory.items.add(Scope(user="小林"), "喜欢\x1b[2J茶", kind="constraint")
    for command in (
        ("items", "ann"), ("recall", "ann", "Tea or jazz?", "--explain"), ("items", "小林"),
        ("recall", "小林", "喝茶吗？", "--explain"), ("items", "ann\x1b[2J"),
    ):  # fmt: skip
        done = perdure(*command)
        assert done.code == 0
        assert set("\x1b\x07\x9b").isdisjoint(done.out + done.err)
    assert "]0;ownedtea" in perdure("items", "ann").out
    assert perdure("items", "ann", "--json").json["items"][0]["content"].endswith("\x1b[0m")


@pytest.mark.spec("12.command_line")
@pytest.mark.usefixtures("_known")
def test_items_lists_pages_and_filters(perdure):
    shown = perdure("items", "ann")
    assert "Works as a translator" in shown.out
    assert "jazz" not in shown.out
    assert "[bold]jazz[/bold]" in perdure("items", "ann", "--status", "dismissed").out

    first = perdure("items", "ann", "--limit", "1", "--json").json
    rest = perdure("items", "ann", "--after", first["next"], "--json").json
    assert [i["content"] for i in first["items"] + rest["items"]] == [
        "Works as a translator", "Does not eat meat",
    ]  # fmt: skip
    kinds = perdure("items", "ann", "--kind", "constraint", "--text", "MEAT", "--json").json
    assert kinds["total"] == 1
    assert perdure("--namespace", "shop", "items", "ann", "--json").json["total"] == 0


@pytest.mark.spec("12.command_line")
@pytest.mark.case("LANG-07")
@pytest.mark.usefixtures("_known")
def test_what_programs_read_holds_the_characters_themselves(perdure):
    for command in (("recall", "小林", "晚饭吃什么？", "--json"), ("items", "小林", "--json"),
                    ("export", "小林")):  # fmt: skip
        told = perdure(*command).out
        assert "不吃香菜" in told
        assert "\\u" not in told
