"""Commands for the keys that open the service: keys create, list, revoke."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.cli import say
from perdure.cli.given import Json, given, whole
from perdure.errors import Misconfigured
from perdure.memory import Memory
from perdure.serve.replies import KeyOut
from perdure.types import KeyRole, Permission
from perdure.wiring import is_file

app = typer.Typer(
    help="Make, list and revoke keys of the service.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.command()
def create(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What people call it.", callback=whole)
    ],
    *,
    role: Annotated[
        KeyRole,
        typer.Option(help="app: uses the memories of its namespace; admin: looks after it."),
    ] = KeyRole.APP,
    may: Annotated[
        list[Permission] | None,
        typer.Option(help="Repeat to allow several; all within the namespace, if left out."),
    ] = None,
    json: Json = False,
) -> None:
    """Make a key. It is shown this once; only its hash is stored.

    Examples:
    - `perdure keys create "web shop"`
    - `perdure keys create 小林 --role admin --may admin:read --may jobs:write`
    - `perdure keys create prometheus --role admin --may deployment:read`
    """
    place = given(context)
    with place.open() as memory:
        _kept(memory)
        key, secret = memory.parts.keys.create(place.namespace, name, role, may)
    if json:
        say.as_json({**KeyOut.model_validate(key).model_dump(mode="json"), "secret": secret})
        return
    say.note(say.told("Shown this once; only its hash is stored:"))
    say.console().print(secret, soft_wrap=True)


@app.command("list")
def listed(context: typer.Context, *, json: Json = False) -> None:
    """List the keys of a namespace, revoked ones too; never a secret.

    Examples:
    - `perdure keys list`
    - `perdure keys list --namespace shop`
    """
    place = given(context)
    with place.open() as memory:
        found = memory.parts.keys.list(place.namespace)
    if json:
        told = [KeyOut.model_validate(key).model_dump(mode="json") for key in found]
        say.as_json({"keys": told})
        return
    table = say.table("id", "name", "role", "may", "last used")
    for whole_words in (table.columns[0], table.columns[3]):
        whole_words.no_wrap = True
    for key in found:
        used = f"{key.last_used_at:%Y-%m-%d}" if key.last_used_at else say.told("never")
        if key.revoked_at is not None:
            used = say.told("revoked {day}", day=f"{key.revoked_at:%Y-%m-%d}")
        table.add_row(key.id, key.name, key.role, "\n".join(sorted(key.permissions)), used)
    say.console().print(table)
    say.note(say.told("Keys: {count}.", count=len(found)))


@app.command()
def revoke(
    context: typer.Context,
    ident: Annotated[
        str,
        typer.Argument(metavar="ID", help="As `perdure keys list` shows it.", callback=whole),
    ],
    *,
    json: Json = False,
) -> None:
    """Let a key open nothing any more, from the next request on.

    Examples:
    - `perdure keys revoke 019ad2f0c6e87a31b1f4c9d1a0b2c3d4`
    """
    place = given(context)
    with place.open() as memory:
        key = memory.parts.keys.revoke(place.namespace, ident)
    if json:
        say.as_json(KeyOut.model_validate(key).model_dump(mode="json"))
    else:
        say.console().print(say.told("“{name}” opens nothing any more.", name=key.name))


def _kept(memory: Memory) -> None:
    """Keys stay here.

    Raises:
        Misconfigured: memories are in a desktop file, which holds no keys.
    """
    if is_file(memory.parts.settings):
        raise Misconfigured("A desktop file keeps no keys; set PERDURE_API_KEYS.", field="api_keys")
