"""The servers that a bench may use: where they are, and an empty database of its own on each.

SQLite is always there. The others are those of `make services`, found by PERDURE_TEST_MARIADB,
PERDURE_TEST_POSTGRES and PERDURE_TEST_MILVUS, or by the file that it leaves, ``.services/env``.
They are set up for tests: no commit waits for the disk, on SQLite with its log of writes neither.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from sqlalchemy import create_engine, make_url, text

HOME = Path(__file__).parent.parent / ".services"
VARIABLES = {
    "mariadb": "PERDURE_TEST_MARIADB",
    "postgres": "PERDURE_TEST_POSTGRES",
    "milvus": "PERDURE_TEST_MILVUS",
}
DATABASES = ("sqlite", "mariadb", "postgres")
_NUMBERS = count(1)


def address(kind: str) -> str | None:
    """Where a server is; None: nobody says so."""
    file = HOME / "env"
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    told = dict(line.split("=", 1) for line in lines if "=" in line)
    return os.environ.get(VARIABLES[kind]) or told.get(VARIABLES[kind])


def there(kinds: Iterable[str]) -> list[str]:
    """Those of them that can be used; of each other one a line says that it is not there."""
    found = []
    for kind in kinds:
        if kind == "sqlite" or address(kind):
            found.append(kind)
        else:
            print(f"{kind} is not there: {VARIABLES[kind]} is not set; `make services` tells it")
    return found


@contextmanager
def database(kind: str) -> Iterator[str]:
    """The URL of an empty database, which is gone in the end."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{Path(folder) / 'perdure.db'}"
        return
    url = make_url(address(kind) or "")
    name = f"perdure_bench_{os.getpid()}_{next(_NUMBERS)}"
    admin = create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    try:
        yield url.set(database=name).render_as_string(hide_password=False)
    finally:
        force = " WITH (FORCE)" if kind == "postgres" else ""
        with admin.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name}{force}"))
        admin.dispose()


def load() -> str:
    """What else the machine had to do in the last minute: runnable threads, and cores."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
