"""A paraphrase of what was said passes; names, numbers and facts that nobody said do not."""

from __future__ import annotations

import pytest

from perdure.learn.support import evidence, supported

SAID = [
    ("Has played the oboe since age nine", "I've played the oboe since I was nine."),
    ("Dislikes durian", "I've gone right off durian, can't stand it any more."),
    ("Shoe size is 44", "I own a kayak; my shoe size is 44."),
    ("Flew to Reykjavik in the week of 15 May 2023", "I flew to Reykjavik last week."),
    ("Starts at a bakery on 2023-05-25", "I start at the bakery tomorrow."),
    ("Moss turned three in May 2026", "Moss turned three last week!"),
    ("Pim is 5 years old", "Pim is five years old"),
    ("Gets up at 6:30", "I get up at half past six"),
    ("Plays padel 2 times a week", "Padel twice a week now"),
    ("Budget is 90000", "The budget is 90k"),
    ("The budget is 90,000", "Our budget: 90000"),
    ("Wants answers in Norwegian", "I moved to Bergen; answer me in norwegian"),
    ("The user's dog is called Rex", "my dog is called rex"),
    ("No longer has a van", "The van is gone, I cycle now."),
    ("Petra can't eat gluten", 'Petra wrote: "I can\'t eat gluten."'),
    ("Mag keine Oliven auf Pizza", "Ich kann Oliven auf Pizza nicht ausstehen"),
    ("用户对花生过敏", "我吃花生会起疹子"),
    ("住在卑尔根", "我上个月搬到了卑尔根"),
    ("用 Rust 写后端", "我用 Rust 写后端。"),
    ("每天 7 点起床", "我每天七点起床"),
    ("养了2只猫", "我养了两只猫"),
    ("北海道の帯広に住んでいる", "北海道の帯広に住んでいます。"),
    ("Lives in Bergen", "我住在 Bergen"),
    ("Designs furniture", "我叫沈知微，在晨曦木作做家具设计"),
]

UNSAID = [
    ("Name is John", "👍"),
    ("Is a software engineer", "go on"),
    ("Loves pizza", "ok, thanks a lot!"),
    ("Loves pizza", "谢谢"),
    ("爱吃披萨", "thanks a lot!"),
    ("喜欢打篮球", "谢谢"),
    ("Works at Quillfeather Ltd", "I work a lot"),
    ("Has a parrot named Polly", "I have a parrot"),
    ("Shoe size is 45", "my shoe size is 44"),
    ("养了3只猫", "我养了两只猫"),
    ("Shen Zhiwei designs furniture", "我叫沈知微，在晨曦木作做家具设计"),
]


@pytest.mark.spec("3.3")
@pytest.mark.parametrize(("statement", "said"), SAID)
def test_a_statement_in_other_words_is_supported(statement, said):
    assert supported(statement, [said])


@pytest.mark.spec("3.3")
@pytest.mark.case("API-07")
@pytest.mark.parametrize(("statement", "said"), UNSAID)
def test_a_statement_that_nobody_made_is_not(statement, said):
    assert not supported(statement, [said])


def test_names_may_come_from_the_lines_around_and_words_may_not():
    around = ["How do you like Bergen?"]

    assert supported("Likes the weather in Bergen", ["The weather suits me."], around)
    assert not supported("Lives in Bergen", ["Fine, thanks!"], around)


def test_an_assistants_line_counts_once_the_user_agrees_to_it(line):
    guess = line("So you live in Bergen, and you eat no meat?", role="assistant")

    assert evidence([line("Yes, exactly.")], [guess]) == [guess.content, "Yes, exactly."]
    assert evidence([guess, line("是的")])[0] == guess.content
    assert evidence([guess, line("go on")]) == ["go on"]
    assert evidence([guess, line("Yesterday I went home")]) == ["Yesterday I went home"]
