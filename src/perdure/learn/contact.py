"""Recognises how a person is reached: phone numbers, e-mail addresses and where somebody lives."""

from __future__ import annotations

import re

from perdure import text
from perdure.policy import ScreenPolicy


def level(said: str, policy: ScreenPolicy) -> int:
    """How sensitive it is, by the ways to reach somebody that it names. 0: it names none."""
    plain = text.normalise(text.visible(said), "space")
    found = (
        (policy.phone, _PHONE),
        (policy.email, _EMAIL),
        (policy.address, _ADDRESS),
    )
    return max((worth for worth, pattern in found if pattern.search(plain)), default=0)


_PHONE = re.compile(
    r"""
    (?<![\w.+])\+[1-9]\d{0,2}[ .-]?(?:\(0?\d{1,4}\)[ .-]?)?\d(?:[ .-]?\d){5,12}(?!\w)
    | (?<![\w-])\(\d{3}\)[ ]?\d{3}[ .-]\d{4}(?!\w)                          # (415) 555-0132
    | (?<![\w.,-])1[3-9]\d(?:[ -]?\d{4}){2}(?![\w-])                        # 138 1234 5678
    | \b(?:phone|telephone|mobile|cell(?:phone)?|landline|tel|whats\s?app)\b[^.!?\n\d+]{0,30}?
      (?:\(?\d\)?[ /.-]?){6,14}\d(?!\w)
    | \b(?:call|text|ring|reach)\s(?:me|us|him|her|them)\b[^.!?\n\d+]{0,15}?
      \d(?:[ .-]?\d){6,13}(?!\w)
    | (?:电话|電話|手机|手機|座机|联系方式|致电|拨打|打给)
      [^。！？\n\d]{0,12}?(?:\(?\d\)?[ -]?){6,13}\d(?!\d)
    | (?<![\w-])0\d{2,3}-\d{7,8}(?![\w-])                                   # 010-62345678
    """,
    re.IGNORECASE | re.VERBOSE,
)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,5}[^\W\d_]{2,24}(?![\w-])")
_ADDRESS = re.compile(
    r"""
    \b\d{1,5}[A-Za-z]?\s(?:[NSEW]\.?\s)?(?:[A-Z][\w'’.-]*\s){1,3}
      (?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Boulevard|Blvd|Court|Ct|Place|Pl|Square|Sq|Terrace
        |Crescent|Highway|Way|Close|Gardens|Row|Mews)\b(?!\s[a-z]+ing\b)
    | \b(?:[Aa]ddress(?:\sis|:)|(?:[Ll]ives?|[Ll]iving|[Rr]esides?)\sat)\s[^@.!?\n]{0,40}?
      (?:[A-Z][\w'’-]*\s\d{1,4}|\d{1,5}[a-z]?\s[A-Z])
    | [\u4e00-\u9fff]{1,12}(?:路|街|大道|巷|弄|胡同|里)\s?\d{1,5}\s?(?:号|號|弄)
    | [\u4e00-\u9fff]{2,12}(?:小区|花园|公寓|新村|家园|苑)\s?\d{1,4}\s?(?:号|號|栋|幢|座|单元)
    | (?:住址|地址|家住)[是为：:\s]{0,3}[\u4e00-\u9fff]{2,12}(?:省|市|区|區|县|路|街|道|镇|村)
      [\u4e00-\u9fff]{0,12}\s?\d
    """,
    re.VERBOSE,
)
