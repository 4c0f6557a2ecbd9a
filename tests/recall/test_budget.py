from __future__ import annotations

import random
import re

import pytest

from perdure import text
from perdure.policy import ASSISTANT, DESKTOP, TEAM, RenderPolicy
from perdure.recall.budget import fit
from perdure.recall.rank import by_time
from perdure.recall.render import layout, render
from perdure.types import Kind

TYPED = layout(RenderPolicy(), "en")
BULLETS = layout(RenderPolicy(form="bullets"), "zh")
SECTIONS = layout(RenderPolicy(form="sections"), "en")


def written(fitted, form):
    return render([entry.item for entry in fitted.kept], form, omitted=fitted.omitted)


def names(fitted):
    return [entry.item.content for entry in fitted.kept]


@pytest.mark.spec("4.7")
@pytest.mark.point("D.3")
def test_constraints_are_not_pushed_out_by_facts(item, ranked):
    """D "验证方式" 3: 5 facts and 2 constraints, ranked last, in a total of 4."""
    facts = [item(f"fact {n}", n) for n in range(5)]
    rules = [item(f"rule {n}", 10 + n, kind=Kind.CONSTRAINT) for n in range(2)]

    fitted = fit(ranked(*facts, *rules), TYPED, ASSISTANT.budget.but(total=4))

    assert names(fitted) == ["fact 0", "fact 1", "rule 0", "rule 1"]
    assert [one.reason for one in fitted.dropped] == ["OVER_BUDGET"] * 3


@pytest.mark.spec("4.7")
def test_each_kind_has_its_own_limit_and_all_together_eighteen(item, ranked):
    """D 5: constraint 5, preference 5, todo_hint 3, fact 5, at most 18 in all."""
    many = [
        item(f"{kind} {n}", 10 * n + k, kind=kind) for n in range(7) for k, kind in enumerate(Kind)
    ]

    fitted = fit(ranked(*many), TYPED, ASSISTANT.budget.but(tokens=None))

    kept = [entry.item.kind for entry in fitted.kept]
    assert [
        kept.count(kind) for kind in (Kind.CONSTRAINT, Kind.PREFERENCE, Kind.TODO_HINT, Kind.FACT)
    ] == [
        5,
        5,
        3,
        5,
    ]
    assert {one.reason for one in fitted.dropped} == {"OVER_TYPE_LIMIT"}
    assert len(fitted.kept) + len(fitted.dropped) == len(many)


@pytest.mark.spec("4.7", "4.1")
def test_team_says_eight_of_the_user_and_twelve_of_the_project_newest_first(item):
    """A 8 P1: USER 8 / PROJECT 12."""
    users = [item(f"u{n}", n, age=n, kind=Kind.FACT) for n in range(10)]
    projects = [item(f"p{n}", 50 + n, age=n, project="mao") for n in range(14)]
    users[9] = item("u9", 9, age=9, kind=Kind.CONSTRAINT)  # no kind is spared

    fitted = fit(by_time([*users, *projects], "newest"), SECTIONS, TEAM.budget)

    assert [n for n in names(fitted) if n[0] == "u"] == [f"u{n}" for n in range(8)]
    assert [n for n in names(fitted) if n[0] == "p"] == [f"p{n}" for n in range(12)]
    lines = [line for line in written(fitted, SECTIONS).splitlines() if line.startswith("- ")]
    assert lines[0] == "- [project:mao] p0"
    assert lines[-1] == "- [user] u7"


@pytest.mark.spec("4.7")
def test_desktop_drops_the_oldest_first_and_says_how_many(item):
    """B 8: over 8 KB the oldest are dropped and the closing line says so."""
    long = [item("记" * (90 if n % 5 else 3) + str(n), n, age=200 - n) for n in range(100)]

    fitted = fit(by_time(long, "oldest"), BULLETS, DESKTOP.budget)
    said = written(fitted, BULLETS)

    assert {e.item.id for e in fitted.kept} == {one.id for one in long[-len(fitted.kept) :]}
    (count,) = map(int, re.findall(r"（其余 (\d+) 条记忆因总量超限未注入）", said))
    assert count == len(fitted.dropped) == 100 - len(fitted.kept)
    assert text.utf8_length(said) <= 8 * 1024
    longer = text.utf8_length(said) + text.utf8_length(f"- {long[count - 1].content}\n")
    assert longer > 8 * 1024 - 3  # no more would have fitted
    assert said.splitlines().index(f"- {long[count].content}") == 3  # oldest first


@pytest.mark.spec("4.7")
def test_one_line_that_never_fits_does_not_silence_the_others(item):
    short = [item(f"short {n}", n, age=20 - n) for n in range(3)]
    huge = item("大" * 4_000, 9, age=1)

    fitted = fit(by_time([*short, huge], "oldest"), BULLETS, DESKTOP.budget)

    assert sorted(names(fitted)) == ["short 0", "short 1", "short 2"]
    assert [one.item for one in fitted.dropped] == [huge]


@pytest.mark.spec("4.7")
@pytest.mark.case("COST-05")
@pytest.mark.parametrize("budget", [0, 30, 200, 1_000, 100_000])
@pytest.mark.parametrize("form", ["typed_v2", "flat", "sections", "bullets"])
@pytest.mark.parametrize("word", ["word ", "词语"])
def test_the_whole_block_is_within_the_token_budget(item, ranked, budget, form, word):
    oversize = item(word * 3_000, 1)
    rest = [item(f"{n} " + word * 20, 2 + n) for n in range(30)]
    look = layout(RenderPolicy(form=form), "zh")
    policy = ASSISTANT.budget.but(
        tokens=budget, bytes=None, constraint=None, preference=None, todo_hint=None, fact=None,
        total=None,
    )  # fmt: skip

    fitted = fit(ranked(oversize, *rest), look, policy)
    said = written(fitted, look)

    assert text.model_tokens(said) <= budget
    assert (oversize.content.strip() in said) == (budget == 100_000)
    assert bool(said) == (budget >= 200)
    if budget == 1_000:
        assert fitted.kept[0].item is rest[0]  # smaller ones come in by rank
    for one in rest:  # what is reported is what is sent; nothing is cut in half
        assert (one.content.strip() in said) == (one in [e.item for e in fitted.kept])
    assert len(fitted.kept) + len(fitted.dropped) == 31


@pytest.mark.spec("4.7")
def test_no_budget_is_ever_exceeded_and_nothing_gets_lost(item, ranked):
    dice = random.Random(11)
    for number in range(200):
        some = [
            item(
                dice.choice("记a é👨‍👩‍👧") * dice.randint(1, 60),
                100 * number + n,
                kind=dice.choice(list(Kind)),
            )
            for n in range(dice.randint(0, 25))
        ]
        look = layout(
            RenderPolicy(form=dice.choice(["typed_v2", "flat", "sections", "bullets"])),
            dice.choice(["en", "zh"]),
        )
        policy = ASSISTANT.budget.but(
            tokens=dice.choice([None, 150, 300]),
            bytes=dice.choice([None, 700, 1_500]),
            gaps=dice.random() < 0.5,
            constraints_last=dice.random() < 0.5,
        )

        entries = ranked(*some)
        fitted = fit(entries, look, policy)
        said = written(fitted, look)

        assert policy.tokens is None or text.model_tokens(said) <= policy.tokens
        assert policy.bytes is None or text.utf8_length(said) <= policy.bytes
        assert list(fitted.kept) == [e for e in entries if e in fitted.kept]
        assert sorted(
            [e.item.id for e in fitted.kept] + [one.item.id for one in fitted.dropped]
        ) == sorted(one.id for one in some)
