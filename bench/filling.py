"""Fills large stores with copies of a few users, in bulk, as the product itself never writes.

The few are written by the store. Every other user is a copy of one of them, made in the database by
``INSERT ... SELECT`` of many users at once, with its terms under the sign of the new owner; the
indexes that no such statement needs are taken away before and made again after. So the rows, terms,
vectors and indexes are those of a store that was filled one by one, but not the hours it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import track
from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    Table,
    and_,
    func,
    insert,
    literal,
    select,
    text,
)

from perdure.ports import Corpus
from perdure.store.columns import line
from perdure.store.database import SqlDatabase, SqlTransaction
from perdure.store.fulltext import _sign, _token
from perdure.store.lists import words
from perdure.store.schema import memories, metadata, texts, users, vectors
from perdure.text import terms
from perdure.types import MAX_USER, MemoryItem, Scope

AT_ONCE = 100  # users of one commit
ASIDE = Console(stderr=True)

_BENCH = MetaData()
copies = Table(
    "bench_copies",  # who is a copy of whom
    _BENCH,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("user_id", line(MAX_USER), nullable=False),
    Column("model", line(MAX_USER), nullable=False),
    Column("sign", line(16), nullable=False),
)
tokens = Table(
    "bench_tokens",  # of the few, without a sign; only SQLite's index wants them as a text
    _BENCH,
    Column("ref", line(64), primary_key=True),
    Column("tokens", line(4_000), nullable=False),
)

_QUICK = {
    "sqlite": ("PRAGMA synchronous = OFF", "PRAGMA cache_size = -500000"),
    "postgres": ("SET maintenance_work_mem = '512MB'",),
}
_AGAIN = {
    "sqlite": ("PRAGMA synchronous = NORMAL", "PRAGMA cache_size = -2000"),
    "postgres": ("RESET maintenance_work_mem",),
}
_KEYLESS = "ALTER TABLE perdure_words DROP CONSTRAINT pk_perdure_words"
_KEYED = "ALTER TABLE perdure_words ADD CONSTRAINT pk_perdure_words PRIMARY KEY (token, text)"


def copied(
    database: SqlDatabase, kind: str, few: Mapping[Scope, Sequence[MemoryItem]], many: int
) -> None:
    """Add users until there are so many; each is a copy of one of the few, which are there."""
    models = list(few)
    if many <= len(models):
        return
    with _hurried(database, kind):
        with database.begin() as tx:
            _prepare(tx.connection, few, models, many)
        for first in track(
            range(len(models), many, AT_ONCE), f"{kind}: copying {many:,} users", console=ASIDE
        ):
            with database.begin() as tx:
                _copy(tx, first, min(first + AT_ONCE, many))
        with database.begin() as tx:
            _BENCH.drop_all(tx.connection)


def _prepare(
    connection: Connection,
    few: Mapping[Scope, Sequence[MemoryItem]],
    models: Sequence[Scope],
    many: int,
) -> None:
    """Note who becomes a copy of whom, and what the few are found by."""
    _BENCH.create_all(connection)
    rows: list[dict[str, Any]] = []
    for number in range(len(models), many):
        scope, model = Scope(user=f"user-{number}"), models[number % len(models)]
        sign = _sign(scope, Corpus.MEMORIES)
        rows.append({"number": number, "user_id": scope.user, "model": model.user, "sign": sign})
    connection.execute(insert(copies), rows)
    if connection.dialect.name == "sqlite":
        said = [item for items in few.values() for item in items]
        connection.execute(
            insert(tokens),
            [
                {"ref": i.id, "tokens": "".join(f" {_token(t)}" for t in terms(i.content))}
                for i in said
            ],
        )


def _copy(tx: SqlTransaction, first: int, end: int) -> None:
    """These users, with everything they have."""
    connection = tx.connection
    these = and_(copies.c.number >= first, copies.c.number < end)
    for table in (memories, vectors, texts):
        columns = {c.name: c for c in table.columns if not (table is texts and c.name == "id")}
        theirs = {**columns, "user_id": copies.c.user_id}
        rows = (
            select(*theirs.values())
            .join_from(copies, table, table.c.user_id == copies.c.model)
            .where(these, table.c.namespace == "default")
            .order_by(copies.c.number)
        )
        connection.execute(insert(table).from_select(list(theirs), rows))
    found = {"memories_revision": literal(1), "episodes_revision": literal(0)}
    owner = {"namespace": literal("default"), "user_id": copies.c.user_id}
    user = {**owner, **found, "updated_at": select(func.max(users.c.updated_at)).scalar_subquery()}
    connection.execute(insert(users).from_select(list(user), select(*user.values()).where(these)))
    (_terms if connection.dialect.name == "sqlite" else _words)(connection, these)


def _terms(connection: Connection, these: Any) -> None:
    """SQLite's index is told what each text is found by."""
    new = (
        select(texts.c.id, func.replace(tokens.c.tokens, " ", literal(" ").concat(copies.c.sign)))
        .join_from(
            copies, texts, and_(texts.c.namespace == "default", texts.c.user_id == copies.c.user_id)
        )
        .join(tokens, tokens.c.ref == texts.c.ref)
        .where(these)
    )
    index = Table("perdure_terms", MetaData(), Column("rowid", Integer), Column("tokens", line(1)))
    connection.execute(insert(index).from_select(["rowid", "tokens"], new))


def _words(connection: Connection, these: Any) -> None:
    """The lists of the few, with another sign before each token."""
    new, old = texts.alias("new"), texts.alias("old")
    length = len(_sign(Scope(user="ann"), Corpus.MEMORIES))
    signed = copies.c.sign.concat(func.substr(words.c.token, length + 1))
    lists = (
        select(signed, new.c.id, words.c.times)
        .join_from(
            copies, new, and_(new.c.namespace == "default", new.c.user_id == copies.c.user_id)
        )
        .join(
            old,
            and_(
                old.c.namespace == "default",
                old.c.user_id == copies.c.model,
                old.c.corpus == new.c.corpus,
                old.c.ref == new.c.ref,
            ),
        )
        .join(words, words.c.text == old.c.id)
        .where(these)
        .prefix_with("STRAIGHT_JOIN", dialect="mariadb")  # its statistics are those of before
    )
    connection.execute(insert(words).from_select(["token", "text", "times"], lists))


@contextmanager
def _hurried(database: SqlDatabase, kind: str) -> Iterator[None]:
    """Without the indexes that are only read, and with much memory."""
    needed = {"ix_perdure_words_text"}  # the copying itself asks by it
    spare = [
        index
        for table in (*metadata.sorted_tables, words)
        for index in table.indexes
        if index.name not in needed
    ]
    said = _QUICK.get(kind, ())
    _say(database, said)
    with database.begin() as tx:
        for index in spare:
            index.drop(tx.connection, checkfirst=True)
        if kind == "postgres":
            tx.connection.execute(text(_KEYLESS))
    yield
    with database.begin() as tx:
        if kind == "postgres":
            tx.connection.execute(text(_KEYED))
        for index in spare:
            index.create(tx.connection, checkfirst=True)
    _say(database, _AGAIN.get(kind, ()))


def _say(database: SqlDatabase, statements: Sequence[str]) -> None:
    """Outside of any transaction; the bench's only connection that writes."""
    raw: Any = database.engine.raw_connection()
    try:
        for statement in statements:
            raw.driver_connection.execute(statement)
        raw.commit()
    finally:
        raw.close()
