"""How commands speak: answers to standard output, everything else to standard error."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import structlog
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table
from structlog.typing import Processor

from perdure.cli.chinese import ZH
from perdure.details import spoken
from perdure.errors import MissingExtra, PerdureError, Unavailable
from perdure.text import Language, visible

PROBLEM = 1
"""Exit code: it could not be done as asked."""
USAGE = 2
"""Exit code: the command line cannot be meant."""
PART_UNAVAILABLE = 3
"""Exit code: a part that is needed does not answer, or is not installed."""

_EXIT: Mapping[type[PerdureError], int] = {
    Unavailable: PART_UNAVAILABLE,
    MissingExtra: PART_UNAVAILABLE,
    PerdureError: PROBLEM,
}


def exit_code(error: PerdureError) -> int:
    """What the command ends with after this error."""
    return next(_EXIT[kind] for kind in type(error).__mro__ if kind in _EXIT)


def language() -> Language:
    """The language of the terminal's locale: Chinese, or English for every other."""
    named = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "zh" if next(filter(None, named), "").lower().startswith("zh") else "en"


def told(template: str, tongue: Language | None = None, /, **values: object) -> str:
    """A sentence of a command, with everything in its place.

    Args:
        template: in English, with ``{placeholders}``; `cli.chinese` has its Chinese twin.
        tongue: None: the language of the terminal.
        values: what stands in the placeholders.
    """
    return spoken(template, values, tongue or language(), ZH)


class _Screen(Console):
    """A terminal on which memories are text: what stands in them moves no cursor, sets no title."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The pieces to be drawn, without signs that a terminal obeys."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=visible(piece.text))


def console() -> Console:
    """Where answers are drawn."""
    return _Screen(highlight=False, markup=False)


def aside() -> Console:
    """Where progress, notes and errors are drawn, out of the way of answers."""
    return _Screen(stderr=True, highlight=False, markup=False)


def table(*titles: str) -> Table:
    """A table with these titles, given in English; what is too long goes on in the next line."""
    drawn = Table(box=None, padding=(0, 2, 0, 0))
    for title in titles:
        drawn.add_column(told(title), overflow="fold")
    return drawn


def note(sentence: str) -> None:
    """Say something that is no answer."""
    aside().print(sentence, style="dim", soft_wrap=True)


def failed(error: PerdureError) -> None:
    """Say what went wrong, in one sentence."""
    aside().print(f"perdure: {in_short(error)}", soft_wrap=True)


def in_short(error: PerdureError) -> str:
    """Where and what is wrong; the sentence of its class only where there is no detail."""
    said = error.detail.said(language()) or error.sentence(language())
    return error.placed(said, language())


class Writable(Protocol):
    """Takes text."""

    def write(self, said: str, /) -> object:
        """Write it."""
        ...


def as_json(value: Any, file: Writable | None = None) -> None:
    """One JSON value on one line, readable in every language."""
    line = json.dumps(value, ensure_ascii=False, default=str)
    (file or sys.stdout).write(line + "\n")
    if file is None:
        sys.stdout.flush()


def log_from(level: str) -> None:
    """Logs go to standard error, one JSON object a line, from this level on."""
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    lines = logging.StreamHandler()
    lines.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[lines], force=True)
    logging.getLogger("perdure").setLevel(level.upper())


def progress(*, quiet: bool = False) -> Progress:
    """A bar on standard error for work that takes a while; nothing where nobody watches."""
    drawn = aside()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=drawn,
        transient=True,
        disable=quiet or not drawn.is_terminal,
    )
