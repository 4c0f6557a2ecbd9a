"""What the whole suite shares: databases of each kind, and no silent skips where all must run."""

from __future__ import annotations

import gc
import logging
import os
import socket
import threading
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import count

import pytest
from fastapi.dependencies import models as dependencies
from sqlalchemy import column, create_engine, delete, insert, inspect, make_url, table, text
from structlog._base import BoundLoggerBase

from perdure.policy import PRESETS
from perdure.store import migrations
from perdure.store.database import SqlDatabase
from perdure.store.items import SqlItems
from perdure.store.lists import words
from perdure.store.messages import SqlMessages
from perdure.store.schema import metadata

STRICT = os.environ.get("PERDURE_TEST_STRICT") == "1"
SERVERS = {
    kind: os.environ.get(f"PERDURE_TEST_{kind.upper()}") or None for kind in ("mariadb", "postgres")
}
DATABASES = ("sqlite", *SERVERS)
TABLES = [*metadata.sorted_tables, words]
PATIENT: dict[str, dict[str, float]] = {
    "search": {"vector_ms": 20_000, "arm_ms": 20_000, "deadline_ms": 40_000},
    "database": {"key_s": 40.0},
}
FASTAPI_SAW = [it for it in vars(dependencies).values() if hasattr(it, "cache_clear")]
UNLIKE_OURS = {"mariadb": " CHARACTER SET latin1"}  # what a database is by itself may not matter


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With PERDURE_TEST_STRICT=1 a test that skips itself fails with the line it skipped with."""
    report = yield
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped: {report.longrepr[-1]}"
    return report


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch, tmp_path):
    """No test reads settings of whoever runs it, or leaves a file where it was started."""
    for name in list(os.environ):
        if name.startswith("PERDURE_") and name != "PERDURE_TEST_STRICT":
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def pytest_collection_finish():
    """What lives as long as the suite is not looked through again by each collection of garbage."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(scope="module", autouse=True)
def _services_are_let_go():
    """FastAPI remembers what it saw of thousands of functions, and each holds its whole app."""
    yield
    for seen in FASTAPI_SAW:
        seen.cache_clear()


@pytest.fixture(scope="session")
def patience():
    """For processes of their own."""
    return {
        f"PERDURE_POLICY__{group}__{knob}".upper(): str(number)
        for group, numbers in PATIENT.items()
        for knob, number in numbers.items()
    }


@pytest.fixture(autouse=True)
def _nothing_hurries(_no_settings_of_this_machine, request, patience, monkeypatch):
    """A machine that stands still for a second fails no test; one about hurry says how much."""
    if request.node.get_closest_marker("hurries"):
        yield
        return
    hurried = [
        (getattr(preset, group), knob, number)
        for preset in PRESETS.values()
        for group, numbers in PATIENT.items()
        for knob, number in numbers.items()
    ]
    before = [getattr(group, knob) for group, knob, _ in hurried]
    for group, knob, number in hurried:
        object.__setattr__(group, knob, number)
    for name, value in patience.items():
        monkeypatch.setenv(name, value)
    yield
    for (group, knob, _), number in zip(hurried, before, strict=True):
        object.__setattr__(group, knob, number)


@pytest.fixture(scope="session", autouse=True)
def _tables_made_once(tmp_path_factory):
    """A new SQLite file gets the tables of one that all revisions made, instead of all revisions.

    That is a seventh of a second less for each of two thousand files. Other processes, servers and
    ``tests/store/test_migrations.py`` go through the revisions.
    """
    file = tmp_path_factory.mktemp("made") / "perdure.db"
    database = SqlDatabase.open(f"sqlite:///{file}", clock=lambda: datetime.now(UTC))
    with database.read() as tx:
        made = tx.connection.exec_driver_sql(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
            " AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'perdure_terms_%'"
        )
        statements = [sql for (sql,) in made]
    database.close()
    by_revisions = migrations._run

    def run(connection, found):
        if found is not None or connection.dialect.name != "sqlite":
            by_revisions(connection, found)
            return
        for statement in statements:
            connection.exec_driver_sql(statement)
        version = table(migrations.VERSION_TABLE, column("version_num"))
        connection.execute(insert(version).values(version_num=migrations.HEAD))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(migrations, "_run", run)
        yield by_revisions


class Heard:
    """What was stored and what was logged, by whatever logger, since the last look."""

    def __init__(self):
        self.lines = []
        self.stored = set()
        self.before = set()  # of the test before, of which a thread may still speak

    def keeps(self, said):
        """Short words stand in every log; they prove nothing."""
        if len(said) >= (_LONG_HAN if any(sign >= "\u3400" for sign in said) else _LONG):
            self.stored.add(said)

    def leaks(self):
        """Stored texts that a log repeats."""
        log = "\n".join(self.lines)
        found = [said for said in self.stored | self.before if said in log] if log else []
        self.before, self.stored = self.stored, set()
        self.lines.clear()
        return found


_LONG, _LONG_HAN = 12, 5  # signs
_plain = logging.Formatter()


@pytest.fixture(scope="session", autouse=True)
def _listens():
    """Hears every record of every logger, and every memory and message as it is stored."""
    heard = Heard()
    handle, proxied = logging.Logger.handle, BoundLoggerBase._proxy_to_logger
    added, put, said = SqlItems.add, SqlItems.put, SqlMessages.add

    def handling(self, record):
        heard.lines.append(f"{_plain.format(record)} {record.args!r}")
        return handle(self, record)

    def proxying(self, method_name, event=None, **about):
        heard.lines.append(f"{event} {about!r} {self._context!r}")
        return proxied(self, method_name, event, **about)

    def adding(self, item):
        heard.keeps(item.content)
        return added(self, item)

    def putting(self, item, **how):
        heard.keeps(item.content)
        return put(self, item, **how)

    def saying(self, scope, conversation, messages, *rest, **more):
        for message in messages:
            heard.keeps(message.content)
        return said(self, scope, conversation, messages, *rest, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(logging.Logger, "handle", handling)
        patched.setattr(BoundLoggerBase, "_proxy_to_logger", proxying)
        patched.setattr(SqlItems, "add", adding)
        patched.setattr(SqlItems, "put", putting)
        patched.setattr(SqlMessages, "add", saying)
        yield heard


@pytest.fixture(autouse=True)
def heard(_listens):
    """No log repeats what a test stored. A test that wants to be heard asks for this."""
    yield _listens
    leaks = _listens.leaks()
    assert leaks == [], "a log repeats what was stored"


class Server:
    """A database server; everything that tests leave on it goes with the session."""

    def __init__(self, kind, url):
        self.kind = kind
        self.url = make_url(url)
        self.admin = create_engine(self.url, isolation_level="AUTOCOMMIT")
        self.numbers = count(1)
        self.used = None

    def make(self):
        """The URL of a new, empty database."""
        name = f"perdure_test_{os.getpid()}_{next(self.numbers)}"
        with self.admin.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}{UNLIKE_OURS.get(self.kind, '')}"))
        return self.url.set(database=name)

    def drop(self, url):
        force = " WITH (FORCE)" if self.kind == "postgres" else ""
        with self.admin.connect() as connection:
            connection.execute(text(f"DROP DATABASE {url.database}{force}"))

    def emptied(self):
        """The URL of the session's own database, without a row of tests before."""
        if self.used is None:
            self.used = self.make()
            self.emptying = create_engine(self.used)
        with self.emptying.begin() as connection:
            if inspect(connection).has_table(TABLES[0].name):
                for table in TABLES:
                    connection.execute(delete(table))
        return self.used

    def close(self):
        if self.used is not None:
            self.emptying.dispose()
            self.drop(self.used)
        self.admin.dispose()


@pytest.fixture(scope="session")
def _servers():
    servers = {}

    def server(kind):
        if SERVERS[kind] is None:
            pytest.skip(f"PERDURE_TEST_{kind.upper()} is not set; `make services` tells it")
        if kind not in servers:
            servers[kind] = Server(kind, SERVERS[kind])
        return servers[kind]

    yield server
    for one in servers.values():
        one.close()


def written(url):
    return url.render_as_string(hide_password=False)


@pytest.fixture
def place(_servers, tmp_path):
    """Makes the URL of a database of that kind without any row; it may have its tables."""

    def place(kind):
        if kind == "sqlite":
            return f"sqlite:///{tmp_path / 'perdure.db'}"
        return written(_servers(kind).emptied())

    return place


@pytest.fixture(params=DATABASES)
def database_url(request, place):
    """A database of each kind, without any row."""
    return place(request.param)


@pytest.fixture(params=DATABASES)
def empty_url(request, _servers, tmp_path):
    """A database of each kind, without any table."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'perdure.db'}"
        return
    server = _servers(request.param)
    url = server.make()
    yield written(url)
    server.drop(url)


@pytest.fixture
def connected():
    """Opens a connection with SQLAlchemy alone, which is closed with its engine."""

    @contextmanager
    def connected(url):
        engine = create_engine(url)
        try:
            with engine.begin() as connection:
                yield connection
        finally:
            engine.dispose()

    return connected


class Line:
    """A line to a server that can be cut and mended, or fall silent and speak again."""

    def __init__(self, url):
        self.there = (url.host, url.port)
        self.near = socket.create_server(("127.0.0.1", 0))
        self.url = url.set(port=self.near.getsockname()[1])
        self.whole = True
        self.speaks = threading.Event()  # else it is taken, and nothing ever comes
        self.speaks.set()
        self.ends = []
        self.threads = [threading.Thread(target=self.answer)]
        self.threads[0].start()

    def answer(self):
        with suppress(OSError):  # it was closed
            while True:
                near = self.near.accept()[0]
                if not self.whole:
                    near.close()
                    continue
                far = socket.create_connection(self.there)
                self.ends += [near, far]
                for ends in ((near, far), (far, near)):
                    self.threads.append(threading.Thread(target=self.carry, args=ends))
                    self.threads[-1].start()

    def carry(self, source, sink):
        with suppress(OSError):  # it was cut
            while data := source.recv(65_536):
                self.speaks.wait()
                sink.sendall(data)
            self.speaks.wait()
            sink.shutdown(socket.SHUT_WR)

    def cut(self):
        self.whole = False
        for end in self.ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.speaks.set()
        self.cut()
        self.near.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        for end in (self.near, *self.ends):
            end.close()


@pytest.fixture
def line_to():
    """Makes a line to the server of a URL."""
    lines = []

    def line_to(url):
        lines.append(Line(make_url(url)))
        return lines[-1]

    yield line_to
    for line in lines:
        line.close()
