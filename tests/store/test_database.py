"""Opening a database, and units of work on it."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from sqlalchemy import create_engine, event, text
from sqlalchemy.exc import DBAPIError

from perdure.errors import Corrupt, DatabaseUnavailable, Misconfigured
from perdure.ports import ItemFilter
from perdure.store import database as store
from perdure.store.database import SqlDatabase, migrate
from perdure.testing.samples import ANN, NOW, contents, memory, promise


def opened(url, busy_s=0.2):
    return SqlDatabase.open(url, clock=lambda: NOW, busy_s=busy_s)


@pytest.mark.parametrize("url", ["sqlite:///perdure.db", "sqlite:////{tmp}/deep.db", "sqlite://"])
def test_a_database_lies_where_its_url_says(url, tmp_path):
    database = opened(url.format(tmp=tmp_path))
    with database.begin() as tx:
        tx.items.add(memory(ANN, "Likes tea"))
    with database.read() as tx:
        assert contents(tx.items.active(ANN)) == ["Likes tea"]
    database.close()
    assert [f.name for f in tmp_path.iterdir()] == {
        "sqlite:///perdure.db": ["perdure.db"], "sqlite://": [],
    }.get(url, ["deep.db"])  # fmt: skip


def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path):
    diary = tmp_path / "diary.txt"
    diary.write_bytes(b"Dear diary, this is no database.\n" * 99)

    with pytest.raises(Corrupt, match=r"diary\.txt"):
        opened(f"sqlite:///{diary}")
    with pytest.raises(Corrupt, match=r"diary\.txt"):
        migrate(f"sqlite:///{diary}")

    assert diary.read_bytes() == b"Dear diary, this is no database.\n" * 99
    assert list(tmp_path.iterdir()) == [diary]


def test_a_damaged_database_is_named_and_nothing_overwrites_it(url, tmp_path):
    database = opened(url)
    with database.begin() as tx:
        for number in range(300):
            tx.items.add(memory(ANN, f"fact {number}"))
    database.close()
    file = tmp_path / "perdure.db"
    whole = file.read_bytes()
    damaged = whole[:8192] + b"\xff" * (len(whole) - 8192)
    file.write_bytes(damaged)

    def look():
        database = opened(url)
        try:
            with database.read() as tx:
                tx.items.every(ANN, ItemFilter())
        finally:
            database.close()

    with pytest.raises(Corrupt, match=r"perdure\.db"):
        look()
    assert file.read_bytes() == damaged


@pytest.mark.parametrize(
    "url", ["no url", "mysql://root:hunter2@localhost/x", "postgresql://a:hunter2@b/c"]
)
def test_a_url_that_cannot_be_meant_is_refused_without_its_password(url):
    with pytest.raises(Misconfigured) as refused:
        opened(url)
    assert refused.value.field == "database_url"
    assert "hunter2" not in str(refused.value)


def test_a_folder_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(DatabaseUnavailable, match="elsewhere"):
        opened(f"sqlite:///{tmp_path}/elsewhere/perdure.db")
    assert not (tmp_path / "elsewhere").exists()


def test_readers_never_wait_for_a_writer_and_see_one_moment(database):
    with database.begin() as tx:
        tx.items.add(memory(ANN, "first"))
    with database.read() as before:
        assert len(before.items.active(ANN)) == 1
        with database.begin() as writing:
            writing.items.add(memory(ANN, "second"))
            with database.read() as during:
                assert len(during.items.active(ANN)) == 1
        with database.read() as after:
            assert len(after.items.active(ANN)) == 2
        assert len(before.items.active(ANN)) == 1  # its own moment, still


def test_a_reader_cannot_write(database):
    with pytest.raises(DatabaseUnavailable), database.read() as tx:
        tx.items.add(memory(ANN, "Likes tea"))


@pytest.mark.spec("4.10")
def test_a_writer_that_waits_too_long_gets_a_clear_answer(database):
    with (
        database.begin(),
        pytest.raises(DatabaseUnavailable, match="locked"),
        database.begin(),
    ):
        pass
    with database.begin() as tx:  # and the next one works
        tx.jobs.promise(promise(ANN, "k"), NOW)


HOLD = """
import sys
from perdure.store.database import _sqlite
held = _sqlite().connect(sys.argv[1], isolation_level=None)
held.execute("CREATE TABLE new (id)")
held.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.mark.spec("5")
def test_a_new_file_that_another_process_holds_for_a_moment_is_waited_for(tmp_path):
    """Several processes may make one database at once: SQLite itself does not wait there."""
    file = str(tmp_path / "perdure.db")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(DatabaseUnavailable, match="locked"):
            opened(f"sqlite:///{file}", busy_s=0.1)
        timer = threading.Timer(0.3, other.communicate, ["let go\n"])
        timer.start()
        opened(f"sqlite:///{file}", busy_s=30.0).close()
        timer.join()


def test_units_of_work_on_a_database_in_memory_take_turns():
    database = opened("sqlite://", busy_s=5)

    def work(number):
        for step in range(20):
            with database.begin() as tx:
                tx.items.add(memory(ANN, f"{number}: {step}"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as tx:
        assert tx.items.count(ANN, ItemFilter()) == 80
    database.close()


def test_no_error_carries_a_memory(database):
    with pytest.raises(DBAPIError) as wrong, database.begin() as tx:
        tx.items._connection.execute(
            text("INSERT INTO perdure_users (user_id) VALUES (:secret)"), {"secret": "my diary"}
        )
    assert "my diary" not in str(wrong.value)


@pytest.mark.spec("3.2")
def test_a_host_takes_its_own_transaction_along(tmp_path):
    """C 2: messages and promise in the host's commit, or in its rollback."""
    url = f"sqlite:///{tmp_path / 'host.db'}"
    engine = create_engine(url, module=store._sqlite(), connect_args={"isolation_level": None})

    @event.listens_for(engine, "begin")
    def begin(connection):
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE users (name TEXT)"))
    assert migrate(engine)
    assert not migrate(engine)
    database = opened(url)

    with engine.connect() as connection:
        for finish in (connection.rollback, connection.commit):
            tx = database.joined(connection)
            connection.execute(text("INSERT INTO users VALUES ('ann')"))
            tx.items.add(memory(ANN, "Likes tea"))
            tx.jobs.promise(promise(ANN, "k"), NOW)
            finish()
        assert connection.execute(text("SELECT count(*) FROM users")).scalar() == 1
    with database.read() as tx:
        assert contents(tx.items.active(ANN)) == ["Likes tea"]
        assert len(tx.jobs.of(ANN, "trace-k")) == 1
    database.close()
    engine.dispose()


def test_the_file_is_kept_as_we_promise(database):
    with database.begin() as tx:
        said = {
            name: tx.items._connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in (
                "journal_mode", "synchronous", "foreign_keys", "secure_delete", "busy_timeout",
            )
        }  # fmt: skip
    assert said == {
        "journal_mode": "wal", "synchronous": 1, "foreign_keys": 1, "secure_delete": 1,
        "busy_timeout": 200,
    }  # fmt: skip
