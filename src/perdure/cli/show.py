"""What a demo looks like in a terminal; each person is told of in their own language."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from perdure import text
from perdure.cli.names import KINDS, LEVELS, SOURCES
from perdure.cli.play import Played
from perdure.cli.say import told
from perdure.cli.script import Person, Talk
from perdure.learn.secret import masked
from perdure.text import Language
from perdure.types import Answer, MemoryItem, Reason, Role
from perdure.types.words import in_words

OPENING = (
    "Conversations become memories, and memories a prompt. Everything happens in a temporary file."
)
"""What is going to be seen."""
SETTINGS = (
    ("PERDURE_LLM_BASE_URL", "http://127.0.0.1:11434/v1"),
    ("PERDURE_LLM_API_KEY", "…"),
    ("PERDURE_LLM_MODEL", "…"),
)
"""What connects a real model, with an example."""
SERVE = "perdure serve"
"""What starts the service."""
_SHOWN = 8  # messages of one conversation; more are only counted
_SAID_CHARS = 240  # of one message
_QUOTED_CHARS = 72  # of a sentence that something was learnt from
_SENTENCES = 4  # of a message that was refused in part


def opening(console: Console, language: Language) -> None:
    """Say what is going to be seen."""
    console.print()
    console.print(Text("Perdure  ", style="bold") + Text(told(OPENING, language), style="not bold"))


def person(console: Console, played: Played) -> None:
    """One person, from the first message to the deleted memory."""
    tongue = played.person.language
    console.print()
    console.print(Rule(Text(played.person.user, style="bold"), align="left", style="cyan"))
    for talk in played.person.talks:
        _talk(console, played.person, talk)
    _learnt(console, played, tongue)
    _refused(console, played, tongue)
    user, asked_in = played.person.user, played.person.asked_in
    _heading(console, told("Later, in “{talk}”, {user} asks", tongue, user=user, talk=asked_in))
    console.print(_cut(played.person.question, _SAID_CHARS), style="cyan")
    _heading(console, told("What the model receives before it answers", tongue))
    _received(console, played.answer, tongue)
    _left_out(console, played, tongue)
    _took(console, played, tongue)
    _deleted(console, played, tongue)


def closing(console: Console, language: Language, models: tuple[str, ...]) -> None:
    """Say what learnt, how to connect a real model and how to start the service."""
    console.print()
    console.print(Rule(style="cyan"))
    named = [model for model in models if model != "basic"]
    if named:
        console.print(told("The model {model} learnt this.", language, model=named))
    else:
        basic = told(
            "The built-in extractor learnt this, without any model. It is the basic one: it knows "
            "common ways of speaking, and would rather miss something than make it up. A language "
            "model finds more, words it better and notices what has changed.",
            language,
        )
        console.print(basic)
    console.print()
    connect = told("To connect a model (any OpenAI-compatible endpoint), set:", language)
    console.print(connect)
    for name, example in SETTINGS:
        console.print(f"  export {name}={example}", style="cyan", soft_wrap=True)
    console.print()
    console.print(told("To start the service:", language))
    console.print(f"  {SERVE}", style="cyan")


def refusals(played: Played) -> list[dict[str, Any]]:
    """What was refused, message by message: the reasons, and the reasons in words."""
    reasons: dict[tuple[str, str], list[Reason]] = {}
    for talk, turn, receipt in played.turns:
        first = turn[0].id or ""
        if receipt.reason is not None:
            reasons.setdefault((talk, first), []).append(receipt.reason)
        for note in receipt.refused:
            for message in note.messages or (first,):
                reasons.setdefault((talk, message), []).append(note.reason)
    language = played.person.language
    return [
        {
            "conversation_id": talk,
            "message_id": message,
            "said": None if Reason.SECRET in found else _unused(played, talk, message),
            "reasons": [reason.value for reason in dict.fromkeys(found)],
            "why": [in_words(reason, language) for reason in dict.fromkeys(found)],
        }
        for (talk, message), found in reasons.items()
    ]


def _unused(played: Played, talk: str, message: str) -> str:
    """The sentences of a message that nothing was learnt from; a secret in them is masked."""
    spoken = list(text.sentences(played.person.said(talk, message)))
    used = {
        _nearest(played.person, item, message)[0]
        for item in played.learnt
        if item.origin.conversation == talk and message in item.origin.messages
    }
    left = [said for place, said in enumerate(spoken) if place not in used] or spoken
    return "\n".join(masked(said) for said in left)


# ── what was said ────────────────────────────────────────────────────────────────────────────────


def _talk(console: Console, person: Person, talk: Talk) -> None:
    first = talk.messages[0].at
    when = "" if first is None else f"{first:%Y-%m-%d} · "
    console.print()
    console.print(f"{when}{talk.id}", style="dim")
    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(no_wrap=True, style="dim")
    lines.add_column(no_wrap=True)
    lines.add_column(overflow="fold")
    for message in talk.messages[:_SHOWN]:
        mine = message.role is Role.USER
        role = told(message.role.value, person.language)
        speaker = message.name or (person.user if mine else role)
        lines.add_row(
            message.id,
            Text(speaker, style="cyan" if mine else "dim"),
            Text(_cut(message.content, _SAID_CHARS), style="" if mine else "dim"),
        )
    console.print(lines)
    hidden = len(talk.messages) - _SHOWN
    if hidden > 0:
        more = told("… and {count} more messages", person.language, count=hidden)
        console.print(more, style="dim")


def _cut(said: str, limit: int) -> str:
    """One line of at most so many characters."""
    line = " ".join(said.split())
    short = text.cut(line, limit)
    return line if short == line else f"{short}…"


def _short(said: str) -> str:
    """What fits into a table, without a full stop that would stand alone on the next line."""
    return _cut(said.rstrip(" .。"), _QUOTED_CHARS)


# ── what became of it ────────────────────────────────────────────────────────────────────────────


def _learnt(console: Console, played: Played, tongue: Language) -> None:
    _heading(console, told("What was learnt", tongue))
    if not played.learnt:
        console.print(told("Nothing.", tongue))
        return
    table = _table(tongue, ("kind", 0), ("memory", 2), ("learnt from", 3))
    for item in _as_said(played):
        level, source = told(LEVELS[item.level], tongue), told(SOURCES[item.source], tongue)
        sources = [
            told(
                "{talk}, {id}: {said}",
                tongue,
                talk=item.origin.conversation,
                id=id_,
                said=_short(masked(sentence)),
            )
            for id_ in item.origin.messages
            for _, sentence in [_nearest(played.person, item, id_)]
        ]
        table.add_row(
            Text(f"{told(KINDS[item.kind], tongue)}\n") + Text(f"{level} · {source}", style="dim"),
            Text(item.content, style="bold"),
            Text("\n".join(sources), style="dim"),
        )
    console.print(table)


def _as_said(played: Played) -> list[MemoryItem]:
    """The memories in the order in which their words were said."""
    order = [(talk.id, m.id) for talk in played.person.talks for m in talk.messages]

    def place(item: MemoryItem) -> tuple[int, int, str]:
        first = (item.origin.conversation or "", next(iter(item.origin.messages), ""))
        message = order.index(first) if first in order else len(order)
        return message, _nearest(played.person, item, first[1])[0], item.content

    return sorted(played.learnt, key=place)


def _nearest(person: Person, item: MemoryItem, message: str) -> tuple[int, str]:
    """The sentence of a message that says the most of what a memory says, and its place."""
    known = set(text.terms(item.content))
    spoken = list(text.sentences(person.said(item.origin.conversation, message)))
    shared = [len(known & set(text.terms(sentence))) for sentence in spoken]
    best = shared.index(max(shared)) if shared else 0
    return best, spoken[best] if spoken else ""


def _refused(console: Console, played: Played, tongue: Language) -> None:
    _heading(console, told("What was refused, and why", tongue))
    refused = refusals(played)
    if not refused:
        console.print(told("Nothing.", tongue))
    else:
        table = _table(tongue, ("message", 0), ("said", 3), ("why not", 2))
        for note in refused:
            spoken = (note["said"] or told("(not repeated here)", tongue)).splitlines()
            said = "\n".join(_short(sentence) for sentence in spoken[:_SENTENCES])
            table.add_row(note["message_id"], Text(said, style="dim"), "\n".join(note["why"]))
        console.print(table)
    if played.unfinished:
        unfinished = told(
            "{count} turns could not be learnt from yet: the model does not answer.",
            tongue,
            count=len(played.unfinished),
        )
        console.print(unfinished, style="bold red")


# ── what the next conversation receives ──────────────────────────────────────────────────────────


def _received(console: Console, answer: Answer, tongue: Language) -> None:
    nothing = told("(no text: nothing that is remembered fits)", tongue)
    console.print(Panel(Text(answer.text or nothing), border_style="green"))
    for missing in answer.degraded:
        failed = told("{part} did not work this time", tongue, part=missing.part)
        console.print(failed, style="bold red")


def _left_out(console: Console, played: Played, tongue: Language) -> None:
    _heading(console, told("What was left out, and why", tongue))
    left = [(d.item, in_words(d.reason, tongue)) for d in played.answer.dropped]
    if not left:
        console.print(told("Nothing.", tongue))
        return
    table = _table(tongue, ("kind", 0), ("memory", 3), ("why not", 2))
    for item, why in left:
        table.add_row(told(KINDS[item.kind], tongue), item.content, why)
    console.print(table)


def _took(console: Console, played: Played, tongue: Language) -> None:
    _heading(console, told("How long it took", tongue))
    inside = " · ".join(
        f"{told(stage, tongue)} {took:.1f}"
        for stage, took in played.answer.timings.items()
        if stage != "total"
    )
    turns = told("turns: {count}", tongue, count=len(played.receipts))
    rows = (
        ("capture", played.capture_ms, turns),
        ("learn", played.learn_ms, ""),
        ("recall", played.recall_ms, inside),
    )
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="fold", style="dim")
    for stage, took, note in rows:
        table.add_row(told(stage, tongue), f"{took:,.0f} ms", note)
    console.print(table)


def _deleted(console: Console, played: Played, tongue: Language) -> None:
    if played.deleted is None:
        return
    user, memory = played.person.user, played.deleted.content
    again = told(
        "{user} deletes “{memory}” and asks the same again", tongue, user=user, memory=memory
    )
    _heading(console, again)
    _received(console, played.after, tongue)
    if played.gone:
        gone = told(
            "It is gone. Memories that remain: {count}.", tongue, count=len(played.remaining)
        )
        console.print(gone, style="green")
    else:
        console.print(told("It is still there; that is a fault.", tongue), style="bold red")


def _heading(console: Console, title: str) -> None:
    console.print()
    console.print(Text(title, style="bold"))


def _table(tongue: Language, *columns: tuple[str, int]) -> Table:
    """A table over the whole width; a column's number is its share of it, 0: what it needs."""
    table = Table(box=None, padding=(0, 2, 0, 0), expand=True, header_style="dim", pad_edge=False)
    for title, share in columns:
        table.add_column(
            told(title, tongue), ratio=share or None, overflow="fold", no_wrap=not share
        )
    return table
