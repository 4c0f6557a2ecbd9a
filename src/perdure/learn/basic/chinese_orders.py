"""What a Chinese speaker wants the assistant to do from now on, and what to remember."""

from __future__ import annotations

from datetime import date

import regex

from perdure.learn.basic.chinese_days import CHINESE_DAYS
from perdure.learn.basic.chinese_wording import VOCABULARY, neutral, trimmed, without_me
from perdure.learn.basic.dates import Tense, resolve
from perdure.learn.basic.rules import Statement
from perdure.types import Kind

_re = VOCABULARY.exact

ORDERS: tuple[tuple[regex.Pattern[str], Kind, str], ...] = (
    # 叫我小林就行
    (
        _re(
            r"^(请|就|可以|以后|你|大家都?|都)*(叫|称呼|喊)我(?P<x>(?!起|的|一声|什么|回)[^，]{1,8}?)"
            r"(就行|就好|就可以|吧|即可|好了)*$"
        ),
        Kind.PREFERENCE,
        "希望被叫作{x}",
    ),
    # 用中文回答我, 以后都用英文回复; not 用中文写
    (
        _re(
            r"^(?=.*(我|{FROM_NOW_ON}|都))(?P<x>(请|麻烦|{FROM_NOW_ON}|都|，|只)*用\S{1,4}[文语话]"
            r"{ANSWER}\S*)$"
        ),
        Kind.PREFERENCE,
        "{x}",
    ),
    # 不要安排早上十点前的会议; not 这次不要安排
    (
        _re(
            r"^(?!.*{ONCE})(?P<x>(跟我说话|跟我聊天|回答|回复|写代码)?{FROM_NOW_ON}?(请|麻烦)?(不要|别|请勿|不许|禁止|避免|少)[^，]{0,10}?"
            r"{LASTING_ORDER}.*)$"
        ),
        Kind.CONSTRAINT,
        "{x}",
    ),
    # 报价一律要含税, 以后回复简短一点: any order that says it lasts
    (
        _re(
            r"^(?!.*({NO_ORDER}|{ONCE}))(?!({LEAD})?{SELF}(?!们?的))"
            r"(?P<x>[^，]{0,10}{FROM_NOW_ON}[^，]{2,}.*)$"
        ),
        Kind.PREFERENCE,
        "{x}",
    ),
    # 回复简短一点
    (
        _re(
            r"^(?!.*{ONCE})(?P<x>(回答|回复|答案)(请|都|尽量|要)*"
            r"(简短|简洁|简单|详细|口语|正式).*)$"
        ),
        Kind.PREFERENCE,
        "{x}",
    ),
    # 回答的时候先给结论, 每次回答都要给出处
    (
        _re(
            r"^(?!.*{ONCE})(?P<x>(每次)?{SERVICE}我?(的时候|时|都要?|一律|请|之前|前)(?!了|我)[^，]{2,}.*)$"
        ),
        Kind.PREFERENCE,
        "{x}",
    ),
    # 联系我打 555
    (
        _re(
            r"^(可以)?(联系我|找我)(请|可以|就)?[打发用加走]?[^\d@，]{0,6}?"
            r"(?P<x>\+?\d[\d -]{5,}\d|[\w.+-]+@[\w.-]+\w)"
        ),
        Kind.FACT,
        "联系方式：{x}",
    ),
)
STRICT = _re(r"{STRICT}")
POLITE = _re(
    # 从现在起都, at the beginning
    r"^(请|以后|今后|往后|从现在起|从现在开始|从今天起|从今天开始|从今以后|从此)+[，,]?(都|请)*"
    # 请, 给我, 回答我, 跟我
    r"|请|麻烦你?|给我|(?<=回答|回复|答复)我|[跟和与]我"
)


def ordered(text: str) -> Statement | None:
    """What the person wants the assistant to do from now on, or None."""
    for pattern, kind, wording in ORDERS:
        match = pattern.match(text)
        if match is None:
            continue
        said = wording.format(**match.groupdict())
        rule = kind is Kind.PREFERENCE and STRICT.search(said)
        content = neutral(POLITE.sub("", said))
        return Statement(content=content, kind=Kind.CONSTRAINT if rule else kind, order=True)
    return None


TO_YOU = _re(r"^(?!.*我).*[你您]|^[^，]{0,4}[这那](样|个|点|么)[^，]{0,2}$")
TO_DO = _re(r"^(要|去|买|带|交|打|给|提醒|叫|做|订|约|还|寄|取|查|回)")


def asked(text: str, today: date) -> Statement | None:
    """What the person asked to remember, as near to the words as can be; not advice to 你."""
    if TO_YOU.search(text):
        return None
    dated = resolve(trimmed(text), today, Tense.AHEAD, CHINESE_DAYS)
    until = dated.last if dated.last and dated.last > today else None
    kind = Kind.TODO_HINT if until or TO_DO.match(text) else Kind.FACT
    return Statement(content=neutral(without_me(dated.text)), kind=kind, until=until)
