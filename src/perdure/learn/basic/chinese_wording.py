"""Chinese phrases made of word lists, and the wording of a statement: without 我, trimmed."""

from __future__ import annotations

from perdure.learn.basic import chinese_words
from perdure.learn.basic.rules import Vocabulary

VOCABULARY = Vocabulary(chinese_words)
VOCABULARY.name(
    # when, where or compared with what, before 我: 周五我通常四点下班, 比起飞机我更喜欢火车
    LEAD=(
        r"(比起|相比|对于|关于|除了)[^我咱，]{1,12}"
        r"|[^我咱，你他她]{0,12}(时候|的话|时|前|后|以来|天|日|月|年|周[一二三四五六日末]|周|[早晚]上|上午|下午"
        r"|中午|点|春|夏|秋|冬|其实|现在|平时|一般|通常|目前|最近|本来)"
    ),
    # 下周三, 月底, 两周后
    DAY_TO_COME=(
        r"(大?后天|明[天早晚]|今晚|(下下?|这|本)个?(周|星期|礼拜)[一二三四五六日天末]?"
        r"|(周|星期|礼拜)[一二三四五六日天末]|(下下?|这|本)?个?月[底末初]?|(今|明|后)?年[底末初]?"
        r"|(\d{1,2}|[一二三四五六七八九十]{1,2})月((\d{1,2}|[一二三四五六七八九十]{1,3})[号日])?"
        r"|(\d{1,3}|[一二两三四五六七八九十]{1,3})个?(天|周|星期|礼拜|月|年)[以之]?后)"
    ),
    # 我朋友, 健身房有个教练, 他
    OTHER=(
        r"({SELF}|一个|有个|某个|这个|那个)?们?家?(的|有个|有一个|一个)?[^我，是和跟]{0,4}?(?<![男女]){STRANGER}们?|{PRONOUN}"
    ),
    # 要是, but not 主要是
    IF=r"{SUPPOSING}|(?<![主只重需想不])要是",
    ONCE=r"{NOW}|现在(?!起|开始)",
    # 跟我聊, 回答我
    ANSWER=r"(来|跟|和|与|给)?我?(回答|回复|答复|交流|沟通|说|聊|写)",
)
_re = VOCABULARY.exact

END = _re(r"[\s啊呀哦噢哈呢嘛啦哟吧～~！!。.，,；;…]+$")
# 我下午不喝咖啡的: the last 的 only stresses.
STRESS = _re(r"^我?[^，是]{0,8}不[吃喝抽去看用坐开玩][^，是]+的$")
MINE = _re(r"^{SELF}的?")
MY_FAMILY = _re(r"{SELF}的?(?={KIN}|家)")
ME = _re(r"我们|咱们|我自己|我|咱")


def trimmed(text: str) -> str:
    """Without signs and particles at its end."""
    text = END.sub("", text.strip())
    return text[:-1] if STRESS.match(text) else text


def without_me(text: str) -> str:
    """Without 我 at its beginning: 我的生日是 as 生日是."""
    return MINE.sub("", text)


def neutral(text: str) -> str:
    """我 inside a statement is the user; 我妈 is 妈."""
    return str(ME.sub("用户", MY_FAMILY.sub("", text))).strip()
