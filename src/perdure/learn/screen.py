"""What may never be stored, whatever the model says: refused, masked or quarantined in code."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import MAXYEAR

from perdure import text
from perdure.learn import contact, secret, support
from perdure.learn.delicate import matters
from perdure.learn.details import beyond
from perdure.learn.shown import Numbering
from perdure.learn.voice import Clause, objection
from perdure.policy import Policy, ScreenPolicy
from perdure.prompts.words import without_blocks
from perdure.types import Action, Candidate, MemoryItem, Preferences, Reason, Refused, Utterance


@dataclass(frozen=True, slots=True)
class Sources:
    """What a turn's candidates can come from."""

    said: tuple[Utterance, ...]
    """The lines that were learnt from, oldest first."""
    context: tuple[Utterance, ...] = ()
    """The lines before them: they explain, and are never a source by themselves."""
    heard: tuple[Clause, ...] = ()
    """The clauses of the user's lines, where a model proposed the candidates."""
    shown: Numbering[MemoryItem] = field(default_factory=Numbering)
    """The memories that the call was shown: what rewords one may carry its details over."""
    merged: bool = False
    """The reply lists those together with what is new, and does not say what rewords which."""

    def carried(self, candidate: Candidate) -> tuple[str, ...]:
        """The memories of which a candidate can be a new wording."""
        if self.merged:
            return tuple(row.content for row in self.shown.rows)
        row = self.shown.find(candidate.about) if candidate.proposed is Action.UPDATE else None
        return () if row is None else (row.content,)


@dataclass(frozen=True, slots=True)
class Screened:
    """What passed, changed where it had to be, and what did not, with its reason."""

    kept: tuple[Candidate, ...]
    refused: tuple[Refused, ...]


def screen(
    candidates: Sequence[Candidate],
    sources: Sources,
    preferences: Preferences,
    policy: ScreenPolicy,
) -> Screened:
    """Look at every candidate before it can change anything.

    Args:
        candidates: as an extractor proposed them.
        sources: what they were proposed from.
        preferences: the user's switches.
        policy: what is refused, masked or quarantined.
    """
    said = [text.visible(line) for line in support.evidence(sources.said, sources.context)]
    ours = [without_blocks(line) for line in said]
    lines = (*sources.context, *sources.said)
    around = [text.visible(without_blocks(line.content)) for line in lines]
    year = max((line.at.year for line in sources.said), default=MAXYEAR)
    secrets = secret.values(line.content for line in lines)
    kept: list[Candidate] = []
    refused: list[Refused] = []
    for proposed in candidates:
        candidate = _marked(proposed, secrets, policy)
        carried = sources.carried(candidate)
        reason = (
            _objection(candidate, secrets, preferences, policy)
            or _unsupported(candidate, said, ours, around, carried)
            or _not_own(candidate, sources.heard)
            or _misdated(candidate, [*around, *carried], year)
        )
        if reason is None:
            kept.append(candidate)
        else:
            refused.append(Refused(candidate=candidate, reason=reason))
    return Screened(tuple(kept), tuple(refused))


def _marked(candidate: Candidate, secrets: Collection[str], policy: ScreenPolicy) -> Candidate:
    """The candidate as it can be seen, with what code sees in it: a secret, an order, a matter."""
    candidate = replace(
        candidate, content=text.visible(candidate.content), title=text.visible(candidate.title)
    )
    if policy.secrets == "mask":
        candidate = replace(
            candidate,
            content=secret.masked(candidate.content, secrets),
            title=secret.masked(candidate.title, secrets),
        )
    return replace(
        candidate,
        sensitivity=max(
            candidate.sensitivity,
            2 if matters(candidate.content) else 0,
            contact.level(candidate.content, policy),
        ),
        suspicious=candidate.suspicious or poses_as_order(candidate.content),
    )


def _objection(
    candidate: Candidate,
    secrets: Collection[str],
    preferences: Preferences,
    policy: ScreenPolicy,
) -> Reason | None:
    """The first reason in the candidate itself not to store it, or None."""
    if not candidate.content and candidate.proposed is not Action.TOUCH:
        return Reason.EMPTY
    words = f"{candidate.title}\n{candidate.content}"
    if secret.has_secret(words) or secret.repeats(words, secrets):
        return Reason.SECRET
    if candidate.suspicious and policy.instructions == "refuse":
        return Reason.SUSPICIOUS
    return unwelcome(candidate, preferences, policy)


def unwelcome(
    candidate: Candidate, preferences: Preferences, policy: ScreenPolicy
) -> Reason | None:
    """The switch of the user that forbids it, or None. Asked again when it is written.

    Args:
        candidate: as the screen marked it.
        preferences: the user's switches.
        policy: from which level on a matter is delicate.
    """
    if not preferences.auto_learn and not candidate.explicit:
        return Reason.AUTO_LEARN_OFF
    allowed = candidate.explicit or preferences.sensitive_allowed
    if candidate.sensitivity >= policy.sensitive_from and not allowed:
        return Reason.SENSITIVE_NOT_LEARNT
    return None


def _unsupported(
    candidate: Candidate,
    said: list[str],
    ours: list[str],
    around: list[str],
    carried: Sequence[str],
) -> Reason | None:
    """The reason if nobody said this, or only our own text did. A touch writes no words.

    What the user did not say now may stand in the one memory that it rewords, never in two.
    """
    if candidate.proposed is Action.TOUCH or any(
        support.supported(candidate.content, ours, [*around, *memory])
        for memory in ([], *([one] for one in carried))
    ):
        return None
    echo = support.supported(candidate.content, said, around)
    return Reason.INJECTED if echo else Reason.UNSUPPORTED


def reworded(
    candidate: Candidate,
    content: str,
    sources: Sequence[str],
    preferences: Preferences,
    policy: Policy,
) -> Candidate | None:
    """The candidate in the words of the memory that it changes; None if they may not be stored.

    Args:
        candidate: the new statement, as it passed the screen.
        content: the whole new text, as a model proposed it.
        sources: the memory as it was, whose delicate matters may stay; the new statement, and what
            was said.
        preferences: the user's switches.
        policy: how long a memory may be, and what is refused.
    """
    limit = min(policy.learn.item_chars, policy.item.content_chars)
    secrets = secret.values(sources)
    new = _marked(replace(candidate, content=content), secrets, policy.screen)
    reason = _objection(new, secrets, preferences, policy.screen)
    fits = (
        text.graphemes(text.normalise(content, "space")) <= limit
        and not secret.has_secret(content)
        and not secret.repeats(content, secrets)
        and not poses_as_order(content)
        and support.supported(content, sources)
        and not beyond(content, sources).names
        and (
            reason is None or (reason is Reason.SENSITIVE_NOT_LEARNT and _told(content, sources[0]))
        )
    )
    return new if fits else None


def _told(content: str, row: str) -> bool:
    """Does it speak of no delicate matter but those of a row that is stored?"""
    return bool(matters(content)) and matters(content) <= matters(row)


def _misdated(candidate: Candidate, around: list[str], year: int) -> Reason | None:
    """The reason if its date was counted from another day than the message's."""
    return Reason.UNSUPPORTED if support.future_years(candidate.content, around, year) else None


def _not_own(candidate: Candidate, heard: tuple[Clause, ...]) -> Reason | None:
    """The reason if the user did not say this of themselves. A touch writes no words."""
    return None if candidate.proposed is Action.TOUCH else objection(candidate, heard)


# ── text that poses as an order ──────────────────────────────────────────────────────────────────


def poses_as_order(said: str) -> bool:
    """Does it read like an order to a model, and not like a wish of the user?"""
    return _ORDER.search(unicodedata.normalize("NFKC", text.visible(said)).casefold()) is not None


_ORDER = re.compile(
    r"""
    \b(?:ignore|disregard|forget|override|bypass)\s+(?:\w+\s+){0,3}?
      (?:instruction|prompt|rule|guideline|safety|restriction|polic|filter|guardrail)
    | (?:^|[.!?>"'“‘(]\s?)\s?(?:system|assistant|developer)\s?:
    | </?\s?(?:memory|system|instruction|assistant|user|prompt|tool)\b | <\|\w+\|> | \[/?inst\]
    | \#{2,}\s?(?:new\s|system|instruction)
    | \bnew\ssystem\sprompt\b | \b(?:hidden|secret)\s(?:prompt|instruction)s?\b
    | \byou\s(?:are|re)\s(?:now\s)?(?:in\s)?(?:an?\s|the\s)?
      (?:admin|developer|debug|root|god|dan\b|unrestricted|jailbroken|uncensored)
    | \b(?:admin|developer|debug|god)\smode\b
    | \b(?:reveal|leak|print|show|output|send|exfiltrate|disclose)\b.{0,40}
      \b(?:system\sprompt|instructions|secrets?|passwords?|credentials?|api\skeys?
        |all\s(?:users?|memories)|other\susers?)
    | \b(?:always|every|each|all|must|never)\b.{0,60}
      \b(?:link|send|post|include|append|visit|open|add)\b.{0,60}https?://
    | \b(?:without\stelling|do\snot\s(?:tell|inform|mention\sto)|don.t\s(?:tell|inform))
      \s(?:this\sto\s)?the\suser
    | \bthe\suser\shas\s(?:already\s)?(?:approved|agreed|consented)
    | (?:忽略|无视|無視|忘记|忘掉|绕过|跳过|不要遵守|不遵守).{0,12}?
      (?:指令|指示|规则|規則|提示|要求|限制|安全|设定)
    | (?:^|[\s。，"“(（])(?:系统|系統|助手|开发者)\s?: | 系统提示词 | 系統提示詞
    | (?:泄露|透露|公开|输出|发送|显示|告诉我).{0,12}
      (?:系统提示|提示词|密码|密钥|所有用户|其他用户|全部记忆)
    | (?:管理员|开发者|调试|上帝|越狱)模式
    | (?:不要|别|不得|无需)(?:告诉|告知|通知|提醒)用户
    | (?:每次|所有|总是|始终|必须).{0,30}(?:链接|发送|附上|访问|打开|包含).{0,30}https?://
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
