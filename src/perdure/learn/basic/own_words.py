"""Tells a person's own words from what stands beside them: code, quotations, pasted text, roles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from perdure import text
from perdure.learn.basic.rules import Vocabulary
from perdure.types import Reason

HOLE = "\N{OBJECT REPLACEMENT CHARACTER}"
"""Stands where a quotation was taken out."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a message, and why it is not the person's own word, if it is not."""

    text: str
    reason: Reason | None = None


_re = Vocabulary().any_case

BLOCKS = (
    # code, with its end or without
    _re(r"(?s)```.*?(```|\Z)|~~~.*?(~~~|\Z)|`[^`\n]+`"),
    # tagged blocks, such as memories put into a message by a program
    _re(r"(?s)<(?P<tag>[a-z][\w-]*)\b[^<>]*>.*?(</(?P=tag)>|\Z)"),
    # lines quoted from a mail
    _re(r"(?m)^[ \t]*>.*$"),
    # lines of a transcript
    _re(r"(?m)^[ \t]*(user|human|assistant|system|ai|bot|用户|助手|系统)[ \t]*[:：].*$"),
)
# Quotation marks of both languages; an apostrophe inside a word is none.
QUOTE = _re(
    r"\"[^\"\n]+\"|“[^“”]+”|«[^«»]+»|「[^「」]+」|『[^『』]+』|‘[^‘’]+’(?!\w)"
    r"|(?<!\w)'([^'\n]|(?<=\w)'(?=\w))+'(?!\w)"
)
# A quotation that speaks for itself; any other is a name or a title and stays where it is.
SPEECH = _re(
    r"\b(I|we|my|our|me|never|always|remember)\b|我|咱|不要|记住|以后|(\w+\W+){5}\w|\p{Han}{12}"
)
# From the colon to the end of the message somebody else's text follows.
PASTED = (
    # as in "translate this into French:" or "proofread please:"
    _re(
        r"\b(translate|summari[sz]e|proofread|rewrite|rephrase|paraphrase|polish"
        r"|(fix|check|correct|edit|improve|shorten|review|explain|read|analy[sz]e|reply to|answer)"
        r" (this|these|the|that|my|following))\b[^.!?\n:]{0,60}:(?![\d/])"
    ),
    # as in "this email:" or "the review I found:"
    _re(
        r"\b(this|the|that|an?|following|his|her|their) ([\w-]+ ){0,2}"
        r"(e-?mail|letter|message|text|article|paragraph|sentence|essay|review|post|comment|tweet"
        r"|transcript|chat|log|quote|poem|song|story)\b(?! is\b)[^.!?\n:]{0,40}:(?![\d/])"
    ),
    # as in "lyrics:", "Bo wrote:" or "the following:"
    _re(r"\b(lyrics|(?<!\bI )(wrote|writes|says|said)|following|below)\b[^.!?\n:]{0,20}:(?![\d/])"),
    # headers of a mail
    _re(r"(?m)^(from|subject|to|date|发件人|收件人|主题|日期)[ \t]*[:：].*$"),
    # 把这句话翻译成法语：, 帮我回复：
    _re(
        r"(翻译|润色|总结|概括|改写|校对|扩写|缩写|续写|帮我(修?改|检查|看|回复))[^。！？\n：:]{0,30}[：:]"
    ),
    # 这封邮件：, 下面是我看到的一条评论：
    _re(r"([这那][封篇段条句则首]|(下面|以下|如下|原文)(?!是?我的))[^。！？\n：:]{0,20}[：:]"),
    # 一封邮件：
    _re(
        r"一[封篇段条句则首][^。！？\n：:]{0,10}(邮件|信|消息|文章|话|评论|帖子|诗|歌)[^。！？\n：:]{0,9}[：:]"
    ),
    # 歌词：, Bo 写道：, 她总说：
    _re(r"(歌词|聊天记录|写道|[他她]们?[^。！？\n：:]{0,6}说)[：:]"),
)
# From this sentence on the person plays a role or wants something made up.
SCENES = (
    # as in "pretend I am a pirate" or "let's play"
    _re(
        r"\b(pretend|role-?play|make believe|act as|play the role)\b"
        r"|\bimagine (that |you|I|we|being)|\blet('s| us) play\b"
        r"|\byou('re| are) (now )?(an?|the) [\w ]{1,30} and I('m| am)\b"
        r"|\bin (my|this|the) (novel|story|game|dream|script|campaign)\b"
    ),
    # as in "write a cover letter"; not "I write a diary"
    _re(
        r"(?<!\b(I|we) )\b(write|compose|draft|make up|tell|sing)\b( me| us)? (an?|the|some|my) "
        r"([\w-]+ ){0,3}(story|poem|song|haiku|limerick|rap|dialogue|monologue|speech|scene|script"
        r"|novel|letter|diary|bio|post|advert|ad)\b"
    ),
    # 假装我是海盗, 我们来玩个游戏
    _re(
        r"假装|扮演|假扮|(来|一起)玩[^。！？]{0,6}游戏|想象(一下)?[你我]|你(现在)?是一[个名位只条头]"
    ),
    # 写一首诗
    _re(
        r"(写|编|讲|作)[一了]?[首个篇段封则][^。！？，]{0,10}"
        r"(故事|诗|歌|小说|剧本|台词|对话|求职信|情书|演讲稿|日记|作文|文案|广告)"
    ),
)


def own_words(message: str) -> Iterator[Sentence]:
    """The sentences of a message; those that are not the person's own word carry the reason."""
    asides: list[str] = []

    def aside(match: regex.Match[str]) -> str:
        asides.append(match.group().strip("\"'“”«»「」『』‘’`>~ \n"))
        return HOLE

    own = message
    for block in BLOCKS:
        own = block.sub(aside, own)
    own = QUOTE.sub(lambda m: aside(m) if SPEECH.search(m.group()) else m.group(), own)
    pasted = min((m.end() for p in PASTED if (m := p.search(own))), default=len(own))
    asides.append(own[pasted:])
    scene = False
    for sentence in text.sentences(own[:pasted]):
        scene = scene or any(pattern.search(sentence) for pattern in SCENES)
        yield Sentence(sentence, Reason.HYPOTHETICAL if scene else None)
    for part in asides:
        yield from (Sentence(s, Reason.QUOTED) for s in text.sentences(part))
