"""The command that shows the main job: from real conversations to a prompt that remembers."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console

from perdure import settings
from perdure.cli import say, show
from perdure.cli.given import Json, given, warm, whole
from perdure.cli.move import raw_lines
from perdure.cli.names import DOING
from perdure.cli.play import Played, play
from perdure.cli.say import told
from perdure.cli.script import Person, read_script
from perdure.control.json_lines import parsed
from perdure.memory import Memory
from perdure.serve.replies import ContextOut, ItemOut
from perdure.settings import Settings

_SCRIPT = "demo.jsonl"


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(demo)


def demo(
    context: typer.Context,
    *,
    file: Annotated[
        Path | None,
        typer.Option(
            help="Your own conversations: JSON lines with conversation, role, content, and "
            "optionally time, id, name, user. - reads standard input.",
            dir_okay=False,
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(help="Asked in the end, instead of the last message.", callback=whole),
    ] = None,
    user: Annotated[
        str, typer.Option(help="Whose the lines are that name no user.", callback=whole)
    ] = "ann",
    json: Json = False,
) -> None:
    """Watch conversations become memories, and memories a prompt; in a file that is thrown away.

    Examples:
    - `perdure demo`
    - `perdure demo --file chats.jsonl --question "What should I cook tonight?"`
    """
    lines = parsed(raw_lines(file) if file is not None else _script())
    people = read_script(lines, user=user, question=question)
    deployment = settings.load(preset=given(context).preset or Settings().preset)
    deployment = deployment.but(enabled=True, learn=True, recall=True, workers=True)
    with TemporaryDirectory(prefix="perdure-demo-") as folder:
        where = Path(folder) / "demo.db"
        with Memory.open(where, settings=deployment) as memory:
            played = _all(memory, people, quiet=json)
    if json:
        say.as_json(_told(played))
    else:
        _show(played, say.console())
    if any(one.unfinished for one in played):
        raise typer.Exit(say.PART_UNAVAILABLE)


def _script() -> list[bytes]:
    """The conversations that come with Perdure."""
    return (files("perdure.cli") / _SCRIPT).read_bytes().splitlines()


def _all(memory: Memory, people: tuple[Person, ...], *, quiet: bool) -> tuple[Played, ...]:
    """Play everybody's conversations."""
    drawn = say.aside()
    drawn.quiet = quiet or not drawn.is_terminal
    with drawn.status(told(show.OPENING)) as status:

        def tell(verb: str) -> None:
            status.update(told(DOING[verb]))

        warm(memory)
        return tuple(play(memory, person, tell) for person in people)


def _show(played: tuple[Played, ...], console: Console) -> None:
    """Everything, from the first word to the command that starts the service."""
    show.opening(console, say.language())
    for one in played:
        show.person(console, one)
    models = dict.fromkeys(model for one in played for model in one.models)
    show.closing(console, say.language(), tuple(models))


def _told(played: tuple[Played, ...]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "people": [
            {
                "user_id": one.person.user,
                "learnt": [ItemOut.model_validate(i).model_dump(mode="json") for i in one.learnt],
                "refused": show.refusals(one),
                "question": one.person.question,
                "context": ContextOut.of(one.answer, explain=True).model_dump(mode="json"),
                "timings_ms": {
                    "capture": one.capture_ms,
                    "learn": one.learn_ms,
                    "recall": one.recall_ms,
                },
                "models": one.models,
                "unfinished": len(one.unfinished),
                "deleted": one.deleted and one.deleted.content,
                "gone": one.gone,
                "after": one.after.text,
            }
            for one in played
        ],
        "connect": [f"{name}={example}" for name, example in show.SETTINGS],
        "serve": show.SERVE,
    }
