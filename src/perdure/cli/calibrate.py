"""The command that finds out what the cosines of an embedder mean: calibrate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

import typer
from rich.table import Table

from perdure.cli import say
from perdure.cli.given import Json, given, whole
from perdure.errors import Misconfigured
from perdure.memory import Memory
from perdure.models.bundled import BundledEmbedder
from perdure.models.calibrate import SETTING, CalibratePolicy, Calibration, written
from perdure.models.calibrate import calibrate as calibrated
from perdure.ports import ItemFilter, Transaction
from perdure.types import Role, Scope, Status

MEANINGS: Mapping[str, str] = {
    "unrelated": "a question and a memory that have nothing to do with each other",
    "answer": "a question and a memory that answers it well",
    "topic": "two memories about one topic",
    "same": "two wordings of one statement",
}
"""What a pair of texts is, from the cosine of a threshold on."""


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(calibrate)


def calibrate(
    context: typer.Context,
    users: Annotated[
        list[str],
        typer.Argument(metavar="USER...", help="Whose memories to compare.", callback=whole),
    ],
    *,
    json: Json = False,
) -> None:
    """Find out what the configured embedder's cosines mean, on memories of your own.

    Memories and what was said are embedded by it and by the bundled embedder, whose thresholds
    were measured; the thresholds that are printed leave the same share of pairs above them.
    Nothing is stored; write the line that is printed into your settings.

    Examples:
    - `perdure calibrate ann`
    - `perdure calibrate ann bo 小林 --json`
    """
    scopes = [given(context).scope(user) for user in users]
    with given(context).open() as memory:
        other = memory.parts.embedder
        if other is None:
            raise Misconfigured("There is no embedder to calibrate.", field="PERDURE_EMBEDDER")
        memories, questions = _texts(memory, scopes)
        found = calibrated(memories, questions, known=BundledEmbedder(), other=other)
        model = other.model
    line = written(found.similarity)
    if json:
        say.as_json(
            {
                "model": model,
                "memories": found.memories,
                "questions": found.questions,
                "embedding_similarity": line,
                "thresholds": {one.name: one.found for one in found.thresholds},
            }
        )
        return
    say.console().print(_table(found))
    counted = say.told(
        "{model}: {memories} memories, {questions} questions. Set one of:",
        model=model,
        memories=found.memories,
        questions=found.questions,
    )
    say.note(counted)
    say.console().print(f'{SETTING}="{line}"', soft_wrap=True)
    say.console().print(f'embedding_similarity = "{line}"', soft_wrap=True)


def _texts(memory: Memory, scopes: Iterable[Scope]) -> tuple[list[str], list[str]]:
    """Contents of active memories, and what the users said, each newest first."""
    memories: list[str] = []
    questions: list[str] = []
    active = ItemFilter(statuses=(Status.ACTIVE,))
    with memory.parts.database.read() as tx:
        for scope in scopes:
            memories += [item.content for item in tx.items.every(scope, active)]
            questions += _said(tx, scope)
    return memories, questions


def _said(tx: Transaction, scope: Scope) -> list[str]:
    most = CalibratePolicy().most
    seqs = [row[0] for row in tx.messages.outline(scope)[-2 * most :]]
    said = sorted(tx.messages.by_seq(scope, seqs), key=lambda one: one.seq, reverse=True)
    return [one.content for one in said if one.role is Role.USER and one.content.strip()]


def _table(found: Calibration) -> Table:
    table = say.table("threshold", "cosine", "bundled", "pairs above", "from here on")
    for one in found.thresholds:
        table.add_row(
            one.name, f"{one.found:.3f}", f"{one.known:.3f}", f"{one.above:.1%}",
            say.told(MEANINGS[one.name]),
        )  # fmt: skip
    return table
