"""Topics on which a person can have one answer only: a new one takes the place of the old one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from perdure import text
from perdure.learn.basic import english_words
from perdure.learn.basic.subject import subject


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement says on such a topic."""

    topic: str
    value: str
    who: str = field(default="", compare=False)
    """Of the family; empty: the user."""
    sort: str = field(default="", compare=False)
    """The topic, whoever it is about."""


_NUMBER = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_WHEN = r"""(?:\ (?:in|since|on)\ (?:[\w\ ]+\ )?\d{4}(?:-[\d-]+)?)?
    (?:\ (?:now|again|currently|nowadays|these\ days|at\ the\ moment))?"""
_NO_PLACE = r"""(?:linux|windows|mac\w*|ios|iphone|android|python|java\w*|rust|go|kotlin|typescript
    |react|vue|kubernetes|docker|aws|azure|gcp|postgres\w*|mysql|mariadb|git\w*|slack|teams|notion|emacs
    |n?e?o?vim|marketing|sales|engineering|product|support|\w+day|chrome|firefox|gmail|outlook)"""
"""What one moves to without moving house."""
_NAME = r"(?-i:[^\W\d_a-z])(?:(?!\ with\ )[^,;])*?"
_ABOUT = r"(?:(?:the|an?)\ (?:[\w-]+\ ){0,3}?(?:of|in)\ )?"
_BESIDE = r"""(?:,\ (?:right|just|near|close|next|by|not\ far|opposite|outside|beside|above|on\ the
    |in\ the|at\ the|in\ an?|an?\ \w+\ from|(?:\w+\ )?minutes)\b[^;]*?)?"""
"""A place by its name, in what it is ("the east of"), and what it is beside."""
_OF_ANYBODY = (
    # "lives in Oslo", "lives in Kreuzberg, Berlin", "lives in a flat in Bergen, near the harbour",
    # "has moved to Bergen in October 2026"; not "moved to a new job"
    (
        "home",
        rf"""(?:lives?\ in|(?:is|are)\ (?:based|living)\ in
        |(?:has\ |have\ )?(?:moved|relocated)\ (?:from\ [^,;]+?\ )?to)
        \ (?!{_NO_PLACE}\b)(?P<value>{_ABOUT}{_NAME}(?:,\ {_ABOUT}{_NAME})*?{_BESIDE})
        (?:\ from\ [^,;]+?)?{_WHEN}""",
    ),
    ("age", rf"(?:is|turned)\ (?P<value>\d{{1,3}}|{_NUMBER})(?:\ years\ old)?{_WHEN}"),
    # "works at Spotify now"; not "works at home", "works for a bank in the summer"
    (
        "work",
        rf"""works\ (?:at|for)
        \ (?!home|night|week|the\ |\d|{_NUMBER}\b|least|noon|\w+day)
        (?P<value>(?:(?!\ (?:on|at|as|with|from|until|every|when)\ )[^,;])+?)
        (?:\ (?:now|again|these\ days))?""",
    ),
    ("work", rf"(?:is|became)\ (?P<value>unemployed|out\ of\ work|between\ jobs){_WHEN}"),
    ("work", r"(?:现在|目前|已经)*(?P<value>失业|待业|没有?工作)(?:在家)?了?"),
    (
        "profession",
        r"""works\ as\ (?P<value>(?:(?!\ (?:in|on|at|for|with|and)\ )[^,;])+?)
        (?:\ (?:now|again|these\ days))?""",
    ),
    ("commute", rf"commutes?\ by\ (?P<value>[\w-]+){_WHEN}"),
    # "is single", "got married to Bo in June 2026"
    (
        "partner",
        r"""(?:is|got|has\ got)\ (?P<value>single|married|engaged|divorced|widowed)
        (?:\ (?:to|since|now|again|recently|in\ (?:\w+\ )?\d{4})\b.*)?""",
    ),
    # "is vegetarian", "is pescatarian now", "eats meat again"
    (
        "diet",
        r"""(?:is\ (?:an?\ )?)?
        (?P<value>(?<=\ )(?:vegetarian|vegan|pescatarian|omnivore)|eats\ meat)
        (?:\ (?:now|again|these\ days))?""",
    ),
    # 住在杭州, 现在住在成都, 2026年10月搬到了成都, 在成都定居了; not 搬到楼上了
    (
        "home",
        r"""(?:\d{4}年(?:\d{1,2}月)?(?:\d{1,2}日)?)?(?:现在|目前|刚|仍然?|依然|一直)?(?:(?:家|住)在|搬[到去]了?)
        (?P<value>(?![楼家新老公隔这那])[^，,。；房楼层旁附]{2,12}?(?<![家部组])
        (?:，(?:离|就在|靠|紧挨)[^；]+?)?)了?""",
    ),
    ("home", r"在(?P<value>[^，,。；]{2,8})(?:定居|常住)了?"),
    ("age", r"(?:\d{4}年|今年|现在)?(?P<value>\d{1,3}|[一二三四五六七八九十两]{1,3})岁了?"),
    # 在谷歌上班; not 在家工作
    (
        "work",
        r"""(?:现在|目前|仍然?|依然|一直)?在(?P<value>(?![家外线那这国海])[^，,。；]{2,12}?
        (?<![前边旁部里上])(?<!行业|领域|方面)(?<!咖啡馆|咖啡厅|图书馆|办公室))(?:工作|上班|任职)了?""",
    ),
    # 坐地铁上班, 上班骑车
    (
        "commute",
        r"""(?:现在|平时|每天|都)*(?P<value>[坐搭乘骑开打][^，,。；班学]{1,6}?|走路|步行)
        (?:去|来)?(?:上下班|上班|上学|通勤)了?""",
    ),
    (
        "commute",
        r"(?:上下班|上班|上学|通勤)(?:都|主要|一般)?(?P<value>[坐搭乘骑开打走][^，,。；]{1,6}?)了?",
    ),
    ("partner", r"(?:\d{4}年(?:\d{1,2}月)?)?(?:现在)?(?P<value>单身|已婚|未婚|结婚|离婚|订婚)了?"),
    (
        "diet",
        r"(?:现在|又|重新|开始|也)*(?P<value>吃全?纯?素|吃素食|吃肉)了?",
    ),
    ("", r"(?P<topic>身高|体重|月薪|年薪|工资|血型)是?(?P<value>(?![比挺很较不])[^，,；]+)"),
)
_OF_THE_USER = (
    ("name", r"(?:name\ is|is\ called)\ (?P<value>[^,;]+)"),
    ("called", r"wants\ to\ be\ called\ (?P<value>[^,;]+)"),
    ("answers", rf"wants\ answers\ in\ (?P<value>(?:\w+\ )?{english_words.LANGUAGE})"),
    # "birthday is on 3 May", "favourite colour is blue"
    (
        "",
        r"""(?P<topic>birthday|hometown|home\ town|e-?mail(?:\ address)?|time\ ?zone|shoe\ size
        |(?:phone|mobile)(?:\ number)?|address|postcode|employer|job|profession|blood\ type
        |(?:favou?rite|preferred)\ [\w\ -]{1,30}?|budget\ for\ [\w\ -]{1,30}?)
        \ is\ (?!(?:about|by|because|when|tight|stressful|boring|hard|great|fun)\b)
        (?P<value>[^;]+)""",
    ),
    # "salary is 50,000", "bedtime is at ten"
    (
        "",
        r"""(?P<topic>salary|income|rent|mortgage|weight|height|bedtime|pension)
        \ is\ (?P<value>(?:about\ |around\ |at\ )?[$€£¥]?\d[^;]*)""",
    ),
    # "laptop is a ThinkPad", "flat is on the fifth floor": one thing is one thing, and in one place
    (
        "",
        r"""(?P<topic>(?!\w*(?:[^\W's]s|ed)\b|is\b)(?:the\ )?[\w'’-]+
        (?:\ (?!who|that|which|and)[\w'’-]+){0,3}?)
        \ is\ (?P<how>(?:an?|the|on|at|in|with|by|from))\ (?P<value>[^;]+)""",
    ),
    ("name", r"(?:名字是|名?叫)(?P<value>[^，,。；]{1,8})"),
    ("called", r"希望被叫[作做](?P<value>[^，,。；]{1,8})"),
    ("answers", r"用(?P<value>[^，,。；]{1,4}[文语話话])(?:来)?(?:回答|回复)"),
    (
        "",
        r"""(?P<topic>生日|老家|邮箱|电话|手机号|时区|鞋码|血型|职业|最喜欢的[^，,。；是]{1,8}
        |[^，,。；是]{0,6}预算)是(?!一?个)(?P<value>[^；]+(?<!的))""",
    ),
    # 电脑是 ThinkPad, 工位在三楼, 牙医预约是 2026年12月4日
    (
        "",
        r"""(?P<topic>[^，,。；是在有不]{0,6}(?:笔记本|电脑|手机|车|公司|单位|学校|工位|专业|微信号?|网名
        |英文名|母语|预约|会议|考试|面试|婚礼|手术|航班|比赛))(?P<how>[是在叫])(?P<value>[^；，,]+(?<!的))""",
    ),
)
_PLACES = re.compile(
    r"""(?:北京|上海|天津|重庆|广州|深圳|杭州|南京|苏州|成都|武汉|西安|长沙|郑州|青岛|厦门|福州|宁波
    |合肥|济南|大连|沈阳|哈尔滨|长春|昆明|贵阳|南宁|海口|三亚|兰州|银川|西宁|乌鲁木齐|拉萨|太原|石家庄
    |南昌|无锡|佛山|东莞|珠海|香港|澳门|台北|温州|[^，,]{1,6}[市省县区镇村国州])""",
    re.VERBOSE,
)
"""在杭州工作 names the place, 在谷歌工作 the employer."""
_DATE = re.compile(r"(?:the\ week\ of\ )?\d{4}(?:-|年)|\d{1,2}\ [A-Z][a-z]+$")


_PARTLY = re.compile(
    r"""\b(?:in|during|over)\ (?:the\ |their\ )?(?:\w+\ )?(?:week|weekend|morning|afternoon|evening
    |night|spring|summer|autumn|fall|winter|holiday|time)s?\b
    |\bon\ (?:the\ )?(?:week|holi|\w+)(?:day|end)s?\b|\bat\ (?:night|weekends)\b
    |\b(?:part[\ -]time|half|sometimes|mostly|temporarily)\b
    |周末|工作日|[周星期][一二三四五六日天]|早上|上午|中午|下午|晚上|夜[里间]|白天|[春夏秋冬][天季]|[寒暑]假|节假日
    |平时|业余|兼职|有时|偶尔|临时""",
    re.IGNORECASE | re.VERBOSE,
)
"""Says it of some days or hours: what holds on the others may be something else."""
_LONG_AGO = re.compile(
    r"(?:moved|relocated)\ to\ .*\ in\ \d{4}|\d{4}年(?:现在|目前|刚)?搬.*", re.IGNORECASE
)
"""A year without a month: what has just changed is told with its month, or with none."""
ALWAYS = frozenset({"home", "work", "profession", "commute"})
"""Topics of which a person can have one answer in winter and another one in summer."""
_FLOOR = re.compile(r"\bfloor\b|[\d一二三四五六七八九十]+[楼层]", re.IGNORECASE)
_PLAIN = re.compile(r"[a-z][^A-Z0-9@\u4e00-\u9fff]*")
"""Neither a name nor a number: "a bit slow" and "a gift" say more of what is a ThinkPad."""
_OF_TASTE = re.compile(
    r"favou?rite|preferred|budget|job|profession|employer|colour|color", re.IGNORECASE
)
"""What is often answered by a plain word."""


def _compiled(topics: Sequence[tuple[str, str]]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(text, re.IGNORECASE | re.VERBOSE)) for name, text in topics)


_ANYBODY, _USER = _compiled(_OF_ANYBODY), _compiled(_OF_THE_USER)


_FURTHER = re.compile(r"\b(?:also|additionally)\b", re.IGNORECASE)
"""Beside another answer: a second job, a second home."""
_NOW = re.compile(r"^(?:now|currently|still)\ ", re.IGNORECASE | re.VERBOSE)


def answer(statement: str) -> Answer | None:
    """The topic of a statement and what it says on it, if there can be only one such answer."""
    who, said = subject(text.normalise(statement, "space").rstrip(".。!！ "))
    said = _NOW.sub("", said)
    if _FURTHER.search(said):
        return None
    for topic, pattern in _ANYBODY if who else (*_ANYBODY, *_USER):
        if match := pattern.fullmatch(said):
            parts, value = match.groupdict(), match["value"]
            if topic in ALWAYS and (_PARTLY.search(said) or _LONG_AGO.fullmatch(said)):
                return None
            named = parts.get("topic") or topic
            sort = (who, named, parts.get("how") or "", _sort(topic, named, value))
            return Answer(_name(sort), text.normalise(value), who=who, sort=topic)
    return None


def _sort(topic: str, named: str, value: str) -> str:
    """What kind of answer it is: the meeting is on Friday and in the hall, a laptop is slow."""
    if topic == "work":
        return "place" if _PLACES.fullmatch(value) else ""
    if topic not in ("", "name"):
        return ""
    if _DATE.match(value):
        return "" if topic else "date"
    if _FLOOR.search(value):
        return "floor"
    if _PLACES.fullmatch(value):
        return "place"
    return "plain" if _PLAIN.fullmatch(value) and not _OF_TASTE.match(named) else ""


def _name(parts: Sequence[str]) -> str:
    return re.sub(r"\W", "", "".join(parts).casefold())
