"""Pure text tools: clean, normalise, fingerprint, count, cut, and split into search terms."""

from __future__ import annotations

import hashlib
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import regex

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

Language: TypeAlias = Literal["en", "zh"]
Normalisation: TypeAlias = Literal["exact", "space", "fold"]

_LONE_SURROGATE = regex.compile(r"[\ud800-\udfff]")
_STACKED = regex.compile(r"(\p{M}{30})\p{M}+")
_HIDDEN = regex.compile(
    r"(?<!\U0001F3F4[\U000E0020-\U000E007E]{0,8})[\U000E0000-\U000E007F]"
    r"|(?![\u200c\u200d\U000E0000-\U000E007F])\p{Cf}"
    r"|(?<![\p{L}\p{M}\p{S}])[\u200c\u200d]"
    r"|(?<=[\p{Latin}\p{Greek}\p{Cyrillic}\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]\p{M}{0,8})"
    r"[\u200c\u200d]"
    r"|(?<=[\p{Latin}\p{Greek}\p{Cyrillic}]\p{M}{0,8})[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
    r"|[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0]"
)
_CONTROLS = dict.fromkeys(n for n in (*range(0x20), *range(0x7F, 0xA0)) if not chr(n).isspace())
_SPACE = regex.compile(r"\s+")
_GRAPHEME = regex.compile(r"\X")
_HAN = regex.compile(r"\p{Han}")
_LETTER = regex.compile(r"\p{L}")
_SENTENCE_END = regex.compile(
    r"(?<=[.!?…]['\")\]]{0,4}\s)|(?<=[。！？；…][”’」』）]{0,4})(?![”’」』）。！？；…])|\n+"
)
_WORD = regex.compile(
    r"(?P<cjk>[\p{Han}\p{Hiragana}\p{Katakana}]+)|(?:(?!(?&cjk))[\p{L}\p{M}\p{N}])+"
)
_CONTRACTION = regex.compile(r"n't\b|'(?:s|ll|re|ve|d|m)\b")
_HAN_MONTHS = "一 二 三 四 五 六 七 八 九 十 十一 十二".split()
_CHINESE_MONTH = regex.compile(
    r"(?<![\d一二三四五六七八九十])(1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月"
)
_MONTHS = (
    "january february march april may june july august september october november december"
).split()
_SHORT = 3  # words up to this length are not stemmed
_VOWELS = frozenset("aeiouy")
_DERIVED = tuple("ational ation able ment ness ful ist ive ion al er or ly".split())

STOP_WORDS = frozenset(
    """a about after again all also am an and any are as at be because been before being but by ca
    can could did do does doing done for from had has have having he her here hers him his how i if
    in into is it its just me more most my no nor not now of off on once only or other our out over
    own s same she should so some such t than that the their them then there these they this those
    through to too under until up very was we were what when where which while who whom whose why
    will with wo would you your""".split()
)
"""English words that find nothing. Chinese has no such list: single characters mean too much."""


# ── cleaning and comparing ───────────────────────────────────────────────────────────────────────


def clean(text: str) -> str:
    """The same text, storable everywhere: half an emoji becomes U+FFFD, NUL disappears.

    Of marks stacked on one letter 30 are kept, as in Unicode's stream-safe format (UAX 15): to put
    longer stacks in order takes time that grows with their square.
    """
    return str(_STACKED.sub(r"\1", _LONE_SURROGATE.sub("\ufffd", text))).replace("\x00", "")


def visible(text: str) -> str:
    """The same text without characters that nobody sees and that hide what it says.

    Joiners stay where a script or an emoji needs them, and so do the tags of a flag; between
    letters of a script that knows no joiners they only break words up for a machine. A control
    character draws nothing either, and moves the cursor of a terminal.
    """
    text = text.translate(_CONTROLS)
    return text if text.isascii() else str(_HIDDEN.sub("", text))


def normalise(text: str, how: Normalisation = "fold") -> str:
    """What two statements are compared by; never what is stored or shown.

    ``exact`` leaves the text alone, ``space`` trims and folds white space, ``fold`` also makes
    composed, decomposed, full-width and upper-case spellings equal.
    """
    if how == "exact":
        return text
    if how == "fold":
        text = _STACKED.sub(r"\1", text)
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return str(_SPACE.sub(" ", text)).strip()


def fingerprint(*parts: str) -> str:
    """SHA-256 in hex over the parts; no two different lists of parts share one."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "replace")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def language(text: str) -> Language:
    """``zh`` if Han characters make up at least a fifth of the letters, else ``en``."""
    han = len(_HAN.findall(text))
    return "zh" if han and han * 5 >= len(_LETTER.findall(text)) else "en"


# ── lengths and cuts, never inside a character ───────────────────────────────────────────────────


def graphemes(text: str) -> int:
    """How many characters a person sees."""
    return len(text) if text.isascii() else len(_GRAPHEME.findall(text))


def columns(text: str) -> int:
    """How wide it is in a terminal: two for a Chinese character or an emoji, one for a letter."""
    if text.isascii():
        return len(text)
    return sum(
        2 if any(unicodedata.east_asian_width(sign) in "WF" for sign in match.group()) else 1
        for match in _GRAPHEME.finditer(text)
    )


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters as a person counts them; no character is cut in half."""
    if len(text) <= limit:
        return text
    kept = []
    for count, match in enumerate(_GRAPHEME.finditer(text)):
        if count >= limit:
            break
        kept.append(match.group())
    return "".join(kept)


def utf8_length(text: str) -> int:
    """Bytes in UTF-8."""
    return len(text.encode("utf-8", "replace"))


def model_tokens(text: str) -> int:
    """About how many tokens a model counts; rather too many than too few.

    One for each Han, kana or Hangul character, one for each started four letters of any other
    word, one for each other sign that is not a space.
    """
    if not text:
        return 0
    wide = 0
    narrow = 0
    run = 0
    for char in text:
        if char.isascii() and char.isalnum():
            run += 1
            continue
        narrow += -(-run // 4)
        run = 0
        if not char.isspace():
            wide += 1
    return wide + narrow + -(-run // 4)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, trimmed, empty ones left out. English and Chinese."""
    for piece in _SENTENCE_END.split(text):
        trimmed = piece.strip() if piece else ""
        if trimmed:
            yield trimmed


# ── search terms ─────────────────────────────────────────────────────────────────────────────────


def terms(text: str) -> list[str]:
    """The terms a text is found by, in order, with repetitions.

    English words lose their inflection and words without meaning are left out; a run of Chinese
    or Japanese characters gives each character and each pair of neighbours, so that a query of two
    characters finds a longer text.
    """
    text = normalise(text).replace("\u2019", "'")
    found = [stem(_MONTHS[_month(match[1])]) for match in _CHINESE_MONTH.finditer(text)]
    for match in _WORD.finditer(_CONTRACTION.sub("", text)):
        word = match.group()
        if match["cjk"]:
            found.extend(word)
            found.extend(word[i : i + 2] for i in range(len(word) - 1))
        elif word not in STOP_WORDS:
            found.append(stem(word))
    return found


def _month(said: str) -> int:
    """The place of a month, from 0; in digits or Chinese."""
    return _HAN_MONTHS.index(said) if said in _HAN_MONTHS else int(said) - 1


def date_terms(day: date) -> list[str]:
    """The terms under which something said on that day is also found."""
    return [str(day.day), stem(_MONTHS[day.month - 1]), str(day.year)]


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A light English stem: plural, -ed and -ing, one derived ending, final e and y."""
    if len(word) <= _SHORT or not (word.isascii() and word.isalpha()):
        return word
    word = _without_tense(_without_plural(word))
    for ending in _DERIVED:
        if word.endswith(ending) and len(word) - len(ending) > _SHORT:
            word = word.removesuffix(ending)
            break
    if len(word) > _SHORT and word[-1] == "e":
        word = word[:-1]
    return word[:-1] + "i" if len(word) > _SHORT and word[-1] == "y" else word


def _without_plural(word: str) -> str:
    if word.endswith(("ies", "ied")):
        return word[:-2] if len(word) == _SHORT + 1 else word[:-3] + "y"
    if word.endswith(("sses", "ches", "shes", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word[-1] == "s" and word[-2] not in "su" else word


def _without_tense(word: str) -> str:
    for ending in ("ing", "ed"):
        if word.endswith(ending) and not word.endswith("eed"):
            rest = word.removesuffix(ending)
            if len(rest) > 1 and _VOWELS & set(rest):
                double = len(rest) > _SHORT and rest[-1] == rest[-2] and rest[-1] not in "lsz"
                return rest[:-1] if double else rest
            break
    return word
