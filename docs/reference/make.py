"""Writes the reference tables from the code itself, between marks; the words around them stay.

Run ``python docs/reference/make.py`` after a change of settings, policies, errors, reasons, job
types or routes; ``--check`` only tells whether something is out of date.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from typer.core import TyperArgument
from typer.main import get_command

from perdure import cli, errors, policy, settings, types
from perdure.observe import METRICS, RATES
from perdure.serve import app
from perdure.types.words import in_words

HERE = Path(__file__).parent
_BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
_SOURCE = re.compile(r"\s*\bSpec \d[\d., ]*\.|\s*\([A-D] \d[\d.]*\)")
"""The place in the design notes that a number comes from; a reader does not have them."""
_NAMED = re.compile(r"^    (?P<name>\w+)(?:: .+?)? = .+?(?:  # (?P<comment>.+?))?$")
_HEADING = re.compile(r"^    # (?P<heading>.+)$")


def main(arguments: Sequence[str]) -> int:
    """Write every page that is out of date, or only name it."""
    stale = [page for page in sorted(HERE.glob("*.md")) if page.read_text("utf-8") != filled(page)]
    for page in stale:
        print(f"out of date: {page.name}" if "--check" in arguments else f"written: {page.name}")
        if "--check" not in arguments:
            page.write_text(filled(page), "utf-8")
    return 1 if stale and "--check" in arguments else 0


def filled(page: Path) -> str:
    """The page as it should be: its own words, with every table written anew."""
    return _BLOCK.sub(
        lambda block: block[1] + "\n".join(TABLES[block[2]]()) + "\n" + block[3],
        page.read_text("utf-8"),
    )


# ── the tables ───────────────────────────────────────────────────────────────────────────────────


def settings_table() -> Iterator[str]:
    """Every setting: both its names, what it may be, its default, what it does."""
    hints = get_type_hints(settings.Settings)
    words = _docstrings(settings.Settings)
    yield from _head("variable", "in perdure.toml", "value", "default", "meaning")
    for field in dataclasses.fields(settings.Settings):
        if field.name == "policy":
            continue
        yield _row(
            f"`{settings.PREFIX}{field.name.upper()}`",
            f"`{field.name}`",
            _kind(hints[field.name]),
            _value(field.default),
            words[field.name],
        )


def policy_tables() -> Iterator[str]:
    """Every knob of every group, with its comment and its value in each preset."""
    for group in dataclasses.fields(policy.Policy):
        if group.name == "preset":
            continue
        shape = type(getattr(policy.ASSISTANT, group.name))
        yield from ("", f"### {group.name}", "", _plain(shape.__doc__ or ""), "")
        yield from _head("field", "value", *policy.PRESETS, "meaning")
        hints = get_type_hints(shape)
        words = {name: comment for _, name, comment in _lines(shape)}
        for field in dataclasses.fields(shape):
            values = (getattr(getattr(p, group.name), field.name) for p in policy.PRESETS.values())
            yield _row(
                f"`{group.name}.{field.name}`",
                _kind(hints[field.name]),
                *map(_value, values),
                _plain(words[field.name]),
            )
    yield ""


def error_table() -> Iterator[str]:
    """Every error: code, class, status, and its sentence in both languages."""
    yield from _head("code", "class", "HTTP", "English", "中文")
    for error in _family(errors.PerdureError):
        yield _row(
            f"`{error.code}`",
            f"`{error.__name__}`",
            str(app.status_of(error)),
            error.sentence("en"),
            error.sentence("zh"),
        )


def reason_tables() -> Iterator[str]:
    """Every reason, in both languages, under what it is a reason for."""
    heading = ""
    for now, name, _ in _lines(types.Reason):
        if now != heading:
            yield from ("", f"### When {now}", "", *_head("reason", "English", "中文"))
            heading = now
        reason = types.Reason[name]
        yield _row(f"`{reason}`", in_words(reason, "en"), in_words(reason, "zh"))
    yield ""


def job_table() -> Iterator[str]:
    """Every type of job."""
    yield from _head("type", "what it does")
    for _, name, comment in _lines(types.JobType):
        yield _row(f"`{types.JobType[name]}`", comment)


def metric_table() -> Iterator[str]:
    """Everything that is counted, timed or measured."""
    yield from _head("name", "labels", "kind", "meaning")
    for metric in METRICS.values():
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        kind = {"seconds": "histogram"}.get(metric.kind, metric.kind)
        yield _row(f"`{metric.full_name}`", labels, kind, metric.says)


def rate_sections() -> Iterator[str]:
    """Each of the ten rates, with its query."""
    for name, rate in RATES.items():
        yield from ("", f"### {name}", "", f"{rate.says}.", "", "```promql", rate.promql, "```")
    yield ""


def route_table() -> Iterator[str]:
    """Every route of the service."""
    yield from _head("method", "path", "what it does")
    service = app.create_app(None, settings.Settings())  # says what it can do without a memory
    for path, methods in service.openapi()["paths"].items():
        for method, route in methods.items():
            yield _row(f"{method.upper()}", f"`{path}`", route["summary"])


def command_sections() -> Iterator[str]:
    """Every command with its arguments and options; the options of all commands come first."""
    every = get_command(cli.app)
    yield from ("", "### Of every command", "", *_options(every))
    for name, command in _commands("perdure", every):
        yield from ("", f"### {name}", "", *_help(command))
        yield from _options(command)
    yield ""


TABLES: MappingProxyType[str, Callable[[], Iterator[str]]] = MappingProxyType(
    {
        "settings": settings_table,
        "policy": policy_tables,
        "errors": error_table,
        "reasons": reason_tables,
        "jobs": job_table,
        "metrics": metric_table,
        "rates": rate_sections,
        "routes": route_table,
        "commands": command_sections,
    }
)


# ── reading the code ─────────────────────────────────────────────────────────────────────────────


def _docstrings(shape: type) -> dict[str, str]:
    """The text below each field of a class."""
    body = ast.parse(inspect.getsource(shape)).body[0]
    found = {}
    last = ""
    for node in body.body if isinstance(body, ast.ClassDef) else []:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            last = node.target.id
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and last:
            found[last] = " ".join(str(node.value.value).replace("``", "`").split())
            last = ""
    return found


def _lines(shape: type) -> Iterator[tuple[str, str, str]]:
    """Of each line of a class that names something: heading above it, name and comment."""
    heading = ""
    for line in inspect.getsource(shape).splitlines():
        if match := _HEADING.match(line):
            heading = match["heading"]
        elif match := _NAMED.match(line):
            yield heading, match["name"], match["comment"] or ""


def _family(error: type[errors.PerdureError]) -> Iterator[type[errors.PerdureError]]:
    """The class and everything below it, as they stand in the file."""
    yield error
    for below in error.__subclasses__():
        yield from _family(below)


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its whole name."""
    for short, below in getattr(command, "commands", {}).items():
        yield from _commands(f"{name} {short}", below)
    if not hasattr(command, "commands"):
        yield name, command


def _help(command: Any) -> Iterator[str]:
    """What a command says of itself."""
    yield from (*inspect.cleandoc(command.help or "").splitlines(), "")


def _options(command: Any) -> Iterator[str]:
    """The table of a command's arguments and options."""
    yield from _head("argument or option", "meaning")
    for one in command.params:
        given = isinstance(one, TyperArgument)
        ways = (one.name.upper(),) if given else (*one.opts, *one.secondary_opts)
        yield _row(" ".join(f"`{way}`" for way in ways), one.help or "")


# ── writing ──────────────────────────────────────────────────────────────────────────────────────


def _head(*titles: str) -> tuple[str, str]:
    return _row(*titles), _row(*("---" for _ in titles))


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _plain(words: str) -> str:
    """As Markdown, without the place in the design notes."""
    return _SOURCE.sub("", words.replace("``", "`")).strip()


def _kind(hint: Any) -> str:
    """What may be written, as words."""
    origin = get_origin(hint)
    if origin is Literal:
        return " ".join(f"`{choice}`" for choice in get_args(hint))
    if origin is UnionType:
        return _kind(get_args(hint)[0]) + " or none"
    if origin is tuple:
        return "list of texts"
    return {bool: "true or false", int: "whole number", float: "number", str: "text"}.get(
        hint, "text, secret"
    )


def _value(value: Any) -> str:
    """A value as it is written in a file."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return " ".join(f"`{v}`" for v in value) or "empty"
    return (
        f"{value:g}"
        if isinstance(value, float)
        else f"`{value}`"
        if isinstance(value, str)
        else str(value)
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
