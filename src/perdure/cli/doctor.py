"""The command that looks at every part and says what to do: doctor."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import typer
from rich.table import Table

from perdure.cli import say
from perdure.cli.given import Given, Json, given
from perdure.cli.told import TOLD, Told
from perdure.errors import PerdureError, Unavailable
from perdure.ports import Outside, Question
from perdure.serve.auth import Callers
from perdure.types import JobState
from perdure.wiring import Parts

_TRY_S = 30.0  # longest wait for one model
_REACH_S = 3.0  # the same for one address
_SAID = "I moved to Bergen."


def register(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(doctor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is known of one part."""

    part: str
    state: Literal["fine", "off", "trouble"]
    what: str
    advice: str = ""
    code: int = 0
    """What the command ends with because of it."""


def doctor(
    context: typer.Context,
    *,
    models: Annotated[
        bool, typer.Option(help="Also ask the models, which may cost a few tokens.")
    ] = True,
    json: Json = False,
) -> None:
    """Look at settings, database, vectors, models and keys, and say what to do.

    Ends with 0 if all is well, 3 if a part does not answer, 1 for anything else. Changes nothing.

    Examples:
    - `perdure doctor`
    - `perdure doctor --no-models --json`
    """
    words = TOLD[say.language()]
    found = list(_findings(given(context), words, models=models))
    if json:
        say.as_json(
            {
                "fine": not any(one.code for one in found),
                "parts": {
                    one.part: {"state": one.state, "found": one.what, "advice": one.advice or None}
                    for one in found
                },
            }
        )
    else:
        say.console().print(_table(found, words))
    codes = {one.code for one in found} - {0}
    if codes:
        raise typer.Exit(codes.pop() if len(codes) == 1 else say.PROBLEM)


def _findings(place: Given, words: Told, *, models: bool) -> Iterator[Finding]:
    """Every part in turn; what cannot be looked at without another is left out."""
    try:
        settings = place.settings()
    except PerdureError as error:
        yield _trouble("settings", error, words)
        return
    yield _fine("settings", words.says["preset"].format(preset=settings.preset))
    try:
        memory = place.open()
    except PerdureError as error:
        yield _trouble("database", error, words)
        return
    with memory:
        parts = memory.parts
        yield _fine("database", place.shown_database())
        yield _jobs(parts, words)
        if models:
            yield _asked("embedder", words, "words", lambda: _embeds(parts, words))
            yield _asked("model", words, "basic", lambda: _answers(parts, words))
            yield _asked("reranker", words, "none", lambda: _reranks(parts, words))
        yield _asked("vectors", words, "words", lambda: _finds(parts, words))
        yield _asked("broker", words, "no_broker", lambda: _reaches(parts, words))
        yield _keys(parts, words)


def _jobs(parts: Parts, words: Told) -> Finding:
    with parts.database.read() as tx:
        depth = tx.jobs.depth(parts.clock())
    dead = depth.get(JobState.DEAD, 0)
    waiting = depth.get(JobState.PENDING, 0) + depth.get(JobState.FAILED, 0)
    what = words.says["jobs"].format(waiting=waiting, dead=dead)
    if not dead:
        return _fine("jobs", what)
    advice = words.advice["jobs"]
    return Finding(part="jobs", state="trouble", what=what, advice=advice, code=say.PROBLEM)


def _embeds(parts: Parts, words: Told) -> str | None:
    if parts.embedder is None:
        return None
    (row,) = parts.embedder.embed([_SAID], "search")
    return words.says["dimension"].format(model=parts.embedder.model, dimension=len(row))


def _answers(parts: Parts, words: Told) -> str | None:
    if parts.chat is None:
        return None
    question = Question(
        purpose="doctor",
        version="doctor",
        messages=({"role": "user", "content": "Answer with the word: yes"},),
        timeout_s=_TRY_S,
        max_tokens=200,
    )
    named = parts.settings.extraction_model
    reply = parts.chat.ask(question, model=named)
    return words.says["answers"].format(model=reply.model or named or parts.chat.name)


def _reranks(parts: Parts, words: Told) -> str | None:
    if parts.reranker is None:
        return None
    parts.reranker.rerank("Where does ann live?", [_SAID])
    return words.says["answers"].format(model=parts.settings.rerank_model or "")


def _finds(parts: Parts, words: Told) -> str | None:
    if parts.index is None:
        return None
    index: object = parts.index
    if not isinstance(index, Outside):
        return words.says["beside"]
    index.ping()
    return words.says["reached"].format(where=parts.settings.vector_index)


def _reaches(parts: Parts, words: Told) -> str | None:
    """Whether somebody listens; what Kafka would let us do is told when promises leave."""
    servers = parts.settings.kafka_servers
    if parts.way is None or servers is None:
        return None
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=_REACH_S).close()
        except (OSError, ValueError):
            raise Unavailable(f"{server.strip()} does not answer.") from None
    return words.says["reached"].format(where=servers)


def _keys(parts: Parts, words: Told) -> Finding:
    settings = parts.settings
    try:
        if not Callers.of(settings, parts.keys).open:
            return _fine("keys", words.says["keyed"])
    except PerdureError as error:
        return _trouble("keys", error, words)
    what, advice = words.says["open"].format(host=settings.host), words.advice["keys"]
    return Finding(part="keys", state="off", what=what, advice=advice)


def _asked(part: str, words: Told, absent: str, ask: Callable[[], str | None]) -> Finding:
    """What a part answers; what is said of it where there is none."""
    try:
        what = ask()
    except PerdureError as error:
        return _trouble(part, error, words)
    if what is None:
        return Finding(part=part, state="off", what=words.says[absent])
    return _fine(part, what)


def _fine(part: str, what: str) -> Finding:
    return Finding(part=part, state="fine", what=what)


def _trouble(part: str, error: PerdureError, words: Told) -> Finding:
    return Finding(
        part=part,
        state="trouble",
        what=say.in_short(error),
        advice=words.advice[part],
        code=say.exit_code(error),
    )


def _table(found: list[Finding], words: Told) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in words.findings:
        table.add_column(title, overflow="fold")
    for one in found:
        style = "bold red" if one.state == "trouble" else "dim" if one.state == "off" else ""
        state = words.states[one.state]
        table.add_row(words.parts[one.part], state, one.what, one.advice, style=style)
    return table
