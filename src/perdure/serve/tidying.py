"""Routes by which memories that say the same become one, and come apart again."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field, StrictBool

from perdure.errors import Rejected
from perdure.serve.auth import Who
from perdure.serve.door import Door
from perdure.serve.items import OfBody
from perdure.serve.problems import problems
from perdure.serve.replies import ConsolidatedOut, UndoneOut
from perdure.serve.signed import Signed
from perdure.serve.wire import Placed

routes = APIRouter(tags=["memories"])


class ConsolidateIn(Placed):
    """Whose memories; what is bound elsewhere is left alone."""

    dry_run: StrictBool = Field(default=False, description="Only tell what would be done.")


@routes.post("/memory/consolidate", summary="Merge memories that say the same")
def consolidated(memory: Door, who: Who, body: ConsolidateIn) -> ConsolidatedOut:
    """Asks the model once for each group; nothing that a person wrote is touched.

    It also happens by itself. `run` takes it back.
    """
    scope = who.scope(body)
    if memory.parts.chat is None:
        raise Rejected("Tidying up needs a model.", field="user_id")
    return ConsolidatedOut.model_validate(
        memory.consolidate(scope, dry_run=body.dry_run, by=who.name)
    )


@routes.post(
    "/memory/consolidate/{run}/undo",
    summary="Bring back what was merged",
    responses=problems(404, 409),
)
def undone(memory: Door, who: Who, signed: Signed, run: str, body: OfBody) -> UndoneOut:
    """Once, while it is kept. What a person has changed since stays as it is."""
    return UndoneOut.model_validate(signed.on(memory.parts.undo).take_back(who.scope(body), run))
