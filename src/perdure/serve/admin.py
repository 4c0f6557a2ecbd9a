"""Routes for whoever runs the service: memories to read, jobs, run-time values, keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import PlainTextResponse

from perdure.errors import DatabaseUnavailable, Forbidden, Misconfigured, NotFound, Rejected
from perdure.memory import Memory
from perdure.policy import Policy
from perdure.ports import AuditFilter, ItemFilter
from perdure.serve.auth import Caller, Keeping, Looking, Mending, Reading, Setting, Watching
from perdure.serve.door import Door
from perdure.serve.problems import EVERYWHERE, problems
from perdure.serve.replies import (
    AuditOut,
    CostsOut,
    ItemOut,
    JobOut,
    JobsOut,
    KeyOut,
    KeysOut,
    NewKeyOut,
    RowsOut,
    SpendOut,
    SummaryOut,
    ValuesOut,
)
from perdure.serve.wire import MAX_LISTED, Text, Time
from perdure.types import (
    WITHIN,
    Actor,
    JobState,
    KeyRole,
    Level,
    Operation,
    Permission,
    Scope,
    Status,
)

routes = APIRouter(prefix="/admin", tags=["admin"])

PROMETHEUS = "text/plain; version=0.0.4"
"""The type of its text format."""

_UNFINISHED: list[JobState] = [state for state in JobState if state is not JobState.SUCCESS]
_PAGE_SIZE = 200
_LAST_PAGE = 1_000_000
_NUMBER = 2**63 - 1  # the largest of a job


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RowsQuery(_Strict):
    """Whose memories, and which."""

    user_id: str = Field(examples=["ann"])
    page: int = Field(default=1, ge=1, le=_LAST_PAGE)
    page_size: int = Field(default=20, ge=1, le=_PAGE_SIZE)
    scope: Level | None = Field(default=None, description="`user` or `project`; both if left out.")
    status: list[Status] | None = Field(default=None, description="Any, if left out.")
    after: str | None = Field(
        default=None,
        description=(
            "The cursor `next` of the page before; `page` only counts then. Between numbers a row "
            "can slip while others come and go, between cursors none can."
        ),
    )


class JobsQuery(_Strict):
    """Which jobs."""

    state: list[JobState] = Field(default=_UNFINISHED)
    limit: int = Field(default=50, ge=1, le=MAX_LISTED)
    after: int | None = Field(default=None, ge=1, le=_NUMBER, description="`next` of before.")


class AuditQuery(_Strict):
    """Which entries. Repeat a name to allow several values."""

    user_id: str | None = Field(default=None, examples=["ann"])
    item_id: str | None = None
    by: str | None = Field(default=None, description="Which key or user did it.")
    actor: list[Actor] | None = None
    operation: list[Operation] | None = None
    since: Time | None = Field(default=None, description="At or after.")
    until: Time | None = Field(default=None, description="Before.")
    limit: int = Field(default=50, ge=1, le=_PAGE_SIZE)
    after: str | None = Field(default=None, description="The cursor `next` of the page before.")

    def filter(self) -> AuditFilter:
        """The same as the core says it."""
        return AuditFilter(
            user=self.user_id,
            item=self.item_id,
            by=self.by,
            actors=None if self.actor is None else frozenset(self.actor),
            operations=None if self.operation is None else frozenset(self.operation),
            since=self.since,
            until=self.until,
        )


class CostsQuery(_Strict):
    """Whose costs, and of which month."""

    user_id: str | None = Field(
        default=None, examples=["ann"], description="All together, if left out."
    )
    month: str | None = Field(
        default=None,
        pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])$",
        examples=["2026-11"],
        description="In UTC; this one, if left out.",
    )


class ValuesIn(_Strict):
    """Run-time values to set; null takes one back."""

    values: dict[str, Any] = Field(
        min_length=1,
        max_length=100,
        examples=[
            {
                "gate.floor": 0.6,
                "memory.extraction_model": "qwen2.5:7b",
                "defaults.auto_learn": False,
            }
        ],
    )


class KeyIn(_Strict):
    """A key to make."""

    name: Text = Field(min_length=1, max_length=255, examples=["web shop"])
    role: KeyRole = KeyRole.APP
    permissions: list[Permission] | None = Field(
        default=None, description="All that the role may have within its namespace, if left out."
    )


def note(memory: Memory, who: Caller, what: str) -> None:
    """Write into the audit that an admin looked, before it is told.

    Raises:
        DatabaseUnavailable: it cannot be noted, so it does not happen.
    """
    memory.parts.audit.read(who.namespace, who.name, what)


# ── memories ─────────────────────────────────────────────────────────────────────────────────────


@routes.get("/memory", summary="Read a user's memories, page by page")
def memories(memory: Door, who: Reading, query: Annotated[RowsQuery, Query()]) -> RowsOut:
    """Whatever their status, newest first. It is noted in the audit; nothing can be written.

    No change moves a memory in the list; `after` misses none.
    """
    scope = Scope(namespace=who.namespace, user=query.user_id)
    memory.parts.audit.looked(scope, who.name, "memories")
    kept = frozenset(Status) - {Status.DELETED}
    which = ItemFilter(
        statuses=kept if query.status is None else kept.intersection(query.status),
        level=query.scope,
    )
    before = (query.page - 1) * query.page_size if query.after is None else 0
    with memory.parts.database.read() as tx:
        found = tx.items.page(scope, which, before + query.page_size, query.after)
    return RowsOut(
        items=[ItemOut.model_validate(item) for item in found.items[before:]],
        page=query.page,
        page_size=query.page_size,
        total=found.total,
        next=found.next,
    )


@routes.get("/audit", summary="Who changed what, and who looked")
def audited(memory: Door, who: Looking, query: Annotated[AuditQuery, Query()]) -> AuditOut:
    """Newest first. Texts before and after stand there only for keys with `memory:read`."""
    note(memory, who, "audit")
    page = memory.audit.page(
        who.namespace,
        query.filter(),
        query.limit,
        query.after,
        texts=Permission.MEMORY_READ in who.permissions,
    )
    return AuditOut.model_validate(page)


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────────


@routes.get("/jobs", summary="List jobs, newest first")
def jobs(memory: Door, who: Looking, query: Annotated[JobsQuery, Query()]) -> JobsOut:
    """All but those that succeeded, unless `state` says otherwise; never what was said."""
    note(memory, who, "jobs")
    with memory.parts.database.read() as tx:
        found = tx.jobs.page(query.state, query.limit + 1, query.after, namespace=who.namespace)
    shown = [JobOut.model_validate(job) for job in found[: query.limit]]
    more = len(found) > query.limit
    return JobsOut(jobs=shown, next=shown[-1].id if more else None)


@routes.post(
    "/jobs/{job_id}/retry", status_code=204, summary="Try a job again", responses=problems(404)
)
def retried(memory: Door, who: Mending, job_id: int) -> None:
    """Dead or failed ones are due now, with all their tries. 404 for any other."""
    if not memory.parts.queue.retry([job_id], by=who.name, namespace=who.namespace):
        raise NotFound(field="job_id")
    memory.parts.notify()


@routes.delete("/jobs/{job_id}", status_code=204, summary="Forget a job", responses=problems(404))
def dropped(memory: Door, who: Mending, job_id: int) -> None:
    """What it would have learnt is not learnt. 404 for one that runs now."""
    if not memory.parts.queue.drop([job_id], by=who.name, namespace=who.namespace):
        raise NotFound(field="job_id")


# ── run-time values ──────────────────────────────────────────────────────────────────────────────


@routes.get("/settings", summary="Numbers and behaviours of the namespace")
def values(memory: Door, who: Looking) -> ValuesOut:
    """What was set at run time, and what holds because of that and of the deployment."""
    note(memory, who, "settings")
    return _values(memory, who)


@routes.patch("/settings", summary="Set numbers and behaviours while the service runs")
def changed(memory: Door, who: Setting, body: ValuesIn) -> ValuesOut:
    """All of them or none. Names are those of the policy, for example `gate.floor`."""
    try:
        memory.parts.runtime.change(who.namespace, body.values, by=who.name)
    except Misconfigured as wrong:
        field = (wrong.field or "").removeprefix("run time: policy.")
        raise Rejected(wrong.detail, field=field or "values") from None
    return _values(memory, who)


def _values(memory: Memory, who: Caller) -> ValuesOut:
    runtime = memory.parts.runtime
    return ValuesOut(
        values=runtime.values(who.namespace),
        policy=dict(_flat(runtime.policy_of(who.namespace))),
    )


def _flat(policy: Policy) -> Iterator[tuple[str, Any]]:
    """Every knob by its dotted name."""
    for group in fields(policy):
        if group.name == "preset":
            yield group.name, policy.preset
            continue
        inner = getattr(policy, group.name)
        for knob in fields(inner):
            yield f"{group.name}.{knob.name}", getattr(inner, knob.name)


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────


@routes.get("/keys", summary="List the keys of the namespace")
def keys(memory: Door, who: Keeping) -> KeysOut:
    """Revoked ones too, oldest first; never a secret."""
    note(memory, who, "keys")
    found = memory.parts.keys.list(who.namespace)
    return KeysOut(keys=[KeyOut.model_validate(key) for key in found])


@routes.post("/keys", status_code=201, summary="Make a key")
def made(memory: Door, who: Keeping, body: KeyIn) -> NewKeyOut:
    """Its secret is shown this once. Nobody gives an admin more than they have."""
    if body.role is KeyRole.ADMIN:
        wanted = WITHIN[KeyRole.ADMIN] if body.permissions is None else frozenset(body.permissions)
        if not wanted <= who.permissions:
            raise Forbidden("It would be allowed more than yours.", field="permissions")
    key, secret = memory.parts.keys.create(
        who.namespace, body.name, body.role, body.permissions, by=who.name
    )
    return NewKeyOut(**KeyOut.model_validate(key).model_dump(), secret=secret)


@routes.delete("/keys/{key_id}", summary="Revoke a key", responses=problems(404))
def revoked(memory: Door, who: Keeping, key_id: str) -> KeyOut:
    """It opens nothing any more, from the next request on."""
    return KeyOut.model_validate(memory.parts.keys.revoke(who.namespace, key_id, by=who.name))


# ── figures ──────────────────────────────────────────────────────────────────────────────────────


@routes.get("/metrics/summary", summary="How the namespace stands")
def summed_up(memory: Door, who: Looking) -> SummaryOut:
    """Nothing of another namespace is in it.

    The ten rates are of this process since it began, null where nothing has happened yet; what
    other processes counted is not in them. Queue, vectors and spend stand in the database, and
    every process tells the same.
    """
    note(memory, who, "figures")
    levels = memory.metrics.levels(who.namespace)
    rates = memory.metrics.summary(who.namespace)
    return SummaryOut(
        rates=rates,
        works_here=memory.parts.switches.workers,
        queue=dict(levels.queue),
        queue_age_seconds=levels.queue_age_s,
        vectors=dict(levels.vectors),
        spend=[SpendOut.model_validate(one) for one in levels.spend],
    )


@routes.get("/costs", summary="What models cost in a month, by user")
def spent(memory: Door, who: Looking, query: Annotated[CostsQuery, Query()]) -> CostsOut:
    """By model and purpose; without `user_id` of the whole namespace, erased users included."""
    costs = memory.costs
    if query.user_id is None:
        note(memory, who, "costs")
        found = costs.together(who.namespace, query.month)
    else:
        scope = Scope(namespace=who.namespace, user=query.user_id)
        memory.parts.audit.looked(scope, who.name, "costs")
        found = costs.of(scope, query.month)
    return CostsOut(spend=[SpendOut.model_validate(one) for one in found])


figures = APIRouter(tags=["health"])


@figures.get(
    "/metrics",
    summary="Figures for Prometheus",
    response_class=PlainTextResponse,
    responses=EVERYWHERE,
)
def measured(memory: Door, who: Watching) -> PlainTextResponse:
    """Names, numbers and reasons of all namespaces together, never a text.

    Counters are of this process since it began: scrape every process, also each worker
    (`perdure worker --metrics-port`), and add them up, for example
    `sum(rate(perdure_recalls_total[5m]))`. Gauges stand in the database, so that every process
    tells the same: take `max`. Of a key that scrapes, the audit notes once an hour that it does.
    """
    with suppress(DatabaseUnavailable):  # which is one of the figures
        memory.parts.audit.watched(who.namespace, who.name, "metrics")
    return PlainTextResponse(memory.metrics.text(), media_type=PROMETHEUS)
