"""Recognises numbers that stand for one person or account, by checksum and the words near."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date

from stdnum import iban
from stdnum.au import tfn
from stdnum.be import nn
from stdnum.br import cpf
from stdnum.ca import sin
from stdnum.ch import ssn as ahv
from stdnum.de import idnr
from stdnum.dk import cpr
from stdnum.es import dni, nie
from stdnum.fi import hetu
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.in_ import aadhaar, pan
from stdnum.it import codicefiscale
from stdnum.kr import rrn
from stdnum.mx import curp
from stdnum.nl import bsn
from stdnum.no import fodselsnummer
from stdnum.pl import pesel
from stdnum.se import personnummer
from stdnum.tr import tckimlik
from stdnum.us import ssn

from perdure.learn.secret_words import Span

_BEFORE, _BEHIND = 60, 30  # characters around a number in which a word may say what it is


@dataclass(frozen=True, slots=True)
class _Number:
    """One country's number: how it is written, its checksum, and the words that name it."""

    pattern: re.Pattern[str]
    valid: Callable[[str], bool]
    """The checksum, and what else a number of that kind must be."""
    named: re.Pattern[str] | None
    """None: written like this it is nothing else. Otherwise one of these words must be near."""


def numbers(said: str) -> Iterator[Span]:
    """Where identity and account numbers stand, in no order; they may overlap."""
    for kind in _NUMBERS:
        for match in kind.pattern.finditer(said):
            if (kind.named is None or _near(kind.named, said, match)) and kind.valid(match.group()):
                yield match.span()


def _near(named: re.Pattern[str], said: str, match: re.Match[str]) -> bool:
    """Does a word beside the number say what it is?"""
    before = said[max(0, match.start() - _BEFORE) : match.start()]
    behind = said[match.end() : match.end() + _BEHIND]
    return any(map(named.search, (before, behind)))


# ── checksums that python-stdnum has not ─────────────────────────────────────────────────────────

_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_TAIWAN = "ABCDEFGHJKLMNPQRSTUVXYWZIO"  # A stands for 10, B for 11 …
_SINGAPORE = {"S": "JZIHGFEDCBA", "T": "GFEDCBAJZIH", "F": "XWUTRQPNMLK", "G": "RQPNMLKXWUT"}
_SINGAPORE_WEIGHTS = (2, 7, 6, 5, 4, 3, 2)


def _chinese(number: str) -> bool:
    """A resident identity number: a day of birth, and the checksum of GB 11643."""
    try:
        date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
    except ValueError:
        return False
    total = sum(int(d) * weight for d, weight in zip(number, _ID_WEIGHTS, strict=False))
    return "10X98765432"[total % 11] == number[17].upper()


def _hong_kong(number: str) -> bool:
    """One or two letters, six digits, and a check digit in parentheses."""
    signs = re.sub(r"\W", "", number).upper().rjust(9)
    values = [36 if sign == " " else int(sign, 36) for sign in signs[:-1]]
    total = sum(weight * value for weight, value in zip(range(9, 1, -1), values, strict=True))
    return "0A987654321"[total % 11] == signs[-1]


def _taiwanese(number: str) -> bool:
    """A letter of the place, and nine digits of which the last is the check."""
    tens, ones = divmod(_TAIWAN.index(number[0].upper()) + 10, 10)
    digits = [tens, ones, *map(int, number[1:])]
    weights = (1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1)
    return sum(d * weight for d, weight in zip(digits, weights, strict=True)) % 10 == 0


def _singaporean(number: str) -> bool:
    """NRIC or FIN: a letter of the century, seven digits, a check letter."""
    first, last = number[0].upper(), number[-1].upper()
    digits = map(int, number[1:-1])
    total = sum(d * weight for d, weight in zip(digits, _SINGAPORE_WEIGHTS, strict=True))
    return _SINGAPORE[first][total % 11] == last


def _british(number: str) -> bool:
    """A national insurance number has no checksum, only letters that are not given out."""
    first = re.sub(r"\s", "", number)[:2].upper()
    return first not in {"BG", "GB", "NK", "KN", "TN", "NT", "ZZ"}


# ── what is known, and how it is written ─────────────────────────────────────────────────────────

_ANY = (
    r"national\s(?:id|identity|identification|insurance)|(?:id|identity|identification)\s"
    r"(?:card|number|no\b)|\bid(?:\sis|:)|personal\s(?:number|code|id)|social\s(?:security|insurance)"
    r"|tax\s?(?:id|number|file|payer)|taxpayer|resident|\bssn\b|身份证|身分證|身份證|证件|證件|税号|稅號|社保|社会安全|居留"
)


def _number(
    pattern: str, valid: Callable[[str], bool], named: str | None = None, *, bare: bool = False
) -> _Number:
    """A kind of number; unless ``bare``, a word must name it."""
    either = f"{_ANY}|{named}" if named else _ANY
    return _Number(
        re.compile(rf"(?<![\w.])(?:{pattern})(?!\w|[.-]\d)", re.IGNORECASE | re.ASCII),
        valid,
        None if bare else re.compile(either, re.IGNORECASE | re.ASCII),
    )


_NUMBERS = (
    # Written like this, it is nothing else.
    _number(r"\d{17}[0-9X]", _chinese, bare=True),
    _number(
        r"[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?", iban.is_valid, bare=True
    ),
    _number(r"[A-Z]{6}[0-9LMNP-V]{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z]", codicefiscale.is_valid, bare=True),
    _number(r"[A-Z]{4}\d{6}[HM][A-Z]{5}[0-9A-Z]\d", curp.is_valid, bare=True),
    _number(
        r"[12][ ]?\d{2}[ ]?[01]\d[ ]?(?:\d{2}|2[AB])[ ]?\d{3}[ ]?\d{3}[ ]?\d{2}",
        nir.is_valid,
        bare=True,
    ),
    _number(
        r"\d{6}[+A-FU-Y-]\d{3}[0-9A-Y]", hetu.is_valid, r"het|henkil|personbeteckning", bare=True
    ),
    _number(r"756\.\d{4}\.\d{4}\.\d{2}", ahv.is_valid, bare=True),
    _number(r"\d{3}\.\d{3}\.\d{3}-\d{2}", cpf.is_valid, bare=True),
    _number(r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}", nn.is_valid, bare=True),
    _number(r"[A-Z]{1,2}\d{6}\([0-9A]\)", _hong_kong, bare=True),
    _number(r"[STFG]\d{7}[A-Z]", _singaporean, bare=True),
    _number(r"(?:19|20)\d{6}-\d{4}", personnummer.is_valid, bare=True),
    _number(r"\d{6}-[1-8]\d{6}", rrn.is_valid, bare=True),
    _number(r"[XYZ][ -]?\d{7}[ -]?[A-Z]", nie.is_valid, bare=True),
    # Anything could be written like this: a word must say what it is.
    _number(r"\d{3}[ -]?\d{2}[ -]?\d{4}", ssn.is_valid),
    _number(
        r"\d{9}|\d{3}[ -]\d{3}[ -]\d{3}|\d{4}[ .]\d{2}[ .]\d{3}",
        bsn.is_valid,
        r"\bbsn\b|burgerservice",
    ),
    _number(r"\d{8}[ -]?[A-Z]", dni.is_valid, r"\bdni\b|\bnif\b"),
    _number(r"\d{2}[ ]?\d{3}[ ]?\d{3}[ ]?\d{3}", idnr.is_valid, r"steuer|\bidnr\b|\btin\b"),
    _number(r"\d{11}", pesel.is_valid, r"pesel"),
    _number(r"\d{6}[-+]?\d{4}", personnummer.is_valid, r"person-?n(?:umme)?r"),
    _number(r"\d{6}[ -]?\d{5}", fodselsnummer.is_valid, r"f[øo]dselsn|person-?n(?:umme)?r"),
    _number(r"\d{6}[ -]?\d{4}", cpr.is_valid, r"\bcpr\b"),
    _number(
        r"[A-CEGHJ-PR-TW-Z]{2}(?:[ ]?\d{2}){3}[ ]?[A-D]", _british, r"\bnino\b|\bni\s(?:number|no)"
    ),
    _number(r"\d{3}[ -]?\d{3}[ -]?\d{4}", nhs.is_valid, r"\bnhs\b"),
    _number(r"\d{4}[ -]?\d{4}[ -]?\d{4}", aadhaar.is_valid, r"aadha?ar|uidai|आधार"),
    _number(r"[A-Z]{5}\d{4}[A-Z]", pan.is_valid, r"\bpan\b"),
    _number(r"[A-Z]{1,2}\d{6}[0-9A]", _hong_kong, r"\bhkid\b|hong\skong\sid"),
    _number(r"[A-Z][1289]\d{8}", _taiwanese, r"taiwan(?:ese)?\sid|統一編號"),
    _number(r"\d{11}", cpf.is_valid, r"\bcpf\b"),
    _number(r"\d{11}", tckimlik.is_valid, r"kimlik|\btckn?\b"),
    _number(r"\d{3}[ -]?\d{3}[ -]?\d{3}", sin.is_valid, r"(?-i:\bSIN\b)"),
    _number(r"\d{3}[ ]?\d{3}[ ]?\d{3}", tfn.is_valid, r"\btfn\b"),
)
