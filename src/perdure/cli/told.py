"""What serve, keys and doctor say, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from perdure.text import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The sentences of one language."""

    listens: str
    """Takes the address."""
    first_key: str
    """Takes the link, which holds an admin's key."""
    shown_once: str
    """Above a key that was just made."""
    columns: tuple[str, ...]
    """Of the list of keys."""
    never: str
    gone: str
    """Of a revoked key; takes the day."""
    revoked: str
    """Takes the key's name."""
    keys: str
    """Takes how many."""
    findings: tuple[str, ...]
    """Of what doctor found: part, state, what, what to do."""
    states: Mapping[str, str]
    parts: Mapping[str, str]
    advice: Mapping[str, str]
    """What to do, by the part that is in trouble."""
    says: Mapping[str, str]
    """What is found where nothing is wrong; each takes what its name says."""


TOLD: Mapping[Language, Told] = {
    "en": Told(
        listens="Perdure listens on {where} (API: {where}/docs). Ctrl-C ends it.",
        first_key="First start: this link holds an admin's key, shown this once and stored only "
        "hashed:\n{link}",
        shown_once="Shown this once; only its hash is stored:",
        columns=("id", "name", "role", "may", "last used"),
        never="never",
        gone="revoked {day}",
        revoked="“{name}” opens nothing any more.",
        keys="{count} keys.",
        findings=("part", "state", "found", "what to do"),
        states={"fine": "fine", "off": "off", "trouble": "trouble"},
        parts={
            "settings": "settings",
            "database": "database",
            "jobs": "jobs",
            "embedder": "embedder",
            "model": "model",
            "reranker": "reranker",
            "vectors": "vectors",
            "broker": "broker",
            "keys": "keys",
        },
        advice={
            "settings": "Mend or remove the setting that is named.",
            "database": "Check PERDURE_DATABASE_URL; `perdure migrate` makes a new one.",
            "jobs": "Look at `perdure jobs list --state dead`, mend the cause, then retry them.",
            "embedder": "Check PERDURE_EMBEDDER and PERDURE_EMBEDDING_*; until then search goes by "
            "words.",
            "model": "Check PERDURE_LLM_BASE_URL, PERDURE_LLM_API_KEY, PERDURE_LLM_MODEL; until "
            "then turns wait.",
            "reranker": "Check PERDURE_RERANK_*; until then the order of the scores stands.",
            "vectors": "Check PERDURE_VECTOR_*; until it answers search goes by words.",
            "broker": "Check PERDURE_KAFKA_*; until it answers turns are kept and wait.",
            "keys": "Make one: `perdure keys create NAME`, or set PERDURE_API_KEYS.",
        },
        says={
            "preset": "preset {preset}",
            "jobs": "{waiting} wait, {dead} are dead",
            "dimension": "{model}, {dimension} numbers a text",
            "answers": "{model} answers",
            "basic": "none is set; the built-in extractor learns",
            "words": "none; search goes by words",
            "none": "none is set",
            "beside": "beside the rows, in the database",
            "reached": "{where} answers",
            "no_broker": "none is needed: jobs are in the database",
            "open": "none; only this machine is served, on {host}",
            "keyed": "whoever asks needs a key",
        },
    ),
    "zh": Told(
        listens="Perdure 正在监听 {where}（API：{where}/docs）。按 Ctrl-C 结束。",
        first_key="首次启动：此链接含管理员密钥，只显示这一次，只存其散列：\n{link}",
        shown_once="只显示这一次；只存其散列：",
        columns=("编号", "名称", "角色", "权限", "最近使用"),
        never="从未",
        gone="{day} 撤销",
        revoked="“{name}”已失效。",
        keys="共 {count} 个密钥。",
        findings=("部件", "状态", "情况", "怎么办"),
        states={"fine": "正常", "off": "未启用", "trouble": "有问题"},
        parts={
            "settings": "设置",
            "database": "数据库",
            "jobs": "任务",
            "embedder": "向量模型",
            "model": "语言模型",
            "reranker": "重排模型",
            "vectors": "向量索引",
            "broker": "消息队列",
            "keys": "密钥",
        },
        advice={
            "settings": "改正或删除所指出的设置。",
            "database": "检查 PERDURE_DATABASE_URL；`perdure migrate` 可新建数据库。",
            "jobs": "查看 `perdure jobs list --state dead`，排除原因后再重试。",
            "embedder": "检查 PERDURE_EMBEDDER 和 PERDURE_EMBEDDING_*；在此之前按字词检索。",
            "model": "检查 PERDURE_LLM_BASE_URL、PERDURE_LLM_API_KEY、PERDURE_LLM_MODEL；"
            "在此之前对话会等待。",
            "reranker": "检查 PERDURE_RERANK_*；在此之前按分数排序。",
            "vectors": "检查 PERDURE_VECTOR_*；在此之前按字词检索。",
            "broker": "检查 PERDURE_KAFKA_*；在此之前对话照常保存并等待。",
            "keys": "新建一个：`perdure keys create NAME`，或设置 PERDURE_API_KEYS。",
        },
        says={
            "preset": "预设 {preset}",
            "jobs": "{waiting} 个在等待，{dead} 个已失败",
            "dimension": "{model}，每段文字 {dimension} 个数",
            "answers": "{model} 有响应",
            "basic": "未设置；由内置提取器学习",
            "words": "无；按字词检索",
            "none": "未设置",
            "beside": "与数据同在数据库里",
            "reached": "{where} 有响应",
            "no_broker": "不需要：任务存放在数据库里",
            "open": "无；只服务本机，监听 {host}",
            "keyed": "请求者都需要密钥",
        },
    ),
}
