"""What the demo says, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perdure.text import Language
from perdure.types import Kind, Level, Role, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What the demo says in one language."""

    language: Language
    opening: str
    verbs: Mapping[str, str]
    """What happens now, by verb."""
    roles: Mapping[Role, str]
    """Who speaks; a role that is not listed keeps its own name."""
    more: str
    """Takes how many messages are not shown."""
    learnt: str
    refused: str
    not_repeated: str
    unfinished: str
    """Takes how many turns."""
    asks: str
    """Takes who asks, and where."""
    receives: str
    receives_nothing: str
    left_out: str
    """Why a memory was not even looked at."""
    degraded: str
    took: str
    stages: Mapping[str, str]
    """Names of stages; one that is not listed keeps its own."""
    delete: str
    """Takes what is deleted."""
    gone: str
    """Takes how many remain."""
    not_gone: str
    kinds: Mapping[Kind, str]
    sources: Mapping[Source, str]
    levels: Mapping[Level, str]
    memory: str
    kind: str
    origin: str
    place: str
    """Takes conversation, message id and what was said."""
    message: str
    said: str
    why: str
    nothing: str
    turns: str
    """Takes how many."""
    basic: str
    model: str
    """Takes the model's name."""
    connect: str
    serve: str


WORDS: Mapping[Language, Words] = {
    "en": Words(
        language="en",
        opening="Conversations become memories, and memories a prompt. Everything happens in a "
        "temporary file.",
        verbs={
            "capture": "Capturing …",
            "learn": "Learning …",
            "recall": "Recalling …",
            "delete": "Deleting …",
        },
        roles={Role.ASSISTANT: "assistant"},
        more="… and {count} more messages",
        learnt="What was learnt",
        refused="What was refused, and why",
        not_repeated="(not repeated here)",
        unfinished="{count} turns could not be learnt from yet: the model does not answer.",
        asks="Later, in “{talk}”, {user} asks",
        receives="What the model receives before it answers",
        receives_nothing="(no text: nothing that is remembered fits)",
        left_out="What was left out, and why",
        degraded="did not work this time",
        took="How long it took",
        stages={"capture": "capture", "learn": "learn", "recall": "recall"},
        delete="{user} deletes “{memory}” and asks the same again",
        gone="It is gone. Memories that remain: {count}.",
        not_gone="It is still there; that is a fault.",
        kinds={
            Kind.PREFERENCE: "preference",
            Kind.CONSTRAINT: "constraint",
            Kind.FACT: "fact",
            Kind.TODO_HINT: "to-do",
        },
        sources={
            Source.AUTO: "automatic",
            Source.MANUAL: "manual",
            Source.CONSOLIDATED: "merged",
            Source.IMPORTED: "imported",
        },
        levels={Level.USER: "user", Level.PROJECT: "project"},
        memory="memory",
        kind="kind",
        origin="learnt from",
        place="{talk}, {id}: {said}",
        message="message",
        said="said",
        why="why not",
        nothing="Nothing.",
        turns="turns: {count}",
        basic="The built-in extractor learnt this, without any model. It is the basic one: it "
        "knows common ways of speaking, and would rather miss something than make it up. A "
        "language model finds more, words it better and notices what has changed.",
        model="The model {model} learnt this.",
        connect="To connect a model (any OpenAI-compatible endpoint), set:",
        serve="To start the service:",
    ),
    "zh": Words(
        language="zh",
        opening="对话变成记忆，记忆变成提示词。一切都在临时文件里进行。",
        verbs={
            "capture": "正在记录……",
            "learn": "正在学习……",
            "recall": "正在回忆……",
            "delete": "正在删除……",
        },
        roles={Role.ASSISTANT: "助手", Role.TOOL: "工具", Role.SYSTEM: "系统"},
        more="……还有 {count} 条消息",
        learnt="学到了什么",
        refused="拒绝了什么，为什么",
        not_repeated="（此处不再重复）",
        unfinished="有 {count} 轮对话还没能学习：模型没有响应。",
        asks="后来在“{talk}”里，{user}问",
        receives="模型回答之前收到的内容",
        receives_nothing="（没有内容：已有的记忆都与此无关）",
        left_out="略去了什么，为什么",
        degraded="这次没有起作用",
        took="各步用时",
        stages={
            "capture": "记录",
            "learn": "学习",
            "recall": "回忆",
            "read": "读取",
            "embed": "向量",
            "search": "检索",
            "rank": "排序",
            "gate": "筛选",
            "rerank": "重排",
            "topics": "话题",
            "budget": "篇幅",
            "render": "成文",
        },
        delete="{user}删除“{memory}”，再问一遍",
        gone="已经删除，还剩 {count} 条记忆。",
        not_gone="它还在，这是一个错误。",
        kinds={
            Kind.PREFERENCE: "偏好",
            Kind.CONSTRAINT: "约束",
            Kind.FACT: "事实",
            Kind.TODO_HINT: "待办",
        },
        sources={
            Source.AUTO: "自动",
            Source.MANUAL: "手动",
            Source.CONSOLIDATED: "合并",
            Source.IMPORTED: "导入",
        },
        levels={Level.USER: "用户", Level.PROJECT: "项目"},
        memory="记忆",
        kind="类型",
        origin="出处",
        place="{talk}，{id}：{said}",
        message="消息",
        said="原话",
        why="原因",
        nothing="没有。",
        turns="{count} 轮对话",
        basic="以上由内置的提取器学到，没有用到任何模型。它只是基础版：只认得常见的说法，"
        "宁可漏掉也不编造。接入语言模型后，能学到更多、表述更好，也能察觉情况的变化。",
        model="以上由模型 {model} 学到。",
        connect="接入模型（任何兼容 OpenAI 的端点），请设置：",
        serve="启动服务：",
    ),
}
