"""Operations: how learning stands, which jobs wait or died, and what was refused and left out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from perdure.errors import Rejected, retold
from perdure.pages.charts import bars
from perdure.pages.page import PREFIX, Looks, Mends, PageRoute, Sent, View, spoken
from perdure.serve import admin
from perdure.serve.admin import JobsQuery
from perdure.types import Action, JobState, Permission, Reason
from perdure.types.words import in_words

routes = APIRouter(prefix=PREFIX, route_class=PageRoute)


@routes.get("/operations")
def overview(
    view: Looks, after: Annotated[int | None, Query(ge=1, le=2**63 - 1)] = None
) -> Response:
    """Figures of this process since it began, and jobs of the namespace that are not done."""
    jobs = admin.jobs(view.memory, view.who, JobsQuery(after=after))
    parts, meter = view.memory.parts, view.memory.parts.meter
    with parts.database.read() as tx:
        depth, oldest = tx.jobs.depth(parts.clock()), tx.jobs.oldest()
    age = None if oldest is None else max(0, round((parts.clock() - oldest).total_seconds()))
    return view.html(
        "operations.html",
        jobs=jobs,
        age=age,
        charts=(
            ("queue", bars({state.value: depth.get(state, 0) for state in JobState})),
            ("decisions", bars(_decided(view, meter.split("memory_decision", "action")))),
            ("refusals", bars(_spoken(view, meter.split("memory_refused", "reason")))),
            ("drops", bars(_spoken(view, meter.split("recall_dropped", "reason")))),
            ("tokens", bars(meter.split("model_tokens", "direction"))),
            ("cost", bars(meter.split("model_cost", "purpose"))),
        ),
        rates=view.memory.metrics.summary(),
        told=lambda written: retold(written, spoken(view.request)),
        may_mend=Permission.JOBS_WRITE in view.who.permissions,
    )


@routes.post("/operations/{job_id}")
def mended(view: Mends, job_id: int, form: Sent) -> Response:
    """Try a job again, or forget it."""
    verbs = {"retry": admin.retried, "drop": admin.dropped}
    if form["do"] not in verbs:
        raise Rejected(field="do")
    verbs[form["do"]](view.memory, view.who, job_id)
    return view.go("operations")


def _decided(view: View, amounts: dict[str, float]) -> dict[str, float]:
    known = set(Action)
    return {
        view.say(f"decision_{name}") if name in known else name: n for name, n in amounts.items()
    }


def _spoken(view: View, amounts: dict[str, float]) -> dict[str, float]:
    tongue = spoken(view.request)
    return {
        in_words(Reason(name), tongue) if name in set(Reason) else name: amount
        for name, amount in amounts.items()
    }
