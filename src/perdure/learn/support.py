"""Does what was said support a statement? Lenient with wording, strict with names and numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from perdure import text
from perdure.types import Role, Utterance

# ── what counts as said by the user ──────────────────────────────────────────────────────────────

_ASSENT = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|sure|right|correct|exactly|indeed|true|that['’]s (?:right|it|correct)"
    r"|是的?|对的?|對的?|没错|沒錯|嗯+|好的?|可以|就是)(?![a-z])",
    re.IGNORECASE,
)


def evidence(said: Sequence[Utterance], context: Sequence[Utterance] = ()) -> list[str]:
    """What the user said, and what the assistant said if the user's next words agree to it.

    Args:
        said: the lines to learn from, oldest first.
        context: the lines before them.
    """
    found: list[str] = []
    before: Utterance | None = context[-1] if context else None
    for line in said:
        if line.role is Role.USER:
            if before is not None and before.role is Role.ASSISTANT and _ASSENT.match(line.content):
                found.append(before.content)
            found.append(line.content)
        before = line
    return found


# ── words ────────────────────────────────────────────────────────────────────────────────────────

_WEAK = frozenset(
    "我你您他她它们的了是在有不和与也就都这那个么吗呢吧啊很用户會们會個這為为说想要"
) | frozenset(text.stem(word) for word in "user name like want thing say said got know".split())
"""Terms that every second statement has."""
_FRAMING = frozenset(
    text.stem(word)
    for word in """prefer prefers want wants love loves wish enjoy always never should must answer
    answers reply replies response use uses call called address""".split()
) | frozenset("喜欢希望偏好总是要应该回答称呼叫")
"""Terms that a statement about a wish has, however the wish was put."""
_PREFIX = 4  # words with so many first letters in common may be one word
_MORE_THAN_A_GREETING = 5  # different terms


def shares_words(statement: str, said: Sequence[str]) -> bool:
    """Does the statement have a word in common with what was said?

    Where the two are in different scripts nothing can be told from words; then it is enough that
    more was said than a greeting.
    """
    told = _words("\n".join(said))
    starts = {word[:_PREFIX] for word in told if len(word) >= _PREFIX}
    if any(word in told or word[:_PREFIX] in starts for word in _words(statement)):
        return True
    other_script = text.language(statement) != text.language("\n".join(said))
    return other_script and len(told) >= _MORE_THAN_A_GREETING


def share(statement: str, said: str) -> float:
    """0..1: the share of the statement's words that stand in what was said.

    Words that only say how one stands to something count where it has no others.
    """
    words = content(statement)
    words = words - _FRAMING or words
    told = content(said)
    starts = {word[:_PREFIX] for word in told if word.isascii() and len(word) >= _PREFIX}
    found = [word for word in words if word in told or word[:_PREFIX] in starts]
    return len(found) / len(words) if words else 0.0


def content(said: str) -> frozenset[str]:
    """Stems and single Chinese characters that mean something."""
    terms = (term for term in text.terms(said) if term.isascii() or len(term) == 1)
    return frozenset(term for term in terms if not weak(term))


def weak(term: str) -> bool:
    """Does every second statement have it?"""
    return term in _WEAK


def _words(said: str) -> set[str]:
    return {term for term in text.terms(said) if not weak(term) and not term.isdecimal()}


# ── names ────────────────────────────────────────────────────────────────────────────────────────

_NAME = re.compile(r"(?<![\w'’.-])[A-Z][\w'’-]*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;]\s+|[\"'“‘(`]|\n)\W*$")
_NEAR = 40  # characters before a word that tell whether a sentence starts with it
_CALENDAR = frozenset(
    """i i'm i've user users january february march april may june july august september october
    november december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday
    thursday friday saturday sunday christmas utc""".split()
)
_ENGLISH = re.compile(r"\b(?:i|my|the|and|is|you|we|it|to|of)\b", re.IGNORECASE)


def names(statement: str) -> set[str]:
    """Capitalised words that begin no sentence; days and months are none."""
    found = set()
    for match in _NAME.finditer(statement):
        name = re.sub(r"['’]s$", "", match.group())
        before = statement[max(0, match.start() - _NEAR) : match.start()]
        starts = _SENTENCE_START.search(before) is not None
        if not starts and name.casefold() not in _CALENDAR:
            found.add(name)
    return found


def unsaid_names(statement: str, said: Sequence[str]) -> set[str]:
    """Names in the statement that nobody said. Names of days and months may be worked out.

    Only where capitals mean names: in English, and for Latin words among Chinese ones.
    """
    whole = unicodedata.normalize("NFKC", "\n".join(said))
    chinese = text.language(whole) == "zh"
    if not chinese and not _ENGLISH.search(whole):
        return set()
    folded = text.normalise(whole)
    return {name for name in names(statement) if text.normalise(name) not in folded}


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_THOUSANDS = re.compile(r"(?<=\d)[, ](?=\d{3}(?!\d))")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_WORKED_OUT = re.compile(
    rf"""
    \d{{4}}-\d{{1,2}}(?:-\d{{1,2}})? | \d{{4}}年(?:\d{{1,2}}月)?(?:\d{{1,2}}[日号號])?
    | \d{{1,2}}月(?:\d{{1,2}}[日号號])? | \b(?:19|20)\d\d\b
    | \b\d{{1,2}}(?:[-–]\d{{1,2}})?(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}
    | {_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?\b
    | \b\d{{1,2}}:\d\d\b | \b\d{{1,2}}\s?(?:a\.?m\b|p\.?m\b) | \d{{1,2}}[点點时時]
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Dates and times: they may be worked out from "next week" or "half past six"."""
_NUMBER_WORDS = {
    word: str(number)
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
        " fifteen sixteen seventeen eighteen nineteen twenty".split(),
        "零 一 二 三 四 五 六 七 八 九 十".split(),
    )
    for number, word in enumerate(words)
} | {"两": "2", "once": "1", "twice": "2", "thirty": "30", "forty": "40", "fifty": "50"}
_TOO_FREE = re.compile(
    r"\b(?:hundred|thousand|million|billion|dozen|half|quarter|couple|double|sixty|seventy|eighty"
    r"|ninety)s?\b|\d\s?[km]\b|[百千万萬亿億半]|十[一二三四五六七八九]|[二三四五六七八九]十",
    re.IGNORECASE,
)
"""Ways to say a number that are not read here."""


def unsaid_numbers(statement: str, said: Sequence[str]) -> set[str]:
    """Numbers in the statement that nobody said. Dates and times may be worked out."""
    whole = unicodedata.normalize("NFKC", "\n".join(said))
    if _TOO_FREE.search(whole):
        return set()
    told = set(_numbers(whole))
    words = whole.casefold()
    told |= {
        number
        for word, number in _NUMBER_WORDS.items()
        if (re.search(rf"\b{word}", words) if word.isascii() else word in words)
    }
    return {number for number in numbers(statement) if number not in told}


def numbers(statement: str, *, dates: bool = False) -> list[str]:
    """The numbers in it; those of dates and times only if asked for."""
    whole = unicodedata.normalize("NFKC", statement)
    return _numbers(whole if dates else _WORKED_OUT.sub(" ", whole))


def _numbers(said: str) -> list[str]:
    return [n.lstrip("0") or "0" for n in _NUMBER.findall(_THOUSANDS.sub("", said))]


_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_SPEAKS_OF_YEARS = re.compile(r"\byears?\b|\bdecades?\b|年", re.IGNORECASE)


def future_years(statement: str, said: Sequence[str], year: int) -> set[str]:
    """Years in the statement that are beyond the next one, though nobody spoke of years.

    They are the sign of a date that was counted from today and not from the message.

    Args:
        statement: the proposed memory.
        said: what was said.
        year: in which it was said.
    """
    whole = "\n".join(said)
    if _SPEAKS_OF_YEARS.search(whole):
        return set()
    return {
        found for found in _YEAR.findall(statement) if int(found) > year + 1 and found not in whole
    }


# ── the verdict ──────────────────────────────────────────────────────────────────────────────────


def supported(statement: str, said: Sequence[str], around: Sequence[str] = ()) -> bool:
    """Is the statement one that these words can have led to?

    Args:
        statement: the proposed memory.
        said: the user's own words; the statement must have some of them.
        around: other lines of the conversation; names and numbers may also come from there.
    """
    everything = [*said, *around]
    return (
        shares_words(statement, said)
        and not unsaid_names(statement, everything)
        and not unsaid_numbers(statement, everything)
    )
