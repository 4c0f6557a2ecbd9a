"""Chinese sentences: their clauses, and what speaks against keeping one."""

from __future__ import annotations

import regex

from perdure.learn.basic.chinese_days import CHINESE_DAYS
from perdure.learn.basic.chinese_orders import asked
from perdure.learn.basic.chinese_rules import known, statement
from perdure.learn.basic.chinese_wording import VOCABULARY
from perdure.learn.basic.own_words import HOLE
from perdure.learn.basic.rules import Clause, Grammar, first_reason
from perdure.types import Reason

_re = VOCABULARY.exact

# ── from a sentence to clauses ───────────────────────────────────────────────────────────────────

# 另外，我在面包店上班: beside what was said before, not instead of it.
FURTHER = _re(
    r"(?<![^\s，,。；;])(另外|此外|除此之外|除此以外|同时)[，,]?\s*(?P<who>{SELF})(?=(住|[家]?在|做|当|坐|骑|兼))"
)
OPENER = _re(
    r"^[\s，,。.！!、：:～~\"“]*({OPENER}[呀啊哦吧呢]?([\s，,。.！!、：:～~]+|(?=请|我))|{JOINT})*"
)
ASKED = _re(
    r"^(请|麻烦你?|帮我|你|一定要?|务必|要|好好)*{REMEMBER}(?!没|吗|不)(了|哦|啊|一下|这一?点|这件事)*"
    r"[\s，,：:、]*"
)
BOUNDARY = _re(
    r"\s*[，,；;。！!]+\s*|\s*[：:]\s*(?=我|咱)|\s*——?\s*|\s*(?=(但是|不过|而且|所以)[^，,]{3})"
)
# Goes on with what was said before it: 养了一只猫，叫豆豆; 是六月，不是七月.
GOES_ON = _re(
    r"^(还有|叫|名叫|名字叫|名字是|今年|就在|装的|系统是|主要|大概|离|尤其是?|特别是|而不是|不是|不用|包括|比如|因为"
    r"|是(?!不是)|[一两三四五六七八九十\d]+[个只条岁楼口])"
)
# Has a subject of its own, or is an order.
OWN_SUBJECT = _re(
    r"^({LEAD})?({SELF}|{PRONOUN}|{YOU}|{KIN}|{STRANGER}|这|那|谁|请|帮|别|不要|禁止|麻烦|{FROM_NOW_ON}"
    r"|叫我|如果|要是|假如|用.{1,3}[文语]|有没有|怎么|什么|为什么|能不能|可以|推荐|注意|回复|回答)"
)
# Takes no subject from the clause before: it has its own, speaks of me, or is a proposal.
STANDS_ALONE = _re(rf"{OWN_SUBJECT.pattern}|{{SELF}}|吧[。！!]?$")
# The subject that a clause hands on: 我, 我爸妈, 这个项目.
SUBJECT = _re(
    r"^({LEAD})?(?P<who>({SELF}(这个|的)?|这个|本|该)[^，我]{0,5}?{PROJECT}"
    r"|{SELF}(家?的?({ANOTHER}|{WHICH})?{KIN}|家{BY_AGE})?)"
)
# Speaks of somebody else, or brings somebody in at its end: who goes on is not known.
NOT_ME = _re(
    r"^({LEAD})?({PRONOUN}|({SELF}家?的?(一个)?|有个|有一个|一个)(最好的|[大高初中小学老好新]{1,2})?{STRANGER}"
    r"|{SELF}.{0,4}?(有|认识|遇到|碰到)了?一?[个位名][^，]{0,4}({KIN}|{STRANGER}|人)$"
    r"|{SELF}家?里?养了?[一两三四几\d][^，]+$)"
)
# 我大儿子9岁，小儿子5岁; not 我有个同事，大儿子9岁.
MY_CHILD = _re(r"^({SELF}|{SELF}(家?的?{WHICH}{KIN}|家{BY_AGE}))$")
NEXT_CHILD = _re(r"^({WHICH}{KIN}|{BY_AGE})")
OF_ANOTHER = _re(r"{STRANGER}|{PRONOUN}")
SELF = _re(r"{SELF}")


def clauses(sentence: str) -> list[Clause]:
    """The clauses of one sentence; one without a subject has the subject of the clause before."""
    text, explicit = _asked(FURTHER.sub(r"\g<who>另外", sentence.strip()))
    reason = first_reason(text, OF_SENTENCE)
    parts = [part for part in BOUNDARY.split(text) if part and part.strip()]
    if reason is None and text.endswith(("?", "？")) and not (parts and ASKS.search(parts[-1])):
        reason = Reason.QUESTION
    found: list[Clause] = []
    subject, hands_on = "", True
    for part in parts:
        said, wanted = _asked(part)
        explicit = explicit or wanted
        if not said:
            continue
        if subject and GOES_ON.match(said) and not ASKS.search(said):
            said = f"{found.pop().text}，{said}"
        elif MY_CHILD.match(subject) and NEXT_CHILD.match(said):
            said = said if OF_ANOTHER.search(found[-1].text) else f"我家{said}"
        elif subject and hands_on and not STANDS_ALONE.search(said):
            said = subject + said
        who = SUBJECT.match(said)
        subject = who["who"] if who else ""
        hands_on = not NOT_ME.match(said)
        found.append(Clause(text=said, explicit=explicit, reason=reason))
    return found


def _asked(text: str) -> tuple[str, bool]:
    """The text without greetings and without 记住, and whether that was there."""
    text = OPENER.sub("", text)
    wish = ASKED.match(text)
    return (OPENER.sub("", text[wish.end() :]), True) if wish else (text, False)


# ── what speaks against a clause ─────────────────────────────────────────────────────────────────

ASKS = _re(
    r"[?？]\s*$|(吗|来着|没有?呢)[啊呀]?[。.]?$|(?<![怎那这])么[啊呀]?$"
    r"|(?<!没|不管|无论)(什么(?!都)|怎么(?!都)|怎样|怎么样|哪[里儿个些家位]|谁(?!都)|几点|几个|多少|为什么|为啥|咋)"
    r"|是不是|能不能|可不可以|要不要|有没有|会不会|该不该|好不好|行不行|对不对|^(请问|想问)|该.{1,12}还是"
)
# Against the whole sentence, whatever its clauses say.
OF_SENTENCE = (
    # 如果我住在卑尔根; an order under a condition stands: 如果订会议，不要早于十点
    (
        Reason.HYPOTHETICAL,
        _re(r"{IF}(?!.*(不要|别|务必|一律|必须))|就好了[。！]?$|假装|扮演"),
    ),
    # 我老板说我不行
    (Reason.NOT_ABOUT_USER, _re(r"^({OTHER}|\p{Lu}\p{Ll}+)[^，,]{0,6}{SAYING}")),
    # 写一封求职信，说我有十年经验
    (
        Reason.PASSING,
        _re(r"^(请|麻烦)?(帮我|给我|替我)?{TASK}[一个成下这首封篇段份].*(说|讲|关于|内容)"),
    ),
)
# Against one clause.
OF_CLAUSE = (
    (Reason.QUESTION, ASKS),
    (Reason.QUOTED, regex.compile(HOLE)),
    (Reason.HYPOTHETICAL, _re(r"(?<!尽)可能|{DOUBT}|{IF}")),
    # past and over: 我以前住在奥斯陆
    (
        Reason.PASSING,
        _re(r"以前(?!一样)|过去(?!了)|{LONG_AGO}|[住养用拉弹学吃]过(?!敏)"),
    ),
    # 我本来打算去的
    (Reason.PASSING, _re(r"(本来|原先|之前|当初)就?(打算|想|要|准备|计划)")),
    # 我没说我吃素, 我差点搬到上海: it is not so
    (Reason.PASSING, _re(r"{SELF}(又|可|从来|从|并)?(没有?|不)(说过?|觉得|认为|是说)|{NOT_QUITE}")),
    # 我今天好累: of this moment, unless something happened that lasts
    (Reason.PASSING, _re(r"^(?!.*{EVENT}).*({MOMENT}|今天(?!起|开始))")),
    # 帮我改一下, 我在试着, 一直报错: a task of this conversation
    (
        Reason.PASSING,
        _re(
            r"帮我|替我|让你|请你(?!{FROM_NOW_ON})|{SELF}(一直|正|还)?在[试写改调找看做]|报错|报空"
        ),
    ),
    # 我要给同事写首诗, 我想让你总结
    (
        Reason.PASSING,
        _re(
            r"{SELF}(现在)?(需要|想要?)(?!{GOAL})[一个你给把知道问看找让写做听]|{SELF}要[给一个把]"
        ),
    ),
    # 我觉得最后一季很烂: an opinion of the moment
    (Reason.PASSING, _re(r"^{SELF}{OPINION}")),
)
# Somebody else is the subject: 我朋友住在, 小王喜欢, Bo 喜欢; but not 我男朋友.
OF_OTHER = _re(
    r"^(?!它|{SELF}?家?的?{KIN}(?!的))({OTHER}|[小老阿]\p{Han}(?=[喜不住在是爱吃])|\p{Lu}\p{Ll}+\s*(?=\p{Han}))"
    r"(?P<said>.+)$"
)


def objection(clause: str) -> Reason | None:
    """The first reason to keep nothing of this clause, or None."""
    reason = first_reason(clause, OF_CLAUSE)
    other = OF_OTHER.match(clause)
    if reason is None and other and known(other["said"].strip()):
        return Reason.NOT_ABOUT_USER
    return reason


# ── together ─────────────────────────────────────────────────────────────────────────────────────

# 我 and soon after it a verb that lasts: what could be taken for a statement.
PERSONAL = _re(
    r"{SELF}[^，]{0,8}?({LIKE}|{DIET}|{LIMIT}|{EVENT}|住|叫|养|[有开][一两三四五了]|是[一名个位]|上班|工作|搬"
    r"|买[了辆套台]|不吃|戒|拉过|当[个一过])"
)
HEALTH_AND_MONEY = _re(r"{HEALTH_AND_MONEY}")
# A word for it and something that could be one; an address; a long number that is no date.
CONTACT = _re(r"{CONTACT}.*[\d@]|[\w.+-]+@[\w-]+\.\w|(?<![\d-])(?!\d{4}-\d\d-)\+?\d[\d -]{8,}\d")


def personal(text: str) -> bool:
    """Could it be taken for a statement about the person?"""
    return PERSONAL.search(text) is not None


def sensitivity(content: str) -> int:
    """2 for health, money and identity documents, 1 for contact data, else 0."""
    return 2 if HEALTH_AND_MONEY.search(content) else int(CONTACT.search(content) is not None)


CHINESE = Grammar(
    clauses=clauses,
    objection=objection,
    statement=statement,
    asked=asked,
    personal=personal,
    sensitivity=sensitivity,
    days=CHINESE_DAYS,
)
