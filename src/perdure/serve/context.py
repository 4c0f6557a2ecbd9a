"""Routes by which assistants use memory: capture a turn, ask for context, search."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from perdure.serve.auth import Who
from perdure.serve.items import Door
from perdure.serve.replies import ContextOut, HitsOut, ReceiptOut
from perdure.serve.wire import ContextIn, Named, SearchIn, TurnIn, spoken

routes = APIRouter(tags=["conversations"])


@routes.post(
    "/conversations/{conversation_id:path}/turns",
    status_code=202,
    summary="Capture a finished turn",
)
def captured(memory: Door, who: Who, conversation_id: str, body: TurnIn) -> ReceiptOut:
    """The turn is kept when this returns; learning follows. The receipt's trace asks for it."""
    receipt = memory.capture(
        who.scope(body),
        conversation_id,
        spoken(body.messages),
        mode=body.mode,
        outcome=body.outcome,
        kind=body.kind,
    )
    return ReceiptOut.model_validate(receipt)


@routes.get("/captures/{trace}", summary="What became of a turn")
def receipt(memory: Door, who: Who, trace: str, query: Annotated[Named, Query()]) -> ReceiptOut:
    """What was learnt, what was refused and why, or how it failed."""
    return ReceiptOut.model_validate(memory.receipt(who.scope(query), trace))


@routes.post("/memory/context", summary="Recall what matters for the next message")
def context(memory: Door, who: Who, body: ContextIn) -> ContextOut:
    """`text` goes before the model, empty where nothing matters; `degraded` says what failed.

    With `explain`, `considered` tells the way of each memory, and `dropped` names those that no
    arm of the search found.
    """
    answer = memory.recall(who.scope(body), body.question(), mode=body.mode, explain=body.explain)
    return ContextOut.of(answer, explain=body.explain)


@routes.post("/memory/search", summary="Search memories, or what was said")
def found(memory: Door, who: Who, body: SearchIn) -> HitsOut:
    """Ranked hits, best first, before any gate or budget."""
    hits = memory.search(who.scope(body), body.query, body.limit, arms=body.arms, floor=body.floor)
    return HitsOut.model_validate({"hits": hits})
