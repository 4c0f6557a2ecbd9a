"""Which statement a new one replaces, or says again, where there can be one answer only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, TypeVar

from perdure.learn.basic.ages import AGEING, years_between
from perdure.learn.basic.homes import coarser
from perdure.learn.basic.single import ALWAYS, Answer, answer
from perdure.types import Kind, Level

_PLACED = frozenset({"home", "work"})
"""Of those the ones that have a place in another one."""
_CHANGED = re.compile(
    r"\b(?:now|nowadays|currently|these\ days|again|turned|moved|relocated|got|switched|changed)\b"
    r"|现在|目前|今年|[了搬换改调]",
    re.IGNORECASE | re.VERBOSE,
)
"""It was something else before."""
_MOVED = re.compile(r"\b(?:moved|relocated)\b|搬", re.IGNORECASE)
_ONE_OF_SEVERAL = re.compile(
    r"(?:son|daughter|kid|child|baby|toddler|brother|sister|sibling|cousin|niece|nephew|aunt|uncle"
    r"|grandson|granddaughter|cat|dog|puppy|kitten|rabbit|parrot|horse|hamster)s?"
    r"|(?:step|half-)(?:son|daughter|brother|sister)s?"
    r"|孩子|小孩|娃|儿子|女儿|闺女|宝宝|哥哥?|姐姐?|弟弟?|妹妹?|[表堂][哥姐弟妹]|叔叔|阿姨|舅舅|姑姑|侄[子女]|外甥|猫|狗|兔子"
    r"|鹦鹉|仓鼠|乌龟"
)
"""Who has a son may have another one; "older son" is one, and so is "wife"."""


class Stated(Protocol):
    """A statement, stored or new."""

    @property
    def content(self) -> str:
        """Its words."""

    @property
    def level(self) -> Level:
        """Whether it is the user's or a project's."""

    @property
    def kind(self) -> Kind | None:
        """What kind of statement it is, if somebody said."""


Known = TypeVar("Known", bound=Stated)


def same_question(new: Stated, known: Sequence[Known]) -> Known | None:
    """The one statement that answers the same question otherwise; None if there are several."""
    wanted = answer(new.content)
    on_topic = _on_topic(new, wanted, known)
    if wanted is None or len(on_topic) != 1:
        return None
    one, old = on_topic[0]
    if old.value == wanted.value or _coarser(wanted, old):
        return None
    if _coarser(old, wanted) and not _numbers(one.content) <= _numbers(new.content):
        return None  # "moved to Bergen in October 2026" tells more than where
    return None if _of_another(new, wanted, old) else one


def told_already(new: Stated, known: Sequence[Known]) -> Known | None:
    """The statement that says the same of a home or a job, or more; None where it has changed."""
    wanted = answer(new.content)
    if wanted is None or wanted.sort not in ALWAYS or _MOVED.search(new.content):
        return None
    for one, old in _on_topic(new, wanted, known):
        same = old.value == wanted.value and _numbers(new.content) <= _numbers(one.content)
        if same or _coarser(wanted, old):
            return one
    return None


def _coarser(wanted: Answer, old: Answer) -> bool:
    """Is it what is known, less precisely?"""
    return wanted.sort in _PLACED and coarser(wanted.value, old.value)


def _numbers(statement: str) -> set[str]:
    return set(re.findall(r"\d+", statement))


def _on_topic(
    new: Stated, wanted: Answer | None, known: Sequence[Known]
) -> list[tuple[Known, Answer]]:
    """The statements of its level that answer the same question, with their answers."""
    found = [(one, answer(one.content)) for one in known if wanted and one.level is new.level]
    return [(one, old) for one, old in found if wanted and old and old.topic == wanted.topic]


def _of_another(new: Stated, wanted: Answer, old: Answer) -> bool:
    """May it be about another son, cat or sister than the old answer?"""
    if not _ONE_OF_SEVERAL.fullmatch(wanted.who):
        return False
    changed = _CHANGED.search(new.content) is not None
    if wanted.sort == "age":
        years = years_between(old.value, wanted.value)
        return years < 0 or (years > AGEING and not changed)
    return not changed
