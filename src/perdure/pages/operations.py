"""Operations: how learning stands, which jobs wait or died, and what was refused and left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from perdure.control.metrics import Levels
from perdure.errors import NotFound, Rejected, retold
from perdure.observe import Meter
from perdure.pages.asked import Looks, Mends, Sent
from perdure.pages.charts import Piece, bars, largest_first
from perdure.pages.page import PageRoute, View, spoken
from perdure.serve import admin
from perdure.serve.admin import JobsQuery
from perdure.serve.replies import JobOut
from perdure.types import Action, JobState, Permission, Reason
from perdure.types.words import in_words

routes = APIRouter(route_class=PageRoute)

_SHARES = {"P50": 0.5, "P95": 0.95}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One chart: what it is about, and whose figures it shows."""

    name: str
    covers: Literal["namespace", "month", "process"]
    """The namespace now, the namespace in this month, or what this process has counted of it."""
    pieces: list[Piece]
    unit: Literal["amount", "seconds"] = "amount"


@routes.get("/operations")
def overview(
    view: Looks, after: Annotated[int | None, Query(ge=1, le=2**63 - 1)] = None
) -> Response:
    """What the tables tell of the namespace, and what this process has counted of it."""
    jobs = admin.jobs(view.memory, view.who, JobsQuery(after=after))
    metrics, namespace = view.memory.metrics, view.who.namespace
    levels = metrics.levels(namespace)
    waits = levels.queue[JobState.PENDING] + levels.queue[JobState.FAILED]
    return view.html(
        "operations.html",
        jobs=jobs,
        age=round(levels.queue_age_s) if waits else None,
        charts=[*_of_tables(levels), *_of_process(view, metrics.meter.within(namespace))],
        rates=metrics.summary(namespace),
        works_here=view.memory.parts.switches.workers,
        may_mend=Permission.JOBS_WRITE in view.who.permissions,
        told=_told(view),
    )


@routes.post("/operations/{job_id}")
def mended(view: Mends, job_id: int, form: Sent) -> Response:
    """Try a job again, or forget it; its row tells how it is now."""
    verbs = {"retry": admin.retried, "drop": admin.dropped}
    what = form["do"]
    if what not in verbs:
        raise Rejected(field="do")
    verbs[what](view.memory, view.who, job_id)
    if not view.partial:
        return view.go("operations")
    now = None if what == "drop" else _job(view, job_id)
    return view.html("_job.html", job=now, ident=job_id, may_mend=True, told=_told(view))


def _told(view: View) -> Callable[[str], str]:
    """Says why a job failed as its reader speaks; it was written down in English."""
    return lambda written: retold(written, spoken(view.request))


def _job(view: View, job_id: int) -> JobOut:
    """One job as it is now.

    Raises:
        NotFound: it is gone.
    """
    with view.memory.parts.database.read() as tx:
        found = tx.jobs.page(list(JobState), 1, job_id + 1, namespace=view.who.namespace)
    if not found or found[0].id != job_id:
        raise NotFound(field="job_id")
    return JobOut.model_validate(found[0])


def _of_tables(levels: Levels) -> list[Chart]:
    """How the namespace stands, whichever process tells it."""
    tokens = {
        "in": float(sum(one.tokens_in for one in levels.spend)),
        "out": float(sum(one.tokens_out for one in levels.spend)),
    }
    cost: dict[str, float] = {}
    for one in levels.spend:
        cost[one.purpose] = cost.get(one.purpose, 0.0) + one.cost
    states = bars({state.value: levels.queue[state] for state in JobState})
    return [
        Chart(name="queue", covers="namespace", pieces=states),
        Chart(name="tokens", covers="month", pieces=bars(tokens) if any(tokens.values()) else []),
        Chart(name="cost", covers="month", pieces=bars(largest_first(cost))),
    ]


def _of_process(view: View, meter: Meter) -> list[Chart]:
    """What this process has counted of the namespace."""
    times = {
        "recall": _times(meter, "recall_seconds"),
        "readable": _times(meter, "memory_readable_seconds"),
    }
    amounts = {
        "decisions": _decided(view, meter.split("memory_decision", "action")),
        "refusals": _in_words(view, meter.split("memory_refused", "reason")),
        "drops": _in_words(view, meter.split("recall_dropped", "reason")),
    }
    return [
        *(
            Chart(name=name, covers="process", pieces=bars(found), unit="seconds")
            for name, found in times.items()
        ),
        *(
            Chart(name=name, covers="process", pieces=bars(largest_first(found)))
            for name, found in amounts.items()
        ),
    ]


def _times(meter: Meter, name: str) -> dict[str, float]:
    """The median, and what all but one in twenty stay below; nothing where nothing was timed."""
    found = {label: meter.quantile(name, share) for label, share in _SHARES.items()}
    return {label: seconds for label, seconds in found.items() if seconds is not None}


def _decided(view: View, amounts: dict[str, float]) -> dict[str, float]:
    known = set(Action)
    return {
        view.say(f"decision_{name}") if name in known else name: n for name, n in amounts.items()
    }


def _in_words(view: View, amounts: dict[str, float]) -> dict[str, float]:
    tongue = spoken(view.request)
    return {
        in_words(Reason(name), tongue) if name in set(Reason) else name: amount
        for name, amount in amounts.items()
    }
