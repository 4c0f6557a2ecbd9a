"""Recognises without a model what holds nothing: thanks, "go on", questions about the world."""

from __future__ import annotations

import regex

from perdure import text

_FILLER = regex.compile(
    r"""
    thanks?(?:\ (?:you|a\ lot|so\ much|again))*|thx|ty|cheers|ok(?:ay)?|k|great|nice|cool|perfect
    |awesome|wonderful|brilliant|lovely|super|wow|oh|ah|hm+|huh|well|lol|ha(?:ha)+|interesting
    |hi|hello|hey|there|good\ (?:morning|afternoon|evening|night)|bye|goodbye|see\ you|got\ it
    |i\ see|go\ on|continue|next|more|again|please|tell\ me\ more|go\ ahead|and\ then|never\ mind
    |that\ (?:helps|helped|is\ all)|sounds\ good|very|much|so|and|one
    |谢谢(?:你|您|啦|了)?|多谢|感谢|哈+|你好|您好|嗨|早上好|早|晚上好|晚安|再见|拜拜|回头见|继续(?:吧|说)?|接着(?:说|讲)
    |下一(?:个|步|条)|然后呢|还有呢|再来一个|哇|厉害|不错|太好了|太棒了|好棒|收到|明白了?|知道了|了解|辛苦了|麻烦了|有意思|原来如此
    |请|吧|呀|啊|啦|呢|哦|噢
    """,
    regex.IGNORECASE | regex.VERBOSE,
)
_OF_SELF = regex.compile(
    r"\b(?:i|i['’]\w+|me|my|mine|myself|we|we['’]\w+|us|our|ours|remember|note)\b|[我咱俺]|本人|记[住得]",
    regex.IGNORECASE,
)
_WISH = regex.compile(
    r"""
    ^(?!\W*(?:what|why|how|who|when|where|which)\b) .*?
      \b(?:(?:can|could|would|will|may|might)(?:n['’]t)?|won['’]t|can['’]t)\ (?:you|we)\b
      (?!\ (?:please\ )?(?:tell|explain|say|describe|show|know)\b
        .*\b(?:why|how|what|who|when|whether|if)\b)
      .*?\b(?:always|never|from\ (?:now|here|today|then)\ on(?:wards?)?|going\ forward
        |in\ (?:the\ )?future|every\ time|each\ time|any\ ?more|any\ longer|henceforth|by\ default
        |(?:stop|quit|avoid)\ \w+ing|refrain\ from|call\ me)\b
    | \byou\ mind\ (?:always|never|not|stopping)\b
    | ^(?!.*(?:什么|什麼|为何|怎么|怎麼|谁|誰|哪|多少|[几幾][个個次]))
      (?: .*?(?:以后|以後|今后|今後|往后|往後|从现在(?:起|开始)|從現在(?:起|開始)|从今(?:起|往后)
          |每次|永远|永遠|一直|总是|總是|始终|默认)
        (?:都|也|就|要|不要|别|別|请|請|你|您|能|可以|能不能|可不可以|不再)*
        (?=[用说說写寫回答叫称稱给給讲講做保避不别別])
      | .*?(?:[你您请請能]|可以|可不可以|可否)(?:请|請|你|您|就|再)*(?:别|別|不要|停止)再?\w)
    """,
    regex.IGNORECASE | regex.VERBOSE,
)
"""A lasting wish put as a question: "can you always …", 能不能以后都用…."""
_LONGEST_WISH = 300  # characters of a sentence that are searched for one
_NOT_WORDS = regex.compile(r"[\p{P}\p{S}\p{M}\p{Z}\p{Cf}\s]+")


def idle(said: str) -> bool:
    """Does it say nothing of whoever speaks? What only agrees is not idle: it may confirm.

    Args:
        said: the user's words of a turn.
    """
    return all(_filler(one) or _mere_question(one) for one in text.sentences(said))


def _filler(sentence: str) -> bool:
    """Thanks, greetings, signs: no word in it that could be a statement."""
    rest = _NOT_WORDS.sub(" ", text.normalise(sentence)).strip()
    at = 0
    while at < len(rest):
        match = _FILLER.match(rest, at)
        if match is None or match.end() == at or _goes_on(rest, match.end()):
            return False
        at = match.end() + (rest[match.end() : match.end() + 1] == " ")
    return True


def _goes_on(said: str, end: int) -> bool:
    """Is the match only the beginning of a longer word?"""
    return (
        said[end - 1].isascii() and said[end : end + 1].isascii() and said[end : end + 1].isalnum()
    )


def _mere_question(sentence: str) -> bool:
    """A question in which nobody speaks of themselves, nor of what shall be so from now on."""
    asks = sentence.rstrip().rstrip("\"'”’」』)）").endswith(("?", "？"))
    return asks and not (_OF_SELF.search(sentence) or _WISH.search(sentence[:_LONGEST_WISH]))
