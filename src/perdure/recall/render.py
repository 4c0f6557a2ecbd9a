"""How memories are said: four forms, two languages, memory text always as quoted data. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import regex

from perdure import text
from perdure.policy import RenderPolicy
from perdure.prompts.words import BLOCK_CLOSE, BLOCK_OPEN, TITLES, WORDS, Words
from perdure.text import Language
from perdure.types import ItemId, Kind, Level, MemoryItem, Utterance

_BREAK = regex.compile(r"[\s\p{Cc}\p{Zl}\p{Zp}]+")
_TAG = regex.compile(r"[<＜](?=\p{L}|\s*[/／!?<＜|｜])")
_OPENS = regex.compile(r"^(?=#{1,6}(?:\s|$)|`{3}|~{3})")
_TITLE = regex.compile(
    "|".join(regex.escape(title) for title in sorted(TITLES)), flags=regex.IGNORECASE
)
_SOFT = str.maketrans("【】[]", "〔〕()")


def quoted(words: str) -> str:
    """Someone's words as data of one line.

    They cannot end the block, look like a section or a message of ours, or start a line; what a
    person reads stays the same as far as that allows.
    """
    line = _BREAK.sub(" ", text.visible(text.clean(words))).strip()
    line = _TITLE.sub(lambda title: title.group().translate(_SOFT), _TAG.sub("&lt;", line))
    return str(_OPENS.sub(r"\\", line))


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One form in one language, as lines."""

    head: tuple[str, ...]
    """Lines before the memories, the opening mark included."""
    line: Callable[[MemoryItem], str]
    order: Callable[[MemoryItem, bool], Any]
    """Sort key of a memory, and whether it is pinned. It knows nothing of questions, scores and
    clocks: while the memories stay the same the text does, and a prompt cache holds. In each
    section what is pinned stands first, so that the part that comes whatever the question is the
    part that a cache can keep; of it the least important stand last, since they leave first."""
    newest_first: bool = False
    titles: Mapping[Kind, str] = field(default_factory=dict)
    """Section titles; none: no sections."""
    said: str
    """Section title of quoted messages."""
    noted: tuple[str, str]
    """Behind a memory, when it was noted; and if it was confirmed on a later day, when last."""
    more: str = ""
    """The closing line when memories were left out; takes their number. Empty: none."""

    def title(self, item: MemoryItem) -> tuple[str, ...]:
        """The lines that open the section of a memory."""
        return ("", self.titles[item.kind]) if self.titles else ()

    def tail(self, omitted: int) -> tuple[str, ...]:
        """Lines behind the memories, the closing mark included."""
        more = (self.more.format(count=omitted),) if omitted and self.more else ()
        return (*more, BLOCK_CLOSE)

    def quote(self, said: Utterance, chars: int) -> str:
        """The line of a quoted message."""
        words = quoted(said.content)
        short = text.cut(words, chars)
        return f"- {said.at:%Y-%m-%d} {quoted(said.speaker)}: {short}{'…' * (short != words)}"


def layout(policy: RenderPolicy, language: Language) -> Layout:
    """The form that a policy asks for."""
    words = WORDS[language]
    return _FORMS[policy.form](words)


def dated(form: Layout, ids: Collection[ItemId]) -> Layout:
    """The form in which these memories tell when they were noted.

    A question for a time gets no memory of another one that could pass for the answer.
    """

    def line(item: MemoryItem) -> str:
        first, last = item.created_at.date(), max(item.created_at, item.updated_at).date()
        once, again = form.noted
        mark = (once if first == last else again).format(first=first, last=last)
        return f"{form.line(item)}{mark}" if item.id in ids else form.line(item)

    return replace(form, line=line)


def render(
    items: Iterable[MemoryItem],
    form: Layout,
    *,
    pinned: Collection[ItemId] = (),
    omitted: int = 0,
    said: Sequence[Utterance] = (),
    quote_chars: int = 0,
) -> str:
    """The text to put before the model; nothing to say is the empty text.

    Args:
        items: what is said, in any order.
        form: how it is said.
        pinned: ids of those that come whatever the question.
        omitted: memories that did not fit, for the closing line.
        said: messages of earlier conversations to quote, in their order.
        quote_chars: characters of a quoted message.
    """
    lines = list(form.head)
    titled: tuple[str, ...] = ()

    def place(item: MemoryItem) -> Any:
        return form.order(item, item.id in pinned)

    for item in sorted(items, key=place, reverse=form.newest_first):
        if form.title(item) != titled:
            titled = form.title(item)
            lines += titled
        lines.append(form.line(item))
    if said:
        lines += ["", form.said, *(form.quote(one, quote_chars) for one in said)]
    if len(lines) == len(form.head):
        return ""
    return "\n".join((*lines, *form.tail(omitted)))


# ── the four forms ───────────────────────────────────────────────────────────────────────────────


def _typed(words: Words) -> Layout:
    places = {kind: place for place, kind in enumerate(words.titles)}
    return Layout(
        head=(BLOCK_OPEN, words.relevant),
        titles=words.titles,
        line=_bullet,
        order=lambda item, pinned: (places[item.kind], *_steady(item, pinned)),
        said=words.said,
        noted=words.noted,
    )


def _flat(words: Words) -> Layout:
    places = {kind: place for place, kind in enumerate(words.labels)}
    return Layout(
        head=(BLOCK_OPEN, words.relevant),
        line=lambda item: f"{words.labels[item.kind]} {quoted(item.content)}",
        order=lambda item, pinned: (places[item.kind], *_steady(item, pinned)),
        said=words.said,
        noted=words.noted,
    )


def _sections(words: Words) -> Layout:
    return Layout(
        head=(BLOCK_OPEN, *words.long_term),
        line=partial(_labelled, words),
        order=lambda item, pinned: (
            pinned,
            item.level is Level.PROJECT,
            item.updated_at,
            item.id,
        ),
        newest_first=True,
        said=words.said,
        noted=words.noted,
    )


def _bullets(words: Words) -> Layout:
    return Layout(
        head=(BLOCK_OPEN, *words.across),
        line=_bullet,
        order=_steady,
        said=words.said,
        noted=words.noted,
        more=words.more,
    )


def _steady(item: MemoryItem, pinned: bool) -> tuple[bool, float, float, ItemId]:  # noqa: FBT001 - a sort key's arguments
    """Pinned ones first, else in the order they were made.

    New constraints stand behind the old ones. Pinned preferences stand as they were chosen, since
    the last to be chosen is the first to leave.
    """
    made = item.created_at.timestamp()
    if not pinned:
        return (True, 0.0, made, item.id)
    newest = item.kind is Kind.PREFERENCE
    return (False, -item.importance, -made if newest else made, item.id)


def _bullet(item: MemoryItem) -> str:
    return f"- {quoted(item.content)}"


def _labelled(words: Words, item: MemoryItem) -> str:
    if item.level is Level.PROJECT:
        label = words.project.format(key=quoted(item.project or "").translate(_SOFT))
    else:
        label = words.user
    return f"- {label} {quoted(item.content)}"


_FORMS: Mapping[str, Callable[[Words], Layout]] = {
    "typed_v2": _typed,
    "flat": _flat,
    "sections": _sections,
    "bullets": _bullets,
}
