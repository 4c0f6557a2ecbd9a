"""What is called known is known: other names, numbers, dates and answers are other facts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from perdure.learn.news import told
from perdure.types import Action, Candidate, MemoryItem

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def does(old, new):
    row = MemoryItem(
        id="0" * 32, namespace="default", user="ann", content=old, content_hash="",
        created_at=NOW, updated_at=NOW,
    )  # fmt: skip
    return told(Candidate(content=new), row)


@pytest.mark.spec("3.4")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Has 2 cats", "Has 3 cats"),
        ("Has two cats", "Has three cats"),
        ("Lives in Oslo", "Lives in Bergen"),
        ("Has a daughter", "Has a daughter called Liv"),
        ("Flies home on 2026-12-04", "Flies home on 2026-12-05"),
        ("Likes durian", "Cannot stand durian any more"),
        ("养了2只猫", "养了3只猫"),
        ("养了两只猫", "养了三只猫"),
        ("住在杭州", "住在成都"),
        ("2026年12月4日飞回家", "2026年12月5日飞回家"),
        ("喜欢吃榴莲", "受不了榴莲"),
    ],
)
def test_what_says_otherwise_or_more_changes_the_memory(old, new):
    assert does(old, new) is Action.UPDATE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Lives in Oslo", "Lives in Oslo"),
        ("Has two cats, Tom and Mio", "Has 2 cats"),
        ("Lives in Bergen Sentrum, Norway", "Lives in Bergen"),
        ("Prefers short answers", "Likes short answers"),
        ("Works at Spotify", "Works at spotify now"),
        ("Flies home on 2026-12-04", "Flies home on 4 December"),
        ("Likes tea", "Likes tea since 2026-11-30"),
        ("住在奥斯陆", "Lives in Oslo"),
        ("家住杭州市西湖区", "住在杭州"),
        ("养了两只猫，汤姆和咪咪", "养了2只猫"),
        ("喜欢简短的回答", "爱听简短的回答"),
    ],
)
def test_other_words_or_fewer_only_confirm_it(old, new):
    assert does(old, new) is Action.TOUCH


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Plays chess with Kim", "Plays chess with Lee"),
        ("Has 2 cats", "Sister has 3 cats"),
        ("养了2只猫", "姐姐养了3只猫"),
    ],
)
def test_where_another_one_may_be_meant_it_stands_beside_the_memory(old, new):
    assert does(old, new) is Action.ADD
