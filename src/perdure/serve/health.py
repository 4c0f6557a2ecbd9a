"""How each part is: up, degraded or down, and since when; without asking any model for it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from perdure.errors import (
    Misconfigured,
    ModelBusy,
    ModelUnavailable,
    ReplyCutOff,
    ReplyUnusable,
    Unavailable,
)
from perdure.ports import Transaction
from perdure.types import JobState, JobType, Promise, new_id
from perdure.wiring import Parts

_BACKLOG = 1_000  # jobs that wait; with more, learning is behind
_ROOM = 32_768  # bytes that are written to see whether there is room
_NOBODY = "health"
_LEARNING = frozenset({JobType.EXTRACT, JobType.CONSOLIDATE})
_ASKED: Mapping[str, tuple[frozenset[JobType], tuple[str, ...]]] = {
    "model": (_LEARNING, ("extract", "decide", "consolidate")),
    "embedder": (frozenset({JobType.EMBED}), ("embed",)),
}
"""The jobs that ask a model, and what for; also what a worker elsewhere came to know is told."""
_OF_MODELS = frozenset(
    one.code for one in (ModelUnavailable, ModelBusy, ReplyUnusable, ReplyCutOff, Misconfigured)
)
"""Errors of jobs that a model caused."""


class State(StrEnum):
    """How a part is."""

    UP = "up"
    DEGRADED = "degraded"
    """It works in part, or the rest works without it."""
    DOWN = "down"
    UNKNOWN = "unknown"
    """Nobody has asked it yet."""
    OFF = "off"
    """The deployment switched it off, or has none."""


class PartOut(BaseModel):
    """One part."""

    state: State
    since: datetime
    """When this process first saw it so."""
    detail: str | None = None
    """Why it is not up: `backlog`, `late`, or the code of the error that jobs ended with."""


class Live(BaseModel):
    """The process answers."""

    status: str = Field(examples=["live"])


class Ready(BaseModel):
    """Can requests be served? `degraded`: yes, without one of the parts."""

    status: str = Field(examples=["ready"], description="ready, degraded or down")
    model: str = Field(examples=["basic"], description="What learns.")
    parts: dict[str, PartOut]


class Health:
    """Watches the parts of one process. Share it between threads.

    Whether a model answers is told by what became of the calls that were made anyway, here or by
    jobs of any process. So is whether the database takes what is written; once it did not,
    something is written to see. Whether anybody works is told by what waits.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._lock = threading.Lock()
        self._known: dict[str, PartOut] = {}
        self._calls: dict[str, tuple[State, float, float]] = {}
        self._refused = 0.0

    def look(self) -> Ready:
        """Every part as it is now."""
        parts = self._parts
        states = {"database": State.UP, "jobs": State.UP}
        details: dict[str, str] = {}
        try:
            with parts.database.read() as tx:
                waits = self._behind(tx)
                details = {part: code for part in _ASKED if (code := _blamed(tx, part))}
        except Unavailable:
            states |= {"database": State.DOWN, "jobs": State.DOWN}
        else:
            if not self._writable():
                states["database"] = State.DEGRADED
            if waits is not None:
                states["jobs"], details["jobs"] = State.DEGRADED, waits
        switches = parts.switches
        for name, there in (
            ("learning", switches.enabled and switches.learn),
            ("recall", switches.enabled and switches.recall),
            ("workers", switches.workers),
        ):
            states[name] = State.UP if there else State.OFF
        with self._lock:
            states["model"], states["embedder"] = State.OFF, State.OFF
            if parts.chat is not None:
                states["model"] = self._answers("model", failing="model" in details)
            if parts.embedder is not None and switches.vectors:
                states["embedder"] = self._answers("embedder", failing="embedder" in details)
            states["vectors"] = self._vectors()
            states["bus"] = State.OFF if parts.way is None else State(parts.way.watch.health.state)
            told = {name: self._since(name, state, details) for name, state in states.items()}
        bad = {State.DOWN, State.DEGRADED} & {part.state for part in told.values()}
        status = "down" if states["database"] is State.DOWN else "degraded" if bad else "ready"
        model = "basic" if parts.chat is None else parts.chat.name
        return Ready(status=status, model=model, parts=told)

    def _behind(self, tx: Transaction) -> str | None:
        """Why jobs are not kept up with: too many wait, or one waits for too long."""
        parts, at = self._parts, self._parts.clock()
        depth = tx.jobs.depth(at)
        if depth.get(JobState.PENDING, 0) + depth.get(JobState.FAILED, 0) > _BACKLOG:
            return "backlog"
        switches = parts.switches
        stopped = frozenset() if switches.enabled and switches.learn else _LEARNING
        since = tx.jobs.overdue(at, frozenset(JobType) - stopped)
        late_s = parts.settings.policy.jobs.late_s
        if not late_s or since is None or (at - since).total_seconds() <= late_s:
            return None
        return "late"

    def _writable(self) -> bool:
        """Does the database take what is written? A disk may be full, or a file only be read."""
        parts = self._parts
        refused = parts.meter.read("database_refused")
        if refused == self._refused:
            return True
        at = parts.clock()
        trace = new_id(at)
        promise = Promise(
            type=JobType.RECONCILE,
            namespace=_NOBODY,
            user=_NOBODY,
            key=trace,
            payload={"room": "-" * _ROOM},
            trace=trace,
        )
        try:
            with parts.database.begin() as tx:  # nobody ever sees it
                job, _ = tx.jobs.promise(promise, at)
                tx.jobs.drop([job.id])
        except Unavailable:
            return False
        self._refused = refused
        return True

    def _vectors(self) -> State:
        """Whether meaning is searched; paused while much else waits, words answer without it."""
        try:
            now = self._parts.vectors_now()
        except Unavailable:
            return State.DOWN
        told = {"on": State.UP, "off": State.OFF, "paused": State.DEGRADED}
        return told.get(now, State.DOWN)

    def _answers(self, part: str, *, failing: bool) -> State:
        """How a model is, by the calls of this process and by what jobs failed of."""
        if part == "embedder" and self._parts.settings.embedder != "openai":
            return State.UP  # it is in this process
        called = self._called(part)
        if not failing:
            return called
        return State.DEGRADED if called in (State.UP, State.DEGRADED) else State.DOWN

    def _called(self, part: str) -> State:
        """What the calls since the last look say of a model; none say that nothing changed."""
        meter, (_, purposes) = self._parts.meter, _ASKED[part]
        every = sum(meter.read("model_calls", purpose=one) for one in purposes)
        fine = sum(meter.read("model_calls", purpose=one, outcome="ok") for one in purposes)
        known, *before = self._calls.get(part, (State.UNKNOWN, 0.0, 0.0))
        if [every, fine] == before:
            return known
        failed, went = (every - fine) - (before[0] - before[1]), fine - before[1]
        told = (State.DEGRADED if went else State.DOWN) if failed else State.UP
        self._calls[part] = told, every, fine
        return told

    def _since(self, name: str, state: State, details: Mapping[str, str]) -> PartOut:
        known = self._known.get(name)
        fine = state in (State.UP, State.OFF, State.UNKNOWN)
        since = self._parts.clock() if known is None or known.state is not state else known.since
        self._known[name] = PartOut(
            state=state, since=since, detail=None if fine else details.get(name)
        )
        return self._known[name]


def _blamed(tx: Transaction, part: str) -> str | None:
    """The code of the error that the last job ended with which asked this model; None: none."""
    types, _ = _ASKED[part]
    code = (tx.jobs.last_error(types) or "").partition(":")[0]
    return code if code in _OF_MODELS else None


routes = APIRouter(prefix="/health", tags=["health"])


@routes.get("/live", summary="Does the process answer?")
async def live() -> Live:
    """Says nothing about the parts behind it."""
    return Live(status="live")


def _health(request: Request) -> Health:
    health: Health = request.app.state.health
    return health


_DOWN = {"model": Ready, "description": "The database does not answer."}


@routes.get("/ready", summary="Can requests be served?", responses={503: _DOWN})
def ready(health: Annotated[Health, Depends(_health)], response: Response) -> Ready:
    """Each part: up, degraded, down, unknown or off, and since when.

    503 while the database is down. It is degraded while it answers and takes nothing new: its
    disk is full, say. Jobs are degraded while many wait, or one waits for too long: nobody works,
    or too few.
    """
    told = health.look()
    if told.status == "down":
        response.status_code = 503
        response.headers["Retry-After"] = "1"
    return told
