"""Commands for promises that wait, failed or died: jobs list, retry, drop."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.cli import say
from perdure.cli.given import BY, Json, given
from perdure.errors import NotFound, retold
from perdure.types import Job, JobState

app = typer.Typer(
    help="Look after jobs: learning, embedding, tidying up.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
Ids = Annotated[
    list[int], typer.Argument(metavar="ID...", help="Numbers as `jobs list` shows them.")
]
_UNFINISHED = [state for state in JobState if state is not JobState.SUCCESS]
_MAX_LISTED = 1_000


@app.command("list")
def listed(
    context: typer.Context,
    *,
    state: Annotated[
        list[JobState] | None, typer.Option(help="All but success, unless said otherwise.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=_MAX_LISTED)] = 50,
    json: Json = False,
) -> None:
    """List jobs, newest first. A job says what failed, never what was said.

    Examples:
    - `perdure jobs list`
    - `perdure jobs list --state dead`
    """
    with given(context).open() as memory, memory.parts.database.read() as tx:
        found = tx.jobs.page(state or _UNFINISHED, limit)
    if json:
        say.as_json({"jobs": [_told(job) for job in found]})
        return
    table = say.table("id", "type", "state", "user", "tries", "next try", "error")
    for job in found:
        due = "" if job.next_retry_at is None else f"{job.next_retry_at:%Y-%m-%d %H:%M:%S}"
        table.add_row(
            str(job.id), job.type, job.state, job.user, str(job.retry_count), due,
            retold(job.last_error or "", say.language()),
        )  # fmt: skip
    say.console().print(table)
    say.note(say.told("Jobs: {count}.", count=len(found)))


@app.command()
def retry(context: typer.Context, ids: Ids, *, json: Json = False) -> None:
    """Make dead or failed jobs due now, with all their tries.

    Examples:
    - `perdure jobs retry 41 42`
    """
    with given(context).open() as memory:
        count = memory.parts.queue.retry(ids, by=BY)
    if json:
        say.as_json({"retried": count})
    else:
        told = say.told("{count} of {total} jobs retried.", count=count, total=len(set(ids)))
        say.console().print(told)
    _found(count)


@app.command()
def drop(context: typer.Context, ids: Ids, *, json: Json = False) -> None:
    """Forget jobs for good; what they would have learnt is not learnt.

    Examples:
    - `perdure jobs drop 41`
    """
    with given(context).open() as memory:
        count = memory.parts.queue.drop(ids, by=BY)
    if json:
        say.as_json({"dropped": count})
    else:
        told = say.told("{count} of {total} jobs dropped.", count=count, total=len(set(ids)))
        say.console().print(told)
    _found(count)


def _found(count: int) -> None:
    """It was some of the named jobs.

    Raises:
        NotFound: none of them.
    """
    if count == 0:
        raise NotFound(field="id")


def _told(job: Job) -> dict[str, object]:
    """A job for programs, without its payload."""
    return {
        "id": job.id,
        "type": job.type,
        "state": job.state,
        "namespace": job.namespace,
        "user_id": job.user,
        "conversation_id": job.conversation,
        "trace": job.trace,
        "retry_count": job.retry_count,
        "max_retry": job.max_retry,
        "next_retry_at": job.next_retry_at and job.next_retry_at.isoformat(),
        "last_error": job.last_error,
    }
