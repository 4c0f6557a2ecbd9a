"""The front door, where it opens onto the host's own transaction."""

from __future__ import annotations

import sqlite3
import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from perdure import Memory, Message, Reason, Scope
from perdure.errors import NotFound, Rejected
from perdure.settings import load
from perdure.store.sqlite import _newer_sqlite  # type: ignore[attr-defined]  # the same driver

ann = Scope(user="ann")
SAID = [Message("user", "I don't eat meat.", id="m1")]


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path / 'app.db'}"


@pytest.fixture
def memory(url):
    settings = load({"PERDURE_EMBEDDER": "none", "PERDURE_POLICY__JOBS__POLL_S": "30"})
    with Memory.open(settings=settings.but(database_url=url)) as opened:
        yield opened


@pytest.fixture
def host(memory):
    """An application with a chat table, in the same database."""
    with memory.engine.begin() as connection:
        connection.execute(text("CREATE TABLE chats (said TEXT)"))
    return memory.engine


def chats(connection):
    return connection.execute(text("SELECT count(*) FROM chats")).scalar()


def say(memory, connection):
    connection.execute(text("INSERT INTO chats VALUES ('I don''t eat meat.')"))
    return memory.capture(ann, "chat-1", SAID, connection=connection)


@pytest.mark.spec("3.2")
def test_a_turn_in_the_hosts_transaction_is_kept_or_not_as_that_ends(memory, host):
    """C 2: the host's chat row, our messages and the job are one commit."""
    with host.connect() as connection:
        taken = say(memory, connection)
        connection.rollback()
        with pytest.raises(NotFound):
            memory.receipt(ann, taken.trace)
        assert (chats(connection), list(memory.export(ann))) == (0, [])
        connection.rollback()

        taken = say(memory, connection)
        assert list(memory.export(ann)) == []  # nobody sees it yet
        connection.commit()
        assert chats(connection) == 1
        connection.rollback()
    done = memory.wait(taken, timeout=10)  # the workers were called; by themselves they look late
    assert [change.action for change in done.learnt] == ["ADD"]
    assert len(memory.items.list(ann)) == 1


@pytest.mark.spec("3.2")
def test_an_error_of_the_host_takes_the_turn_along(memory, host):
    def fails():
        with host.begin() as connection:
            say(memory, connection)
            connection.execute(text("INSERT INTO nowhere VALUES (1)"))

    with pytest.raises(Exception, match="nowhere"):
        fails()
    assert list(memory.export(ann)) == []
    with Session(host) as session, session.begin():
        memory.capture(ann, "chat-1", SAID, connection=session.connection())
    assert len(list(memory.export(ann))) > 0


def test_hosts_on_many_threads_lose_nothing(memory, host):
    def chat(number):
        for turn in range(5):
            with host.connect() as connection:
                said = [Message("user", f"I like fruit number {number} {turn}.")]
                memory.capture(ann, f"chat-{number}", said, connection=connection)
                connection.commit() if turn % 2 else connection.rollback()

    threads = [threading.Thread(target=chat, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = [line for line in memory.export(ann) if line["type"] == "message"]
    assert len(said) == 4 * 2


@pytest.mark.parametrize("commits", [True, False])
def test_an_engine_of_the_hosts_own_may_begin_when_it_writes(memory, url, commits):
    engine = create_engine(url, module=memory.engine.dialect.dbapi)
    with engine.connect() as connection:
        memory.capture(ann, "chat-1", SAID, connection=connection)
        connection.commit() if commits else connection.rollback()
    engine.dispose()
    assert bool(list(memory.export(ann))) is commits


@pytest.mark.parametrize("how", ["no BEGIN", "AUTOCOMMIT"])
def test_a_connection_that_commits_by_itself_is_refused_and_nothing_is_written(memory, url, how):
    driver = memory.engine.dialect.dbapi
    connect = {"isolation_level": None} if how == "no BEGIN" else {}
    options = {"isolation_level": how} if how == "AUTOCOMMIT" else {}
    engine = create_engine(url, module=driver, connect_args=connect)
    with (
        engine.connect().execution_options(**options) as connection,
        pytest.raises(Rejected) as refused,
    ):
        memory.capture(ann, "chat-1", SAID, connection=connection)
    engine.dispose()
    assert refused.value.field == "connection"
    assert list(memory.export(ann)) == []


@pytest.mark.skipif(_newer_sqlite is None, reason="there is one copy of SQLite here: no pysqlite3")
def test_a_second_copy_of_sqlite_is_refused_before_it_does_harm(memory, url):
    """Locks belong to a process: two copies in one take each other's away."""
    engine = create_engine(url, module=sqlite3)
    with engine.connect() as connection, pytest.raises(Rejected, match="pysqlite3") as refused:
        memory.capture(ann, "chat-1", SAID, connection=connection)
    engine.dispose()
    assert refused.value.field == "connection"


def test_what_is_no_connection_is_refused_by_name(memory, host):
    for wrong in (host, "sqlite://", object()):
        with pytest.raises(Rejected) as refused:
            memory.capture(ann, "chat-1", SAID, connection=wrong)
        assert refused.value.field == "connection"


@pytest.mark.spec("3.4")
@pytest.mark.parametrize("ahead", [timedelta(minutes=10), timedelta(days=365)])
def test_a_queued_turn_of_a_clock_that_is_ahead_brings_nothing_deleted_back(url, ahead):
    settings = load({"PERDURE_EMBEDDER": "none"}).but(database_url=url)
    with Memory.open(settings=settings, workers=False) as memory:
        item = memory.items.add(ann, "Lives in Oslo")
        then = datetime.now(UTC) + ahead
        taken = memory.capture(ann, "chat-1", [Message("user", "I live in Oslo.", at=then)])
        memory.items.delete(ann, item.id)
        memory.start()
        receipt = memory.wait(taken, timeout=20)

        assert [one.reason for one in receipt.refused] == [Reason.DELETED_EARLIER]
        assert len(memory.items.list(ann)) == 0
        memory.wait(memory.capture(ann, "chat-1", [Message("user", "I live in Oslo.")]), timeout=20)
        assert [one.content for one in memory.items.list(ann)] == ["Lives in Oslo"]
