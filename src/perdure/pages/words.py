"""Every word on the pages, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.pages.running import RUNNING
from perdure.text import Language

WORDS: Mapping[str, tuple[str, str]] = {
    **RUNNING,
    # around every page
    "memory": ("My memory", "我的记忆"),
    "why": ("Why", "为什么"),
    "operations": ("Operations", "运行情况"),
    "audit": ("Audit", "审计"),
    "skip": ("Skip to content", "跳到正文"),
    "pages": ("Pages", "页面"),
    "language": ("Language", "语言"),
    "away": (
        "The service does not answer. Nothing you wrote is lost; try again in a moment.",
        "服务暂时没有响应。您写的内容没有丢失，请稍后再试。",
    ),
    "memories_of": ("Memories of {user}", "{user} 的记忆"),
    "change_person": ("Change user", "切换用户"),
    "user_id": ("User id", "用户标识"),
    "show": ("Show", "查看"),
    "leave": ("Sign out", "退出"),
    "key": ("Key or user token", "密钥或用户令牌"),
    "sign_in": ("Sign in", "登录"),
    "sign_in_says": (
        "Paste the key or the token that you were given. The browser keeps it until it closes.",
        "请粘贴您收到的密钥或令牌。浏览器会保留到关闭为止。",
    ),
    "went_wrong": ("This did not work", "没有成功"),
    "back": ("Back to my memory", "返回我的记忆"),
    "frame_closed": ("This page is closed", "此页面已关闭"),
    "frame_closed_says": (
        "{why} Reload the page around it to go on.",
        "{why}请重新加载外层页面以继续。",
    ),
    "frame_over": (
        "{why} Copy what you wrote, then reload the page around it.",
        "{why}请先复制您写的内容，再重新加载外层页面。",
    ),
    "admin_needed": (
        "Follow the link that the first start printed, or sign in with a key that may see this.",
        "请打开首次启动时打印的链接，或使用有权查看的密钥登录。",
    ),
    # switches
    "switches": ("Switches", "开关"),
    "auto_learn": ("Learn from conversations", "从对话中自动学习"),
    "auto_learn_says": (
        (
            "What matters in finished conversations is remembered by itself. Off: only what you "
            "add here or ask for in a conversation is remembered; what is known is still used."
        ),
        (
            "对话结束后，自动记住其中重要的内容。关闭后，只记住您在这里添加或在对话中明确要求的内容；"
            "已有的记忆仍会使用。"
        ),
    ),
    "auto_learn_alone_says": (
        (
            "What matters in finished conversations is remembered by itself. Off: nothing is "
            "learnt from them, whatever you ask for there. You can add memories here; what is "
            "known is still used."
        ),
        (
            "对话结束后，自动记住其中重要的内容。关闭后，不从对话中学习，您在对话中要求记住的也不会记住。"
            "您可以在这里添加记忆；已有的记忆仍会使用。"
        ),
    ),
    "memory_enabled": ("Use memory", "使用记忆"),
    "memory_enabled_says": (
        (
            "Off: nothing is learnt and nothing is used. What is stored stays, and you can "
            "look after it here."
        ),
        "关闭后，不学习也不使用任何记忆。已保存的内容会保留，您仍可在这里管理。",
    ),
    "sensitive_allowed": ("Allow sensitive statements", "允许敏感内容"),
    "sensitive_allowed_says": (
        "Health, faith, politics and the like may be remembered and used. Off: they are not.",
        "健康、信仰、政治等内容可以被记住和使用。关闭后则不会。",
    ),
    "limit": ("How many memories are kept", "保留多少条记忆"),
    "limit_says": (
        (
            "At most this many are in use, {low} to {high:,}. When another one comes, the oldest "
            "are set aside; you find them under “Not used”."
        ),
        (
            "最多使用这么多条（{low} 到 {high:,}）。再有新的记忆时，最早的会被搁置，"
            "可在“未使用”中找到。"
        ),
    ),
    "limit_saved": ("Saved.", "已保存。"),
    "save": ("Save", "保存"),
    "provider": (
        "Memories that fit a message are sent to the model provider together with it.",
        "与消息相关的记忆会随消息一起发送给模型服务商。",
    ),
    # the list
    "tab_all": ("All", "全部"),
    "tab_user": ("About you", "关于您"),
    "tab_project": ("Projects", "项目"),
    "which": ("Which memories", "显示哪些记忆"),
    "in_use": ("In use", "使用中"),
    "not_used": ("Not used", "未使用"),
    "search": ("Search memories", "搜索记忆"),
    "list": ("Memories", "记忆列表"),
    "found": ("{n} memories", "{n} 条记忆"),
    "found_one": ("1 memory", "1 条记忆"),
    "choose": ("Choose: {content}", "选择：{content}"),
    "chosen_do": ("With the chosen ones:", "对选中的记忆："),
    "more": ("Show more", "显示更多"),
    "kind_preference": ("Preference", "偏好"),
    "kind_constraint": ("Constraint", "约束"),
    "kind_fact": ("Fact", "事实"),
    "kind_todo_hint": ("To-do", "待办"),
    "source_auto": ("Automatic", "自动"),
    "source_manual": ("Manual", "手动"),
    "source_consolidated": ("Merged", "合并"),
    "source_imported": ("Imported", "导入"),
    "status_active": ("In use", "使用中"),
    "status_dismissed": ("Dismissed", "已忽略"),
    "status_archived": ("Archived", "已归档"),
    "status_deleted": ("Deleted", "已删除"),
    "edited": ("edited", "已修改"),
    "sensitive": ("Sensitive", "敏感"),
    "waits": ("Needs you", "待您确认"),
    "project": ("Project", "项目"),
    "confirmed": ("Confirmed {day}", "确认于 {day}"),
    "expires": ("Until {day}", "有效至 {day}"),
    "from_conversation": ("From a conversation on {day}", "来自 {day} 的对话"),
    "from_place": ("Where from: {place}", "来源：{place}"),
    "from_global": ("global", "全局"),
    "open": ("Open", "打开"),
    "said_gone": (
        "The messages it was learnt from are not kept any more.",
        "学习所依据的消息已不再保留。",
    ),
    "history": ("History", "历史"),
    "role_user": ("You", "您"),
    "role_assistant": ("Assistant", "助手"),
    # doing things
    "edit": ("Edit", "编辑"),
    "edit_of": ("Edit: {content}", "编辑：{content}"),
    "cancel": ("Cancel", "取消"),
    "dismiss": ("Dismiss", "忽略"),
    "dismiss_of": (
        "Dismiss, do not remember this again: {content}",
        "忽略，不再记住：{content}",
    ),
    "dismiss_says": ("Do not remember this again", "不再记住这条内容"),
    "restore": ("Restore", "恢复"),
    "restore_of": ("Restore: {content}", "恢复：{content}"),
    "delete": ("Delete", "删除"),
    "delete_of": ("Delete: {content}", "删除：{content}"),
    "accept": ("Accept", "接受"),
    "accept_of": ("Accept: {content}", "接受：{content}"),
    "refuse": ("Refuse", "拒绝"),
    "refuse_of": ("Refuse: {content}", "拒绝：{content}"),
    "undo": ("Undo", "撤销"),
    "did_delete": ("Deleted.", "已删除。"),
    "no_way_back": ("It cannot be taken back here.", "此处无法撤销。"),
    "did_dismiss": ("Dismissed. It will not be remembered again.", "已忽略，不会再次记住。"),
    "did_restore": ("Restored. It is in use again.", "已恢复使用。"),
    "did_accept": ("Accepted.", "已接受。"),
    "did_several": ("{n} done.", "已处理 {n} 条。"),
    "left_several": (
        "{n} were changed meanwhile or do not fit, and were left alone.",
        "{n} 条期间已有改动或超出上限，未作处理。",
    ),
    "changed_meanwhile": (
        "It was changed meanwhile; this is how it is now. Nothing was done.",
        "期间已有改动，现在的内容如下。没有执行任何操作。",
    ),
    "conflict": (
        (
            "Somebody changed this memory while you wrote. Your text is still here; save again to "
            "put it in place of this one:"
        ),
        "您编辑期间，这条记忆已被改动。您的文字仍在这里；再次保存将替换下面的内容：",
    ),
    "duplicate": ("Another memory says this already.", "已有另一条相同的记忆。"),
    "waits_says": (
        "These read like instructions. They stay out of every answer until you accept them.",
        "这些内容读起来像指令。在您接受之前，不会出现在任何回答中。",
    ),
    # adding
    "add": ("Add a memory", "添加记忆"),
    "add_it": ("Add", "添加"),
    "content": ("What should be remembered?", "要记住什么？"),
    "content_edit": ("Memory", "记忆内容"),
    "kind": ("Kind", "类型"),
    "project_or_none": ("Project (leave empty if it is about you)", "项目（关于您本人则留空）"),
    "of_longest": ("{n} of {longest} characters", "{n} / {longest} 字"),
    "did_add": ("Added.", "已添加。"),
    # nothing there
    "empty": ("Nothing is remembered yet", "还没有任何记忆"),
    "empty_says": (
        (
            "Memories come about in two ways: you add one above, or something that lasts comes up "
            "in a conversation, such as “I am allergic to peanuts”. It appears here a moment after "
            "the reply, and you can change or delete it."
        ),
        (
            "记忆有两种来源：您在上面添加，或者在对话中提到值得长期记住的内容，例如“我对花生过敏”。"
            "回复之后片刻就会出现在这里，您可以随时修改或删除。"
        ),
    ),
    "empty_found": ("Nothing fits this search", "没有符合搜索的记忆"),
    "empty_unused": ("Nothing is set aside", "没有未使用的记忆"),
    "empty_unused_says": (
        "Memories that you dismiss, and those that were crowded out or expired, are listed here.",
        "您忽略的记忆，以及因数量已满或过期而搁置的记忆，会列在这里。",
    ),
    "empty_tab": ("Nothing here yet", "这里还没有记忆"),
    # all of my data
    "my_data": ("Your data", "您的数据"),
    "export": ("Export my data", "导出我的数据"),
    "export_says": (
        "Messages, memories and their history, as a file of JSON lines.",
        "消息、记忆及其历史，保存为 JSON Lines 文件。",
    ),
    "clear": ("Clear all memories", "清空所有记忆"),
    "clear_says": (
        "Deletes every memory, used or not. Conversations stay. There is no way back on this page.",
        "删除所有记忆，包括未使用的。对话会保留。此页面无法撤销。",
    ),
    "clear_word": ("clear all", "全部清空"),
    "type_word": ("Type “{word}” to confirm", "输入“{word}”以确认"),
    "erase": ("Erase my data", "抹除我的数据"),
    "erase_says": (
        "Removes everything for good: memories, conversations, history, switches.",
        "彻底删除一切：记忆、对话、历史和开关设置。",
    ),
    "erased": ("Everything was erased", "已全部抹除"),
    "erased_says": (
        "Nothing of {user} is stored any more.",
        "系统中不再保存 {user} 的任何内容。",
    ),
    "erased_but": (
        "Messages on their way to be learnt from are kept for a while longer by the message bus.",
        "待学习的消息会在消息总线中再保留一段时间。",
    ),
    # why
    "why_says": (
        "Type a message as you would to the assistant, and see which memories would go with it.",
        "像对助手说话一样输入一条消息，看看哪些记忆会随它一起发送。",
    ),
    "message": ("Message", "消息"),
    "in_project": ("In project (optional)", "所在项目（可选）"),
    "ask": ("Explain", "说明"),
    "said": ("What would be sent", "将会发送的内容"),
    "said_nothing": ("Nothing would be sent with this message.", "这条消息不会附带任何记忆。"),
    "candidates": ("Memories in it", "采用的记忆"),
    "out": ("Left out, and why", "未采用的记忆及原因"),
    "score": ("Score {score}", "得分 {score}"),
    "degraded": ("Worked without {part}: {why}.", "缺少{part}：{why}。"),
    "part_semantic": ("search by meaning", "语义检索"),
    "part_fulltext": ("search by words", "字词检索"),
    "part_rerank": ("the reranker", "重排"),
    "part_recall": ("recall", "回忆"),
    "part_database": ("the database", "数据库"),
    "score_terms": ("Terms of the score", "得分构成"),
    "term_relevance": ("relevance", "相关"),
    "term_confidence": ("confidence", "把握"),
    "term_recency": ("recency", "新近"),
    "term_explicit": ("asked for", "明确要求"),
    "term_importance": ("importance", "重要"),
    "term_type": ("kind", "类型"),
    "term_time": ("time", "时间"),
    "term_chat": ("chat", "闲聊"),
    "term_task": ("task", "任务"),
    "term_same_conversation": ("same conversation", "同一对话"),
    "term_other": ("other", "其他"),
    "arm_pinned": ("always considered ({rank})", "始终考虑（{rank}）"),
    "arm_semantic": ("by meaning ({rank})", "语义检索（{rank}）"),
    "arm_fulltext": ("by words ({rank})", "字词检索（{rank}）"),
    "arm_structured": ("recent ({rank})", "近期（{rank}）"),
}


def say(language: Language, key: str, **values: object) -> str:
    """The words of this name, with values put in as they are."""
    return WORDS[key][language == "zh"].format(**values)
