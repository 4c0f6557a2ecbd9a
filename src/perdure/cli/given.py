"""What the command line gives: the options of every command, and the memory they mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from perdure import settings, text
from perdure.cli.say import language, told
from perdure.errors import Misconfigured, Rejected
from perdure.memory import Memory
from perdure.policy import PRESETS
from perdure.settings import Settings
from perdure.types import Scope
from perdure.wiring import Warming

GLOBAL = ("--database", "--preset", "--namespace")
"""Options of every command that take a value; they may stand before or behind its name."""
FLAGS = ("--create",)
"""The same without a value."""


def whole(value: Any) -> Any:
    """The argument as given, unless bytes in it are no text (``surrogateescape``)."""
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, str) and text.clean(part) != part:
            raise typer.BadParameter(told("Not valid UTF-8 text."))
    return value


def known_preset(value: str | None) -> str | None:
    """A preset that there is."""
    if value is not None and value not in PRESETS:
        raise typer.BadParameter(told("Choose one of {known}.", known=list(PRESETS)))
    return value


User = Annotated[str, typer.Argument(metavar="USER", help="Whose memories.", callback=whole)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Project = Annotated[
    str | None, typer.Option("--project", help="Inside this project.", callback=whole)
]


BY = "command line"
"""Who does what a command does, as the audit keeps it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The options that stand for every command."""

    database: str | None = None
    preset: str | None = None
    namespace: str = "default"
    create: bool = False

    def settings(self) -> Settings:
        """Environment and perdure.toml under these options."""
        return settings.load(preset=self.preset)

    def open(self, *, creates: bool = False, patient: bool = False) -> Memory:
        """The memory that these options mean; its background threads are not started.

        Args:
            creates: the command makes a file that is not there, also without ``--create``.
            patient: a database server may answer later.

        Raises:
            Misconfigured: there is no such file, and nobody asked for a new one.
        """
        settings = self.settings()
        file = _file(self.database or settings.database_url)
        if not (creates or self.create) and file is not None and not file.exists():
            raise Misconfigured(
                "There is no file {file}. Add --create to make it.",
                field="--database" if self.database else "PERDURE_DATABASE_URL",
                file=file,
            )
        return Memory.open(self.database, settings=settings, workers=False, patient=patient)

    def shown_database(self) -> str:
        """Where memories are, without any password."""
        where = self.database or self.settings().database_url
        file = _file(where)
        return make_url(where).render_as_string() if file is None else str(file)

    def scope(self, user: str, **bindings: str | None) -> Scope:
        """Whose memories are meant.

        Raises:
            BadParameter: an id cannot be one.
        """
        try:
            return Scope(user=user, namespace=self.namespace, **bindings)
        except Rejected as wrong:
            raise typer.BadParameter(wrong.message(language())) from None


def _file(where: str) -> Path | None:
    """The file that holds memories; None if they are on a server or in memory only."""
    if "://" not in where:
        return Path(where)
    try:
        url = make_url(where)
    except ArgumentError:  # whoever opens it says so
        return None
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database))


def warm(memory: Memory) -> None:
    """Load the embedder now: one question is worth waiting for, and its time is not the answer's.

    A service answers without vectors until its embedder is loaded.
    """
    embedder: object = memory.parts.embedder
    if isinstance(embedder, Warming):
        embedder.warm()


def ready(memory: Memory) -> None:
    """Have the embedder make a vector now, so that it knows how long they are.

    Raises:
        Unavailable: it does not answer.
    """
    if memory.parts.embedder is not None:
        memory.parts.embedder.embed(["-"], "search")


def given(context: typer.Context) -> Given:
    """The options that stand for every command."""
    found: Given = context.obj
    return found


def anywhere(argv: Sequence[str]) -> list[str]:
    """The arguments with the options of every command moved to the front."""
    front: list[str] = []
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word in GLOBAL:
            front += [word, *[value for _, value in zip(range(1), words, strict=False)]]
        elif word in FLAGS or word.startswith(tuple(f"{name}=" for name in GLOBAL)):
            front.append(word)
        else:
            rest.append(word)
    return front + rest
