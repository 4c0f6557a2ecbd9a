"""Who sent a write, as the audit keeps it beside what was changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, TypeVar

from fastapi import Depends
from starlette.responses import Response

from perdure.control.hand import Hand
from perdure.control.preferences import UserPreferences
from perdure.memory import Memory
from perdure.serve.auth import Caller, Who
from perdure.serve.door import Door
from perdure.types import Trace, new_id

H = TypeVar("H", bound=Hand | UserPreferences)

TRACE = "Perdure-Trace"
"""The header of a reply to a write by which its entries are found in the audit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Who sent a write, and the trace of everything that it changes."""

    by: str
    trace: Trace

    @classmethod
    def of(cls, memory: Memory, who: Caller) -> Signature:
        """A signature under one request."""
        return cls(by=who.name, trace=new_id(memory.parts.clock()))

    def on(self, hand: H) -> H:
        """The same hand, whose entries in the audit are signed."""
        return replace(hand, by=self.by, trace=self.trace)


async def _signed(memory: Door, who: Who, response: Response) -> Signature:
    signature = Signature.of(memory, who)
    response.headers[TRACE] = signature.trace
    return signature


Signed = Annotated[Signature, Depends(_signed)]
"""The signature under a write."""
