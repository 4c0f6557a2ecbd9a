"""Two real transactions that wait for each other: the one that loses is done again as a whole."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import pytest
from sqlalchemy import create_engine, text
from starlette.testclient import TestClient

from perdure import Memory, Message, Scope
from perdure.errors import Contended, DatabaseUnavailable
from perdure.serve.app import PREFIX, create_app
from perdure.settings import Settings
from perdure.store.database import WAITING, SqlDatabase, pause
from perdure.testing.samples import ANN, BO, NOW, contents, memory, promise

ON_SERVERS = pytest.mark.parametrize("database_url", ["mariadb", "postgres"], indirect=True)
PATIENCE_S = 20.0
WAITS = {
    "mariadb": "SELECT count(*) FROM information_schema.innodb_trx"
    " JOIN information_schema.processlist ON id = trx_mysql_thread_id"
    " WHERE trx_state = 'LOCK WAIT' AND db = database()",
    "postgresql": "SELECT count(*) FROM pg_stat_activity"
    " WHERE wait_event_type = 'Lock' AND datname = current_database()",
}
ME = Scope(user="ann")
HERE = "http://127.0.0.1"
HOLD = text("SELECT user_id FROM perdure_users WHERE user_id = :user FOR UPDATE")


@pytest.fixture
def opened():
    """Opens databases that are closed at the end."""
    every = []

    def opened(url, **waiting):
        policy = WAITING.but(**waiting)
        every.append(SqlDatabase.open(url, clock=lambda: NOW, policy=policy))
        return every[-1]

    yield opened
    for each in every:
        each.close()


def said(count, until_s=PATIENCE_S):
    """Waits until the number is reached."""
    until = time.monotonic() + until_s
    while not count():
        assert time.monotonic() < until
        time.sleep(0.12)  # MariaDB looks no more often


@contextmanager
def beside(work):
    """Does this in another thread; what it raises is raised at the end."""
    wrong = []

    def caught():
        try:
            work()
        except Exception as error:  # noqa: BLE001 - raised below
            wrong.append(error)

    thread = threading.Thread(target=caught)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    for error in wrong:
        raise error


class Rival:
    """A transaction of somebody else, that takes what ours wants and then wants what ours has."""

    def __init__(self, url):
        self.engine = create_engine(url, isolation_level="READ COMMITTED")
        with self.engine.begin() as connection:
            connection.execute(text("CREATE TABLE ballast (number INTEGER PRIMARY KEY)"))

    @contextmanager
    def taking(self, statement, **values):
        """Within, ours runs into it; it wants what ours holds as soon as ours waits."""
        with self.engine.connect() as connection, self.engine.connect() as watching:
            if connection.dialect.name == "postgresql":  # it gives up who looks for the circle
                connection.execute(text("SET deadlock_timeout = '1h'"))
            rows = [{"n": n} for n in range(500)]  # MariaDB gives up who has changed less
            connection.execute(text("INSERT INTO ballast VALUES (:n)"), rows)
            connection.execute(text(statement), values)

            def meet():
                waiting = text(WAITS[connection.dialect.name])
                said(lambda: watching.execute(waiting).scalar_one() > 0)
                connection.execute(HOLD, {"user": "ann"})
                connection.rollback()

            with beside(meet):
                yield

    def close(self):
        with self.engine.begin() as connection:
            connection.execute(text("DROP TABLE ballast"))
        self.engine.dispose()


@pytest.fixture
def rival(database_url):
    rivals = []

    def rival():
        rivals.append(Rival(database_url))
        return rivals[-1]

    yield rival
    for each in rivals:
        each.close()


@pytest.fixture
def opened_memory(database_url):
    """A memory on each server; nothing runs in the background."""
    with Memory.open(database_url, settings=Settings(embedder="none"), workers=False) as memory:
        memory.preferences.set(
            ME, auto_learn=True
        )  # else the row that is held goes with its holder
        yield memory


# ── units of work ────────────────────────────────────────────────────────────────────────────────


@ON_SERVERS
def test_two_units_of_work_that_wait_for_each_other_are_both_done_once(opened, database_url):
    """The loser is taken back whole: what it wrote before is not there twice."""
    database = opened(database_url)
    for scope in (ANN, BO):  # a row that says something stays, and can be waited for
        database.run(lambda tx, scope=scope: tx.users.prefer(scope, auto_learn=True))
    meet = threading.Barrier(2)
    tries: list[Scope] = []

    def work(first, second):
        item = memory(first, "Likes tea")

        def write(tx):
            tries.append(first)
            tx.users.hold(first)
            if tries.count(first) == 1:
                meet.wait(PATIENCE_S)
            tx.items.add(item)  # after they met: an index with removed rows lets one in at a time
            tx.users.hold(second)

        database.run(write)

    with beside(lambda: work(ANN, BO)):
        work(BO, ANN)
    assert len(tries) == 3
    with database.read() as tx:
        assert [contents(tx.items.active(scope)) for scope in (ANN, BO)] == [["Likes tea"]] * 2


@ON_SERVERS
def test_a_lock_that_is_held_for_long_is_asked_for_again(opened, database_url):
    """MariaDB takes back only the statement that waited; we take back the rest."""
    database = opened(database_url, lock_s=1.0)
    database.run(lambda tx: tx.users.hold(ANN))
    item = memory(BO, "Likes tea")
    held = threading.Event()
    tries: list[int] = []

    def hold():
        with database.begin(ANN):
            held.set()
            said(lambda: len(tries) == 2)

    def write(tx):
        tries.append(1)
        tx.items.add(item)
        tx.users.hold(ANN)

    with beside(hold):
        assert held.wait(PATIENCE_S)
        database.run(write)
    with database.read() as tx:
        assert contents(tx.items.active(BO)) == ["Likes tea"]


def test_what_loses_again_and_again_is_told_and_nothing_of_it_stays(opened, database_url):
    database = opened(database_url, again_s=0.001, tries=3)
    tries = []

    def write(tx):
        tries.append(1)
        tx.jobs.promise(promise(ANN, "k"), NOW)
        raise Contended

    with pytest.raises(DatabaseUnavailable) as refused:
        database.run(write)
    assert refused.value.code == "database_contended"
    assert len(tries) == 3
    with database.read() as tx:
        assert tx.jobs.of(ANN, "trace-k") == []


def test_a_unit_of_work_that_fails_otherwise_is_not_done_again(opened, database_url):
    database = opened(database_url)
    tries = []

    def write(tx):
        tries.append(1)
        tx.jobs.promise(promise(ANN, "k"), NOW)
        raise DatabaseUnavailable

    with pytest.raises(DatabaseUnavailable):
        database.run(write)
    assert tries == [1]


def test_pauses_grow_and_differ():
    policy = WAITING.but(again_s=0.1)
    assert [pause(lost, policy, 0.0) for lost in (1, 2, 3)] == [0.1, 0.2, 0.4]
    assert pause(1, policy, 0.5) == pytest.approx(0.15)


# ── through the front doors ──────────────────────────────────────────────────────────────────────


@ON_SERVERS
@pytest.mark.spec("3.2")
def test_a_capture_that_is_given_up_for_another_is_done_again(opened_memory, rival):
    opened_memory.capture(ME, "chat-1", [Message("user", "I like tea.", id="m1")])
    ours = rival()
    with ours.taking("UPDATE perdure_conversations SET watermark = watermark + 1"):
        receipt = opened_memory.capture(ME, "chat-1", [Message("user", "I like rye.", id="m2")])
    while opened_memory.parts.worker.run_once():
        pass
    assert opened_memory.receipt(ME, receipt.trace).state.final
    with opened_memory.parts.database.read() as tx:
        kept = [line.id for line in tx.messages.since(ME, "chat-1", 0, limit=10)]
    assert kept == ["m1", "m2"]


@ON_SERVERS
@pytest.mark.spec("3.2")
def test_a_capture_in_the_host_s_own_transaction_says_that_the_host_must_do_it_again(
    opened_memory, rival
):
    opened_memory.capture(ME, "chat-1", [Message("user", "I like tea.", id="m1")])
    ours = rival()
    rye = [Message("user", "I like rye.", id="m2")]
    with (
        ours.taking("UPDATE perdure_conversations SET watermark = watermark + 1"),
        opened_memory.engine.connect() as connection,
        pytest.raises(Contended, match="your own") as told,
    ):
        opened_memory.capture(ME, "chat-1", rye, connection=connection)
    assert "rye" not in str(told.value)
    with opened_memory.parts.database.read() as tx:
        assert [line.id for line in tx.messages.since(ME, "chat-1", 0, limit=10)] == ["m1"]


@ON_SERVERS
@pytest.mark.spec("6")
def test_an_add_over_http_that_is_given_up_for_another_succeeds(opened_memory, rival):
    opened_memory.items.delete(ME, opened_memory.items.add(ME, "Likes tea").id)
    ours = rival()
    with (
        TestClient(create_app(opened_memory, Settings()), HERE, client=("127.0.0.1", 1)) as client,
        ours.taking("UPDATE perdure_tombstones SET at = at + 1"),
    ):
        tea = {"user_id": "ann", "content": "Likes tea"}
        answer = client.post(f"{PREFIX}/memory/items", json=tea)
    assert answer.status_code == 201, answer.text
    assert contents(opened_memory.items.list(ME).items) == ["Likes tea"]
