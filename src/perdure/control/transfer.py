"""A user's data in again: conversations are learnt from, the rest comes back as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias

from perdure import text
from perdure.control.hand import entry, room, unerased
from perdure.control.imported import Imported
from perdure.control.lines import (
    LineType,
    line_type,
    read_feedback,
    read_history,
    read_memory,
    read_message,
    read_place,
    read_preferences,
    read_tombstone,
)
from perdure.control.preferences import prefer, set_by
from perdure.errors import LimitReached, Rejected
from perdure.policy import Policy
from perdure.ports import Clock, Corpus, Database, Transaction
from perdure.types import (
    IMPORTED,
    Actor,
    AuditEntry,
    Feedback,
    ItemId,
    JobType,
    MemoryItem,
    Message,
    Operation,
    Promise,
    Receipt,
    ReceiptState,
    Role,
    Scope,
    Status,
    Tombstone,
    Trace,
    new_id,
)

Capture: TypeAlias = Callable[..., Receipt]
"""Captures one turn of a conversation, as `Memory.capture` does."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A message that waits for the rest of its turn."""

    line: int
    where: Scope
    conversation: str
    message: Message
    exported: bool
    """An export says of it that it was not learnt from; a chat that is handed in says nothing."""


@dataclass(slots=True)
class _Later:
    """What is written now and still needs vectors: one promise for all of it."""

    items: list[ItemId] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)
    active: int = 0
    """Active memories among what was written."""


_Write: TypeAlias = Callable[[Transaction, _Later], str]
"""Writes what a line says, and tells what became of it."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A line that comes back as it is, read and not written yet."""

    line: int
    type: LineType
    write: _Write


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """Takes one file in: new conversations are captured and learnt from, the rest comes back as is.

    For one file each: it remembers what it has met there.
    """

    database: Database
    policy: Policy
    capture: Capture
    clock: Clock
    began: datetime
    """Whose user is erased after that gets nothing more of the file."""
    by: str = "user"  # who hands it in, as the audit keeps it
    dry_run: bool = False
    """Change nothing, and report what would become of each line."""
    _met: set[tuple[str, ...]] = field(default_factory=set)
    _alike: Counter[str] = field(default_factory=Counter)
    _rehearsed: list[int] = field(default_factory=list)
    """Active memories that a dry run wrote and took back."""

    def take(self, scope: Scope, lines: Iterable[Mapping[str, Any]]) -> Iterator[Imported]:
        """One report a line. Reading stops at the first line that cannot be meant.

        Raises:
            Rejected: a line cannot be meant; the error names its number and field.
            Erased: the user was erased since it began.
        """
        turn: list[_Said] = []
        held: list[_Held] = []
        for number, line in enumerate(lines, start=1):
            try:
                read = self._read(scope, line, number)
            except Rejected:
                yield from self._written(scope, held)
                raise
            if turn and (isinstance(read, _Held) or _begins(turn, read)):
                yield from self._captured(turn)
                turn = []
            if isinstance(read, _Said):
                yield from self._written(scope, held)
                turn.append(read)
                continue
            held.append(read)
            if len(held) >= self.policy.jobs.repair_batch:
                yield from self._written(scope, held)
        if turn:
            yield from self._captured(turn)
        yield from self._written(scope, held)

    def _read(self, scope: Scope, line: Any, number: int) -> _Held | _Said:
        """What a line brings as it is, or the message of it that still has to be captured."""
        try:
            sort = line_type(line)
            if sort is not LineType.MESSAGE:
                return _Held(number, sort, self._taken(scope, sort, line))
            where = read_place(scope, line)
            conversation, message = read_message(line)
            message = self._named(conversation, message)
        except Rejected as wrong:
            place = f"line {number}" + (f", {wrong.field}" if wrong.field else "")
            raise Rejected(wrong.detail, field=place) from None
        if line.get("learnt") is True:
            return _Held(number, sort, partial(self._keep, where, conversation, message))
        return _Said(number, where, conversation, message, exported="learnt" in line)

    def _taken(self, scope: Scope, sort: LineType, line: Mapping[str, Any]) -> _Write:
        """How to take in what is no message."""
        at = self.clock()
        owner = Scope(namespace=scope.namespace, user=scope.user)
        match sort:
            case LineType.MEMORY:
                return partial(self._store, owner, *read_memory(owner, line, self.policy.item, at))
            case LineType.TOMBSTONE:
                return partial(self._entomb, owner, read_tombstone(line))
            case LineType.HISTORY:
                return partial(self._note, owner, read_history(owner, line))
            case LineType.FEEDBACK:
                return partial(self._verdict, owner, read_feedback(line))
            case _:
                return partial(self._prefer, owner, read_preferences(line))

    def _written(self, scope: Scope, held: list[_Held]) -> Iterator[Imported]:
        """Write what was read so far and promise its vectors; in a dry run all is taken back."""
        if not held:
            return
        owner = Scope(namespace=scope.namespace, user=scope.user)
        done: list[Imported] = []
        met = set(self._met)

        def write(tx: Transaction) -> None:
            done.clear()
            self._met.intersection_update(met)
            later = _Later()
            unerased(tx, owner, self.began)
            for one in held:
                outcome = one.write(tx, later)
                done.append(Imported(line=one.line, type=one.type, outcome=outcome))
            if self.dry_run:
                self._rehearsed.append(later.active)
                raise _TakenBack
            if later.items or later.messages:
                at = self.clock()
                tx.jobs.promise(_embed_later(owner, later, new_id(at)), at)

        with suppress(_TakenBack):
            self.database.run(write, owner)
        held.clear()
        yield from done

    # ── messages ─────────────────────────────────────────────────────────────────────────────────

    def _named(self, conversation: str, message: Message) -> Message:
        """The message with an id: of its own, or one that the same line gets every time."""
        if message.id is not None:
            return message
        at = message.at.astimezone(UTC).isoformat() if message.at is not None else ""
        said = text.fingerprint(
            conversation, message.role.value, message.name or "", at, message.content
        )
        self._alike[said] += 1
        return replace(message, id=text.fingerprint("import", said, str(self._alike[said]))[:32])

    def _captured(self, turn: list[_Said]) -> Iterator[Imported]:
        """Capture a turn; the last of its reports has the receipt."""
        where, conversation = turn[0].where, turn[0].conversation
        known = self._known(where, conversation, turn)
        receipt, new = None, "captured"
        if self.dry_run:
            self._met.update(("message", conversation, one.message.id or "") for one in turn)
        elif len(known) < len(turn):
            said = [one.message for one in turn]
            receipt = self.capture(where, conversation, said, also=partial(self._still, where))
            if receipt.state is ReceiptState.SKIPPED:
                kept = self._known(where, conversation, turn)
                new = "captured" if len(kept) > len(known) else "skipped"
                if new == "skipped" and all(one.exported for one in turn):
                    new = self._as_it_was(turn)
        for one in turn:
            outcome = "known" if one.message.id in known else new
            report = Imported(line=one.line, type=LineType.MESSAGE, outcome=outcome)
            yield replace(report, receipt=receipt) if one is turn[-1] else report

    def _still(self, where: Scope, tx: Transaction, _: Receipt) -> None:
        unerased(tx, where, self.began)

    def _as_it_was(self, turn: list[_Said]) -> str:
        """Keep what was kept where it was exported, though nothing may be learnt from it here."""
        where, at = turn[0].where, self.clock()

        def write(tx: Transaction) -> None:
            later = _Later()
            unerased(tx, where, self.began)
            for one in turn:
                kept = tx.messages.add(where, one.conversation, [one.message], at, new_id(at))
                if self.policy.capture.episodes and one.message.content.strip():
                    later.messages += [said.seq for said in kept]
            if later.messages:
                tx.jobs.promise(_embed_later(where, later, new_id(at)), at)

        self.database.run(write, where)
        return "kept"

    def _known(self, where: Scope, conversation: str, turn: list[_Said]) -> set[str]:
        """Ids of the messages of a turn that are kept already, or were met before."""
        ids = [one.message.id or "" for one in turn]
        with self.database.read() as tx:
            kept = {one.id for one in tx.messages.by_id(where, conversation, ids)}
        return kept | {one for one in ids if ("message", conversation, one) in self._met}

    def _keep(
        self, where: Scope, conversation: str, message: Message, tx: Transaction, later: _Later
    ) -> str:
        """Keep a message that was learnt from already."""
        at = self.clock()
        kept = tx.messages.add(where, conversation, [message], at, new_id(at))
        if not kept or self._again("message", conversation, message.id or ""):
            return "known"
        tx.messages.learnt(where, conversation, kept[-1].seq)
        if self.policy.capture.episodes and message.content.strip():
            later.messages += [one.seq for one in kept]
        return "kept"

    # ── what is no message ───────────────────────────────────────────────────────────────────────

    def _store(
        self,
        scope: Scope,
        item: MemoryItem,
        history: list[AuditEntry],
        tx: Transaction,
        later: _Later,
    ) -> str:
        """Bring a memory back as it was, with its history; what is there already stays."""
        same = tx.items.by_hash(item.bound, item.content_hash)
        before = [*([same] if same is not None else []), *tx.items.get(scope, [item.id])]
        if any(one.status is not Status.DELETED for one in before) or self._again(
            "memory", item.content_hash
        ):
            return "known"
        tx.items.remove(scope, [one.id for one in before])
        tx.items.unbury(scope, item.content_hash)
        wanted, item = item, self._fitting(tx, scope, item)
        later.active += item.status is Status.ACTIVE
        tx.items.add(item)
        tx.fulltext.index(scope, Corpus.MEMORIES, {item.id: text.terms(item.content)})
        later.items.append(item.id)
        seen = {one.id for one in tx.audit.of(scope, item.id)}
        past = [replace(one, imported_by=self.by) for one in history if one.id not in seen]
        came = entry(Operation.CREATE, None, item, self.clock(), reason=IMPORTED)
        tx.audit.add(past or [replace(came, by=self.by)])
        if item.status is wanted.status:
            return "stored"
        at = self.clock()
        note = entry(Operation.ARCHIVE, wanted, item, at, reason="crowded out")
        tx.audit.add([replace(note, actor=Actor.SYSTEM, by=self.by)])
        return "set_aside"

    def _fitting(self, tx: Transaction, scope: Scope, item: MemoryItem) -> MemoryItem:
        """The memory as it may be here: set aside where no further active one fits."""
        if item.status is not Status.ACTIVE:
            return item
        gone = 0 if self.policy.capacity.trims else sum(self._rehearsed)
        try:
            room(tx, scope, self.policy, self.clock(), gone)
        except LimitReached:
            return replace(item, status=Status.ARCHIVED)
        return item

    def _entomb(self, scope: Scope, stone: Tombstone, tx: Transaction, _: _Later) -> str:
        """Set a tombstone, unless its statement lives here."""
        lives = tx.items.by_hash(scope, stone.content_hash)
        place = ("tombstone", stone.content_hash, stone.conversation, stone.message)
        if (lives is not None and lives.status is not Status.DELETED) or self._again(*place):
            return "known"
        return "stored" if tx.items.entomb(scope, stone) else "known"

    def _note(self, scope: Scope, past: AuditEntry, tx: Transaction, _: _Later) -> str:
        """Write down what happened to a memory that is gone."""
        seen = {one.id for one in tx.audit.of(scope, past.item)}
        if past.id in seen or self._again("history", past.id):
            return "known"
        tx.audit.add([replace(past, imported_by=self.by)])
        return "stored"

    def _verdict(self, scope: Scope, said: Feedback, tx: Transaction, _: _Later) -> str:
        new = tx.feedback.add(scope, said)
        if not new or self._again("feedback", said.trace, said.item, said.verdict):
            return "known"
        return "stored"

    def _prefer(
        self, scope: Scope, switches: Mapping[str, bool], tx: Transaction, _: _Later
    ) -> str:
        """Set the switches that are not set so."""
        if switches.items() <= set_by(tx, scope).items() or self._again("preferences"):
            return "known"
        prefer(tx, scope, switches, self.clock(), reason=IMPORTED, by=self.by)
        return "stored"

    def _again(self, *what: str) -> bool:
        """Was it met in this file before? Asked in a dry run only: else the store knows."""
        if not self.dry_run:
            return False
        again = what in self._met
        self._met.add(what)
        return again


class _TakenBack(Exception):
    """No error: how a dry run ends, so that nothing of it stays."""


def _begins(turn: list[_Said], read: _Said) -> bool:
    """Does a message begin a new turn? A person who speaks after a reply does."""
    last = turn[-1]
    if (read.where, read.conversation) != (last.where, last.conversation):
        return True
    return read.message.role is Role.USER and last.message.role is not Role.USER


def _embed_later(scope: Scope, later: _Later, trace: Trace) -> Promise:
    return Promise(
        type=JobType.EMBED,
        namespace=scope.namespace,
        user=scope.user,
        key=text.fingerprint("import", trace),
        payload={"items": later.items, "messages": later.messages},
        trace=trace,
        ordered=False,
    )
