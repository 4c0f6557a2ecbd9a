"""Completes a statement by taking away what was begun and not said, or refuses half of one."""

from __future__ import annotations

import regex

from perdure import text

# What only joins: taken away, what stands before it says enough or is judged by the rest.
_LOOSE = regex.compile(
    r"(?:[\s,，、;；:：–—-]+(?:and|or|but|because|although|though|whereas|so|yet|plus|i\.e\.|e\.g\.)"
    r"|[\s,，、;；:：]*(?:和|跟|与|及|以及|或者?|而且|并且|但是?|不过|可是|因为|所以|还有|比如|例如|包括)"
    r"|[\s,，、;；:：–—-]+)+$",
    regex.IGNORECASE,
)
_OPEN = {"(": ")", "[": "]", "（": "）", "《": "》", "「": "」", "“": "”", "【": "】"}
# With one of these at its end something is missing that nobody knows.
_HALF = (
    regex.compile(
        r"\b(?:the|a|an|my|our|their|his|your|its|of|than|very|such|whose|because|while|unless"
        r"|until|except|without|be|am|gets?|becomes?)$"
        r"|^(?:(?:just|recently|also|has|have) )?(?:joined|adopted|founded|enrolled|switched"
        r"|started|changed|is allergic|is afraid|is scared|is responsible|is based|is originally)$"
        r"|^(?:does not|cannot|can only|never|no longer|must not) (?:eat|have|take|use|own|like"
        r"|touch|tolerate|want|get)s?$"
        r"|^(?:has|owns|uses|lives|works|wants|likes|loves|hates|enjoys|prefers|plans|needs|speaks)$",
        regex.IGNORECASE,
    ),
    # "wife speaks it": whoever reads it later does not know what; not "never repeat it"
    regex.compile(
        r"^(?!(?:never|always|do not|no)\b|.*\b(?:an?|the|their)\b)[\w' -]+ (?:it|them)$", regex.I
    ),
    regex.compile(
        r"(?:把|被|对|从|比|比起|为了|关于|除了|如果|要是|就是|是|叫|名叫|住在|来自|喜欢|讨厌|打算|准备"
        r"|计划|想要?|正在|不能|不再|开始)$"
        r"|^(?:也|都|还|又|现在|平时|一般)*(?:不|从不|不能|不敢|只|爱|能)?[吃喝养用学弹做去买穿碰抽]$"
    ),
)


def whole(statement: str) -> str:
    """The statement without a loose end; empty if what is left is half of one."""
    said = _closed(statement)
    said = _LOOSE.sub("", said).rstrip()
    return "" if any(pattern.search(said) for pattern in _HALF) else said


def _closed(statement: str) -> str:
    """Without the part behind a bracket or a quotation mark that is never closed."""
    for begins, ends in _OPEN.items():
        if statement.count(begins) > statement.count(ends):
            statement = statement[: statement.rindex(begins)].rstrip()
    return statement if text.normalise(statement) else ""
