"""Every reason in words, for people: why something was refused, left out or is missing."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.text import Language
from perdure.types.reason import Reason

_WORDS: Mapping[Reason, tuple[str, str]] = {
    # a turn is not learnt from
    Reason.DISABLED: ("memory is switched off", "记忆功能已关闭"),
    Reason.MODE_OFF: ("this conversation is not to be remembered", "这段对话设为不记忆"),
    Reason.AUTO_LEARN_OFF: ("automatic learning is switched off", "自动学习已关闭"),
    Reason.NOT_COMPLETED: ("the task did not complete", "任务没有完成"),
    Reason.CONVERSATION_KIND: (
        "a side conversation",
        "旁支对话，不是本人的话",
    ),
    Reason.NO_USER_MESSAGE: ("the person said nothing in it", "用户在其中没有说话"),
    Reason.NO_REPLY: ("there was no reply yet", "还没有回复"),
    Reason.TOO_SHORT: ("too short to learn from", "内容太短"),
    Reason.NOT_ENOUGH_NEW: ("not enough new since the last time", "新内容还不够多"),
    Reason.NOTHING_SAID: ("nothing was said in it", "没有实际内容"),
    Reason.ALREADY_LEARNT: ("learnt from already", "已经学过"),
    Reason.ERASED: ("said before everything was erased", "在全部清除之前说的"),
    Reason.COST_CAP: ("the month's money is spent; learnt later", "本月费用已用完，稍后再学"),
    Reason.REPLY_UNUSABLE: ("the model's reply cannot be read", "模型的回复无法解析"),
    # a candidate is refused
    Reason.EMPTY: ("empty", "内容为空"),
    Reason.TOO_LONG: ("too long for one memory", "超过一条记忆的长度"),
    Reason.TOO_MANY_ITEMS: ("too many at once", "一次提出得太多"),
    Reason.NOT_A_STATEMENT: ("says nothing that lasts", "没有值得长期记住的内容"),
    Reason.QUESTION: ("a question, not a statement", "这是提问，不是陈述"),
    Reason.HYPOTHETICAL: ("a what-if, not a fact", "这是假设，不是事实"),
    Reason.QUOTED: ("quoted words, not one's own", "这是引用，不是本人的话"),
    Reason.NOT_ABOUT_USER: ("about somebody else", "说的是别人"),
    Reason.PASSING: ("only true for the moment", "只是一时的情况"),
    Reason.UNSUPPORTED: ("the person did not say so", "用户并没有这样说"),
    Reason.SECRET: ("a secret is never stored", "机密信息不予保存"),
    Reason.INJECTED: ("an order in disguise", "伪装成内容的指令"),
    Reason.SENSITIVE_NOT_LEARNT: ("sensitive, and not allowed", "敏感信息，未获允许"),
    Reason.UNKNOWN_REFERENCE: ("points to a memory that was not shown", "指向未展示过的记忆"),
    Reason.UNKNOWN_ACTION: ("asks for something unknown", "要求了未知的操作"),
    Reason.PROTECTED: ("a person wrote the memory it would change", "会改动用户亲自写的记忆"),
    Reason.LIKE_DISMISSED: ("like one that was refused before", "与之前拒绝过的相似"),
    Reason.DELETED_EARLIER: ("was deleted since it was said", "说过之后已被删除"),
    Reason.CAPACITY: ("no further memory fits", "记忆数量已满"),
    Reason.CHANGED_MEANWHILE: ("the memory was changed meanwhile", "该记忆期间已被改动"),
    Reason.REPEATED: ("said twice", "重复"),
    Reason.KNOWN: ("known already", "已经知道"),
    Reason.LOSES_DETAILS: ("would lose something that is known", "会丢失已知的内容"),
    # a memory is left out of an answer
    Reason.LOW_SCORE: ("does not fit this question", "与这个问题关系不大"),
    Reason.LOW_CONFIDENCE: ("not sure enough", "把握不够"),
    Reason.EXPIRED: ("its time is up", "已过期"),
    Reason.SENSITIVE_BLOCKED: ("sensitive, and not allowed", "敏感信息，未获允许"),
    Reason.DUP_TOPIC: ("enough is said on this topic", "同一话题已经说得够多"),
    Reason.OTHER_TIME: ("not of the time that is asked about", "不是所问的时间"),
    Reason.DISMISSED: ("refused by the person", "已被用户拒绝"),
    Reason.SCOPE: ("belongs elsewhere", "不属于这里"),
    Reason.SWITCHED_OFF: ("memory is switched off", "记忆功能已关闭"),
    Reason.OVER_TYPE_LIMIT: ("enough of this kind", "这一类已经够多"),
    Reason.OVER_BUDGET: ("no room left", "篇幅不够"),
    Reason.SUSPICIOUS: ("reads like an instruction", "读起来像指令"),
    Reason.NOT_FOUND: ("not found near this question", "检索时没有找到关联"),
    # a part of an answer is missing
    Reason.SEARCH_FAILED: ("the search failed", "检索失败"),
    Reason.SEARCH_LATE: ("the search took too long", "检索超时"),
    Reason.VECTORS_OFF: ("search by meaning is off", "语义检索已关闭"),
    Reason.RERANK_FAILED: ("the second look failed", "重排失败"),
    Reason.DATABASE_UNAVAILABLE: ("the database does not answer", "数据库没有响应"),
    Reason.DEADLINE: ("time ran out", "已超出时限"),
}


def in_words(reason: Reason, language: Language = "en") -> str:
    """A reason as a person would say it; the code itself where a newer one has no words yet."""
    english, chinese = _WORDS.get(reason, (reason.value, reason.value))
    return chinese if language == "zh" else english
