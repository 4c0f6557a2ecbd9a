"""A database server that hangs: it takes connections, and never says anything."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from perdure import Memory, Message, Scope
from perdure.errors import DatabaseUnavailable, VectorsUnavailable
from perdure.policy import ASSISTANT
from perdure.ports import Corpus, VectorEntry
from perdure.serve.health import Health
from perdure.settings import Settings
from perdure.store.database import WAITING, SqlDatabase
from perdure.store.dialects import parsed
from perdure.testing.samples import ANN, NOW, contents, memory, unit
from perdure.types import Reason
from perdure.vectors.pgvector import PgVectorHost

ON_SERVERS = pytest.mark.parametrize("database_url", ["mariadb", "postgres"], indirect=True)
WAITS = WAITING.but(connect_s=1.0, look_s=0.3, answer_s=0.3, lock_s=0.2, busy_s=1.0)
MOST_S = 15.0  # far above those, since machines are slow, and far below for ever
ME = Scope(user="ann")


@pytest.fixture
def wire(database_url, line_to):
    return line_to(database_url)


def written(wire):
    return wire.url.render_as_string(hide_password=False)


def told(work):
    """How long it takes until that is refused."""
    start = time.monotonic()
    with pytest.raises(DatabaseUnavailable):
        work()
    return time.monotonic() - start


@ON_SERVERS
@pytest.mark.spec("4.10")
def test_a_server_that_falls_silent_is_given_up_and_found_again(wire):
    """In the middle of a unit of work, with a connection at hand, and with a new one."""
    SqlDatabase.open(written(wire), clock=lambda: NOW).close()
    database = SqlDatabase.open(written(wire), clock=lambda: NOW, policy=WAITS)

    def in_the_middle():
        with database.begin(ANN) as tx:
            tx.items.add(memory(ANN, "Likes tea"))
            wire.speaks.clear()
            tx.items.active(ANN)

    def anew():
        with database.read() as tx:
            tx.items.active(ANN)

    assert told(in_the_middle) < MOST_S
    wire.speaks.set()
    with database.begin(ANN) as tx:
        assert tx.items.active(ANN) == []
        tx.items.add(memory(ANN, "Likes coffee"))
    wire.speaks.clear()
    assert told(lambda: database.run(lambda tx: tx.users.hold(ANN))) < MOST_S
    assert told(anew) < MOST_S
    wire.speaks.set()
    with database.read() as tx:
        assert contents(tx.items.active(ANN)) == ["Likes coffee"]
    database.close()


def opened(wire, **changes):
    """A memory behind that line; nothing runs in the background."""
    settings = Settings(embedder="none", policy=ASSISTANT.but(**changes))
    return Memory.open(written(wire), settings=settings, workers=False)


@ON_SERVERS
@pytest.mark.spec("4.10")
def test_recall_keeps_its_deadline_while_the_database_hangs(wire):
    """Also where the numbers of the namespace are to be read again; the driver waits on."""
    for_ever = WAITS.but(look_s=60.0, answer_s=60.0)
    soon = ASSISTANT.search.but(deadline_ms=300)
    with opened(wire, database=for_ever, search=soon) as memory:
        memory.items.add(ME, "Likes tea", kind="preference")
        assert "tea" in memory.recall(ME, "What do I drink?", policy=ASSISTANT).text
        wire.speaks.clear()
        memory.parts.runtime._known.clear()  # as long after it was read last
        for _ in range(2):
            start = time.monotonic()
            answer = memory.recall(ME, "What do I drink?")
            assert time.monotonic() - start < MOST_S
            assert answer.text == ""
            assert [one.reason for one in answer.degraded] == [Reason.DEADLINE]
        wire.speaks.set()
        assert "tea" in memory.recall(ME, "What do I drink?", policy=ASSISTANT).text


@ON_SERVERS
@pytest.mark.spec("4.10")
def test_health_tells_that_the_database_hangs_and_that_it_speaks_again(wire):
    with opened(wire, database=WAITS) as memory:
        health = Health(memory.parts)
        assert health.look().parts["database"].state == "up"
        wire.speaks.clear()
        assert health.look().status == "down"
        wire.speaks.set()
        until = time.monotonic() + 60
        while health.look().status == "down" and time.monotonic() < until:
            time.sleep(0.05)
        assert health.look().parts["database"].state == "up"
        assert memory.capture(ME, "chat-1", [Message("user", "I like rye.")]).trace


@ON_SERVERS
def test_only_making_tables_and_indexes_may_take_as_long_as_it_takes(database_url):
    """The server is silent while it makes an index of a large table."""
    dialect, address = parsed(database_url)
    writers, _ = dialect.engines(address, WAITS)
    sleep = {"mariadb": "SELECT SLEEP(:s)"}.get(dialect.names[0], "SELECT pg_sleep(:s)")
    with writers.begin() as connection, dialect.alone(connection):
        connection.execute(text(sleep), {"s": 1})
    with pytest.raises(OperationalError), writers.begin() as connection:
        connection.execute(text(sleep), {"s": 30})
    writers.dispose()


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_vectors_in_postgresql_are_given_up_where_it_falls_silent(wire):
    host = PgVectorHost(written(wire), "silent", timeout_s=0.5)
    entries = [VectorEntry(ref="1", vectors=unit(1, 0), stamp="s")]
    host.write(ANN, Corpus.MEMORIES, entries)
    wire.speaks.clear()
    for _ in range(2):
        start = time.monotonic()
        with pytest.raises(VectorsUnavailable):
            host.search(ANN, Corpus.MEMORIES, unit(1, 0)[0], 1)
        assert time.monotonic() - start < MOST_S
    wire.speaks.set()
    assert [hit.ref for hit in host.search(ANN, Corpus.MEMORIES, unit(1, 0)[0], 1)] == ["1"]
    host.clear()
    host.close()
