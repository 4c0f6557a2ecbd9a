"""Takes Chinese statements apart, so that two of them can be compared."""

from __future__ import annotations

import regex

from perdure import text
from perdure.learn import polarity
from perdure.learn.basic.chinese_days import HAN, number
from perdure.learn.basic.chinese_wording import VOCABULARY
from perdure.learn.basic.claims import SOME, Claim
from perdure.learn.basic.subject import subject

_re = VOCABULARY.exact

# Tells that it has changed, how often or how sure, not what.
_CUE = _re(
    r"现在|目前|如今|最近|已经|又|重新|其实|确实|还是|也|都|一直|总是|经常|常常|平时|通常|一般"
    r"|每[天日]|天天|每个?(周(?![一二三四五六日末])|星期|礼拜|月|年)|开始|请|以后|今后|今年|从现在起"
    r"|一点儿?|一些|{SELF}|用户|正?在(?=[学练读考])"
)
_NOT = _re(
    r"(从来?|绝|永远|一律|坚决|再也)?不(再|能|可以|想|敢|肯|要)?|没有?|别|请勿|禁止|戒[了掉]?"
)
# 不经常喝酒 says neither that they drink nor that they do not.
_IN_PART = _re(r"不(是|怎么|太)?(总是?|经常|常常?|一直|都|只|每[天日周月年]|天天)")
# 戒烟 is said without the verb that 抽烟 has.
_QUIT = _re(r"戒[了掉]?(?P<what>烟|酒|咖啡|糖|奶茶|茶)")
_TAKEN = {
    "烟": "抽烟",
    "酒": "喝酒",
    "咖啡": "喝咖啡",
    "糖": "吃糖",
    "奶茶": "喝奶茶",
    "茶": "喝茶",
}
_LIKE = _re(
    r"不?(太|怎么|大|再|是很)?(最|很|非常|特别|超级?|更)?"
    r"(喜欢|喜爱|热爱|酷爱|钟爱|爱|讨厌|厌恶|受不了|忍不了|反感|痛恨|最烦)"
)
_SWITCHED = _re(r"^从(?P<left>[^，,]+?)(换|改|转)(成|到|用|为)了?(?P<to>[^，,]+)$")
_CHOSEN = _re(r"更(喜欢|爱|愿意)|偏[好爱向]|倾向于?|宁[愿可]|希望|^(回[答复]|答复|解释)|比起")
_HAVE = _re(r"^(有|养了?着?|拥有|刚?(买|领养|收养)了)")
# 现在能吃海鲜了 says the contrary of 不能吃海鲜.
_ABLE = _re(r"^(能够?|可以|敢|肯)(?=[吃喝抽碰])")
# 喜欢吃香菜 and 讨厌香菜 are of one thing; 喜欢兔子 and 不喜欢吃兔子 are not.
_TASTE = _re(r"^[吃喝](?!{KIN}|[鸡鸭鹅鱼牛羊猪])")
_HAS_NO = _re(r"^没有?")
_SOLD = _re(r"^(卖了|把(?=.*(卖|送人?|扔)了))")
_SOLD_END = _re(r"(卖|送人?|扔)了$")
_HAPPENED = _re(r"^({EVENT}|[买卖]了|去了)")
# When it is so: narrows a statement.
_WHEN = _re(
    r"早上|上午|中午|下午|傍晚|晚上|夜里|半夜|睡前|饭后|每[晚早]|[春夏秋冬][天季]|周末|工作日|节假日"
    r"|每?个?(周|星期|礼拜)[一二三四五六日天末]|在家里?|在公司|在外面|(给|跟|和)[^，]{1,4}(?=做|喝|吃|玩|聊)"
)
_COUNTED = "只个条口岁位名匹头辆台套双杯瓶根顿次遍米斤点元块秒天周月年"
_AMOUNT = _re(
    rf"(?<!第)(?P<number>\d+(\.\d+)?|[一二两三四五六七八九十百千万半]+)\s*"
    rf"(?P<unit>公里|公斤|厘米|千米|小时|个小时|分钟|个月|万|[{_COUNTED}])(?![楼号路]|(?<=岁)的)"
)
# 坐飞机去上海: where to narrows it, too.
_WHERE_TO = _re(r"(?<=^..+)[去到回][^，,]+$")
_RATHER = _re(r"^比起(?P<that>[^，,]+?)[，,]?喜欢(?P<this>[^，,]+)$")

CHOICES = tuple(
    frozenset(line.split())
    for line in (
        "靠窗 靠过道 靠走廊 中间",
        "简短 简洁 简单 详细 详尽",
        "深色 浅色",
        "公制 英制 摄氏度 华氏度",
        "正式 口语 口语化 随意 轻松",
        "热 冰 冷 温 常温",
        "早班 晚班 夜班",
        "早上 上午 下午 晚上",
    )
)
"""Words of which one chooses only one at a time."""
_PIECE = regex.compile(
    "|".join(sorted(frozenset().union(*CHOICES), key=len, reverse=True)) + "|[a-z0-9]+|."
)


def claim(statement: str) -> Claim | None:
    """The parts of a Chinese statement; None where it denies more than once, or only in part."""
    said = text.normalise(statement).strip(" .!。")
    liking = polarity.liking(said)
    if liking == 0:
        return None
    if liking is None and _IN_PART.search(said):
        return None
    chosen = _CHOSEN.search(said) is not None
    who, said = subject(said)
    said = _CUE.sub("", said)
    if switched := _SWITCHED.match(said):
        left = _words(switched["left"])
        return Claim(who=who, core=("用", *_words(switched["to"])), left=left)
    said = _QUIT.sub(lambda found: f"不{_TAKEN[found['what']]}", said)
    happened = _HAPPENED.match(said) is not None
    around: set[str] = set()
    if not chosen:
        for pattern in (_WHEN, _WHERE_TO):
            around |= {found.group() for found in pattern.finditer(said)}
            said = pattern.sub("", said)
    if liking is not None and (found := _LIKE.search(said)):
        denied = liking < 0
        said = f"{said[: found.start()]}喜欢{_TASTE.sub('', said[found.end() :])}"
    else:
        denials = len(_NOT.findall(said))
        if denials > 1:
            return None
        denied = denials == 1
        said = _NOT.sub("", _HAS_NO.sub("有", said))
    if not denied:
        said = _ABLE.sub("", said)
    if _SOLD.match(said):
        denied, said = not denied, "有" + _SOLD_END.sub("", _SOLD.sub("", said))
    said = _HAVE.sub("有", said)
    amounts = {found["unit"]: _amount(found["number"]) for found in _AMOUNT.finditer(said)}
    return Claim(
        who=who,
        core=_words(_AMOUNT.sub("", said)),
        around=frozenset(around),
        amounts=amounts,
        denied=denied,
        happened=happened,
        chosen=chosen,
    )


def _amount(written: str) -> str:
    """两 and 2 are one number; 一 is an article as often as a number."""
    if written == "一":
        return SOME
    read = written.isdecimal() or all(sign in HAN or sign == "十" for sign in written)
    return str(number(written)) if read else written


def _words(said: str) -> tuple[str, ...]:
    """What is claimed, sign by sign, but words of which one is chosen in one piece."""
    said = "".join(said.split()).rstrip("了的啦")
    if rather := _RATHER.match(said):
        return (rather["this"], "比", rather["that"])
    return tuple(_PIECE.findall(said))
