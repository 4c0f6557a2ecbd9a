"""What a statement claims, taken apart: of whom, what, when, how many, and whether it denies it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement in parts that can be compared with those of another one."""

    who: str = ""
    """Empty: the user."""
    core: tuple[str, ...]
    """What is claimed, without numbers and little words; the verb first."""
    around: frozenset[str] = frozenset()
    """What narrows it: times, places, company; the numbers in it are left out."""
    amounts: Mapping[str, str] = field(default_factory=dict)
    """How many or how much, by what is counted or measured."""
    denied: bool = False
    left: tuple[str, ...] = ()
    """What was used before: switched from it to something else."""
    happened: bool = False
    """It tells what happened once, so another number is another time."""
    chosen: bool = False
    """It chooses one of several: a preference, or what the assistant is to do."""


def contrary(new: Claim, old: Claim, choices: tuple[frozenset[str], ...]) -> bool:
    """Can the old claim no longer hold if the new one does?

    Args:
        new: what was said last.
        old: what is stored.
        choices: words of which only one can be chosen.
    """
    if new.who != old.who or not new.core or not old.core:
        return False
    if new.left:
        return not old.denied and old.core[0] in USE and old.core[1:][: len(new.left)] == new.left
    if new.denied != old.denied:
        claim, denial = (old, new) if new.denied else (new, old)
        return _same(claim.core, denial.core) and denial.around <= claim.around
    return _other_amount(new, old) or (
        new.chosen and old.chosen and new.around == old.around and _other_choice(new, old, choices)
    )


def _same(claim: tuple[str, ...], denial: tuple[str, ...]) -> bool:
    """Is the same thing claimed and denied? Whoever avoids sugar neither eats nor drinks it."""
    if denial[0] == AVOID and claim[0] in CONSUME:
        return claim[1:] == denial[1:]
    what = "".join(denial[1:])
    if what in SORTS and claim[0] == denial[0] and len(claim) > 1:
        one = claim[1] if claim[1].isascii() else "".join(claim[1:])
        return one in SORTS[what] or (not one.isascii() and one.startswith(SORTS[what]))
    return claim == denial


SORTS: Mapping[str, tuple[str, ...]] = {
    "sibl": ("sibl", "broth", "sist"),
    "kid": ("kid", "child", "son", "daught", "babi", "toddl", "twin"),
    "children": ("kid", "child", "son", "daught", "babi", "toddl", "twin"),
    "pet": ("pet", "cat", "dog", "puppi", "kitten", "rabbit", "parrot", "hamst"),
    "兄弟姐妹": ("哥", "姐", "弟", "妹", "兄"),
    "孩子": ("孩子", "小孩", "儿子", "女儿", "闺女", "宝宝"),
    "小孩": ("孩子", "小孩", "儿子", "女儿", "闺女", "宝宝"),
    "宠物": ("宠物", "猫", "狗", "兔子", "鹦鹉", "仓鼠"),
}
"""Who has no siblings has no brother either; English by its stems, Chinese as it begins."""
AND = "and"
SOME = "a"
"""The amount of what is spoken of and not counted."""
AVOID = "avoid"
USE = frozenset({"use", "用", "使用"})
CONSUME = frozenset({"eat", "drink", "use"})


def _other_amount(new: Claim, old: Claim) -> bool:
    """Does it count the same things and come to another number? "A dog" is no count but a first."""
    counts = new.core == old.core or new.core[: len(old.core) + 1] == (*old.core, AND)
    return (
        not (new.happened or old.happened)
        and counts
        and new.around == old.around
        and old.amounts.keys() <= new.amounts.keys()
        and any(old.amounts[what] != new.amounts[what] != SOME for what in old.amounts)
    )


def _other_choice(new: Claim, old: Claim, choices: tuple[frozenset[str], ...]) -> bool:
    """Is everything the same but for one word, of which only one can be chosen? Or turned round?"""
    if len(new.core) != len(old.core) or new.amounts != old.amounts:
        return False
    pairs = [{a, b} for a, b in zip(new.core, old.core, strict=True) if a != b]
    if len(pairs) == 2:  # noqa: PLR2004 - two words have changed places
        return pairs[0] == pairs[1]
    return len(pairs) == 1 and any(pairs[0] <= choice for choice in choices)
