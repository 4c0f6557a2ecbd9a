"""Reads ages, so that a child who has grown can be told from another child."""

from __future__ import annotations

from perdure.learn.basic.chinese_days import number

AGEING = 2
"""Years: somebody who is so much older may well be the same; who is older still need not."""
_NUMBERS = {word: n for n, word in enumerate(
    "one two three four five six seven eight nine ten eleven twelve".split(), start=1
)}  # fmt: skip


def years_between(one: str, other: str) -> int:
    """From one age to another, each in digits or words of either language."""
    return _years(other) - _years(one)


def _years(said: str) -> int:
    return _NUMBERS.get(said) or number(said)
