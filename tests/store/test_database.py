"""Opening a database, and units of work on it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
import traceback

import pytest
from sqlalchemy import create_engine, event, make_url, text
from sqlalchemy.exc import DBAPIError

from perdure.errors import Corrupt, DatabaseUnavailable, Misconfigured, MissingExtra, Rejected
from perdure.ports import Corpus, ItemFilter
from perdure.store.database import WAITING, SqlDatabase, migrate
from perdure.store.dialects import parsed
from perdure.store.sqlite import library
from perdure.testing.samples import ANN, BO, NOW, contents, memory, promise

ON_SERVERS = pytest.mark.parametrize("database_url", ["mariadb", "postgres"], indirect=True)
TWICE = """
INSERT INTO perdure_texts (namespace, user_id, corpus, ref, length)
VALUES ('n', :said, 'c', 'r', 1), ('n', :said, 'c', 'r', 2)
"""
HOLDS = """
import sqlite3, sys, time
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("CREATE TABLE theirs (id INTEGER)")
file.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(0.5)
file.execute("COMMIT")
"""


def opened(url, busy_s=0.2, **about):
    policy = WAITING.but(busy_s=busy_s)
    return SqlDatabase.open(url, clock=lambda: NOW, policy=policy, **about)


@pytest.fixture
def each(database_url):
    """A database of each kind; whoever waits for others waits up to a second."""
    database = opened(database_url, busy_s=1)
    yield database
    database.close()


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
    "url", ["no url", "oracle://root:hunter2@localhost/x", "mysql+mysqldb://root:hunter2@b/c"]
)
def test_a_url_that_cannot_be_meant_is_refused_without_its_password(url):
    with pytest.raises(Misconfigured) as refused:
        opened(url)
    assert refused.value.field == "database_url"
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("short", "whole"),
    [
        ("sqlite:///x.db", "sqlite+pysqlite:///x.db"),
        ("mysql://a@b/c", "mysql+pymysql://a@b/c"),
        ("mariadb://a@b/c", "mariadb+pymysql://a@b/c"),
        ("postgresql://a@b/c", "postgresql+psycopg://a@b/c"),
    ],
)
def test_a_short_url_means_our_driver(short, whole):
    assert parsed(short)[1] == parsed(whole)[1] == make_url(whole)


@pytest.mark.parametrize(
    ("url", "driver", "extra"),
    [("mariadb://a@b/c", "pymysql", "mysql"), ("postgresql://a@b/c", "psycopg", "postgres")],
)
def test_a_driver_that_is_missing_is_named_by_its_extra(monkeypatch, url, driver, extra):
    for module in [name for name in sys.modules if name.partition(".")[0] == driver]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(MissingExtra, match=rf"perdure\[{extra}\]"):
        opened(url)


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_a_server_that_does_not_answer_is_named_without_the_password(kind):
    with pytest.raises(DatabaseUnavailable, match=r"127\.0\.0\.1:1/x") as away:
        opened(f"{kind}://root:hunter2@127.0.0.1:1/x")
    assert "hunter2" not in str(away.value)
    assert "\n" not in str(away.value)


def test_a_folder_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(DatabaseUnavailable, match="elsewhere"):
        opened(f"sqlite:///{tmp_path}/elsewhere/perdure.db")
    assert not (tmp_path / "elsewhere").exists()


def test_readers_never_wait_for_a_writer_and_see_one_moment(each):
    with each.begin(ANN) as tx:
        tx.items.add(memory(ANN, "first"))
    with each.read() as before:
        assert len(before.items.active(ANN)) == 1
        with each.begin(ANN) as writing:
            writing.items.add(memory(ANN, "second"))
            with each.read() as during:
                assert len(during.items.active(ANN)) == 1
        with each.read() as after:
            assert len(after.items.active(ANN)) == 2
        assert len(before.items.active(ANN)) == 1  # its own moment, still


def test_a_reader_cannot_write(each):
    with pytest.raises((DatabaseUnavailable, DBAPIError)), each.read() as tx:
        tx.items.add(memory(ANN, "Likes tea"))
    with each.read() as tx:
        assert tx.items.active(ANN) == []


@pytest.mark.spec("4.10")
def test_a_writer_that_waits_too_long_gets_a_clear_answer(each):
    with (
        each.begin(ANN),
        pytest.raises(DatabaseUnavailable, match=r"(?i)lock"),
        each.begin(ANN),
    ):
        pass
    with each.begin(ANN) as tx:  # and the next one works
        tx.jobs.promise(promise(ANN, "k"), NOW)


@pytest.mark.spec("3.5", "3.6")
def test_units_of_work_of_one_owner_follow_one_another(database_url):
    """Each reads what the one before has written, also of somebody who has nothing yet."""
    database = opened(database_url, busy_s=30)

    def work(number):
        for step in range(5):
            with database.begin(ANN) as tx:
                if tx.items.count(ANN, ItemFilter()) < 7:
                    time.sleep(0.001)
                    tx.items.add(memory(ANN, f"{number}: {step}"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as tx:
        assert tx.items.count(ANN, ItemFilter()) == 7
    database.close()


@ON_SERVERS
def test_units_of_work_of_different_owners_do_not_wait_for_each_other(each):
    with each.begin(ANN) as hers, each.begin(BO) as his:
        hers.items.add(memory(ANN, "Likes tea"))
        his.items.add(memory(BO, "Likes tea"))
        for tx, scope in ((his, BO), (hers, ANN)):
            tx.fulltext.index(scope, Corpus.MEMORIES, {"1": ["tea"]})
            tx.jobs.promise(promise(scope, "k"), NOW)


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


@pytest.mark.spec("9")
@pytest.mark.parametrize(
    "wrong",
    [
        "INSERT INTO perdure_users (user_id) VALUES (:said)",
        TWICE,
        "INSERT INTO perdure_nowhere VALUES (:said)",
    ],
)
def test_no_error_carries_a_memory(each, wrong):
    with pytest.raises((DBAPIError, DatabaseUnavailable)) as refused, each.begin() as tx:
        tx.items._connection.execute(text(wrong), {"said": "my diary"})
    shown = "".join(traceback.format_exception(refused.value))
    assert "my diary" not in shown.replace('{"said": "my diary"}', "")


def host_engine(url):
    """An engine as a host makes it, with transactions as ours."""
    if not url.startswith("sqlite"):
        return create_engine(url, isolation_level="READ COMMITTED")
    engine = create_engine(url, module=library(), connect_args={"isolation_level": None})

    @event.listens_for(engine, "begin")
    def begin(connection):
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


@pytest.mark.spec("3.2")
def test_a_host_takes_its_own_transaction_along(empty_url):
    """C 2: messages and promise in the host's commit, or in its rollback."""
    engine = host_engine(empty_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE users (name VARCHAR(9))"))
    assert migrate(engine)
    assert not migrate(engine)
    database = opened(empty_url)

    with engine.connect() as connection:
        for finish in (connection.rollback, connection.commit):
            with database.joined(connection, scope=ANN) as tx:
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


@ON_SERVERS
@pytest.mark.parametrize("level", ["AUTOCOMMIT", "REPEATABLE READ"])
def test_a_host_whose_transaction_ours_cannot_be_part_of_is_refused(each, database_url, level):
    engine = create_engine(database_url, isolation_level=level)
    with (
        engine.connect() as connection,
        pytest.raises(Rejected) as refused,
        each.joined(connection),
    ):
        pass
    engine.dispose()
    assert refused.value.field == "connection"


@ON_SERVERS
def test_a_host_s_connection_to_another_kind_of_database_is_refused(each):
    engine = create_engine("sqlite://")
    with (
        engine.connect() as connection,
        pytest.raises(Rejected, match="another kind"),
        each.joined(connection),
    ):
        pass
    engine.dispose()


# ── a database that is away ──────────────────────────────────────────────────────────────────────


@pytest.fixture
def wire(database_url, line_to):
    return line_to(database_url)


@ON_SERVERS
def test_a_database_that_was_away_is_found_again_without_a_restart(wire):
    database = opened(wire.url.render_as_string(hide_password=False))
    for _ in range(2):
        with database.begin(ANN) as tx:
            tx.jobs.promise(promise(ANN, "k"), NOW)
        wire.cut()
        for unit in (database.begin, database.read):
            with pytest.raises(DatabaseUnavailable), unit() as tx:
                tx.items.active(ANN)
        wire.whole = True
    with database.read() as tx:
        assert len(tx.jobs.of(ANN, "trace-k")) == 1
    wire.cut()
    wire.whole = True  # it was away, and nobody asked meanwhile: nobody has to notice
    for unit in (database.begin, database.read):
        with unit() as tx:
            assert len(tx.jobs.of(ANN, "trace-k")) == 1
    database.close()


@ON_SERVERS
def test_a_database_that_goes_away_in_the_middle_keeps_nothing_of_it(wire):
    database = opened(wire.url.render_as_string(hide_password=False))

    def cut_off():
        with database.begin(ANN) as tx:
            tx.items.add(memory(ANN, "Likes tea"))
            wire.cut()
            tx.items.add(memory(ANN, "Likes coffee"))

    with pytest.raises(DatabaseUnavailable):
        cut_off()
    wire.whole = True
    with database.begin(ANN) as tx:
        assert tx.items.active(ANN) == []
    database.close()


@ON_SERVERS
def test_a_patient_start_needs_no_database_and_finds_it_once_it_is_there(wire):
    wire.whole = False
    url = wire.url.render_as_string(hide_password=False)
    with pytest.raises(DatabaseUnavailable):
        opened(url)
    database = opened(url, patient=True)
    with pytest.raises(DatabaseUnavailable), database.read():
        pass
    wire.whole = True
    with database.begin(ANN) as tx:
        tx.items.add(memory(ANN, "Likes tea"))
    database.close()


@pytest.mark.spec("4.10")
def test_a_file_that_another_process_holds_is_waited_for(url, tmp_path):
    """To become one with readers beside a writer, a new file must be nobody else's for a moment."""
    holding = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path / "perdure.db")],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holding.stdout is not None
    assert holding.stdout.readline() == "held\n"
    with pytest.raises(DatabaseUnavailable, match="locked"):
        opened(url, busy_s=0.05)
    database = opened(url, busy_s=10)
    with database.begin() as tx:
        tx.items.add(memory(ANN, "Likes tea"))
    database.close()
    holding.communicate()
    assert holding.returncode == 0


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
