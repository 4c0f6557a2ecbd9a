"""A user's data out and in again: what was said, what is remembered, what happened to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from perdure import text
from perdure.control.hand import embed_later
from perdure.control.lines import (
    LineType,
    line_type,
    memory_line,
    message_line,
    read_memory,
    read_message,
)
from perdure.errors import Duplicate, Rejected
from perdure.policy import Policy
from perdure.ports import Clock, Corpus, Database, ItemFilter
from perdure.types import JobType, Message, Promise, Receipt, Role, Scope, Status, Trace, new_id

_CHUNK = 200  # messages read at a time

Capture: TypeAlias = Callable[[Scope, str, list[Message]], Receipt]
"""Captures one turn of a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of one line."""

    line: int
    type: LineType
    outcome: str
    """``captured`` (and will be learnt from), ``kept``, ``stored``, or ``known`` already."""
    receipt: Receipt | None = None
    """Of the turn that this line ended."""


def export_lines(database: Database, scope: Scope) -> Iterator[dict[str, Any]]:
    """Every kept message and every memory of a user with its history, one JSON object each."""
    with database.read() as tx:
        places = [seq for seq, *_ in tx.messages.outline(scope)]
        watermarks: dict[str, int] = {}
        for start in range(0, len(places), _CHUNK):
            for said in tx.messages.by_seq(scope, places[start : start + _CHUNK]):
                if said.conversation not in watermarks:
                    state = tx.messages.conversation(scope, said.conversation)
                    watermarks[said.conversation] = state.watermark if state else 0
                yield message_line(said, learnt=said.seq <= watermarks[said.conversation])
        kept = ItemFilter(statuses=frozenset(Status) - {Status.DELETED})
        for item in tx.items.every(scope, kept):
            yield memory_line(item, tx.audit.of(scope, item.id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """Takes lines in: new conversations are captured and learnt from, the rest comes back as is."""

    database: Database
    policy: Policy
    capture: Capture
    clock: Clock

    def take(self, scope: Scope, lines: Iterable[Mapping[str, Any]]) -> Iterator[Imported]:
        """One report a line. Reading stops at the first line that cannot be meant.

        Raises:
            Rejected: a line cannot be meant; the error names its number and field.
        """
        turn: list[Message] = []
        talk = ""
        last: Imported | None = None
        for number, line in enumerate(lines, start=1):
            sort, read = self._read(scope, line, number)
            if isinstance(read, str):
                yield Imported(line=number, type=sort, outcome=read)
                continue
            conversation, message = read
            starts = turn and (conversation != talk or _begins(turn, message))
            if last is not None:
                yield replace(last, receipt=self.capture(scope, talk, turn) if starts else None)
            if starts:
                turn = []
            talk = conversation
            turn.append(message)
            last = Imported(line=number, type=sort, outcome="captured")
        if last is not None:
            yield replace(last, receipt=self.capture(scope, talk, turn))

    def _read(
        self, scope: Scope, line: Any, number: int
    ) -> tuple[LineType, str | tuple[str, Message]]:
        """What became of a line, or the message of it that still has to be captured."""
        try:
            sort = line_type(line)
            if sort is LineType.MEMORY:
                return sort, self._store(scope, line)
            conversation, message = read_message(line)
            if line.get("learnt") is True:
                return sort, self._keep(scope, conversation, message)
        except Rejected as wrong:
            where = f"line {number}" + (f", {wrong.field}" if wrong.field else "")
            raise Rejected(wrong.detail, field=where) from None
        return sort, (conversation, message)

    def _keep(self, scope: Scope, conversation: str, message: Message) -> str:
        """Keep a message that was learnt from already."""
        at = self.clock()
        trace = new_id(at)
        with self.database.begin(scope) as tx:
            kept = tx.messages.add(scope, conversation, [message], at, trace)
            if not kept:
                return "known"
            tx.messages.learnt(scope, conversation, kept[-1].seq)
            if self.policy.capture.episodes:
                tx.jobs.promise(_index_later(scope, conversation, trace), at)
        return "kept"

    def _store(self, scope: Scope, line: Mapping[str, Any]) -> str:
        """Bring a memory back as it was, with its history; what is known already stays."""
        at = self.clock()
        item, history = read_memory(scope, line, self.policy.item, at)
        with self.database.begin(scope) as tx:
            known = tx.items.by_hash(item.bound, item.content_hash)
            if known is not None and known.status is not Status.DELETED:
                return "known"
            if known is not None:
                tx.items.remove(scope, [known.id])
            elif tx.items.get(scope, [item.id]):
                item = replace(item, id=new_id(at))
            tx.items.unbury(scope, item.content_hash)
            with suppress(Duplicate):
                tx.items.add(item)
                tx.fulltext.index(scope, Corpus.MEMORIES, {item.id: text.terms(item.content)})
                tx.jobs.promise(embed_later(item), at)
                seen = {entry.id for entry in tx.audit.of(scope, item.id)}
                tx.audit.add([replace(e, item=item.id) for e in history if e.id not in seen])
                return "stored"
        return "known"


def _begins(turn: list[Message], message: Message) -> bool:
    """Does a message begin a new turn? A person who speaks after a reply does."""
    return message.role is Role.USER and turn[-1].role is not Role.USER


def _index_later(scope: Scope, conversation: str, trace: Trace) -> Promise:
    return Promise(
        type=JobType.EMBED,
        namespace=scope.namespace,
        user=scope.user,
        key=text.fingerprint("embed", trace),
        payload={"conversation": conversation, "trace": trace},
        trace=trace,
        ordered=False,
    )
