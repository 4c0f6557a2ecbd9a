"""Commands that read what is remembered: recall, items."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from perdure.cli import say
from perdure.cli.given import Json, Project, User, given, warm, whole
from perdure.cli.names import KINDS, SOURCES
from perdure.ports import ItemFilter, Page
from perdure.serve.replies import ContextOut, PageOut
from perdure.types import Answer, Kind, Status
from perdure.types.explained import in_stage
from perdure.types.words import in_words

_LISTED = 50
_MAX_LISTED = 1_000


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(recall)
    app.command()(items)


def recall(
    context: typer.Context,
    user: User,
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="The message to answer.", callback=whole)
    ],
    *,
    project: Project = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also say what was kept and dropped, and why.")
    ] = False,
    json: Json = False,
) -> None:
    """Print what a model would be told of a user before it answers a message.

    Examples:
    - `perdure recall ann "Where should we meet for coffee?"`
    - `perdure recall 小林 "晚饭吃什么？" --explain`
    """
    scope = given(context).scope(user, project=project)
    with given(context).open() as memory:
        warm(memory)
        answer = memory.recall(scope, question, explain=explain or json)
    if json:
        say.as_json(ContextOut.of(answer, explain=True).model_dump(mode="json"))
        return
    if answer.text:
        say.console().print(answer.text, soft_wrap=True)
    else:
        say.note(say.told("Nothing that is remembered fits this message."))
    if explain and answer.considered:
        say.console().print()
        say.console().print(_explained(answer))
    elif explain:
        say.note(say.told("No memory was considered."))
    for missing in answer.degraded:
        say.note(f"{missing.part}: {in_words(missing.reason, say.language())}")


def _explained(answer: Answer) -> Table:
    """What became of each memory; why, its score's terms and its ranks go below it."""
    tongue = say.language()
    table = say.table("stage", "score", "memory")
    for narrow in table.columns[:2]:
        narrow.no_wrap = True
    for one in answer.considered:
        terms = (
            {name: points for name, points in one.score.terms.items() if points}
            if one.score
            else {}
        )
        why = (
            f"{one.reason} {in_words(one.reason, tongue)}" if one.reason else "",
            " ".join(f"{name} {points:.2f}" for name, points in terms.items()),
            " ".join(f"{place.arm} {place.rank}" for place in one.places),
        )
        below = "".join(f"\n{line}" for line in why if line)
        table.add_row(
            in_stage(one.stage, tongue),
            f"{one.score.total:.3f}" if one.score and terms else "",
            Text(" ".join(one.item.content.split())) + Text(below, style="dim"),
        )
    return table


def items(
    context: typer.Context,
    user: User,
    *,
    status: Annotated[
        list[Status] | None, typer.Option(help="Active ones, unless said otherwise.")
    ] = None,
    kind: Annotated[list[Kind] | None, typer.Option(help="Only these kinds.")] = None,
    project: Project = None,
    text: Annotated[
        str | None, typer.Option(help="Only those that contain this.", callback=whole)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=_MAX_LISTED)] = _LISTED,
    after: Annotated[
        str | None, typer.Option(help="Go on behind the page that named this.", callback=whole)
    ] = None,
    json: Json = False,
) -> None:
    """List what is remembered of a user, newest first.

    Examples:
    - `perdure items ann`
    - `perdure items 小林 --status dismissed --status archived`
    """
    scope = given(context).scope(user)
    which = ItemFilter(
        statuses=frozenset(status or [Status.ACTIVE]),
        kinds=frozenset(kind) if kind else None,
        project=project,
        words=text or None,
    )
    with given(context).open() as memory:
        page = memory.items.list(scope, which, limit, after)
    if json:
        say.as_json(PageOut.model_validate(page).model_dump(mode="json"))
        return
    say.console().print(listed(page))
    say.note(say.told("{count} of {total}.", count=len(page.items), total=page.total))
    if page.next:
        say.note(say.told("More with --after {cursor}", cursor=page.next))


def listed(page: Page) -> Table:
    """A page of memories as a table."""
    table = say.table("id", "kind", "source", "memory", "changed")
    for end in (table.columns[0], table.columns[-1]):
        end.no_wrap = True
        end.style = "dim"
    for item in page.items:
        table.add_row(
            item.id[-8:],
            say.told(KINDS[item.kind]),
            say.told(SOURCES[item.source]),
            item.content,
            f"{item.updated_at:%Y-%m-%d}",
        )
    return table
