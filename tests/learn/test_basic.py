"""The offline extractor: what it keeps in two languages, what it refuses and why, its limits."""

from __future__ import annotations

import runpy
import sys
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.learn.basic import extract_basic
from perdure.learn.basic.chinese_days import CHINESE_DAYS
from perdure.learn.basic.dates import Tense, resolve
from perdure.learn.basic.english_days import ENGLISH_DAYS
from perdure.types import Kind, Level, Reason, Role, Utterance

pytestmark = pytest.mark.spec("3.3")

THURSDAY = datetime(2026, 11, 26, 18, 20, tzinfo=UTC)
BENCH = Path(__file__).parents[2] / "bench" / "extraction" / "run.py"
PREFERENCE, CONSTRAINT, FACT, TODO = Kind.PREFERENCE, Kind.CONSTRAINT, Kind.FACT, Kind.TODO_HINT


def uttered(content, *, role=Role.USER, at=THURSDAY, number=1):
    return Utterance(
        seq=number, id=f"m{number}", conversation="chat-1", role=role, content=content, at=at
    )


def learnt(content, *, now=THURSDAY):
    return extract_basic([uttered(content)], now)


def kept(content):
    return [(c.content, c.kind) for c in learnt(content).candidates]


def reasons(content):
    return {r.reason for r in learnt(content).refused}


# ── what is kept ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Call me Ann, please.", [("Wants to be called Ann", PREFERENCE)]),
        ("My name's Bo.", [("Name is Bo", FACT)]),
        ("I'm a nurse and I live in Bergen.", [("Is a nurse", FACT), ("Lives in Bergen", FACT)]),
        ("my daughter is allergic to nuts", [("Daughter is allergic to nuts", FACT)]),
        ("I moved to Bergen; answer me in Norwegian from now on.",
         [("Moved to Bergen", FACT), ("Wants answers in Norwegian", PREFERENCE)]),
        ("I own a kayak, I bake rye bread, I commute by tram.",
         [("Owns a kayak", FACT), ("Bakes rye bread", FACT), ("Commutes by tram", FACT)]),
        ("I play chess and speak Finnish", [("Plays chess", FACT), ("Speaks Finnish", FACT)]),
        ("i dont eat meat lol", [("Does not eat meat", CONSTRAINT)]),
        ("Never book anything before 10.", [("Never book anything before 10", CONSTRAINT)]),
        ("Actually I prefer tea now.", [("Prefers tea now", PREFERENCE)]),
        ("I swim every Tuesday before work.", [("Swims every Tuesday before work", FACT)]),
        ("I want to learn Italian.", [("Wants to learn Italian", TODO)]),
        ("I'm vegetarian, what could I cook tonight?", [("Is vegetarian", CONSTRAINT)]),
        ("I used to live in Oslo but now I live in Bergen.", [("Lives in Bergen", FACT)]),
        ("My name is not Bob, it's Bo.", [("Name is Bo, not Bob", FACT)]),
    ],
)  # fmt: skip
def test_an_english_statement_is_kept_near_the_persons_own_words(said, expected):
    assert kept(said) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("我叫小林。", [("叫小林", FACT)]),
        ("叫我小林就行", [("希望被叫作小林", PREFERENCE)]),
        ("我住在卑尔根，每天骑车上班。", [("住在卑尔根", FACT), ("每天骑车上班", FACT)]),
        ("我女儿对坚果过敏", [("女儿对坚果过敏", FACT)]),
        ("我不吃香菜，也不吃羊肉。", [("不吃香菜", CONSTRAINT), ("也不吃羊肉", CONSTRAINT)]),
        ("我养了一只猫，叫豆豆。", [("养了一只猫，叫豆豆", FACT)]),
        ("以后请用挪威语回答我。", [("用挪威语回答", PREFERENCE)]),
        ("不要安排早上十点前的会议。", [("不要安排早上十点前的会议", CONSTRAINT)]),
        ("比起飞机我更喜欢坐火车", [("比起飞机更喜欢坐火车", PREFERENCE)]),
        ("我用 TypeScript", [("用 TypeScript", FACT)]),
        ("我以前住在奥斯陆，现在住在卑尔根。", [("现在住在卑尔根", FACT)]),
        ("我吃素，今晚做什么好？", [("吃素", CONSTRAINT)]),
        ("我打算明年考研", [("打算2027年考研", TODO)]),
    ],
)
def test_a_chinese_statement_is_kept_without_its_subject(said, expected):
    assert kept(said) == expected


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("Our repo uses pnpm.", "The repo uses pnpm"),
        ("In this project we never use npm.", "In this project the team never use npm"),
        ("这个项目用 pnpm，不用 npm。", "这个项目用 pnpm，不用 npm"),
        ("我们的代码库必须用 pytest", "代码库必须用 pytest"),
    ],
)  # fmt: skip
def test_what_is_said_of_the_work_belongs_to_the_project(said, content):
    (candidate,) = learnt(said).candidates

    assert (candidate.content, candidate.level) == (content, Level.PROJECT)


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("I can't stand olives on pizza.", "Cannot stand olives on pizza"),
        ("I don't like aisle seats.", "Does not like aisle seats"),
        ("I no longer enjoy chess.", "No longer enjoys chess"),
        ("I don't dislike jazz.", "Does not dislike jazz"),
        ("我不喜欢靠过道的座位", "不喜欢靠过道的座位"),
        ("我不再喜欢下棋了", "不再喜欢下棋了"),
        ("我不讨厌爵士", "不讨厌爵士"),
    ],
)
def test_a_dislike_is_never_stored_as_a_liking(said, content):
    """The fault DED-11, with the model switched off."""
    assert kept(said) == [(content, PREFERENCE)]


@pytest.mark.parametrize(
    ("said", "content", "kind"),
    [
        ("Remember that the spare key is with Bo.", "The spare key is with Bo", FACT),
        ("please don't forget I take my coffee black", "Takes their coffee black", FACT),
        ("Could you remember that I'm vegan?", "Is vegan", CONSTRAINT),
        ("remember to renew my passport", "Renew their passport", TODO),
        ("记住，备用钥匙在楼下邻居那里。", "备用钥匙在楼下邻居那里", FACT),
        ("记得三月份续护照", "2027年3月续护照", TODO),
    ],
)
def test_what_the_person_asks_to_remember_is_kept_and_marked(said, content, kind):
    (candidate,) = learnt(said).candidates

    assert (candidate.content, candidate.kind, candidate.explicit) == (content, kind, True)


@pytest.mark.parametrize(
    ("said", "level"),
    [
        ("I live in Bergen.", 0),
        ("You can reach me at ann@example.org", 1),
        ("我的邮箱是 ann@example.org", 1),
        ("I have type 1 diabetes.", 2),
        ("My salary is 4,200 euros.", 2),
        ("我有高血压", 2),
        ("我的护照号是 X1234567", 2),
    ],
)
def test_health_money_and_documents_are_delicate_and_contacts_a_little(said, level):
    (candidate,) = learnt(said).candidates

    assert candidate.sensitivity == level


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("我打算换个手机。", "打算换个手机"),
        ("我准备考公务员", "准备考公务员"),
        ("我正准备考雅思", "正准备考雅思"),
        ("下周要去上海出差。", "2026年11月30日那周要去上海出差"),
        ("下下周三我要出差。", "2026年12月9日要出差"),
        ("大后天我要去体检", "2026年11月29日要去体检"),
        ("月底要交房租。", "2026年11月底要交房租"),
        ("我年底要结婚了", "2026年底要结婚了"),
        ("两周后我要搬家", "2026年12月7日那周要搬家"),
        ("准备下个月搬去深圳", "准备2026年12月搬去深圳"),
        ("我儿子九月要上小学了", "儿子2027年9月要上小学了"),
    ],
)
def test_a_chinese_plan_is_kept_also_without_a_subject(said, content):
    assert kept(said) == [(content, TODO)]


def test_chinese_plans_are_heard_and_what_only_looks_like_one_is_not():
    """Of 42 plans and 26 near misses half were not looked at while the rules were written."""
    bench = runpy.run_path(str(BENCH))
    tallies = bench["measured"](BENCH.with_name("plans.jsonl"))

    for tally in tallies.values():
        figures = tally.figures()
        assert (figures["precision"], figures["recall"]) >= (0.85, 0.85), tally.remarks
        assert figures["recall"] >= 0.85, tally.remarks


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("My wife speaks it and", []),
        ("I like tea and", ["Likes tea"]),
        ("I live in Oslo (the", ["Lives in Oslo"]),
        ("I'm allergic", []),
        ("I own the", []),
        ("I love the friends I have", ["Loves the friends they have"]),
        ("我喜欢喝茶和", ["喜欢喝茶"]),
        ("我住在杭州，但是", ["住在杭州"]),
        ("我不吃", []),
        ("我打算把", []),
        ("我住在卑尔根（就在", ["住在卑尔根"]),
    ],
)
def test_half_a_sentence_is_completed_or_left(said, expected):
    assert [content for content, _ in kept(said)] == expected


# ── what is refused ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Do I live in Oslo?", Reason.QUESTION),
        ("我喜欢什么来着？", Reason.QUESTION),
        ("If I lived in Bergen, I would own a kayak.", Reason.HYPOTHETICAL),
        ("I might move to Lisbon.", Reason.HYPOTHETICAL),
        ("Pretend I am a pirate. I live on a ship and I hate the navy.", Reason.HYPOTHETICAL),
        ("如果我住在卑尔根，我就买条皮划艇。", Reason.HYPOTHETICAL),
        ("假装我是海盗。我住在船上。", Reason.HYPOTHETICAL),
        ("My boss said 'I hate Mondays'.", Reason.QUOTED),
        ("> I own two boats.\nIs this sentence correct?", Reason.QUOTED),
        ("```\n# I live in Oslo\n```\nwhy does this fail", Reason.QUOTED),
        ("Translate this into French: I live in a small village.", Reason.QUOTED),
        ("<memory>I prefer metric units</memory> go on", Reason.QUOTED),
        ("我老板说“我讨厌星期一”", Reason.QUOTED),
        ("把这句话翻译成法语：我住在海边。", Reason.QUOTED),
        ("My friend lives in Oslo.", Reason.NOT_ABOUT_USER),
        ("She works as a lawyer.", Reason.NOT_ABOUT_USER),
        ("Bo prefers tea.", Reason.NOT_ABOUT_USER),
        ("我同事吃素。", Reason.NOT_ABOUT_USER),
        ("Bo 喜欢喝茶。", Reason.NOT_ABOUT_USER),
        ("I used to live in Oslo.", Reason.PASSING),
        ("I use pandas here and it fails", Reason.PASSING),
        ("我以前住在奥斯陆。", Reason.PASSING),
    ],
)
def test_a_near_miss_is_refused_with_its_reason(said, reason):
    assert kept(said) == []
    assert reasons(said) == {reason}


@pytest.mark.parametrize(
    "said",
    [
        "", "   \n\t", "👍", "go on", "thanks, that's great!", "What's the weather?", "Never mind",
        "Fix this bug", "I need a poem", "I have a question", "I love it", "I'm so tired today",
        "Don't add comments to this function", "早上好呀！", "哈哈太好了", "这里别用递归",
        "我有个问题想问你", "我叫了外卖", "我会打电话", "永远爱你", "以后再说吧",
        "我好无聊，讲个笑话吧",
    ],
)  # fmt: skip
def test_chatter_and_tasks_leave_nothing_at_all(said):
    found = learnt(said)

    assert (found.candidates, found.refused) == ((), ())


def test_nobody_elses_words_are_read_as_the_users():
    """The fault DED-07: pasted messages, and what is told of a neighbour."""
    told = (
        "My neighbour can't stand cold water, yet her mum booked her on a diving course.",
        "Forwarding what Bo wrote: \"I'm moving to Turin and I can't eat gluten.\" Any tips?",
    )

    assert [kept(said) for said in told] == [[], []]


def test_only_the_user_is_a_source():
    roles = [role for role in Role if role is not Role.USER]
    said = [uttered("I prefer metric units.", role=role, number=n) for n, role in enumerate(roles)]

    found = extract_basic(said, THURSDAY)

    assert (found.candidates, found.refused) == ((), ())


def test_a_statement_said_twice_is_proposed_once_with_the_message_it_came_from():
    said = [uttered("I live in Oslo.", number=1), uttered("i live in oslo", number=2)]

    (candidate,) = extract_basic(said, THURSDAY).candidates

    assert (candidate.content, candidate.messages) == ("Lives in Oslo", ("m1",))


# ── days ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "ahead", "behind", "lasting"),
    [
        ("next Friday", "on 2026-12-04", "on 2026-12-04", "on 2026-12-04"),
        ("on Friday morning", "on 2026-11-27 in the morning", "on 2026-11-20 in the morning",
         "on Friday morning"),
        ("every Friday", "every Friday", "every Friday", "every Friday"),
        ("in May", "in May 2027", "in May 2026", "in May"),
        ("since May", "since May 2026", "since May 2026", "since May 2026"),
        ("in two weeks", *("in the week of 2026-12-07",) * 3),
        ("the day after tomorrow", *("on 2026-11-28",) * 3),
        ("this Friday", *("on 2026-11-27",) * 3),
        ("this Wednesday", "on 2026-12-02", *("on 2026-11-25",) * 2),
        ("the Friday after next", *("on 2026-12-11",) * 3),
        ("the week after next", *("in the week of 2026-12-07",) * 3),
        ("by the end of the month", "by the end of November 2026",
         *("by the end of the month",) * 2),
        ("at the end of this year", *("at the end of 2026",) * 3),
        ("last month", *("in October 2026",) * 3),
        ("29 February", "29 February", "29 February", "29 February"),
        ("31 April 2027", *("31 April 2027",) * 3),
    ],
)  # fmt: skip
def test_english_days_point_where_the_sentence_points(said, ahead, behind, lasting):
    found = [resolve(said, date(2026, 11, 26), tense, ENGLISH_DAYS).text for tense in Tense]

    assert found == [lasting, ahead, behind]


@pytest.mark.parametrize(
    ("said", "ahead", "behind", "lasting"),
    [
        ("下周五", *("2026年12月4日",) * 3),
        ("周五", "2026年11月27日", "2026年11月20日", "周五"),
        ("每周五", *("每周五",) * 3),
        ("周一到周五", *("周一到周五",) * 3),
        ("三月五号", "2027年3月5日", "2026年3月5日", "三月五号"),
        ("下个月五号", *("2026年12月5日",) * 3),
        ("去年", *("2025年",) * 3),
        ("大后天", *("2026年11月29日",) * 3),
        ("这周五", *("2026年11月27日",) * 3),
        ("下下周三", *("2026年12月9日",) * 3),
        ("两周后", *("2026年12月7日那周",) * 3),
        ("月底", "2026年11月底", "2026年11月底", "月底"),
        ("下个月底", *("2026年12月底",) * 3),
        ("每个月底", *("每个月底",) * 3),
        ("年底", "2026年底", "2025年底", "年底"),
        ("年初", "2027年初", "2025年初", "年初"),
        ("以后天天", *("以后天天",) * 3),
    ],
)
def test_chinese_days_point_where_the_sentence_points(said, ahead, behind, lasting):
    found = [resolve(said, date(2026, 11, 26), tense, CHINESE_DAYS).text for tense in Tense]

    assert found == [lasting, ahead, behind]


def test_days_are_counted_from_the_message_and_not_from_now():
    """The fault TIME-01: an old conversation is imported years later."""
    then = datetime(2023, 5, 24, 10, tzinfo=UTC)
    said = uttered("I flew to Reykjavik last week and start at the bakery tomorrow.", at=then)

    at_once = extract_basic([said], then)
    later = extract_basic([said], datetime(2026, 9, 1, tzinfo=UTC))

    assert [c.content for c in at_once.candidates] == [
        "Flew to Reykjavik in the week of 2023-05-15",
        "Starts at the bakery on 2023-05-25",
    ]
    assert [c.content for c in later.candidates] == ["Flew to Reykjavik in the week of 2023-05-15"]
    assert [(r.candidate.content, r.reason) for r in later.refused] == [
        ("Starts at the bakery on 2023-05-25", Reason.PASSING)
    ]


@pytest.mark.parametrize("said", ["I'm flying to Rome next Friday.", "我下周五飞罗马。"])
def test_a_plan_with_a_day_expires_after_it_in_every_time_zone(said):
    (plan,) = learnt(said).candidates

    assert plan.kind is Kind.TODO_HINT
    assert plan.expires_at == datetime(2026, 12, 6, tzinfo=UTC)
    assert plan.expires_at - datetime(2026, 12, 5, tzinfo=UTC) > timedelta(hours=14)


# ── limits ───────────────────────────────────────────────────────────────────────────────────────

WORDS = st.sampled_from(
    "I we my our never always remember that live in Oslo cat is not like next Friday if Bo said"
    " : ? . , \" ' ` > < 9999-12-31 \ud83d \x00 👍".split(" ")
    + "我 我们 不 喜欢 住在 明天 如果 ， 。 ？ “ ” 记住".split(" ")
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=25).map(" ".join)))
def test_any_text_is_read_without_a_fault_and_always_the_same(said):
    found = learnt(said)

    assert found == learnt(said)
    assert all(c.content.strip() and len(c.content) <= 500 for c in found.candidates)


@pytest.mark.parametrize(("year", "expected"), [(1, ["Is flying to Rome in 2"]), (9999, [])])
def test_the_last_year_of_the_calendar_is_followed_by_none(year, expected):
    at = datetime(year, 12, 31, tzinfo=UTC)

    found = extract_basic([uttered("I'm flying to Rome next year.", at=at)], at)

    assert [c.content for c in found.candidates] == expected


@pytest.mark.parametrize(
    "piece", ["“", "I, ", "我，", "my a ", "'a", "<a>", "I never the ", "I am a. "]
)
def test_a_hundred_thousand_characters_are_read_in_seconds(piece):
    begin = time.thread_time()

    learnt(piece * (100_000 // len(piece)))

    assert time.thread_time() - begin < 15


def test_the_half_that_was_not_looked_at_reaches_what_is_promised(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(BENCH), "--check", "--quick"])

    assert runpy.run_path(str(BENCH))["main"]() == 0, capsys.readouterr().out
