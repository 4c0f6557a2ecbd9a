"""The command that makes what finds memories anew: reindex."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from perdure.cli import say
from perdure.cli.given import Json, given, ready
from perdure.memory import Memory
from perdure.types import JobState, JobType

_LOOK_S = 0.2
_MANY = 1_000_000  # more jobs than that are not counted


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(reindex)


def reindex(
    context: typer.Context,
    *,
    wait: Annotated[bool, typer.Option(help="Do it now, or leave it to workers.")] = True,
    json: Json = False,
) -> None:
    """Make vectors and search terms anew, for everybody; no text is lost.

    For vectors of an embedder that changed under the same name, and for an index that was lost. A
    new embedder needs no command: its vectors are made in the background.

    Examples:
    - `perdure reindex`
    - `perdure reindex --no-wait`
    """
    with given(context).open() as memory:
        ready(memory)
        started = memory.parts.clock()
        told: dict[str, int] = {"users": memory.parts.reconciler.rebuild(started)}
        if wait:
            memory.start()
            with say.progress(quiet=json) as bar:
                for kind, doing in (
                    (JobType.RECONCILE, say.told("Looking through users")),
                    (JobType.EMBED, say.told("Making vectors")),
                ):
                    task = bar.add_task(doing, total=(total := _waiting(memory, kind)))
                    while left := _waiting(memory, kind):
                        total = max(total, left)
                        bar.update(task, total=total, completed=total - left)
                        time.sleep(_LOOK_S)
                    bar.update(task, total=total, completed=total)
            with memory.parts.database.read() as tx:
                dead = tx.jobs.page([JobState.DEAD], limit=_MANY)
            told["failed"] = sum(
                job.type in (JobType.RECONCILE, JobType.EMBED)
                and job.updated_at is not None
                and job.updated_at >= started
                for job in dead
            )
    if json:
        say.as_json(told)
    elif wait:
        say.console().print(say.told("{users} users; {failed} jobs failed.", **told))
    else:
        say.console().print(say.told("{users} users; workers do the rest.", **told))


def _waiting(memory: Memory, kind: JobType) -> int:
    """How many jobs of this type are not over."""
    with memory.parts.database.read() as tx:
        return tx.jobs.waiting([kind], _MANY)
