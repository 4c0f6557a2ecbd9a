"""How the tables came to be, step by step, and the way to the newest ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, String, column, inspect, select, table
from sqlalchemy.exc import DBAPIError

from perdure.details import foreign
from perdure.errors import DatabaseUnavailable, Misconfigured
from perdure.store.dialect import Dialect

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0009"
"""The newest revision; known without loading Alembic, so that an ordinary start is quick."""

VERSION_TABLE = "perdure_version"
"""A name of our own: a host may keep Alembic's table for itself in the same database."""


def upgrade(engine: Engine, dialect: Dialect) -> bool:
    """Bring the tables up to date; of several processes that try, one does it.

    What is cut short leaves nothing behind; where tables cannot be rolled back, it leaves whole
    steps behind, and the next try goes on from there.

    Args:
        engine: an engine of the dialect, for writing.
        dialect: of the database.

    Returns:
        True if there was something to do.

    Raises:
        Misconfigured: a newer Perdure wrote the tables, or we may not make any.
        DatabaseUnavailable: it was cut short; the error says how to go on.
    """
    with engine.begin() as connection, dialect.alone(connection):
        found = _version(connection)
        if found == HEAD:
            return False
        try:
            _run(connection, found)
        except DBAPIError as error:
            hopeless = isinstance(dialect.meaning(engine.url, error), Misconfigured)
            if dialect.undoes_tables or hopeless:
                raise
            raise DatabaseUnavailable(
                "{why}. The tables are half way: run `perdure migrate` again, "
                "and it goes on from there.",
                why=foreign(dialect.told(error)),
            ) from None
        return True


def newest(engine: Engine) -> bool:
    """Are the tables up to date?"""
    with engine.begin() as connection:
        return _version(connection) == HEAD


def config(connection: Connection | None = None) -> Config:
    """Alembic's settings for our revisions, which lie in the package."""
    from alembic.config import Config  # noqa: PLC0415 - slow to load, and needed once

    settings = Config()
    here = str(Path(__file__).parent).replace("%", "%%")  # a sign of its own in settings
    settings.set_main_option("script_location", here)
    settings.attributes["connection"] = connection
    return settings


def _version(connection: Connection) -> str | None:
    """The revision of the tables; None where there are none yet."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    number = column("version_num", String)
    return connection.execute(select(number).select_from(table(VERSION_TABLE, number))).scalar()


def _run(connection: Connection, found: str | None) -> None:
    from alembic import command  # noqa: PLC0415 - the same
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - the same

    settings = config(connection)
    known = {script.revision for script in ScriptDirectory.from_config(settings).walk_revisions()}
    if found is not None and found not in known:
        raise Misconfigured(
            "A newer Perdure wrote this database (tables {found}, known up to {known}).",
            field="database_url",
            found=found,
            known=HEAD,
        )
    command.upgrade(settings, "head")
