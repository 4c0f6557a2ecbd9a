"""The way to the newest tables, from wherever a database stands."""

from __future__ import annotations

import logging
import re
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from perdure.errors import Misconfigured
from perdure.store import migrations
from perdure.store.columns import moment
from perdure.store.database import SqlDatabase, migrate
from perdure.store.schema import metadata
from perdure.testing.samples import ANN, BO, NOW, memory
from perdure.types import Message, Preferences, Role

OPEN = """
import sys
from datetime import UTC, datetime
from perdure.store.database import migrate
sys.stdin.readline()
print(migrate(sys.argv[1]))
"""


def schema(connection):
    """Every statement that made something of ours, spaces aside; the search index is not in it."""
    rows = connection.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name LIKE '%perdure%'"
        " AND name NOT LIKE 'perdure_terms%' AND name NOT IN ('perdure_places', 'perdure_version')"
    )
    return {re.sub(r"\s+", " ", re.sub(r"\s*([(),])\s*", r"\1", sql)) for (sql,) in rows}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "perdure.db"


def test_an_empty_file_becomes_exactly_what_the_code_expects(url, file):
    assert migrate(url)
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        metadata.create_all(connection)
        expected = schema(connection.connection.driver_connection)
    engine.dispose()

    migrated = sqlite3.connect(file)
    assert schema(migrated) == expected
    assert len(expected) > len(metadata.tables)
    migrated.close()


def test_the_second_revision_finds_what_was_deleted_and_loses_nothing(url, file):
    """From 0001: deletions are noted with their last time; older messages are kept from today."""
    engine = create_engine(url)
    with engine.begin() as connection:
        command.upgrade(migrations.config(connection), "0001")
    engine.dispose()
    old = sqlite3.connect(file)
    old.executemany(
        "INSERT INTO perdure_audit_log (namespace, user_id, entry_id, item_id, operation, actor,"
        " reason, before, at) VALUES ('default', ?, ?, ?, ?, 'user', 'by hand', 'x', ?)",
        [
            ("ann", "e1", "i1", "delete", 5), ("ann", "e2", "i1", "restore", 6),
            ("ann", "e3", "i1", "delete", 7), ("ann", "e4", "i2", "create", 8),
            ("bo", "e5", "i1", "delete", 9),
        ],
    )  # fmt: skip
    old.execute(
        "INSERT INTO perdure_messages (namespace, user_id, conversation_id, message_id, role,"
        " content, chars, at, trace) VALUES ('default', 'ann', 'c', 'm', 'user', '你好', 2, 5, 't')"
    )
    old.commit()
    old.close()

    assert migrate(url)

    database = SqlDatabase.open(url, clock=lambda: NOW)
    with database.begin() as tx:
        assert [tx.items.unscrubbed(one, NOW) for one in (ANN, BO)] == [["i1"], ["i1"]]
        assert tx.items.unscrubbed(ANN, moment(6)) == []
        assert [e.before for e in tx.audit.of(ANN, "i1")] == ["x", "x", "x"]
        yesterday = datetime.now(UTC) - timedelta(days=1)
        assert tx.messages.remove(ANN, kept_before=yesterday) == 0
        assert tx.messages.remove(ANN, kept_before=yesterday + timedelta(days=2)) == 1
        tx.messages.add(ANN, "c", [Message(Role.USER, "hi", id="m")], NOW, "t")
    database.close()


def test_the_third_revision_keeps_every_user_and_every_entry(url, file):
    """From 0002: nobody was tidied up yet, and no entry brings a row back."""
    engine = create_engine(url)
    with engine.begin() as connection:
        command.upgrade(migrations.config(connection), "0002")
    engine.dispose()
    old = sqlite3.connect(file)
    old.execute(
        "INSERT INTO perdure_users (namespace, user_id, auto_learn, memories_revision,"
        " episodes_revision, updated_at) VALUES ('default', 'ann', 0, 1, 1, 5)"
    )
    old.execute(
        "INSERT INTO perdure_audit_log (namespace, user_id, entry_id, item_id, operation, actor,"
        " reason, before, at) VALUES ('default', 'ann', 'e1', 'i1', 'delete', 'user', 'r', 'x', 5)"
    )
    old.commit()
    old.close()

    assert migrate(url)

    database = SqlDatabase.open(url, clock=lambda: NOW)
    with database.begin() as tx:
        assert tx.users.consolidated(ANN) is None
        assert not tx.users.preferences(ANN, Preferences()).auto_learn
        [entry] = tx.audit.of(ANN, "i1")
        assert (entry.before, entry.was) == ("x", None)
        tx.users.consolidate(ANN, "run", NOW)
        assert tx.users.consolidated(ANN) == (NOW, "run")
    database.close()


def test_there_is_one_newest_revision_and_the_code_names_it():
    scripts = ScriptDirectory.from_config(migrations.config())
    assert scripts.get_heads() == [migrations.HEAD]


@pytest.mark.case("OPS-05")
def test_processes_that_start_at_once_migrate_once(url):
    crew = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", OPEN, url],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    for process in crew:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate() for process in crew]
    assert sorted(out.strip() for out, _ in said) == ["False", "False", "False", "True"], said
    assert [err for _, err in said] == ["", "", "", ""]


@pytest.mark.case("OPS-05")
def test_a_migration_that_is_cut_short_leaves_nothing_behind(url, file, monkeypatch):
    def cut_short(_connection, _found):
        _connection.exec_driver_sql("CREATE TABLE perdure_half (id INTEGER)")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "_run", cut_short)
        with pytest.raises(KeyboardInterrupt):
            migrate(url)
    connection = sqlite3.connect(file)
    assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    connection.close()
    assert migrate(url)


@pytest.mark.case("OPS-05")
def test_an_older_perdure_stops_at_newer_tables_with_one_clear_line(url, file):
    migrate(url)
    connection = sqlite3.connect(file)
    connection.execute("UPDATE perdure_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    for attempt in (migrate, lambda u: SqlDatabase.open(u, clock=lambda: NOW)):
        with pytest.raises(Misconfigured, match=r"newer Perdure.*9999") as refused:
            attempt(url)
        assert "\n" not in str(refused.value)


def test_a_host_s_logging_and_its_own_alembic_stay_as_they_are(url, file):
    host = sqlite3.connect(file)
    host.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
    host.execute("INSERT INTO alembic_version VALUES ('theirs')")
    host.commit()
    root = logging.getLogger()
    before = (root.level, list(root.handlers), logging.getLogger("alembic").level)
    database = SqlDatabase.open(url, clock=lambda: NOW)
    with database.begin() as tx:
        tx.items.add(memory(ANN, "Likes tea"))
    database.close()

    assert (root.level, list(root.handlers), logging.getLogger("alembic").level) == before
    assert not logging.getLogger("perdure").disabled
    assert host.execute("SELECT version_num FROM alembic_version").fetchall() == [("theirs",)]
    host.close()
