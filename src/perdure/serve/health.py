"""How each part is: up, degraded or down, and since when; without asking any model for it."""

from __future__ import annotations

import threading
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from perdure.errors import Unavailable
from perdure.types import JobState, JobType, Promise, new_id
from perdure.wiring import Parts

_BACKLOG = 1_000  # jobs that wait; with more, learning is behind
_ROOM = 32_768  # bytes that are written to see whether there is room
_NOBODY = "health"


class State(StrEnum):
    """How a part is."""

    UP = "up"
    DEGRADED = "degraded"
    """It works in part, or the rest works without it."""
    DOWN = "down"
    OFF = "off"
    """The deployment switched it off, or has none."""


class PartOut(BaseModel):
    """One part."""

    state: State
    since: datetime
    """When this process first saw it so."""
    detail: str | None = None


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

    Whether a model answers is told by what became of the calls that were made anyway. So is whether
    the database takes what is written; once it did not, something is written to see.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._lock = threading.Lock()
        self._known: dict[str, PartOut] = {}
        self._calls: dict[str, tuple[float, float]] = {}
        self._refused = 0.0

    def look(self) -> Ready:
        """Every part as it is now."""
        parts = self._parts
        states = {"database": State.UP, "jobs": State.UP}
        try:
            with parts.database.read() as tx:
                depth = tx.jobs.depth(parts.clock())
        except Unavailable:
            states |= {"database": State.DOWN, "jobs": State.DOWN}
        else:
            if not self._writable():
                states["database"] = State.DEGRADED
            if depth.get(JobState.PENDING, 0) + depth.get(JobState.FAILED, 0) > _BACKLOG:
                states["jobs"] = State.DEGRADED
        switches = parts.switches
        for name, there in (
            ("learning", switches.enabled and switches.learn),
            ("recall", switches.enabled and switches.recall),
            ("workers", switches.workers),
        ):
            states[name] = State.UP if there else State.OFF
        with self._lock:
            for name, part in (("model", parts.chat), ("embedder", parts.embedder)):
                label = getattr(part, "name", None) or getattr(part, "model", None)
                states[name] = State.OFF if label is None else self._called(name, str(label))
            if not switches.vectors:
                states["embedder"] = State.OFF
            states["vectors"] = self._vectors()
            states["bus"] = State.OFF if parts.way is None else State(parts.way.watch.health.state)
            told = {name: self._since(name, state) for name, state in states.items()}
        bad = {State.DOWN, State.DEGRADED} & {part.state for part in told.values()}
        status = "down" if states["database"] is State.DOWN else "degraded" if bad else "ready"
        model = "basic" if parts.chat is None else parts.chat.name
        return Ready(status=status, model=model, parts=told)

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

    def _called(self, part: str, model: str) -> State:
        """What the calls since the last look say of a model; none say that nothing changed."""
        meter = self._parts.meter
        every = meter.read("model_calls", model=model)
        fine = meter.read("model_calls", model=model, outcome="ok")
        before = self._calls.get(part, (0.0, 0.0))
        if (every, fine) == before:
            known = self._known.get(part)
            return State.UP if known is None else known.state
        self._calls[part] = every, fine
        failed, went = (every - fine) - (before[0] - before[1]), fine - before[1]
        if not failed:
            return State.UP
        return State.DEGRADED if went else State.DOWN

    def _since(self, name: str, state: State) -> PartOut:
        known = self._known.get(name)
        if known is None or known.state is not state:
            known = self._known[name] = PartOut(state=state, since=self._parts.clock())
        return known


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
    """Each part: up, degraded, down or off, and since when. 503 while the database is down.

    It is degraded while it answers and takes nothing new: its disk is full, say.
    """
    told = health.look()
    if told.status == "down":
        response.status_code = 503
        response.headers["Retry-After"] = "1"
    return told
