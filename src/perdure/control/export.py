"""A user's data out: everything that is known, a line at a time and a few rows in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perdure.control.lines import (
    PLACES,
    feedback_line,
    history_line,
    memory_line,
    message_line,
    preferences_line,
    tombstone_line,
)
from perdure.control.preferences import set_by
from perdure.ports import Database, Transaction
from perdure.types import (
    OF_MEMORIES,
    Feedback,
    Operation,
    Scope,
    Status,
    Tombstone,
)

_CHUNK = 200  # rows read at a time, each time in a unit of work of its own


def export_lines(database: Database, scope: Scope) -> Iterator[dict[str, Any]]:
    """Everything that is known of a user, one JSON object each, a few rows at a time.

    A binding of the scope leaves the messages and memories that are bound to it; what names no
    place (switches, tombstones, the history of what is gone, verdicts) is then left out.
    """
    everything = all(getattr(scope, name) is None for name in (*PLACES, "conversation"))
    if everything:
        yield from _switches(database, scope)
    yield from _messages(database, scope)
    if everything:
        yield from map(tombstone_line, _graves(database, scope))
    yield from _memories(database, scope)
    if everything:
        yield from _gone(database, scope)
        yield from map(feedback_line, _verdicts(database, scope))


def _switches(database: Database, scope: Scope) -> Iterator[dict[str, Any]]:
    with database.read() as tx:
        switches = set_by(tx, scope)
    if switches:
        yield preferences_line(switches)


def _messages(database: Database, scope: Scope) -> Iterator[dict[str, Any]]:
    with database.read() as tx:
        places = {
            name: where
            for name, where in tx.messages.bindings(scope).items()
            if scope.conversation in (None, name)
            and all(getattr(scope, one) in (None, getattr(where, one)) for one in PLACES)
        }
    for conversation, where in places.items():
        seq = 0
        while True:
            with database.read() as tx:
                said = tx.messages.since(scope, conversation, seq, _CHUNK)
                state = tx.messages.conversation(scope, conversation)
            learnt = state.watermark if state is not None else 0
            for one in said:
                yield message_line(one, where, learnt=one.seq <= learnt)
            if len(said) < _CHUNK:
                break
            seq = said[-1].seq


def _memories(database: Database, scope: Scope) -> Iterator[dict[str, Any]]:
    last = ""
    while True:
        with database.read() as tx:
            found = tx.items.walk(scope, last, _CHUNK)
            kept = [item for item in found if item.status is not Status.DELETED]
            lines = [memory_line(item, tx.audit.of(scope, item.id)) for item in kept]
        yield from lines
        if len(found) < _CHUNK:
            return
        last = found[-1].id


def _gone(database: Database, scope: Scope) -> Iterator[dict[str, Any]]:
    """The history of memories that are gone; of deleted ones without a word."""
    place = 0
    while True:
        with database.read() as tx:
            found = tx.audit.after(scope, place, _CHUNK)
            ids = {entry.item for _, entry in found if entry.operation in OF_MEMORIES}
            there = {
                item.id for item in tx.items.get(scope, ids) if item.status is not Status.DELETED
            }
            merged = {one for one in ids - there if not _deleted(tx, scope, one)}
        for _, entry in found:
            if entry.item in ids - there:
                yield history_line(entry, texts=entry.item in merged)
        if len(found) < _CHUNK:
            return
        place = found[-1][0]


def _deleted(tx: Transaction, scope: Scope, item: str) -> bool:
    return tx.audit.of(scope, item)[-1].operation is Operation.DELETE


def _graves(database: Database, scope: Scope) -> Iterator[Tombstone]:
    last: Tombstone | None = None
    while True:
        with database.read() as tx:
            found = tx.items.graves(scope, last, _CHUNK)
        yield from found
        if len(found) < _CHUNK:
            return
        last = found[-1]


def _verdicts(database: Database, scope: Scope) -> Iterator[Feedback]:
    place = 0
    while True:
        with database.read() as tx:
            found = tx.feedback.after(scope, place, _CHUNK)
        yield from (said for _, said in found)
        if len(found) < _CHUNK:
            return
        place = found[-1][0]
