"""Whether a statement can be another one in other words: nothing exchanged, and nothing added."""

from __future__ import annotations

import re

from perdure import text
from perdure.learn import support
from perdure.learn.details import COUNTED

_BEGINNING = 5  # first letters that words of one family share
_STEM = 4  # letters of a word with which a longer one of its family begins


def paraphrases(statement: str, known: str) -> bool:
    """Does the statement say no more, and nothing else, than what is known?

    What differs is counted by words, up to those that mean the same. "A black cat" is no white
    one, however near two vectors find them; a bare "drinks" or 吃 adds nothing by itself.

    Args:
        statement: the new statement.
        known: the one that it may only reword.
    """
    said, before = _words(statement), _words(known)
    new, gone = _beyond(said, before), _beyond(before, said)
    return not (new and gone) and new <= _GENERIC


def _words(statement: str) -> frozenset[str]:
    """Its words, each as the first of those that mean the same; little words left out."""
    words = support.content(_LITTLE.sub(" ", statement))
    return frozenset(_SAME.get(word, word) for word in words) - _BARE - _NUMBERS


def _beyond(words: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """The words of which no other one is of the family."""
    return frozenset(word for word in words if not any(_akin(word, one) for one in others))


def _akin(one: str, other: str) -> bool:
    """Allergic and allergy, play and player."""
    short, long = sorted((one, other), key=len)
    if one == other or not (short.isascii() and short.isalpha()):
        return one == other
    return long.startswith(short[:_BEGINNING]) and len(short) >= _STEM


def _stems(words: str) -> frozenset[str]:
    return frozenset(map(text.stem, words.split()))


_SAME = {
    text.stem(word): text.stem(first)
    for first, *others in (
        group.split()
        for group in (
            "live reside dwell home",
            "work employed employment job profession occupation",
            "love enjoy adore fond prefer keen",
            "want wish",
            "short brief concise briefly shortly",
            "daughter girl",
            "son boy",
            "child kid children",
            "car automobile",
            "mother mum mom",
            "father dad",
            "eat consume",
            "speak talk",
            "住 居 家",
            "当 做 任",
            "存 攒",
            "喜 爱 好 希 望 偏",
            "叫 名 称",
            "妈 母",
            "爸 父",
        )
    )
    for word in others
}
"""Words that mean the same, each with the first of them."""
_GENERIC = _stems(
    """live work love drink eat use play drive own keep suffer cause parent age last call very
        really quite usually currently person type kind lot"""
) | frozenset("喜当叫吃喝用玩开养职业症岁会很非常比较平时目前现在")
"""Words that say nothing new by themselves."""
_BARE = _stems("own possess thing year old age aged") | frozenset(
    "欢拥个只条艘位件辆台把掉正里于为之对"
)
"""Words that every second statement has, in one wording or another."""
_NUMBERS = frozenset(map(text.stem, COUNTED))
"""They are compared as numbers."""
_LITTLE = re.compile(
    r"家[里中]|一(?=[个只条艘位件辆台名])|名(?=护士|老师|教师|医生|学生|程序员|工程师)|[的了着过得地]"
)
