"""The same door for asyncio: one thread hop per call, no logic of its own."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from perdure.memory import Memory
from perdure.settings import Settings
from perdure.types import (
    Answer,
    Consolidation,
    Erasure,
    Findings,
    MemoryItem,
    Message,
    Receipt,
    Scope,
    Trace,
    Undone,
    Verdict,
)

P = ParamSpec("P")
T = TypeVar("T")


class AsyncMemory:
    """`Memory` for code that runs in an event loop. The verbs and their errors are the same.

    >>> async with await AsyncMemory.open() as memory:  # doctest: +SKIP
    ...     answer = await memory.recall(Scope(user="ann"), "Where should we meet?")
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.items = _Threaded(memory.items)
        self.preferences = _Threaded(memory.preferences)
        self.audit = _Threaded(memory.audit)
        self.costs = _Threaded(memory.costs)
        self.metrics = _Threaded(memory.metrics)

    @classmethod
    async def open(
        cls,
        where: str | Path | None = None,
        *,
        preset: str | None = None,
        settings: Settings | None = None,
        workers: bool = True,
    ) -> Self:
        """As `Memory.open`."""
        return cls(
            await _hop(Memory.open, where, preset=preset, settings=settings, workers=workers)
        )

    async def close(self, timeout: float = 10.0) -> None:  # noqa: ASYNC109 - as in Memory.close
        """As `Memory.close`."""
        await _hop(self._memory.close, timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def capture(
        self, scope: Scope, conversation: str, messages: Sequence[Message], **how: Any
    ) -> Receipt:
        """As `Memory.capture`."""
        return await _hop(self._memory.capture, scope, conversation, messages, **how)

    async def receipt(self, scope: Scope, trace: Trace) -> Receipt:
        """As `Memory.receipt`."""
        return await _hop(self._memory.receipt, scope, trace)

    async def wait(self, taken: Receipt, timeout: float = 60.0) -> Receipt:  # noqa: ASYNC109 - same
        """As `Memory.wait`."""
        return await _hop(self._memory.wait, taken, timeout)

    async def recall(self, scope: Scope, question: str | Sequence[Message], **how: Any) -> Answer:
        """As `Memory.recall`."""
        return await _hop(self._memory.recall, scope, question, **how)

    async def search(
        self, scope: Scope, query: str | Sequence[Message], limit: int = 10, **how: Any
    ) -> Findings:
        """As `Memory.search`."""
        return await _hop(self._memory.search, scope, query, limit, **how)

    async def feedback(
        self, scope: Scope, trace: Trace, item: str, verdict: Verdict | str, **how: Any
    ) -> MemoryItem:
        """As `Memory.feedback`."""
        return await _hop(self._memory.feedback, scope, trace, item, verdict, **how)

    async def consolidate(self, scope: Scope, **how: Any) -> Consolidation:
        """As `Memory.consolidate`."""
        return await _hop(self._memory.consolidate, scope, **how)

    async def undo(self, scope: Scope, run: str) -> Undone:
        """As `Memory.undo`."""
        return await _hop(self._memory.undo, scope, run)

    async def erase(self, scope: Scope, *, by: str = "user") -> Erasure:
        """As `Memory.erase`."""
        return await _hop(self._memory.erase, scope, by=by)

    async def erasure(self, scope: Scope) -> Erasure:
        """As `Memory.erasure`."""
        return await _hop(self._memory.erasure, scope)

    async def export(self, scope: Scope) -> AsyncIterator[Any]:
        """As `Memory.export`, a line at a time."""
        lines = self._memory.export(scope)
        done = object()
        while (line := await _hop(next, lines, done)) is not done:
            yield line


class _Threaded:
    """Each method of the wrapped part, awaited through one thread hop."""

    def __init__(self, part: Any) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return functools.partial(_hop, getattr(self._part, name))


async def _hop(call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.to_thread(call, *args, **kwargs)
