"""May this turn be learnt from? Pure, with a reason for each refusal."""

from __future__ import annotations

import re

from perdure import text
from perdure.learn.idle import idle
from perdure.policy import LearnPolicy
from perdure.ports import ConversationState
from perdure.types import (
    ConversationKind,
    Message,
    Outcome,
    Preferences,
    Reason,
    Role,
    Switches,
    Turn,
)


def refusal(
    turn: Turn,
    preferences: Preferences,
    switches: Switches,
    state: ConversationState | None,
    policy: LearnPolicy,
) -> Reason | None:
    """The first reason not to learn from this turn, or None.

    Args:
        turn: as it will be kept, without what recall put into it.
        preferences: the user's switches.
        switches: the deployment's.
        state: of the conversation before this turn; None if it is new.
        policy: what the namespace learns from.
    """
    off = switched_off(preferences, switches, "\n".join(_said(turn, Role.USER)), policy)
    if off is not None:
        return off
    if not turn.mode.writes:
        return Reason.MODE_OFF
    if turn.outcome is not Outcome.COMPLETED:
        return Reason.NOT_COMPLETED
    if turn.kind is not ConversationKind.MAIN:
        return Reason.CONVERSATION_KIND
    return _lack(turn, state, policy)


def switched_off(
    preferences: Preferences, switches: Switches, said: str, policy: LearnPolicy
) -> Reason | None:
    """The switch that forbids learning, or None. Asked at capture, at the job and at its end.

    Args:
        preferences: the user's switches.
        switches: the deployment's.
        said: the user's words; an explicit request counts where the policy lets it.
        policy: what the namespace learns from.
    """
    if not (switches.enabled and switches.learn and preferences.memory_enabled):
        return Reason.DISABLED
    if preferences.auto_learn or (policy.explicit_when_off and explicit_request(said)):
        return None
    return Reason.AUTO_LEARN_OFF


def _lack(turn: Turn, state: ConversationState | None, policy: LearnPolicy) -> Reason | None:
    """What the turn lacks to be worth a look, or None."""
    spoken = [*_said(turn, Role.USER), *_said(turn, Role.ASSISTANT)]
    by_user = _said(turn, Role.USER)
    if not spoken:
        return Reason.NOTHING_SAID
    if not by_user and not policy.trigger_chars:
        return Reason.NO_USER_MESSAGE
    if policy.needs_reply and not _said(turn, Role.ASSISTANT):
        return Reason.NO_REPLY
    return _too_little(by_user, policy) or _too_early(turn, state, policy)


def _too_little(by_user: list[str], policy: LearnPolicy) -> Reason | None:
    """The reason if the user said too little to learn from."""
    counted = by_user[-1:] if policy.takes == "last_exchange" else by_user
    length = sum(text.graphemes(text.normalise(said, "space")) for said in counted)
    if length < policy.min_user_chars:
        return Reason.TOO_SHORT
    return Reason.NOT_A_STATEMENT if policy.skips_idle and all(map(idle, by_user)) else None


def _too_early(turn: Turn, state: ConversationState | None, policy: LearnPolicy) -> Reason | None:
    """The reason if too little is new since the watermark."""
    waiting = state.waiting_chars if state is not None else 0
    if waiting + sum(len(message.content) for message in turn.messages) < policy.trigger_chars:
        return Reason.NOT_ENOUGH_NEW
    return None


def _said(turn: Turn, role: Role) -> list[str]:
    """The texts of one role that are not blank."""
    return [m.content for m in turn.messages if m.role is role and not blank(m)]


def blank(message: Message) -> bool:
    """Nothing to read in it."""
    return not message.content.strip()


# ── explicit requests ────────────────────────────────────────────────────────────────────────────


LOOKED_AT = 8_000
"""Characters that are searched for a request. Whoever asks to remember something says so early; a
longer text is pasted, and this is asked while the turn's transaction is open."""


def explicit_request(said: str) -> bool:
    """Does the speaker ask to remember something? Known without any model."""
    return bool(requests(said))


def requests(said: str) -> tuple[str, ...]:
    """The sentences that ask to remember something, with the sentence that they point back to."""
    said = said[:LOOKED_AT]
    masked = _QUOTED.sub(lambda match: "x" * len(match.group()), said)
    found: list[str] = []
    before = ""
    start = 0
    for sentence in text.sentences(masked):
        start = masked.index(sentence, start)
        original = said[start : start + len(sentence)]
        start += len(sentence)
        if _ENGLISH.search(sentence) or _CHINESE.search(sentence):
            if before and _POINTS_BACK.search(sentence):
                found.append(before)
            found.append(original)
        before = original
    return tuple(found)


_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|“[^”]{0,2000}”|「[^」]{0,2000}」|『[^』]{0,2000}』|"
    r'"[^"\n]{0,2000}"|(?:(?<=\s)|(?<=[:：,])|^)\'[^\n]{0,500}?[^\s]\'(?=[\s.,;!?]|$)',
    re.DOTALL | re.MULTILINE,
)
"""Words of somebody else: a request in them is not the speaker's."""

_KEEP = r"""(?:remember|memori[sz]e|keep\sin\smind|bear\sin\smind|make\sa\snote|note\sdown|
    (?:do\snot|don['’]t|never)\sforget)"""
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
