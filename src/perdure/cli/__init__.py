"""The command line: one file for each family of commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated

import typer

from perdure.cli import ask, calibrate, demo, doctor, jobs, keys, move, reindex, run, say, usage
from perdure.cli.given import Given, anywhere, known_preset, whole
from perdure.errors import PerdureError

app = typer.Typer(
    name="perdure",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="A long-term memory for assistants. Start with `perdure demo`.",
    epilog="Exit codes: 0 fine · 1 problem · 2 usage · 3 a part is unavailable.",
)
for family in (demo, run, ask, move, reindex, calibrate, doctor):
    family.register(app)
app.add_typer(jobs.app, name="jobs")
app.add_typer(keys.app, name="keys")


def _version(asked: bool) -> None:  # noqa: FBT001 - the shape that Typer calls
    if asked:
        typer.echo(f"perdure {version('perdure')}")
        raise typer.Exit


@app.callback()
def everywhere(
    context: typer.Context,
    database: Annotated[
        str | None,
        typer.Option(
            help="A database URL or a SQLite file; else PERDURE_DATABASE_URL, else perdure.db.",
            callback=whole,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="assistant, team or desktop; else PERDURE_PRESET.", callback=known_preset
        ),
    ] = None,
    namespace: Annotated[str, typer.Option(help="Whose users.", callback=whole)] = "default",
    *,
    create: Annotated[
        bool, typer.Option("--create", help="Make the database file if it is not there.")
    ] = False,
    _version: Annotated[
        bool, typer.Option("--version", help="Say the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Remember what matters in conversations; recall it, and say why."""
    say.log_from("warning")
    context.obj = Given(database=database, preset=preset, namespace=namespace, create=create)


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command and end with its exit code.

    Args:
        argv: the arguments; None takes the process's own.

    Raises:
        SystemExit: always; 0 fine, 1 problem, 2 usage, 3 a part is unavailable.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        words = anywhere(sys.argv[1:] if argv is None else argv)
        code = app(args=words, prog_name="perdure", standalone_mode=say.language() == "en")
    except PerdureError as error:
        say.failed(error)
        raise SystemExit(say.exit_code(error)) from None
    except typer.TyperException as wrong:
        usage.misread(wrong)
        raise SystemExit(wrong.exit_code) from None
    raise SystemExit(code or 0)
