"""Pure text tools: clean, normalise, fingerprint, count, cut, and split into search terms."""

from __future__ import annotations

import hashlib
import unicodedata
from typing import TYPE_CHECKING, Literal, TypeAlias

import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Language: TypeAlias = Literal["en", "zh"]
Normalisation: TypeAlias = Literal["exact", "space", "fold"]

_LONE_SURROGATE = regex.compile(r"[\ud800-\udfff]")
_SPACE = regex.compile(r"\s+")
_GRAPHEME = regex.compile(r"\X")
_HAN = regex.compile(r"\p{Han}")
_LETTER = regex.compile(r"\p{L}")
_SENTENCE_END = regex.compile(
    r"(?<=[.!?…]['\")\]]*\s)|(?<=[。！？；…][”’」』）]*)(?![”’」』）。！？；…])|\n+"
)
_WORD = regex.compile(r"\p{Han}+|[\p{L}\p{M}\p{N}]+(?:['’][\p{L}]+)?")


# ── cleaning and comparing ───────────────────────────────────────────────────────────────────────


def clean(text: str) -> str:
    """The same text, storable everywhere: half an emoji becomes U+FFFD, NUL disappears."""
    return str(_LONE_SURROGATE.sub("\ufffd", text)).replace("\x00", "")


def normalise(text: str, how: Normalisation = "fold") -> str:
    """What two statements are compared by; never what is stored or shown.

    ``exact`` leaves the text alone, ``space`` trims and folds white space, ``fold`` also makes
    composed, decomposed, full-width and upper-case spellings equal.
    """
    if how == "exact":
        return text
    if how == "fold":
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

    Words are folded as in `normalise`; a run of Han characters gives each character and each
    pair of neighbours, so that a query of two characters finds a longer text.
    """
    found: list[str] = []
    for match in _WORD.finditer(normalise(text)):
        word = match.group()
        if _HAN.match(word):
            found.extend(word)
            found.extend(pairs(word))
        else:
            found.append(word)
    return found


def pairs(word: str) -> Iterable[str]:
    """Each two neighbouring characters of a run."""
    return (word[i : i + 2] for i in range(len(word) - 1))
