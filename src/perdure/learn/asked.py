"""Which sentences ask to remember something, and whether a statement comes from one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from perdure import text
from perdure.learn import support
from perdure.learn.delicate import matters
from perdure.learn.idle import idle
from perdure.types import Candidate, Role, Utterance

LOOKED_AT = 8_000
"""Characters that are searched for a request. Whoever asks to remember something says so early; a
longer text is pasted, and this is asked while the turn's transaction is open."""
_MOST = 0.5  # share of a statement's words, from which it comes from a request
_FRAGMENT = 2  # words of a sentence that only completes the one before
_NONE, _ONE, _ALL = 0, 1, 1_000  # sentences of the paragraph that a request points ahead to


@dataclass(slots=True)
class Wishes:
    """What lines ask to remember, and what else they say."""

    asked: list[str] = field(default_factory=list)
    """The sentences that ask, with those that they point to."""
    rest: list[str] = field(default_factory=list)
    """The other sentences that a statement can come from."""

    def cover(self, candidate: Candidate) -> bool:
        """Did the user ask to remember this statement, whatever a model says of it?

        Where nothing but the request was said, it is what a statement comes from. Beside other
        sentences most of its words must stand in the request, and in none of them more.
        """
        if not self.asked:
            return False
        if all(map(idle, self.rest)):
            return candidate.explicit or support.shares_words(candidate.content, self.asked)
        share = support.share(candidate.content, "\n".join(self.asked))
        return share >= _MOST and not any(
            support.share(candidate.content, sentence) > share for sentence in self.rest
        )

    def hear(self, said: str) -> None:
        """Sort the sentences of one of the user's lines."""
        ahead, follows, before = _NONE, False, self._last()
        for masked, sentence, apart in _sentences(said[:LOOKED_AT]):
            ahead, follows = (_NONE, False) if apart else (ahead, follows)
            if _asks(masked):
                back = before and _POINTS_BACK.search(masked)
                if back and self.rest and self.rest[-1] == before:
                    self.asked.append(self.rest.pop())
                self.asked.append(sentence)
                ahead = _NONE if back else _ahead(masked)
                follows = True
            elif ahead or (follows and _completes(sentence)):
                self.asked.append(sentence)
                ahead -= 1 if ahead else 0
            else:
                self.rest.append(sentence)
                follows = False
            before = "" if idle(sentence) else sentence
        self.rest += text.sentences(said[LOOKED_AT:])

    def _last(self) -> str:
        """What a request at the beginning of the next line may point back to."""
        return self.rest[-1] if self.rest else ""


def wishes(said: Sequence[Utterance], context: Sequence[Utterance] = ()) -> Wishes:
    """What the user asks to remember in these lines, and what else was said there.

    Args:
        said: the lines to learn from, oldest first.
        context: the lines before them.
    """
    found = Wishes()
    by_user = {line.content for line in said if line.role is Role.USER}
    for one in support.evidence(said, context):
        if one in by_user:
            found.hear(one)
        else:  # the assistant said so, and the user's next words agree to it
            found.rest += text.sentences(one)
    return found


def explicit_request(said: str) -> bool:
    """Does the speaker ask to remember something? Known without any model."""
    return any(_asks(masked) for masked, _, _ in _sentences(said[:LOOKED_AT]))


def requests(said: str) -> tuple[str, ...]:
    """The sentences that ask to remember something, with those that they point to."""
    found = Wishes()
    found.hear(said)
    return tuple(found.asked)


def _sentences(said: str) -> Iterator[tuple[str, str, bool]]:
    """Each sentence, without and with what it quotes, and whether a paragraph begins with it."""
    masked = _QUOTED.sub(lambda match: "x" * len(match.group()), said)
    end = 0
    for sentence in text.sentences(masked):
        start = masked.index(sentence, end)
        apart = _BLANK_LINE.search(said[end:start]) is not None
        end = start + len(sentence)
        yield sentence, said[start:end], apart


def _asks(masked: str) -> bool:
    return bool(_ENGLISH.search(masked) or _CHINESE.search(masked))


def _ahead(masked: str) -> int:
    """How many sentences a request means that stand behind it."""
    if _LIST.search(masked):
        return _ALL
    return _ONE if _POINTS_BACK.search(masked) else _NONE


def _completes(sentence: str) -> bool:
    """Does it go on about what was asked for? What is delicate must be asked for by itself."""
    if matters(sentence) or idle(sentence):
        return False
    words = [term for term in text.terms(sentence) if term.isascii() or len(term) == 1]
    own = _OF_SELF.search(sentence) is not None
    return _GOES_ON.match(sentence) is not None or (not own and len(words) <= _FRAGMENT)


_BLANK_LINE = re.compile(r"\n\s*\n")
_OF_SELF = re.compile(r"\b(?:i|my|we|our)\b|[我咱]", re.IGNORECASE)
_GOES_ON = re.compile(
    r"\W*(?:(?:he|she|it|they|his|her|its|their|those|these)\b|[他她它]|其|这|那|是|也是)",
    re.IGNORECASE,
)
"""A sentence about whom or what the one before named."""


_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|“[^”]{0,2000}”|「[^」]{0,2000}」|『[^』]{0,2000}』|"
    r'"[^"\n]{0,2000}"|(?:(?<=\s)|(?<=[:：,])|^)\'[^\n]{0,500}?[^\s]\'(?=[\s.,;!?]|$)',
    re.DOTALL | re.MULTILINE,
)
"""Words of somebody else: a request in them is not the speaker's."""

_KEEP = r"""(?:remember|memori[sz]e|keep\sin\smind|bear\sin\smind|make\sa\snote|note\sdown|
    (?:do\snot|don['’]t|never)\sforget)"""
_LIST = re.compile(
    rf"""
    [:：]\W*$
    | {_KEEP}\s(?:(?:these|the\sfollowing)\W*$
      | (?:these|the\sfollowing|two|three|four|five|some|several|a\sfew|\d)
        (?:\s\w+)?\s(?:things|facts|points))
    | (?:记住|記住|记下来?|記下來?|记一下|記一下|记得|記得)\W*
      (?:以下|下面|下列|这些|這些|这几|這幾|[几幾两兩二三四五\d](?:件事|[点點条條][:：]))
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""A request for the sentences behind it."""
_NOT_A_REQUEST = r"""(?!\s*(?:\?|when\b|what\b|who\b|whom\b|where\b|which\b|how\b|why\b|if\b|
    whether\b|me\sto\b|any(?:thing)?\b|
    (?:that|the|those)\s(?:time|days?|night|one|movie|song|book)\b))"""
_ENGLISH = re.compile(
    rf"""
    (?: ^\W* | [.!?;,:—–]\s* | \s-\s )                       # where a clause begins
    (?: (?:and|but|so|also|then|now|ok|okay|oh|hey|hi|well|btw|just|always|first|one\s\w+|
         for\sthe\srecord|by\sthe\sway) [\s,]{{1,3}} ){{0,4}}
    (?: (?:please|pls|kindly)[\s,]+ )?
    (?: (?:can|could|would|will|should|must)\syou\s(?:please\s|also\s|kindly\s)?
      | you\s(?:should|must|need\sto|have\sto|can)\s
      | (?:be\ssure|make\ssure)\s(?:to|(?:that\s)?you)\s
      | try\sto\s )?
    (?: (?:please|always)[\s,]+ )?
    {_KEEP}\b{_NOT_A_REQUEST}
    | \b(?:want|need|like|ask|asking|tell|telling|expect)\syou\sto\s(?:please\s|always\s)?
      {_KEEP}\b{_NOT_A_REQUEST}
    | (?:^|[.!?;,]\s*|\band\s) (?:please\s)? remember\s(?:that|this|it|my|:)
      (?!\s(?:time|day|days|night|one|movie|song|book)\b)
    | \bplease\s(?:remember|memori[sz]e|keep\sin\smind|note\sdown)\b{_NOT_A_REQUEST}
    """,
    re.IGNORECASE | re.VERBOSE | re.MULTILINE,
)
_ASKS = r"(?![^,，。；;！!]*(?:吗|嗎|什么|什麼|谁|誰|哪|几|幾|多少|没有|沒有|[?？]))"
_CHINESE = re.compile(
    rf"""
    (?: ^\W* | [，。！？；：、,.!?;:]\s* )                     # where a clause begins
    (?: 请你?|請你?|麻烦你?|麻煩你?|拜托你?|拜託你?|帮我|幫我|帮忙|幫忙|给我|給我|替我|
        你?(?:务必|務必)|
        你?(?:一定要?|要|得|必须|必須|应该|應該|可以|能|能不能|可不可以|可否|能否)|
        我(?:想|希望|要|想要)?(?:让|讓|要)?你|以后|以後|另外|还有|還有|对了|對了|那么?|那麼|那就|
        好的?|顺便|順便|
        都|也|先|再|就|永远|永遠|千万|千萬|,|，|\s ){{0,9}}
    (?: (?:记住|記住|记一下|記一下|记下来?|記下來?|记录一下|記錄一下|记着|記著|牢记|牢記|记在心里)
        (?!了?[吗嗎没沒])
      | (?:记得|記得){_ASKS}
      | (?:别|別|不要|不能|别再|別再|勿)忘(?:了|记|記)?(?!我了)  )
    """,
    re.VERBOSE | re.MULTILINE,
)
_POINTS_BACK = re.compile(
    r"""
    \b(?:remember|mind|memori[sz]e|note|forget)\s+(?:that|this|it|these|those)\s*(?:,?\s*please)?\s*[.!]*$
    | ^\W*(?:please\s)?remember\W*$
    | (?:记住|記住|记一下|記一下|记下来?|記下來?|记得|記得|别忘|別忘|不要忘)(?:了|记|記)?
      (?:这个|這個|这点|這點|这些|這些|这件事|這件事|哦|喔|啊|吧|我说的|了)*[。！!.]*$
    """,
    re.IGNORECASE | re.VERBOSE,
)
