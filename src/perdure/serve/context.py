"""Routes by which assistants use memory: capture a turn, ask for context, search."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from perdure.errors import NotFound
from perdure.ports import Also
from perdure.serve.auth import Who
from perdure.serve.door import Door
from perdure.serve.once import Write
from perdure.serve.problems import problems
from perdure.serve.replies import ContextOut, HitsOut, ItemOut, ReceiptOut
from perdure.serve.wire import ContextIn, FeedbackIn, Named, SearchIn, TurnIn, spoken
from perdure.types import Receipt

routes = APIRouter(tags=["conversations"])


@routes.post(
    "/conversations/{conversation_id:id}/turns",
    status_code=202,
    summary="Capture a finished turn",
    responses=problems(404, 409),
)
def captured(write: Write, conversation_id: str, body: TurnIn) -> ReceiptOut:
    """The turn is kept when this returns; learning follows. The receipt's trace asks for it."""
    memory, scope = write.memory, write.who.scope(body)
    messages = spoken(body.messages)

    def capture(also: Also | None = None) -> Receipt:
        return memory.capture(
            scope,
            conversation_id,
            messages,
            mode=body.mode,
            outcome=body.outcome,
            kind=body.kind,
            also=also,
        )

    def again(trace: str) -> Receipt:
        try:
            return memory.receipt(scope, trace)
        except NotFound:  # nothing of it was kept, so nothing happens twice
            return capture()

    receipt = write.serve(
        scope,
        capture,
        ref=lambda taken: taken.trace,
        again=again,
    )
    return ReceiptOut.model_validate(receipt)


@routes.get("/captures/{trace}", summary="What became of a turn", responses=problems(404))
def receipt(memory: Door, who: Who, trace: str, query: Annotated[Named, Query()]) -> ReceiptOut:
    """What was learnt, what was refused and why, or how it failed."""
    return ReceiptOut.model_validate(memory.receipt(who.scope(query), trace))


@routes.post("/memory/context", summary="Recall what matters for the next message")
def context(memory: Door, who: Who, body: ContextIn) -> ContextOut:
    """`text` goes before the model, empty where nothing matters; `degraded` says what failed.

    With `explain`, `considered` tells the way of each memory, and `dropped` names those that no
    arm of the search found.
    """
    answer = memory.recall(
        who.scope(body), body.question(), mode=body.mode, as_of=body.as_of, explain=body.explain
    )
    return ContextOut.of(answer, explain=body.explain)


@routes.post("/memory/search", summary="Search memories, or what was said")
def found(memory: Door, who: Who, body: SearchIn) -> HitsOut:
    """Ranked hits, best first, before any gate or budget.

    `degraded` names what did not work, so that no hits and a failure are two things; `hidden` says
    how many hits the floor left out.
    """
    findings = memory.search(
        who.scope(body), body.query, body.limit,
        arms=body.arms, floor=body.floor, as_of=body.as_of,
    )  # fmt: skip
    return HitsOut.model_validate(findings)


@routes.post(
    "/memory/feedback",
    summary="Say whether a memory was useful, out of place or wrong",
    responses=problems(404, 409),
)
def judged(write: Write, body: FeedbackIn) -> ItemOut:
    """A correction replaces what the memory says; no machine changes it any more."""
    verdicts, scope = write.memory.parts.verdicts, write.who.scope(body)
    return write.changed(
        scope,
        lambda also: write.hand(verdicts, also).give(
            scope, body.trace, body.item_id, body.verdict, body.text
        ),
    )
