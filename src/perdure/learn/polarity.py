"""Tells liking from disliking, and a statement from its denial; in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perdure import text

_SHORT_FORMS = (
    (re.compile(r"\b(?:can['’]?t|cannot)\b"), "can not"),
    (re.compile(r"n['’]t\b|(?<=\b[dw]o)nt\b|(?<=\bdoes)nt\b|(?<=\bis)nt\b"), " not"),
)


def plain(said: str) -> str:
    """Folded, with every "not" as a word of its own."""
    folded = text.normalise(said)
    for pattern, long in _SHORT_FORMS:
        folded = pattern.sub(long, folded)
    return folded


# ── liking ───────────────────────────────────────────────────────────────────────────────────────

_NOT = r"\b(?:not|never|no\ longer|hardly|stopped|quit)"
_LIKE = r"(?:lik(?:e[sd]?|ing)|lov(?:e[sd]?|ing)|enjoy\w*|ador\w+|prefer\w*|fond\ of|keen\ on)\b"
_HATE = r"(?:dislik\w+|hat(?:e[sd]?|ing)|detest\w*|loath\w+|despis\w+)\b"


def _way(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE)


_WAYS: tuple[tuple[int, re.Pattern[str]], ...] = (
    # does not dislike, is indifferent: neither the one nor the other
    (
        0,
        _way(
            rf"""{_NOT}\ (?:\w+\ )?(?:{_HATE}|mind\w*) | \bindifferent\b
            | 不(?:是)?不(?:喜欢|喜歡|爱) | [不没](?:讨厌|討厭|反感|介意)
            | 谈不上喜欢 | 无所谓"""
        ),
    ),
    # never says no to tea
    (1, _way(r"\b(?:never|not)\ (?:\w+\ )?(?:say\w*\ no|refus\w+|turn\w*\ down)\b")),
    (
        -1,
        _way(
            rf"""{_NOT}\ (?:\w+\ ){{0,2}}?
              (?:{_LIKE}|care\ for|stand|bear|abide|into|a\ (?:\w+\ )?(?:fan|lover))\b
            | \b{_LIKE}\ (?:to\ )?(?:not|never|avoid)\b | \b{_HATE} | \bavers
            | \b(?:gone|went|going)\ (?:\w+\ )?off\b
            | \b(?:sick|tired)\ of\b | \bfed\ up\b
            | 不(?:太|怎么|是很|再|大|那么)?(?:喜欢|喜歡|爱|愛) | 讨厌|討厭|厌恶
            | 受不了|反感|最烦|痛恨|不能忍 | 戒(?=酒|烟|咖啡|糖)"""
        ),
    ),
    (
        1,
        _way(
            rf"""\b{_LIKE} | \b(?:fan|lover)\ of\b | \bcrazy\ about\b | \bfavou?rite\b
            | 喜欢|喜歡|热爱|偏好|偏爱|钟爱|享受 | [很最酷超好]爱
            | 爱(?=吃|喝|看|听|玩|去|用|穿|做|跑|打|聊)"""
        ),
    ),
)
"""1 liking, -1 dislike, 0 neither; the first that is found counts."""


def liking(said: str) -> int | None:
    """1 for a liking, -1 for a dislike, 0 for neither; None where none is spoken of."""
    folded = plain(said)
    return next((way for way, pattern in _WAYS if pattern.search(folded)), None)


# ── denial ───────────────────────────────────────────────────────────────────────────────────────

_DENIES = _way(
    r"""\b(?:not|no|never|without|nothing|none|hardly|avoid\w*|stopped|quit|instead|former\w*
    |free\ of)\b | -free\b | [不没別别无無未勿戒] | 以前"""
)
_DENIED = _way(
    rf"{_NOT}\ (?:(?:really|ever|to|be|able|any|longer)\ )*(?P<verb>[a-z]+)\ (?P<what>[^,.;!?]+)"
)
_DENIED_IN_CHINESE = re.compile(
    r"[不没別别](?:能|会|會|想|再|肯|敢|太|爱|愛|怎么)*(?P<what>[\u4e00-\u9fff]{2})"
)


def denies(said: str) -> bool:
    """Does it say that something is not so, or no longer?"""
    return _DENIES.search(plain(said)) is not None


def opposed(one: str, other: str) -> bool:
    """One likes what the other dislikes."""
    first, second = liking(one), liking(other)
    return first is not None and second is not None and first * second < 0


_NOT_WHAT = frozenset(
    text.stem(word)
    for word in """like love enjoy adore prefer fond keen dislike hate detest loathe despise fan
    stand bear abide care mind longer favourite favorite user play eat drink have go do watch
    listen use read take get""".split()
) | frozenset("喜欢爱讨厌受不了反感很太最再用户吃喝看听玩")
"""Terms that say how one stands to something, or what one does with it, not what it is."""
_CONTRAST = re.compile(
    r"\b(?:after|before|over|than|rather|instead|without|later|less|fewer)\b|[比而]"
)


def flips(statement: str, said: str) -> bool:
    """Does the statement claim the contrary of what was said about the same thing?

    Args:
        statement: the proposed memory.
        said: the clause that it comes from.
    """
    claimed, told = liking(statement), liking(said)
    if claimed is None or told is None:
        return _contradicts(statement, said) or _contradicts(said, statement)
    words = (term for term in text.terms(statement) if term.isascii() or len(term) == 1)
    what = {term for term in words if term not in _NOT_WHAT}
    turned = set(_CONTRAST.findall(plain(statement))) - set(_CONTRAST.findall(plain(said)))
    return claimed != told and not turned and what <= set(text.terms(said))


def _denied(said: str) -> Iterator[tuple[str, ...]]:
    """What was denied: a verb with what it is about."""
    folded = plain(said)
    for match in _DENIED.finditer(folded):
        about = [term for term in text.terms(match["what"]) if not term.isdecimal()]
        if about:
            yield text.stem(match["verb"]), about[0]
    for match in _DENIED_IN_CHINESE.finditer(folded):
        yield (match["what"],)


def _contradicts(claim: str, denial: str) -> bool:
    """Does the one claim, without any "not", what the other denies?"""
    return not denies(claim) and any(_claims(claim, what) for what in _denied(denial))


def _claims(statement: str, denied: tuple[str, ...]) -> bool:
    terms = set(text.terms(statement))
    return all(term in terms for term in denied)
