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
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, MetaData, Table, create_engine, inspect, make_url, text

from perdure.errors import Misconfigured
from perdure.ports import Due, ItemFilter
from perdure.store import migrations
from perdure.store.columns import moment
from perdure.store.database import SqlDatabase, migrate
from perdure.store.lists import words
from perdure.store.schema import metadata
from perdure.testing.samples import ANN, BO, NOW, contents, memory, promise
from perdure.text import fingerprint
from perdure.types import EVENTS, Message, Preferences, Role, Scope

OPEN = """
import sys
from perdure.store.database import migrate
sys.stdin.readline()
print(migrate(sys.argv[1]))
"""
DIES = """
import os, signal, sys
from alembic import op
from perdure.store.database import migrate
left = int(sys.argv[2])
def counted(step):
    def taken(*given, **named):
        global left
        step(*given, **named)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return taken
for name in ("create_table", "create_index", "add_column", "execute"):
    setattr(op, name, counted(getattr(op, name)))
migrate(sys.argv[1])
"""
MYSQL_TYPES = {"TEXT": "LONGTEXT", "BLOB": "LONGBLOB"}
PEOPLE = {"ann": "likes tea", "小林": "在卑尔根住 👋", " a ": "“odd”"}  # oldest rows, by user


def statements(connection):
    """Every statement that made something of ours, spaces aside; the search index is not in it."""
    rows = connection.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name LIKE '%perdure%'"
        " AND name NOT LIKE 'perdure_terms%' AND name NOT IN ('perdure_places', 'perdure_version')"
    )
    return {re.sub(r"\s+", " ", re.sub(r"\s*([(),])\s*", r"\1", sql)) for (sql,) in rows}


def differences(connection):
    """What a database has otherwise than the code expects: tables, columns, types, indexes."""
    expected = MetaData()
    for table in metadata.tables.values():
        table.to_metadata(expected)
    if connection.dialect.name != "sqlite":
        words.to_metadata(expected)
    ours = {
        "compare_type": other,
        "include_name": lambda name, kind, _: kind != "table" or name in expected.tables,
    }
    return compare_metadata(MigrationContext.configure(connection, opts=ours), expected)


def other(_context, _inspected, column, found, _expected):
    """Is the type another? MySQL takes the shortest type that holds the length it is told."""
    return False if type(found).__name__ == MYSQL_TYPES.get(str(column.type)) else None


def indexes(connection):
    return {one["name"] for one in inspect(connection).get_indexes("perdure_memories")}


def upgraded(url, revision):
    """A database as it was with that revision."""
    engine = create_engine(url)
    with engine.begin() as connection:
        command.upgrade(migrations.config(connection), revision)
    engine.dispose()


def put(connection, table, **values):
    """A row as somebody wrote it then."""
    names = Table(table, MetaData(), *(Column(name) for name in values))
    connection.execute(names.insert().values(**values))


@pytest.fixture(autouse=True)
def _by_revisions(_tables_made_once, monkeypatch):
    """Here new files are made step by step, as everywhere outside of the tests."""
    monkeypatch.setattr(migrations, "_run", _tables_made_once)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "perdure.db"


@pytest.mark.case("OPS-05")
def test_an_empty_database_becomes_what_the_code_expects(empty_url, connected):
    assert migrate(empty_url)
    assert not migrate(empty_url)
    with connected(empty_url) as connection:
        assert differences(connection) == []
        assert len(inspect(connection).get_table_names()) > len(metadata.tables)


def test_an_empty_file_becomes_exactly_what_the_code_expects(url, file):
    assert migrate(url)
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        metadata.create_all(connection)
        expected = statements(connection.connection.driver_connection)
    engine.dispose()

    migrated = sqlite3.connect(file)
    assert statements(migrated) == expected
    assert len(expected) > len(metadata.tables)
    migrated.close()


@pytest.mark.case("OPS-05")
@pytest.mark.parametrize("steps", [("0002", "0003", "0004", "head"), ("head",)])
def test_the_oldest_rows_come_along_step_by_step_and_in_one_go(empty_url, connected, steps):
    upgraded(empty_url, "0001")
    with connected(empty_url) as connection:
        for number, (user, content) in enumerate(PEOPLE.items()):
            item = memory(Scope(user=user), content)
            put(
                connection, "perdure_memories", namespace="default", user_id=user, id=str(number),
                level="user", kind="fact", title="", content=content, normalized_content=content,
                folded_content=content, content_hash=item.content_hash, confidence=0.5,
                importance=0.5, sensitivity=0, explicit=False, source="manual",
                edited_by_user=False, suspicious=False,
                status=("active", "deleted", "archived")[number], vector_status="pending",
                metadata="\n", origin_messages="[]", use_count=0, created_at=5, updated_at=6,
                expires_at=(None, None, 7)[number],
            )  # fmt: skip
    for revision in steps:
        upgraded(empty_url, revision)
    with connected(empty_url) as connection:
        assert differences(connection) == []
    database = SqlDatabase.open(empty_url, clock=lambda: NOW)
    with database.read() as tx:
        found = {user: tx.items.every(Scope(user=user), ItemFilter()) for user in PEOPLE}
    database.close()
    assert {user: contents(items) for user, items in found.items()} == {
        user: [content] for user, content in PEOPLE.items()
    }
    assert [item.updated_at for items in found.values() for item in items] == [moment(6)] * 3


def test_the_second_revision_finds_what_was_deleted_and_loses_nothing(empty_url, connected):
    """From 0001: deletions are noted with their last time; older messages are kept from today."""
    upgraded(empty_url, "0001")
    with connected(empty_url) as old:
        for user, entry, item, operation, at in (
            ("ann", "e1", "i1", "delete", 5), ("ann", "e2", "i1", "restore", 6),
            ("ann", "e3", "i1", "delete", 7), ("ann", "e4", "i2", "create", 8),
            ("bo", "e5", "i1", "delete", 9),
        ):  # fmt: skip
            put(
                old, "perdure_audit_log", namespace="default", user_id=user, entry_id=entry,
                item_id=item, operation=operation, actor="user", reason="by hand", before="x",
                at=at,
            )  # fmt: skip
        put(
            old, "perdure_messages", namespace="default", user_id="ann", conversation_id="c",
            message_id="m", role="user", content="你好", chars=2, at=5, trace="t",
        )  # fmt: skip

    assert migrate(empty_url)

    database = SqlDatabase.open(empty_url, clock=lambda: NOW)
    with database.begin() as tx:
        assert [tx.items.unscrubbed(one, NOW) for one in (ANN, BO)] == [["i1"], ["i1"]]
        assert tx.items.unscrubbed(ANN, moment(6)) == []
        assert [e.before for e in tx.audit.of(ANN, "i1")] == ["x", "x", "x"]
        yesterday = datetime.now(UTC) - timedelta(days=1)
        assert tx.messages.remove(ANN, kept_before=yesterday) == 0
        assert tx.messages.remove(ANN, kept_before=yesterday + timedelta(days=2)) == 1
        tx.messages.add(ANN, "c", [Message(Role.USER, "hi", id="m")], NOW, "t")
    database.close()


def test_the_third_revision_keeps_every_user_and_every_entry(empty_url, connected):
    """From 0002: nobody was tidied up yet, and no entry brings a row back."""
    upgraded(empty_url, "0002")
    with connected(empty_url) as old:
        put(
            old, "perdure_users", namespace="default", user_id="ann", auto_learn=False,
            memories_revision=1, episodes_revision=1, updated_at=5,
        )  # fmt: skip
        put(
            old, "perdure_audit_log", namespace="default", user_id="ann", entry_id="e1",
            item_id="i1", operation="delete", actor="user", reason="r", before="x", at=5,
        )  # fmt: skip

    assert migrate(empty_url)

    database = SqlDatabase.open(empty_url, clock=lambda: NOW)
    with database.begin() as tx:
        assert tx.users.consolidated(ANN) is None
        assert not tx.users.preferences(ANN, Preferences()).auto_learn
        [entry] = tx.audit.of(ANN, "i1")
        assert (entry.before, entry.was) == ("x", None)
        tx.users.consolidate(ANN, "run", NOW)
        assert tx.users.consolidated(ANN) == (NOW, "run")
    database.close()


@pytest.mark.case("OPS-05")
def test_the_fourth_revision_keeps_every_job_and_lets_promises_leave(empty_url, connected):
    """From 0003: a job that waits is found by its key; the outbox is empty and can be used."""
    upgraded(empty_url, "0003")
    said = promise(ANN, "k")
    with connected(empty_url) as old:
        put(
            old, "perdure_jobs", type="extract", namespace="default", user_id="ann",
            idempotency_key=fingerprint("default", "ann", "k"), key="k", payload="{}", result="{}",
            trace="t", state="pending", ordered=True, retry_count=0, max_retry=5, next_retry_at=5,
            created_at=5, updated_at=5,
        )  # fmt: skip

    assert migrate(empty_url)

    database = SqlDatabase.open(empty_url, clock=lambda: NOW, leaving=EVENTS)
    with database.begin() as tx:
        assert tx.outbox.waiting() == (0, None)
        job, new = tx.jobs.promise(said, NOW)
        assert (job.trace, new) == ("t", False)
        tx.jobs.promise(promise(ANN, "另一个"), NOW)
    with database.begin() as tx:
        assert tx.outbox.lead("one", NOW, NOW)
        [leaving] = tx.outbox.due(NOW, 10)
        assert (leaving.promise, leaving.at) == (promise(ANN, "另一个"), NOW)
    database.close()


def test_the_fifth_revision_keeps_every_job_and_every_entry(empty_url, connected):
    """From 0004: nobody was erased, nothing was spent, and nobody knows who did what."""
    upgraded(empty_url, "0004")
    with connected(empty_url) as old:
        put(
            old, "perdure_audit_log", namespace="default", user_id="ann", entry_id="e1",
            item_id="i1", operation="delete", actor="user", reason="r", before="x", at=5,
        )  # fmt: skip
        put(
            old, "perdure_jobs", type="extract", namespace="default", user_id="ann",
            idempotency_key="i", key="k", payload="{}", result="{}", trace="t", state="success",
            ordered=True, retry_count=0, max_retry=5, created_at=5, updated_at=5,
        )  # fmt: skip

    assert migrate(empty_url)

    database = SqlDatabase.open(empty_url, clock=lambda: NOW)
    with database.begin() as tx:
        [entry] = tx.audit.of(ANN, "i1")
        assert (entry.before, entry.by) == ("x", None)
        [job] = tx.jobs.of(ANN, "t")
        assert job.span is None
        assert tx.erasures.last(ANN) is None
        assert tx.spend.together("default", "2026-03") == []
        assert sum(tx.erasures.wipe(ANN).values()) == 2
    database.close()


def test_the_sixth_revision_keeps_every_job_and_opens_with_keys(empty_url, connected):
    """From 0005: a job is as it was; nobody has a key, and a write may be sent twice."""
    upgraded(empty_url, "0005")
    with connected(empty_url) as old:
        put(
            old, "perdure_jobs", type="extract", namespace="default", user_id="小林",
            idempotency_key="i", key="k", payload="{}", result="{}", trace="t", state="success",
            ordered=True, retry_count=0, max_retry=5, created_at=5, updated_at=5,
        )  # fmt: skip

    assert migrate(empty_url)

    database = SqlDatabase.open(empty_url, clock=lambda: NOW)
    lin = Scope(user="小林")
    with database.begin() as tx:
        assert len(tx.jobs.of(lin, "t")) == 1
        assert tx.keys.of("default") == []
        assert tx.requests.claim(lin, "k", "f", NOW, 60.0) is None
        claimed = tx.requests.claim(lin, "k", "f", NOW, 60.0)
        assert claimed is not None
        assert (claimed.fingerprint, claimed.ref) == ("f", None)
    database.close()


@pytest.mark.spec("3.7")
def test_the_seventh_revision_finds_what_can_no_longer_be_brought_back(empty_url, connected):
    """From 0006: of the entries that hold a whole memory it notes since when."""
    upgraded(empty_url, "0006")
    with connected(empty_url) as old:
        for user, was, at in (("ann", "{}", 5), ("bo", None, 5), ("小林", "{}", 7)):
            put(
                old, "perdure_audit_log", namespace="default", user_id=user, entry_id="e",
                item_id="i", operation="merge", actor="system", reason="r", was=was, at=at,
            )  # fmt: skip

    assert migrate(empty_url)

    database = SqlDatabase.open(empty_url, clock=lambda: NOW)

    def overdue(tx, at):
        due = Due(expired=None, deleted=moment(0), kept=None, merged=moment(at))
        return [owner.user for owner in tx.owners.overdue("default", due)]

    with database.begin() as tx:
        assert [overdue(tx, at) for at in (4, 5, 7)] == [[], ["ann"], ["ann", "小林"]]
        assert tx.audit.forget(ANN, moment(5)) == 1
        assert overdue(tx, 7) == ["小林"]
    database.close()


@pytest.mark.spec("6")
def test_the_eighth_revision_lists_what_was_there_newest_first(empty_url, connected):
    """From 0007: a list by pages has an index, and loses no row."""
    upgraded(empty_url, "0007")
    with connected(empty_url) as old:
        assert "ix_perdure_memories_listed" not in indexes(old)
    assert migrate(empty_url)
    with connected(empty_url) as new:
        assert "ix_perdure_memories_listed" in indexes(new)


@pytest.mark.case("OPS-05")
@pytest.mark.spec("9")
def test_the_ninth_revision_keeps_every_entry_and_lets_answers_be_judged(empty_url, connected):
    """From 0008: an entry moved no field and happened here; no answer is known yet."""
    upgraded(empty_url, "0008")
    with connected(empty_url) as old:
        put(
            old, "perdure_audit_log", namespace="default", user_id="小林", entry_id="e1",
            item_id="i1", operation="update", actor="user", reason="r", before="茶", after="x",
            at=5,
        )  # fmt: skip

    assert migrate(empty_url)

    database, lin = SqlDatabase.open(empty_url, clock=lambda: NOW), Scope(user="小林")
    with database.begin() as tx:
        [entry] = tx.audit.of(lin, "i1")
        assert (entry.before, entry.moved, entry.imported_by) == ("茶", {}, None)
        assert tx.feedback.said(lin, "t") == frozenset()
        tx.feedback.answered(lin, {"t": ["i1"]}, NOW, 9)
        assert tx.feedback.said(lin, "t") == {"i1"}
    database.close()


def test_there_is_one_newest_revision_and_the_code_names_it():
    scripts = ScriptDirectory.from_config(migrations.config())
    assert scripts.get_heads() == [migrations.HEAD]


@pytest.mark.case("OPS-05")
def test_processes_that_start_at_once_migrate_once(empty_url):
    crew = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", OPEN, empty_url],
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
@pytest.mark.parametrize("step", [1, 12, 40])
def test_a_migration_that_is_killed_goes_on_when_it_is_run_again(empty_url, connected, step):
    killed = subprocess.run(
        [sys.executable, "-c", DIES, empty_url, str(step)], check=False, capture_output=True
    )
    assert killed.returncode == -9, killed.stderr
    assert migrate(empty_url)
    with connected(empty_url) as connection:
        assert differences(connection) == []


@pytest.mark.case("OPS-05")
def test_a_migration_that_fails_half_way_says_how_to_go_on(empty_url, connected, monkeypatch):
    def fails(connection, _found):
        connection.execute(text("CREATE TABLE perdure_half (id INTEGER)"))
        connection.execute(text("SELECT 1 FROM perdure_nowhere"))

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "_run", fails)
        with pytest.raises(Exception, match=r"perdure migrate|perdure_nowhere") as failed:
            migrate(empty_url)
    with connected(empty_url) as connection:
        left = inspect(connection).has_table("perdure_half")
    assert left is ("perdure migrate" in str(failed.value))
    assert migrate(empty_url)


@pytest.mark.case("OPS-05")
def test_an_older_perdure_stops_at_newer_tables_with_one_clear_line(empty_url, connected):
    migrate(empty_url)
    with connected(empty_url) as connection:
        connection.execute(text("UPDATE perdure_version SET version_num = '9999'"))
    for attempt in (migrate, lambda u: SqlDatabase.open(u, clock=lambda: NOW)):
        with pytest.raises(Misconfigured, match=r"newer Perdure.*9999") as refused:
            attempt(empty_url)
        assert "\n" not in str(refused.value)


@pytest.mark.case("OPS-05")
@pytest.mark.parametrize("empty_url", ["mariadb", "postgres"], indirect=True)
def test_whoever_may_not_make_tables_is_told_so_at_the_start(empty_url, connected):
    where = make_url(empty_url)
    reader = f"reader_{where.database}"[-32:]
    with connected(empty_url) as connection:
        if where.get_backend_name() == "postgresql":
            connection.execute(text(f"CREATE ROLE {reader} LOGIN"))
        else:
            connection.execute(text(f"CREATE USER {reader}"))
            connection.execute(text(f"GRANT SELECT ON {where.database}.* TO {reader}"))
    try:
        with pytest.raises(Misconfigured, match="database_url"):
            SqlDatabase.open(
                where.set(username=reader).render_as_string(hide_password=False), clock=lambda: NOW
            )
    finally:
        with connected(empty_url) as connection:
            kind = "ROLE" if where.get_backend_name() == "postgresql" else "USER"
            connection.execute(text(f"DROP {kind} {reader}"))


def test_a_host_s_logging_and_its_own_alembic_stay_as_they_are(empty_url, connected):
    with connected(empty_url) as host:
        host.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        host.execute(text("INSERT INTO alembic_version VALUES ('theirs')"))
    root = logging.getLogger()
    before = (root.level, list(root.handlers), logging.getLogger("alembic").level)
    database = SqlDatabase.open(empty_url, clock=lambda: NOW)
    with database.begin() as tx:
        tx.items.add(memory(ANN, "Likes tea"))
    database.close()

    assert (root.level, list(root.handlers), logging.getLogger("alembic").level) == before
    assert not logging.getLogger("perdure").disabled
    with connected(empty_url) as host:
        assert host.execute(text("SELECT version_num FROM alembic_version")).all() == [("theirs",)]
