"""Commands that move a user's data, one JSON object a line: import, export."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated, Any

import typer

from perdure.cli import say
from perdure.cli.given import BY, Json, User, given, whole
from perdure.cli.names import OUTCOMES
from perdure.control.json_lines import parsed, split
from perdure.details import foreign
from perdure.errors import Rejected
from perdure.memory import Memory
from perdure.types import Receipt, ReceiptState

_STDIN = Path("-")
_LEARNING_S = 600.0  # so long one turn may take to be learnt from


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("import")(take_in)
    app.command("export")(hand_out)


def take_in(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="JSON lines; - reads them from standard input.", dir_okay=False
        ),
    ],
    user: Annotated[str, typer.Option("--user", help="Whose data it is.", callback=whole)],
    *,
    wait: Annotated[
        bool, typer.Option(help="Learn from it now, or leave that to a worker.")
    ] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; only tell what would happen.")
    ] = False,
    json: Json = False,
) -> None:
    """Take in conversations and memories; what is known already stays as it is.

    A line is a message (`conversation`, `role`, `content`, and optionally `time`, `id`, `name`) or
    a memory as `perdure export` writes it.

    Examples:
    - `perdure import chats.jsonl --user ann --dry-run`
    - `perdure import chats.jsonl --user ann`
    - `perdure export ann | perdure --database other.db import - --user ann`
    """
    scope = given(context).scope(user)
    raw = raw_lines(file)
    counts: Counter[str] = Counter()
    waiting: list[Receipt] = []
    with given(context).open() as memory, say.progress(quiet=json) as bar:
        if wait and not dry_run:
            memory.start()
        reading = bar.add_task(say.told("Reading"), total=len(raw))
        for report in memory.import_lines(scope, parsed(raw), dry_run=dry_run, by=BY):
            counts[report.outcome] += 1
            if report.receipt is not None:
                waiting.append(report.receipt)
            bar.advance(reading)
        if wait:
            learning = bar.add_task(say.told("Learning"), total=len(waiting))
            for taken in waiting:
                _learnt(memory, taken, counts)
                bar.advance(learning)
    if json:
        say.as_json({"lines": len(raw), **counts})
        return
    if dry_run:
        say.note(say.told("Nothing was changed. This is what would happen:"))
    found = [say.told(OUTCOMES[what], count=count) for what, count in sorted(counts.items())]
    told = say.told("{lines} lines: {found}.", lines=len(raw), found=found or [say.told("nothing")])
    say.console().print(told)


def _learnt(memory: Memory, taken: Receipt, counts: Counter[str]) -> None:
    """Wait until a turn is learnt from, and count what came of it."""
    ended = memory.wait(taken, timeout=_LEARNING_S)
    counts["memories_learnt"] += len(ended.learnt)
    counts["refused"] += len(ended.refused)
    if ended.state is not ReceiptState.LEARNT and ended.state is not ReceiptState.SKIPPED:
        counts["not_learnt_yet"] += 1


def raw_lines(file: Path) -> list[bytes]:
    """The lines of a file, without blank ones at its end.

    Raises:
        Rejected: it cannot be read.
    """
    try:
        data = sys.stdin.buffer.read() if file == _STDIN else file.read_bytes()
    except OSError as error:
        raise Rejected(
            "Cannot read it: {why}.", field=str(file), why=foreign(error.strerror)
        ) from None
    return split(data)


def hand_out(
    context: typer.Context,
    user: User,
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="A file, written whole or not at all; else standard output."),
    ] = None,
    json: Json = False,
) -> None:
    """Hand out everything that is known of a user: messages, memories, their history.

    Examples:
    - `perdure export ann > ann.jsonl`
    - `perdure export 小林 --out 小林.jsonl`
    """
    scope = given(context).scope(user)
    with given(context).open() as memory:
        lines = memory.export(scope)
        if out is None:
            for line in lines:
                say.as_json(line)
            return
        with say.progress(quiet=json) as bar:
            count = _write(out, bar.track(lines, description=say.told("Writing")))
    if json:
        say.as_json({"lines": count, "file": str(out)})
    else:
        say.console().print(say.told("{count} lines in {file}.", count=count, file=out))


def _write(out: Path, lines: Iterable[Mapping[str, Any]]) -> int:
    """Write beside the file first, so that a broken export never stands in its place.

    Raises:
        Rejected: it cannot be written.
    """
    count = 0
    try:
        with NamedTemporaryFile("w", encoding="utf-8", dir=out.parent, delete=False) as beside:
            try:
                for line in lines:
                    say.as_json(line, beside)
                    count += 1
                beside.close()
                os.replace(beside.name, out)  # noqa: PTH105 - both are names in one folder
            except BaseException:
                Path(beside.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise Rejected(
            "Cannot write it: {why}.", field=str(out), why=foreign(error.strerror)
        ) from None
    return count
