"""What sort of message is answered: a task, small talk, or some of both. Pure."""

from __future__ import annotations

from enum import StrEnum

import regex

from perdure import text


class Intent(StrEnum):
    """What a message asks for."""

    TASK = "task"
    CHAT = "chat"
    MIXED = "mixed"
    """Some of both, or neither can be told."""


_TASK = regex.compile(
    r"\b(?:add|arrange|book|build|calculate|cancel|check|compare|convert|create|debug|deploy|"
    r"design|draft|edit|explain|find|fix|generate|implement|install|list|make|move|order|organi[sz]e|"
    r"plan|prepare|refactor|remind|remove|rename|replace|reschedule|review|rewrite|run|schedule|"
    r"send|set up|show|sort|summari[sz]e|test|translate|update|write)\b"
    r"|\b(?:deadline|agenda|appointment|to-?do|task)s?\b"
    r"|帮我|帮忙|请你|麻烦你|安排|计划|排程|日程|提醒|预[订定约]|订[一票餐个]|点[一份个]|写[一个篇份段]|"
    r"生成|翻译|修改|修复|改[成写一]|总结|整理|列[出一]|查[一找询下]|计算|设计|制定|创建|删除|部署|实现|"
    r"解释|检查|比较|待办|截止"
)
_CHAT = regex.compile(
    r"\b(?:hi|hey|hello|hiya|thanks|thank you|cheers|good (?:morning|afternoon|evening|night)|"
    r"bye|goodbye|how are you|how(?:'s| is) it going|what's up|lol|haha+|just chatting|guess what|"
    r"i(?:'m| am| feel| felt) (?:so |really |a bit |very )?"
    r"(?:happy|sad|tired|bored|excited|lonely|proud|nervous|upset))\b"
    r"|你好|您好|嗨|哈喽|早上好|早安|上午好|下午好|晚上好|晚安|谢谢|多谢|再见|拜拜|哈哈|嘿嘿|聊聊|聊天|"
    r"在吗|最近怎么样|你觉得|猜猜|好(?:开心|难过|累|无聊|烦)|心情|真(?:开心|难过|有趣)"
)


def intent(message: str) -> Intent:
    """Task or small talk by their usual words, English and Chinese; both or none is mixed."""
    folded = text.normalise(message).replace("\u2019", "'")
    task, chat = _TASK.search(folded) is not None, _CHAT.search(folded) is not None
    if task == chat:
        return Intent.MIXED
    return Intent.TASK if task else Intent.CHAT
