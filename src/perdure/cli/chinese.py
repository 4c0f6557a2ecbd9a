"""The Chinese twin of everything that commands say, by the English that stands where it is said."""

from __future__ import annotations

from collections.abc import Mapping

ZH: Mapping[str, str] = {
    # titles of tables
    "id": "编号",
    "kind": "类型",
    "source": "来源",
    "memory": "记忆",
    "changed": "更新日期",
    "type": "任务类型",
    "state": "状态",
    "tries": "已试次数",
    "next try": "下次重试",
    "error": "错误",
    "name": "名称",
    "role": "角色",
    "may": "权限",
    "last used": "最近使用",
    "threshold": "阈值",
    "cosine": "余弦值",
    "bundled": "内置模型",
    "pairs above": "高于此值的比例",
    "from here on": "从此值起意味着",
    "part": "部件",
    "found": "情况",
    "what to do": "怎么办",
    "learnt from": "出处",
    "message": "消息",
    "said": "原话",
    "why not": "原因",
    # kinds, sources and levels of memories; who speaks
    "preference": "偏好",
    "constraint": "约束",
    "fact": "事实",
    "to-do": "待办",
    "automatic": "自动",
    "manual": "手动",
    "merged": "合并",
    "imported": "导入",
    "user": "用户",
    "project": "项目",
    "assistant": "助手",
    "tool": "工具",
    "system": "系统",
    # what is the same for all
    "Help: {command}": "用法：{command}",
    "Not valid UTF-8 text.": "不是有效的 UTF-8 文本。",
    "Choose one of {known}.": "请从中选择：{known}。",
    # recall, items
    "stage": "阶段",
    "score": "得分",
    "No memory was considered.": "没有考虑任何记忆。",
    "Nothing that is remembered fits this message.": "已有的记忆都与这条消息无关。",
    "{count} of {total}.": "共 {total} 条，显示 {count} 条。",
    "More with --after {cursor}": "下一页：--after {cursor}",
    # jobs, worker, migrate, reindex
    "Jobs: {count}.": "共 {count} 个任务。",
    "{count} of {total} jobs retried.": "{total} 个任务中已重试 {count} 个。",
    "{count} of {total} jobs dropped.": "{total} 个任务中已丢弃 {count} 个。",
    "Jobs done: {count}.": "已完成 {count} 个任务。",
    "The worker runs. Ctrl-C or SIGTERM ends it.": "工作进程已启动。按 Ctrl-C 或发 SIGTERM 结束。",
    "Figures for Prometheus: {where}/metrics": "Prometheus 指标：{where}/metrics",
    "The database is up to date.": "数据库已是最新。",
    "Looking through users": "正在检查用户",
    "Making vectors": "正在生成向量",
    "{users} users; {failed} jobs failed.": "{users} 位用户；{failed} 个任务失败。",
    "{users} users; workers do the rest.": "{users} 位用户；其余由工作进程完成。",
    # import, export
    "Reading": "正在读取",
    "Learning": "正在学习",
    "Writing": "正在写入",
    "{lines} lines: {found}.": "{lines} 行：{found}。",
    "nothing": "没有内容",
    "{count} captured": "捕获 {count} 条",
    "{count} skipped": "跳过 {count} 条",
    "{count} kept": "保留 {count} 条",
    "{count} stored": "存入 {count} 条",
    "{count} set aside, over the limit": "超出上限，搁置 {count} 条",
    "Nothing was changed. This is what would happen:": "没有改动任何内容。导入的结果会是：",
    "{count} known": "已有 {count} 条",
    "{count} refused": "拒绝 {count} 条",
    "{count} memories learnt": "学到 {count} 条记忆",
    "{count} not learnt yet": "{count} 轮尚未学习",
    "{count} lines in {file}.": "已将 {count} 行写入 {file}。",
    # calibrate
    "a question and a memory that have nothing to do with each other": "互不相干的问题和记忆",
    "a question and a memory that answers it well": "问题和能很好回答它的记忆",
    "two memories about one topic": "同一话题的两条记忆",
    "two wordings of one statement": "同一陈述的两种说法",
    "{model}: {memories} memories, {questions} questions. Set one of:": (
        "{model}：{memories} 条记忆，{questions} 个问题。请设置以下之一："
    ),
    # serve, keys
    "Perdure listens on {where} (API: {where}/docs). Ctrl-C ends it.": (
        "Perdure 正在监听 {where}（API：{where}/docs）。按 Ctrl-C 结束。"
    ),
    "First start: this link holds an admin's key, shown this once and stored only hashed:\n"
    "{link}": ("首次启动：此链接含管理员密钥，只显示这一次，只存其散列：\n{link}"),
    "Shown this once; only its hash is stored:": "只显示这一次；只存其散列：",
    "never": "从未",
    "revoked {day}": "{day} 撤销",
    "“{name}” opens nothing any more.": "“{name}”已失效。",
    "Keys: {count}.": "共 {count} 个密钥。",
    # doctor
    "fine": "正常",
    "off": "未启用",
    "trouble": "有问题",
    "settings": "设置",
    "database": "数据库",
    "jobs": "任务",
    "embedder": "向量模型",
    "model": "语言模型",
    "reranker": "重排模型",
    "vectors": "向量索引",
    "broker": "消息队列",
    "keys": "密钥",
    "preset {preset}": "预设 {preset}",
    "{waiting} wait, {dead} are dead": "{waiting} 个在等待，{dead} 个已终止",
    "{model}, {dimension} numbers a text": "{model}，每段文字 {dimension} 个数",
    "{model} answers": "{model} 有响应",
    "{where} answers": "{where} 有响应",
    "none is set": "未设置",
    "none is set; the built-in extractor learns": "未设置；由内置提取器学习",
    "none; search goes by words": "无；按字词检索",
    "none is needed: jobs are in the database": "不需要：任务存放在数据库里",
    "none for apps; only this machine is served, on {host}": (
        "没有应用密钥；只服务本机，监听 {host}"
    ),
    "Set PERDURE_API_KEYS.": "请设置 PERDURE_API_KEYS。",
    "beside the rows, in the database": "与数据同在数据库里",
    "whoever asks needs a key": "请求者都需要密钥",
    "Mend or remove the setting that is named.": "改正或删除所指出的设置。",
    "Check PERDURE_DATABASE_URL; `perdure migrate` makes a new one.": (
        "检查 PERDURE_DATABASE_URL；`perdure migrate` 可新建数据库。"
    ),
    "Look at `perdure jobs list --state dead`, mend the cause, then retry them.": (
        "查看 `perdure jobs list --state dead`，排除原因后再重试。"
    ),
    "Check PERDURE_EMBEDDER and PERDURE_EMBEDDING_*; until then search goes by words.": (
        "检查 PERDURE_EMBEDDER 和 PERDURE_EMBEDDING_*；在此之前按字词检索。"
    ),
    "Check PERDURE_LLM_BASE_URL, PERDURE_LLM_API_KEY, PERDURE_LLM_MODEL; until then turns wait.": (
        "检查 PERDURE_LLM_BASE_URL、PERDURE_LLM_API_KEY、PERDURE_LLM_MODEL；在此之前对话会等待。"
    ),
    "Check PERDURE_RERANK_*; until then the order of the scores stands.": (
        "检查 PERDURE_RERANK_*；在此之前按分数排序。"
    ),
    "Check PERDURE_VECTOR_*; until it answers search goes by words.": (
        "检查 PERDURE_VECTOR_*；在此之前按字词检索。"
    ),
    "Check PERDURE_KAFKA_*; until it answers turns are kept and wait.": (
        "检查 PERDURE_KAFKA_*；在此之前对话照常保存并等待。"
    ),
    "Make one: `perdure keys create NAME`, or set PERDURE_API_KEYS.": (
        "新建一个：`perdure keys create NAME`，或设置 PERDURE_API_KEYS。"
    ),
    # demo
    "Conversations become memories, and memories a prompt. Everything happens in a temporary "
    "file.": "对话变成记忆，记忆变成提示词。一切都在临时文件里进行。",
    "Capturing …": "正在捕获……",
    "Learning …": "正在学习……",
    "Recalling …": "正在回忆……",
    "Deleting …": "正在删除……",
    "… and {count} more messages": "……还有 {count} 条消息",
    "What was learnt": "学到了什么",
    "{talk}, {id}: {said}": "{talk}，{id}：{said}",
    "What was refused, and why": "拒绝了什么，为什么",
    "(not repeated here)": "（此处不再重复）",
    "Nothing.": "没有。",
    "{count} turns could not be learnt from yet: the model does not answer.": (
        "有 {count} 轮对话还没能学习：模型没有响应。"
    ),
    "Later, in “{talk}”, {user} asks": "后来在“{talk}”里，{user}问",
    "What the model receives before it answers": "模型回答之前收到的内容",
    "(no text: nothing that is remembered fits)": "（没有内容：已有的记忆都与此无关）",
    "{part} did not work this time": "{part} 这次没有起作用",
    "What was left out, and why": "略去了什么，为什么",
    "How long it took": "各步用时",
    "turns: {count}": "{count} 轮对话",
    "capture": "捕获",
    "learn": "学习",
    "recall": "回忆",
    "read": "读取",
    "embed": "向量",
    "fulltext": "字词检索",
    "semantic": "语义检索",
    "search": "检索",
    "rank": "排序",
    "gate": "筛选",
    "rerank": "重排",
    "topics": "话题",
    "budget": "篇幅",
    "render": "成文",
    "{user} deletes “{memory}” and asks the same again": "{user}删除“{memory}”，再问一遍",
    "It is gone. Memories that remain: {count}.": "已经删除，还剩 {count} 条记忆。",
    "It is still there; that is a fault.": "它还在，这是一个错误。",
    "The built-in extractor learnt this, without any model. It is the basic one: it knows common "
    "ways of speaking, and would rather miss something than make it up. A language model finds "
    "more, words it better and notices what has changed.": (
        "以上由内置的提取器学到，没有用到任何模型。它只是基础版：只认得常见的说法，"
        "宁可漏掉也不编造。接入语言模型后，能学到更多、表述更好，也能察觉情况的变化。"
    ),
    "The model {model} learnt this.": "以上由模型 {model} 学到。",
    "To connect a model (any OpenAI-compatible endpoint), set:": (
        "接入模型（任何兼容 OpenAI 的端点），请设置："
    ),
    "To start the service:": "启动服务：",
}
