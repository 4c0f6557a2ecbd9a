"""Plays a person's conversations through the whole way: capture, learn, recall, delete."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from perdure.cli.script import Person
from perdure.memory import Memory
from perdure.ports import ItemFilter
from perdure.types import (
    Answer,
    MemoryItem,
    Message,
    Receipt,
    ReceiptState,
    Scope,
    Status,
)

_PATIENCE_S = 120.0  # for everything that is learnt from one person


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What became of one person's conversations."""

    person: Person
    receipts: tuple[Receipt, ...]
    """One a turn."""
    learnt: tuple[MemoryItem, ...]
    """Everything that learning left active, oldest first."""
    answer: Answer
    """To the question, in the next conversation."""
    deleted: MemoryItem | None
    """The memory that was deleted then; None if there was none."""
    after: Answer
    """To the same question, after that."""
    remaining: tuple[MemoryItem, ...]
    """What is listed after that."""
    capture_ms: float
    """Of all turns together."""
    learn_ms: float
    """From the last capture to the end of learning."""
    recall_ms: float

    @property
    def turns(self) -> tuple[tuple[str, tuple[Message, ...], Receipt], ...]:
        """Conversation, messages and receipt of each turn."""
        turns = [(talk.id, turn) for talk in self.person.talks for turn in talk.turns]
        return tuple((*turn, receipt) for turn, receipt in zip(turns, self.receipts, strict=True))

    @property
    def models(self) -> tuple[str, ...]:
        """What learnt; ``basic`` is the built-in extractor."""
        return tuple(dict.fromkeys(r.model for r in self.receipts if r.model is not None))

    @property
    def unfinished(self) -> tuple[Receipt, ...]:
        """Turns that could not be learnt from, because something did not answer."""
        done = (ReceiptState.LEARNT, ReceiptState.SKIPPED)
        return tuple(receipt for receipt in self.receipts if receipt.state not in done)

    @property
    def gone(self) -> bool:
        """The deleted memory is neither listed nor said any more."""
        if self.deleted is None:
            return False
        said = (kept.item.id for kept in self.after.kept)
        return self.deleted.id not in {*said, *(item.id for item in self.remaining)}


def play(memory: Memory, person: Person, tell: Callable[[str], None]) -> Played:
    """Live through one person's conversations.

    Args:
        memory: an empty memory whose workers run.
        person: who speaks.
        tell: is told what happens now, by the verb.
    """
    me = Scope(user=person.user)
    memory.preferences.set(me, auto_learn=True)
    tell("capture")
    began = time.perf_counter()
    taken = [memory.capture(me, talk.id, turn) for talk in person.talks for turn in talk.turns]
    captured = time.perf_counter()
    tell("learn")
    until = captured + _PATIENCE_S
    receipts = [memory.wait(one, max(0.0, until - time.perf_counter())) for one in taken]
    learnt = time.perf_counter()
    known = _known(memory, me)
    tell("recall")
    asked = time.perf_counter()
    answer = memory.recall(me, person.question, explain=True)
    answered = time.perf_counter()
    tell("delete")
    doomed = next((kept.item for kept in answer.kept), known[0] if known else None)
    if doomed is not None:
        memory.items.delete(me, doomed.id)
    return Played(
        person=person,
        receipts=tuple(receipts),
        learnt=known,
        answer=answer,
        deleted=doomed,
        after=memory.recall(me, person.question),
        remaining=_known(memory, me),
        capture_ms=(captured - began) * 1000,
        learn_ms=(learnt - captured) * 1000,
        recall_ms=(answered - asked) * 1000,
    )


def _known(memory: Memory, scope: Scope) -> tuple[MemoryItem, ...]:
    """All active memories, oldest first."""
    found: list[MemoryItem] = []
    after: str | None = None
    active = ItemFilter(statuses=frozenset({Status.ACTIVE}))
    while True:
        page = memory.items.list(scope, active, 1_000, after)
        found.extend(page.items)
        after = page.next
        if after is None:
            return tuple(sorted(found, key=lambda item: item.id))
