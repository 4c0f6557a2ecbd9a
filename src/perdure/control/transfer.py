"""A user's data out and in again: what was said, what is remembered, what happened to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias

from perdure import text
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
from perdure.ports import Clock, Corpus, Database, ItemFilter, Transaction
from perdure.types import (
    AuditEntry,
    ItemId,
    JobType,
    MemoryItem,
    Message,
    Promise,
    Receipt,
    Role,
    Scope,
    Status,
    Trace,
    new_id,
)

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


@dataclass(frozen=True, slots=True)
class _Held:
    """A line that comes back as it is: a memory, or a message that was learnt from already."""

    line: int
    item: MemoryItem | None = None
    history: Sequence[AuditEntry] = ()
    said: tuple[str, Message] = ("", Message(Role.USER, ""))


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
        held: list[_Held] = []
        for number, line in enumerate(lines, start=1):
            try:
                read = self._read(scope, line, number)
            except Rejected:
                yield from self._bring(scope, held)
                raise
            if isinstance(read, _Held):
                held.append(read)
                if len(held) >= self.policy.jobs.repair_batch:
                    yield from self._bring(scope, held)
                continue
            yield from self._bring(scope, held)
            conversation, message = read
            starts = turn and (conversation != talk or _begins(turn, message))
            if last is not None:
                yield replace(last, receipt=self.capture(scope, talk, turn) if starts else None)
            if starts:
                turn = []
            talk = conversation
            turn.append(message)
            last = Imported(line=number, type=LineType.MESSAGE, outcome="captured")
        yield from self._bring(scope, held)
        if last is not None:
            yield replace(last, receipt=self.capture(scope, talk, turn))

    def _read(self, scope: Scope, line: Any, number: int) -> _Held | tuple[str, Message]:
        """What a line brings as it is, or the message of it that still has to be captured."""
        try:
            if line_type(line) is LineType.MEMORY:
                item, history = read_memory(scope, line, self.policy.item, self.clock())
                return _Held(number, item=item, history=history)
            conversation, message = read_message(line)
        except Rejected as wrong:
            where = f"line {number}" + (f", {wrong.field}" if wrong.field else "")
            raise Rejected(wrong.detail, field=where) from None
        if line.get("learnt") is True:
            return _Held(number, said=(conversation, message))
        return conversation, message

    def _bring(self, scope: Scope, held: list[_Held]) -> Iterator[Imported]:
        """Write what was read so far, and one promise for all of its vectors and terms."""
        if not held:
            return
        at = self.clock()
        trace = new_id(at)
        done: list[Imported] = []
        payload: dict[str, list[Any]] = {"items": [], "messages": []}
        with self.database.begin(scope) as tx:
            for one in held:
                if one.item is not None:
                    stored = self._store(tx, scope, one.item, one.history, at)
                    payload["items"] += stored
                    sort, outcome = LineType.MEMORY, "stored" if stored else "known"
                else:
                    kept = self._keep(tx, scope, *one.said, at=at, trace=trace)
                    payload["messages"] += kept if self.policy.capture.episodes else []
                    sort, outcome = LineType.MESSAGE, "kept" if kept else "known"
                done.append(Imported(line=one.line, type=sort, outcome=outcome))
            if any(payload.values()):
                tx.jobs.promise(_embed_later(scope, payload, trace), at)
        held.clear()
        yield from done

    def _keep(
        self,
        tx: Transaction,
        scope: Scope,
        conversation: str,
        message: Message,
        *,
        at: datetime,
        trace: Trace,
    ) -> list[int]:
        """Keep a message that was learnt from already. Returns its place, if it is new."""
        kept = tx.messages.add(scope, conversation, [message], at, trace)
        if kept:
            tx.messages.learnt(scope, conversation, kept[-1].seq)
        return [one.seq for one in kept]

    def _store(
        self,
        tx: Transaction,
        scope: Scope,
        item: MemoryItem,
        history: Sequence[AuditEntry],
        at: datetime,
    ) -> list[ItemId]:
        """Bring a memory back as it was, with its history. Returns its id, if it is new."""
        known = tx.items.by_hash(item.bound, item.content_hash)
        if known is not None and known.status is not Status.DELETED:
            return []
        if known is not None:
            tx.items.remove(scope, [known.id])
        elif tx.items.get(scope, [item.id]):
            item = replace(item, id=new_id(at))
        tx.items.unbury(scope, item.content_hash)
        with suppress(Duplicate):
            tx.items.add(item)
            tx.fulltext.index(scope, Corpus.MEMORIES, {item.id: text.terms(item.content)})
            seen = {entry.id for entry in tx.audit.of(scope, item.id)}
            tx.audit.add([replace(e, item=item.id) for e in history if e.id not in seen])
            return [item.id]
        return []


def _begins(turn: list[Message], message: Message) -> bool:
    """Does a message begin a new turn? A person who speaks after a reply does."""
    return message.role is Role.USER and turn[-1].role is not Role.USER


def _embed_later(scope: Scope, payload: Mapping[str, Any], trace: Trace) -> Promise:
    return Promise(
        type=JobType.EMBED,
        namespace=scope.namespace,
        user=scope.user,
        key=text.fingerprint("import", trace),
        payload=payload,
        trace=trace,
        ordered=False,
    )
