"""The command that looks at every part and says what to do: doctor."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import typer
from rich.table import Table

from perdure.cli import say
from perdure.cli.given import Given, Json, given
from perdure.cli.say import told
from perdure.errors import PerdureError, Unavailable
from perdure.ports import Outside, Question
from perdure.types import JobState
from perdure.wiring import Parts, is_file

_TRY_S = 30.0  # longest wait for one model
_REACH_S = 3.0  # the same for one address
_SAID = "I moved to Bergen."
STATES = ("fine", "off", "trouble")
"""How a part can be."""
ADVICE: Mapping[str, str] = {
    "settings": "Mend or remove the setting that is named.",
    "database": "Check PERDURE_DATABASE_URL; `perdure migrate` makes a new one.",
    "jobs": "Look at `perdure jobs list --state dead`, mend the cause, then retry them.",
    "embedder": "Check PERDURE_EMBEDDER and PERDURE_EMBEDDING_*; until then search goes by words.",
    "model": "Check PERDURE_LLM_BASE_URL, PERDURE_LLM_API_KEY, PERDURE_LLM_MODEL; until then turns "
    "wait.",
    "reranker": "Check PERDURE_RERANK_*; until then the order of the scores stands.",
    "vectors": "Check PERDURE_VECTOR_*; until it answers search goes by words.",
    "broker": "Check PERDURE_KAFKA_*; until it answers turns are kept and wait.",
    "keys": "Make one: `perdure keys create NAME`, or set PERDURE_API_KEYS.",
}
"""Every part, and what to do where it is in trouble."""


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
    found = list(_findings(given(context), models=models))
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
        say.console().print(_table(found))
    codes = {one.code for one in found} - {0}
    if codes:
        raise typer.Exit(codes.pop() if len(codes) == 1 else say.PROBLEM)


def _findings(place: Given, *, models: bool) -> Iterator[Finding]:
    """Every part in turn; what cannot be looked at without another is left out."""
    try:
        settings = place.settings()
    except PerdureError as error:
        yield _trouble("settings", error)
        return
    yield _fine("settings", told("preset {preset}", preset=settings.preset))
    try:
        memory = place.open()
    except PerdureError as error:
        yield _trouble("database", error)
        return
    with memory:
        parts = memory.parts
        yield _fine("database", place.shown_database())
        yield _jobs(parts)
        by_words = told("none; search goes by words")
        if models:
            yield _asked("embedder", by_words, lambda: _embeds(parts))
            basic = told("none is set; the built-in extractor learns")
            yield _asked("model", basic, lambda: _answers(parts))
            yield _asked("reranker", told("none is set"), lambda: _reranks(parts))
        yield _asked("vectors", by_words, lambda: _finds(parts))
        no_broker = told("none is needed: jobs are in the database")
        yield _asked("broker", no_broker, lambda: _reaches(parts))
        yield _keys(parts)


def _jobs(parts: Parts) -> Finding:
    with parts.database.read() as tx:
        depth = tx.jobs.depth(parts.clock())
    dead = depth.get(JobState.DEAD, 0)
    waiting = depth.get(JobState.PENDING, 0) + depth.get(JobState.FAILED, 0)
    what = told("{waiting} wait, {dead} are dead", waiting=waiting, dead=dead)
    if not dead:
        return _fine("jobs", what)
    advice = told(ADVICE["jobs"])
    return Finding(part="jobs", state="trouble", what=what, advice=advice, code=say.PROBLEM)


def _embeds(parts: Parts) -> str | None:
    if parts.embedder is None:
        return None
    (row,) = parts.embedder.embed([_SAID], "search")
    return told(
        "{model}, {dimension} numbers a text", model=parts.embedder.model, dimension=len(row)
    )


def _answers(parts: Parts) -> str | None:
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
    return told("{model} answers", model=reply.model or named or parts.chat.name)


def _reranks(parts: Parts) -> str | None:
    if parts.reranker is None:
        return None
    parts.reranker.rerank("Where does ann live?", [_SAID])
    return told("{model} answers", model=parts.settings.rerank_model or "")


def _finds(parts: Parts) -> str | None:
    if parts.index is None:
        return None
    index: object = parts.index
    if not isinstance(index, Outside):
        return told("beside the rows, in the database")
    index.ping()
    return told("{where} answers", where=parts.settings.vector_index)


def _reaches(parts: Parts) -> str | None:
    """Whether somebody listens; what Kafka would let us do is told when promises leave."""
    servers = parts.settings.kafka_servers
    if parts.way is None or servers is None:
        return None
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=_REACH_S).close()
        except (OSError, ValueError):
            raise Unavailable("{where} does not answer.", where=server.strip()) from None
    return told("{where} answers", where=servers)


def _keys(parts: Parts) -> Finding:
    from perdure.serve.auth import Callers  # noqa: PLC0415 - slow to import; see `run`

    settings = parts.settings
    try:
        if not Callers.of(settings, parts.keys).open:
            return _fine("keys", told("whoever asks needs a key"))
    except PerdureError as error:
        return _trouble("keys", error)
    what = told("none for apps; only this machine is served, on {host}", host=settings.host)
    advice = told("Set PERDURE_API_KEYS.") if is_file(settings) else told(ADVICE["keys"])
    return Finding(part="keys", state="off", what=what, advice=advice)


def _asked(part: str, absent: str, ask: Callable[[], str | None]) -> Finding:
    """What a part answers; what is said of it where there is none."""
    try:
        what = ask()
    except PerdureError as error:
        return _trouble(part, error)
    if what is None:
        return Finding(part=part, state="off", what=absent)
    return _fine(part, what)


def _fine(part: str, what: str) -> Finding:
    return Finding(part=part, state="fine", what=what)


def _trouble(part: str, error: PerdureError) -> Finding:
    return Finding(
        part=part,
        state="trouble",
        what=say.in_short(error),
        advice=told(ADVICE[part]),
        code=say.exit_code(error),
    )


def _table(found: list[Finding]) -> Table:
    table = say.table("part", "state", "found", "what to do")
    for one in found:
        style = "bold red" if one.state == "trouble" else "dim" if one.state == "off" else ""
        table.add_row(told(one.part), told(one.state), one.what, one.advice, style=style)
    return table
