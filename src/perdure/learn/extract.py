"""Finds what a turn says about a person: asks a model, and reads its reply whatever its shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from perdure import text
from perdure.errors import ReplyCutOff, TooLarge
from perdure.learn import support
from perdure.learn.asked import Wishes, wishes
from perdure.learn.facts import Proposal, normalize_facts
from perdure.learn.reply import extract_json
from perdure.learn.shown import Numbering
from perdure.policy import Policy
from perdure.ports import Question, Reply
from perdure.prompts import extract as prompt
from perdure.prompts.words import without_blocks
from perdure.types import Action, Candidate, MemoryItem, Refused, Role, Utterance


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What an extractor proposes, and what it left out with its reason."""

    candidates: tuple[Candidate, ...]
    refused: tuple[Refused, ...]
    model: str = "basic"
    """What proposed it; ``basic`` is the built-in extractor."""
    prompt: str | None = None
    """Version of the prompt that was used."""
    skipped: int = 0
    """Entries of the reply that were no statement at all."""
    cut_off: int = 0
    """Questions asked again with less input: too long for the model, or their reply cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """All that a model is told when it is asked what to remember."""

    said: tuple[Utterance, ...]
    """The lines to learn from, oldest first, as `heard` gives them."""
    context: tuple[Utterance, ...] = ()
    """The lines before them, for understanding only."""
    known: Numbering[MemoryItem] = field(default_factory=Numbering)
    dismissed: tuple[str, ...] = ()
    """Statements the user does not want remembered."""
    project: bool = False
    """The conversation belongs to a project."""


Ask: TypeAlias = Callable[[Question], Reply]
"""Asks the model that learns; no transaction may be open."""


def extract(ask: Ask, told: Told, policy: Policy, halvings: int | None = None) -> Extracted:
    """What the model proposes to remember; a long input is asked about in halves.

    Args:
        ask: asks the model.
        told: what it is told.
        policy: limits of the question and of the reply.
        halvings: how often the input of a question that was too long, or whose reply was cut off,
            may still be halved.

    Raises:
        TooLarge: the question is longer than the model can take, however small the input.
        ReplyCutOff: the reply was cut off, however small the input.
        ReplyUnusable: the reply cannot be read.
        ModelUnavailable: as the chat model raises it.
    """
    left = policy.learn.halvings if halvings is None else halvings
    long = sum(len(line.content) for line in told.said) > policy.learn.input_chars
    parts = halves(told.said) or (torn(told.said) if long else ())
    if parts and long:
        return _in_parts(ask, told, parts, policy, left)
    try:
        return _read(ask(question(told, policy)), told, policy)
    except (ReplyCutOff, TooLarge):
        if not parts or not left:
            raise
    found = _in_parts(ask, told, parts, policy, left - 1)
    return replace(found, cut_off=found.cut_off + 1)


def _in_parts(
    ask: Ask, told: Told, parts: Sequence[tuple[Utterance, ...]], policy: Policy, halvings: int
) -> Extracted:
    """What the model proposes for each part; the end of one explains the beginning of the next."""
    found: list[Extracted] = []
    context = told.context
    for part in parts:
        if any(line.role is Role.USER for line in part):
            found.append(extract(ask, replace(told, said=part, context=context), policy, halvings))
        context = (*told.context, _end(part[-1], policy.learn.overlap_chars))
    return _joined(found)


def _end(line: Utterance, chars: int) -> Utterance:
    """The last sentences of a line, as many as fit."""
    kept: list[str] = []
    for sentence in reversed(list(text.sentences(line.content))):
        if kept and sum(map(len, kept)) + len(sentence) > chars:
            break
        kept.insert(0, sentence)
    return replace(line, content=text.cut(" ".join(kept), chars))


# ── the question ─────────────────────────────────────────────────────────────────────────────────


def question(told: Told, policy: Policy) -> Question:
    """The question about these lines, in the language that the user speaks in them."""
    learn = policy.learn
    asked = protocol(told, policy)
    by_user = "\n".join(line.content for line in told.said if line.role is Role.USER)
    return Question(
        purpose="extract",
        version=prompt.VERSION,
        messages=prompt.messages(
            lines=_lines(told.said),
            context=_lines(told.context, learn.context_chars),
            known={n: row.content for n, row in told.known.numbered().items()},
            refused=told.dismissed,
            protocol=asked,
            project=told.project,
            max_items=learn.max_items,
            item_chars=learn.item_chars,
            language=text.language(by_user),
        ),
        schema=prompt.schema(asked),
        timeout_s=learn.timeout_s,
        temperature=learn.temperature,
        top_p=learn.top_p,
        max_tokens=learn.max_reply_tokens,
    )


def protocol(told: Told, policy: Policy) -> prompt.Protocol:
    """What the reply is to list; with nothing to compare with, statements alone."""
    if not told.known.rows or policy.decide.strategy == "two_call":
        return "statements"
    return "merged" if policy.decide.strategy == "exact" else "actions"


def _lines(said: Sequence[Utterance], chars: int | None = None) -> list[prompt.Line]:
    return [
        prompt.Line(
            number=number,
            role=line.role.value,
            name=line.name,
            at=line.at,
            text=line.content if chars is None else shortened(line.content, chars),
        )
        for number, line in enumerate(said, start=1)
    ]


def heard(said: Sequence[Utterance]) -> tuple[Utterance, ...]:
    """The lines as an extractor gets them: of user and assistant, without what recall put in."""
    lines = (
        replace(line, content=without_blocks(line.content))
        for line in said
        if line.role in (Role.USER, Role.ASSISTANT)
    )
    return tuple(line for line in lines if line.content.strip())


def shortened(said: str, limit: int) -> str:
    """The text itself, or its beginning with a note that it was cut."""
    if text.graphemes(said) <= limit:
        return said
    note = " … [cut]" if text.language(said) == "en" else " …（已截断）"
    return text.cut(said, max(0, limit - len(note))) + note


def halves(said: tuple[Utterance, ...]) -> tuple[tuple[Utterance, ...], ...]:
    """The lines in two parts of about equal length; one long line between two sentences.

    Nothing if there is no place to cut. Both halves of a line keep its speaker, time and id.
    """
    if len(said) > 1:
        total = sum(len(line.content) for line in said)
        sizes = [sum(len(line.content) for line in said[:cut]) for cut in range(1, len(said))]
        cut = min(range(len(sizes)), key=lambda n: abs(2 * sizes[n] - total)) + 1
        return said[:cut], said[cut:]
    if not said:
        return ()
    [line] = said
    sentences = list(text.sentences(line.content))
    if len(sentences) < 2:  # noqa: PLR2004 - two halves need two sentences
        return ()
    sizes = [sum(map(len, sentences[:cut])) for cut in range(1, len(sentences))]
    total = sum(map(len, sentences))
    cut = min(range(len(sizes)), key=lambda n: abs(2 * sizes[n] - total)) + 1
    first, second = " ".join(sentences[:cut]), " ".join(sentences[cut:])
    return (replace(line, content=first),), (replace(line, content=second),)


def torn(said: tuple[Utterance, ...]) -> tuple[tuple[Utterance, ...], ...]:
    """One line that is one sentence in two parts of about equal length, between words if it can."""
    [line] = said
    first = text.cut(line.content, text.graphemes(line.content) // 2)
    space = first.rfind(" ", len(first) // 2)
    first = first if space < 0 else first[:space]
    second = line.content[len(first) :]
    return (replace(line, content=first),), (replace(line, content=second),)


# ── the reply ────────────────────────────────────────────────────────────────────────────────────


def _read(reply: Reply, told: Told, policy: Policy) -> Extracted:
    """The candidates of a reply, their sources as message ids."""
    if reply.cut_off:
        raise ReplyCutOff
    facts = normalize_facts(extract_json(reply.text), policy)
    wished = wishes(told.said, told.context)
    return Extracted(
        candidates=tuple(_candidate(one, told, wished, policy) for one in facts.proposals),
        refused=facts.refused,
        model=reply.model,
        prompt=prompt.VERSION,
        skipped=facts.skipped,
    )


def _candidate(proposal: Proposal, told: Told, wished: Wishes, policy: Policy) -> Candidate:
    """The proposal with what code knows better: its sources, and whether it was asked for."""
    candidate = proposal.candidate
    if policy.decide.strategy != "one_call":
        candidate = replace(candidate, proposed=None, about=None)
    row = told.known.find(candidate.about)
    if candidate.proposed is Action.TOUCH and not candidate.content and row is not None:
        candidate = replace(candidate, content=row.content, level=row.level, kind=row.kind)
    by_user = [line for line in told.said if line.role is Role.USER]
    named = [told.said[n - 1] for n in proposal.lines if 1 <= n <= len(told.said)]
    sources = named
    if not any(line.role is Role.USER for line in named):
        sources = _alike(candidate, by_user) or by_user
    return replace(
        candidate,
        messages=tuple(dict.fromkeys(line.id for line in sources)),
        explicit=wished.cover(candidate),
    )


def _alike(candidate: Candidate, said: Sequence[Utterance]) -> list[Utterance]:
    """The lines that a statement shares words with: where it comes from if the reply does not say.

    What was said after a deletion brings a statement back, but only if it is about that.
    """
    return [line for line in said if support.shares_words(candidate.content, [line.content])]


def _joined(parts: Sequence[Extracted]) -> Extracted:
    """What several calls about one turn propose."""
    return Extracted(
        candidates=tuple(candidate for part in parts for candidate in part.candidates),
        refused=tuple(refused for part in parts for refused in part.refused),
        model=parts[0].model,
        prompt=parts[0].prompt,
        skipped=sum(part.skipped for part in parts),
        cut_off=sum(part.cut_off for part in parts),
    )
