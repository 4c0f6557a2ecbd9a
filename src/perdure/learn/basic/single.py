"""Topics on which a person can have one answer only: a new one takes the place of the old one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from perdure import text
from perdure.types import Candidate, MemoryItem


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement says on such a topic."""

    topic: str
    value: str


_WHEN = r"(?:\ (?:in|since|on)\ .*|\ (?:now|again|these\ days))?"
_NO_PLACE = r"""(?:linux|windows|mac\w*|ios|iphone|android|python|java\w*|rust|go|kotlin|typescript
    |react|vue|kubernetes|docker|aws|azure|gcp|postgres\w*|mysql|mariadb|git\w*|slack|teams|notion|emacs
    |n?e?o?vim|marketing|sales|engineering|product|support|\w+day|chrome|firefox|gmail|outlook)"""
"""What one moves to without moving house."""
_ENGLISH: tuple[tuple[str, str], ...] = (
    # "lives in Oslo", "has moved to Bergen in October 2026"; not "moved to a new job"
    (
        "home",
        rf"""(?:lives\ in|(?:has\ )?(?:moved|relocated)\ to)
        \ (?!{_NO_PLACE}\b)(?P<value>(?-i:[^\W\d_a-z])(?:(?!\ with\ )[^,;])*?){_WHEN}""",
    ),
    ("name", r"(?:name\ is|is\ called)\ (?P<value>[^,;]+)"),
    ("called", r"wants\ to\ be\ called\ (?P<value>[^,;]+)"),
    ("answers", r"wants\ answers\ in\ (?P<value>[^,;]+)"),
    ("age", r"is\ (?P<value>\d{1,3})(?:\ years\ old)?"),
    # "is single", "got married to Bo in June 2026"
    (
        "partner",
        r"(?:is|got|has\ got)\ (?P<value>single|married|engaged|divorced|widowed)(?:\ .*)?",
    ),
    # "is vegetarian", "is pescatarian now"
    (
        "diet",
        r"is\ (?:an?\ )?(?P<value>vegetarian|vegan|pescatarian|omnivore)(?:\ (?:now|again))?",
    ),
    # "birthday is on 3 May", "favourite colour is blue"
    (
        "",
        r"""(?P<topic>birthday|hometown|home\ town|e-?mail(?:\ address)?|time\ ?zone|shoe\ size
        |(?:phone|mobile)(?:\ number)?|address|postcode|employer|job|profession|blood\ type
        |(?:favou?rite|preferred)\ [\w\ -]{1,30}?|budget\ for\ [\w\ -]{1,30}?)
        \ is\ (?P<value>[^;]+)""",
    ),
)
_CHINESE: tuple[tuple[str, str], ...] = (
    # 住在杭州, 现在住在成都, 2026年10月搬到了成都, 在成都定居了; not 搬到楼上了
    (
        "home",
        r"""(?:\d{4}年(?:\d{1,2}月)?(?:\d{1,2}日)?)?(?:现在|目前|刚)?(?:(?:家|住)在|搬[到去]了?)
        (?P<value>(?![楼家新老公隔这那])[^，,。；房]{2,12}?)了?""",
    ),
    ("home", r"在(?P<value>[^，,。；]{2,8})(?:定居|常住)了?"),
    ("name", r"(?:名字是|名?叫)(?P<value>[^，,。；]{1,8})"),
    ("called", r"希望被叫[作做](?P<value>[^，,。；]{1,8})"),
    ("answers", r"用(?P<value>[^，,。；]{1,4}[文语話话])(?:来)?(?:回答|回复)"),
    ("age", r"(?:\d{4}年|今年)?(?P<value>\d{1,3})岁"),
    ("partner", r"(?:\d{4}年(?:\d{1,2}月)?)?(?:现在)?(?P<value>单身|已婚|未婚|结婚|离婚|订婚)了?"),
    (
        "",
        r"""(?P<topic>生日|老家|邮箱|电话|手机号|时区|鞋码|血型|职业|最喜欢的[^，,。；是]{1,8}
        |[^，,。；是]{0,6}预算)是(?P<value>[^；]+)""",
    ),
)
_TOPICS = tuple(
    (topic, re.compile(pattern, re.IGNORECASE | re.VERBOSE))
    for topic, pattern in (*_ENGLISH, *_CHINESE)
)


def answer(statement: str) -> Answer | None:
    """The topic of a statement and what it says on it, if a person has only one such answer."""
    said = text.normalise(statement, "space").rstrip(".。!！ ")
    for topic, pattern in _TOPICS:
        if match := pattern.fullmatch(said):
            named = match.groupdict().get("topic") or topic
            return Answer(re.sub(r"\W", "", named.casefold()), text.normalise(match["value"]))
    return None


def same_question(candidate: Candidate, known: Sequence[MemoryItem]) -> MemoryItem | None:
    """The one memory that answers the same question otherwise; None if there are several."""
    new = answer(candidate.content)
    if new is None:
        return None
    rows = [(item, answer(item.content)) for item in known if item.level is candidate.level]
    on_topic = [(item, old) for item, old in rows if old is not None and old.topic == new.topic]
    if len(on_topic) != 1:
        return None
    item, old = on_topic[0]
    return item if old.value != new.value else None


def superseded(candidate: Candidate, known: Sequence[MemoryItem]) -> MemoryItem | None:
    """The memory whose place the statement takes, if that is sure and no person wrote it."""
    item = same_question(candidate, known)
    return None if item is None or item.protected else item
