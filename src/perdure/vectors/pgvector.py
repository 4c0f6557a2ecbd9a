"""Keeps vectors in PostgreSQL with pgvector, the memories' own or another one."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np
from sqlalchemy import (
    Column,
    Connection,
    Dialect,
    Double,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    bindparam,
    create_engine,
    delete,
    event,
    func,
    make_url,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import ArgumentError, InterfaceError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.types import UserDefinedType

from perdure.errors import Misconfigured, MissingExtra, VectorsUnavailable
from perdure.ports import Corpus, Hit, Vector, VectorEntry, Vectors
from perdure.types import MAX_NAMESPACE, MAX_USER, Scope

_CONNECTIONS = 16
_PATIENCE = 2  # times the statement's own timeout; a server that hangs keeps none
_LOCK = 7_264_311  # of whoever makes the table; any number that nobody else takes


class _Embedding(UserDefinedType[Any]):
    """pgvector's type, of any length."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "vector"

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], str]:  # noqa: ARG002 - the library's signature
        return lambda vector: json.dumps(vector.tolist())

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[str], Any]:  # noqa: ARG002 - the same
        return json.loads


_TABLE = Table(
    "perdure_outside_vectors",  # a name that the memories' own tables do not have
    MetaData(),
    Column("namespace", String(MAX_NAMESPACE), primary_key=True),
    Column("user_id", String(MAX_USER), primary_key=True),
    Column("corpus", String(16), primary_key=True),
    Column("model", String(128), primary_key=True),
    Column("ref", String(64), primary_key=True),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("stamp", String(64), nullable=False),
    Column("embedding", _Embedding, nullable=False),
)
_SAID = _TABLE.c
_HERE = [_SAID[name] == bindparam(f"of_{name}") for name in ("namespace", "user_id", "corpus")]
_HERE.append(_SAID.model == bindparam("of_model"))
_THESE = _SAID.ref.in_(bindparam("refs", expanding=True))
_COSINE = func.max(1 - _SAID.embedding.op("<=>", return_type=Double)(bindparam("query")))

_REMOVE = delete(_TABLE).where(*_HERE, _THESE)
_CLEAR = delete(_TABLE).where(_SAID.model == bindparam("of_model"))
_ADD = insert(_TABLE)
_REPLACE = _ADD.on_conflict_do_update(
    index_elements=list(_TABLE.primary_key),
    set_={"stamp": _ADD.excluded.stamp, "embedding": _ADD.excluded.embedding},
)
_LENGTH = select(func.vector_dims(_SAID.embedding)).where(*_HERE).limit(1)
_SEARCH = (
    select(_SAID.ref, _COSINE)
    .where(*_HERE)
    .group_by(_SAID.ref)
    .order_by(_COSINE.desc(), _SAID.ref.collate("C"))
    .limit(bindparam("most"))
)
_GET = select(_SAID.ref, _SAID.embedding).where(*_HERE, _THESE).order_by(_SAID.ref, _SAID.part)
_EVERY = select(_SAID.ref, _SAID.stamp).where(*_HERE).distinct()


class PgVectorHost:
    """`ports.VectorHost` on PostgreSQL. Share it between threads.

    An owner's rows are found by the key's btree and compared one by one, which is exact; other
    owners cost nothing.

    Args:
        url: such as ``postgresql+psycopg://perdure@127.0.0.1/perdure``.
        model: the embedder's name.
        timeout_s: seconds to wait for a connection, and for each statement.
    """

    name = "pgvector"

    def __init__(self, url: str, model: str, *, timeout_s: float = 2.0) -> None:
        if importlib.util.find_spec("psycopg") is None:
            raise MissingExtra("postgres")
        self._model = model
        self._engine = _engine(url, timeout_s)
        self._lock = Lock()
        self._made = False

    def ping(self) -> None:
        """Do nothing, if it answers.

        Raises:
            VectorsUnavailable: it does not; so say all that follow.
        """
        with self._begun() as connection:
            connection.execute(select(1))

    def write(self, scope: Scope, corpus: Corpus, entries: Sequence[VectorEntry]) -> None:
        """Replace the vectors of these refs.

        Raises:
            Misconfigured: the owner has vectors of another length.
        """
        here = self._here(scope, corpus)
        new = {name.removeprefix("of_"): value for name, value in here.items()}
        rows = [
            {**new, "ref": e.ref, "part": part, "stamp": e.stamp, "embedding": vector}
            for e in sorted(entries, key=lambda entry: entry.ref)  # two never lock crosswise
            for part, vector in enumerate(e.vectors)
        ]
        with self._begun() as connection:
            self._fits(connection, here, entries[0].vectors.shape[1])
            connection.execute(_REMOVE, {**here, "refs": [entry.ref for entry in entries]})
            if rows:
                connection.execute(_REPLACE, rows)

    def search(self, scope: Scope, corpus: Corpus, query: Vector, limit: int) -> list[Hit]:
        """The nearest texts by cosine, best first, one hit a ref; the best part speaks.

        Raises:
            Misconfigured: the query has another length than the stored vectors.
        """
        here = self._here(scope, corpus)
        with self._begun() as connection:
            self._fits(connection, here, len(query))
            asked = {**here, "query": query, "most": limit}
            found = connection.execute(_SEARCH, asked).all()
        return [Hit(ref=ref, similarity=min(1.0, max(0.0, cosine))) for ref, cosine in found]

    def get(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> dict[str, Vectors]:
        """The stored vectors of these refs."""
        parts: dict[str, list[list[float]]] = {}
        with self._begun() as connection:
            wanted = {**self._here(scope, corpus), "refs": list(refs)}
            for ref, vector in connection.execute(_GET, wanted):
                parts.setdefault(ref, []).append(vector)
        return {ref: np.array(rows, dtype=np.float32) for ref, rows in parts.items()}

    def refs(self, scope: Scope, corpus: Corpus) -> dict[str, str]:
        """Everything of the owner, each with its stamp."""
        with self._begun() as connection:
            found = connection.execute(_EVERY, self._here(scope, corpus))
            return {ref: stamp for ref, stamp in found}  # noqa: C416 - rows are no pairs to mypy

    def remove(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Delete."""
        with self._begun() as connection:
            connection.execute(_REMOVE, {**self._here(scope, corpus), "refs": list(refs)})

    def clear(self) -> None:
        """Delete everything of the model, whoever's."""
        with self._begun() as connection:
            connection.execute(_CLEAR, {"of_model": self._model})

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    def _here(self, scope: Scope, corpus: Corpus) -> dict[str, Any]:
        return {
            "of_namespace": scope.namespace,
            "of_user_id": scope.user,
            "of_corpus": corpus.value,
            "of_model": self._model,
        }

    def _fits(self, connection: Connection, here: dict[str, Any], length: int) -> None:
        stored = connection.execute(_LENGTH, here).scalar()
        if stored is not None and stored != length:
            raise Misconfigured(
                "The embedder {model} gives {given} numbers; stored are {stored}. "
                "Make the vectors anew: perdure reindex.",
                field="embedder",
                model=self._model,
                given=length,
                stored=stored,
            )

    @contextmanager
    def _begun(self) -> Iterator[Connection]:
        """A transaction; what the driver raises becomes ours, and carries no value."""
        try:
            self._make()
            with self._engine.begin() as connection:
                yield connection
        except ProgrammingError as error:  # a wrong right, or no such extension
            raise Misconfigured(
                "pgvector is not there, or may not be used: CREATE EXTENSION vector.",
                field="PERDURE_VECTOR_URL",
            ) from error
        except (OperationalError, InterfaceError, PoolTimeout) as error:
            raise VectorsUnavailable("pgvector does not answer as it should.") from error

    def _make(self) -> None:
        """The table, once; of several processes one makes it and the others wait."""
        with self._lock:
            if self._made:
                return
            with self._engine.begin() as connection:
                connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
                connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
                _TABLE.create(connection, checkfirst=True)
            self._made = True


def _engine(url: str, timeout_s: float) -> Engine:
    try:
        where = make_url(url)
    except ArgumentError:
        raise Misconfigured("Expected a URL of PostgreSQL.", field="PERDURE_VECTOR_URL") from None
    if where.get_backend_name() != "postgresql":
        raise Misconfigured("Expected a URL of PostgreSQL.", field="PERDURE_VECTOR_URL")
    engine = create_engine(
        where.set(drivername="postgresql+psycopg"),
        hide_parameters=True,
        pool_size=_CONNECTIONS,
        max_overflow=0,
        pool_timeout=timeout_s,
        pool_pre_ping=True,
        connect_args={
            "connect_timeout": max(2, round(timeout_s)),
            "options": f"-c statement_timeout={round(timeout_s * 1000)}",
        },
    )

    @event.listens_for(engine, "do_connect")
    def connect(_: Any, __: Any, args: Sequence[Any], given: Mapping[str, Any]) -> Any:
        from perdure.silence.postgres import Listening  # noqa: PLC0415 - an extra

        return Listening.opened(_PATIENCE * timeout_s, *args, **given)

    return engine
