"""Recognises secrets in a text: known formats, passwords in words, card and identity numbers."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from perdure.learn.identity import numbers
from perdure.learn.secret_words import Span, told
from perdure.text import visible

MASK = "•••"
"""Stands where a secret stood."""

_TELLING = 4  # signs; a shorter secret is too common to be known again by itself


def has_secret(text: str) -> bool:
    """Is there something that must never be stored? Full-width spellings count too."""
    return any(True for _ in spans(_plain(text)))


def values(said: Iterable[str]) -> frozenset[str]:
    """The secrets themselves, as they were told; a statement that has one has a secret."""
    whole = map(_plain, said)
    return frozenset(
        text[start:stop]
        for text in whole
        for start, stop in spans(text)
        if stop - start >= _TELLING
    )


def repeats(text: str, told: Collection[str]) -> bool:
    """Does the text say one of these secrets again, in whatever words?"""
    whole = _plain(text)
    return any(value in whole for value in told)


def _plain(text: str) -> str:
    """As a reader sees it: one form a character, and nothing hidden between."""
    return unicodedata.normalize("NFKC", visible(text))


def masked(text: str, told: Collection[str] = ()) -> str:
    """The text with every secret replaced by `MASK`, those that were told elsewhere too."""
    kept: list[str] = []
    end = 0
    again = (m.span() for value in told for m in re.finditer(re.escape(value), text))
    for start, stop in sorted([*spans(text), *again]):
        if start >= end:
            kept += text[end:start], MASK
        end = max(end, stop)
    return "".join([*kept, text[end:]])


def spans(text: str) -> Iterator[Span]:
    """Where the secrets of a text stand, in no order; they may overlap."""
    for pattern in (_FORMATS, _CONNECTION):
        yield from (match.span() for match in pattern.finditer(text))
    yield from told(text)
    for match in _DIGITS.finditer(text):
        if _is_card(re.sub(r"\D", "", match.group())):
            yield match.span()
    yield from numbers(text)
    for match in _TOKEN.finditer(text):
        if _is_random(match.group(), text[: match.start()]):
            yield match.span()


# ── formats that give themselves away ────────────────────────────────────────────────────────────

_FORMATS = re.compile(
    r"""
    \b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b                         # AWS access key
    | \bgh[opsur]_[A-Za-z0-9]{30,} | \bgithub_pat_\w{22,}            # GitHub
    | \bglpat-[\w-]{20,}                                            # GitLab
    | \bxox[abeoprs]-[\w-]{10,} | \bxapp-[\w-]{10,}                 # Slack
    | hooks\.slack\.com/services/[\w/]{20,}
    | \bAIza[\w-]{35} | \bya29\.[\w-]{20,} | \bGOCSPX-[\w-]{20,}     # Google
    | \bsk-(?:ant-|proj-|or-|svcacct-)?[\w-]{16,}                   # model providers
    | \b(?:gsk|xai|r8|hf|nvapi)[_-][A-Za-z0-9_-]{20,}
    | \b[prs]k_(?:live|test)_[A-Za-z0-9]{10,} | \bwhsec_\w{16,}      # Stripe
    | \bnpm_[A-Za-z0-9]{30,} | \bpypi-[\w-]{30,} | \bdop_v1_[0-9a-f]{40,}
    | \bSG\.[\w-]{16,}\.[\w-]{16,} | \bkey-[0-9a-f]{32}\b            # mail providers
    | \b\d{8,10}:[A-Za-z0-9_-]{35}\b                                # Telegram
    | \bLTAI[A-Za-z0-9]{12,24}\b | \bAKID[A-Za-z0-9]{32}\b           # Aliyun, Tencent
    | \beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}                        # JWT
    | -----BEGIN[ A-Z]*PRIVATE\ KEY-----.*?(?:-----END[ A-Z]*-----|\Z)
    | \b[Bb]earer\s+[\w.~+/-]{20,}=*
    """,
    re.VERBOSE | re.DOTALL,
)
_CONNECTION = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]*:[^\s/@]{3,}@[^\s/]+", re.IGNORECASE)


# ── card numbers ──────────────────────────────────────────────────────────────────────

_DIGITS = re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.]\d|\d)")
_CARD_LENGTHS = {"2": {16}, "3": {14, 15}, "4": {13, 16, 19}, "5": {16}, "6": {16, 17, 18, 19}}


def _is_card(digits: str) -> bool:
    """A card number: the length of a brand, and Luhn's checksum (ISO/IEC 7812-1)."""
    if len(digits) not in _CARD_LENGTHS.get(digits[0], ()) or len(set(digits)) == 1:
        return False
    doubled = (int(d) * 2 for d in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(d - 9 * (d > 9) for d in doubled)) % 10 == 0  # noqa: PLR2004 - digits


# ── tokens of no known format ────────────────────────────────────────────────────────────────────

_TOKEN = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_=-]{24,}(?![A-Za-z0-9+/_=-])")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]{32,}", re.IGNORECASE)
_WORDLIKE = re.compile(r"[A-Z]?[a-z]{3,}")
_NAMES_A_DIGEST = re.compile(
    r"\b(?:commit|sha|sha-?\d+|hash|digest|revision|checksum|md5|https?:\S*)\W*(?:is\s|of\s)?\W*$",
    re.IGNORECASE,
)
_BITS_A_SIGN = 3.5  # of a random base64 token of 24 signs; words stay below
_WORDS_SHARE = 0.5  # a token of which so much is words is a name, a path or an identifier


def _is_random(token: str, before: str) -> bool:
    """Does it look drawn by lot, as keys are, and not like a name, a path or a digest?"""
    if _UUID.fullmatch(token) or _NAMES_A_DIGEST.search(before[-60:]):
        return False
    if _HEX.fullmatch(token):
        return not token.isdecimal()
    classes = (str.isdecimal, str.isupper, str.islower)
    if not all(any(map(kind, token)) for kind in classes) or before.endswith((".", "~")):
        return False
    words = sum(len(match.group()) for match in _WORDLIKE.finditer(token))
    return words < _WORDS_SHARE * len(token) and _entropy(token) >= _BITS_A_SIGN


def _entropy(token: str) -> float:
    """Bits a sign, by the frequencies of the signs (Shannon)."""
    counts = Counter(token).values()
    return -sum(n / len(token) * math.log2(n / len(token)) for n in counts)
