"""Vectors as plain rows of the same database, written in the commit of what they stand for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from sqlalchemy import Connection, bindparam, delete, exists, select

from perdure.errors import Corrupt
from perdure.ports import Corpus, VectorEntry, VectorRows
from perdure.store.columns import owned, whose
from perdure.store.dialects import Upsert, bunches
from perdure.store.schema import vectors
from perdure.store.users import SqlUsers
from perdure.types import Scope

_FLOAT = np.dtype("<f4")

_OWNER = (*owned(vectors), vectors.c.corpus == bindparam("in_corpus"))
_WRITE = Upsert(
    vectors,
    ("namespace", "user_id", "corpus", "model", "ref"),
    lambda new: {"dimension": new["dimension"], "parts": new["parts"]},
)
_READ = (
    select(vectors.c.ref, vectors.c.dimension, vectors.c.parts)
    .where(*_OWNER, vectors.c.model == bindparam("of_model"))
    .order_by(vectors.c.ref)
)
_REFS = select(vectors.c.ref).where(*_OWNER).distinct()
_REFS_OF = _REFS.where(vectors.c.model == bindparam("of_model"))
_OWNERS = (
    select(vectors.c.namespace, vectors.c.user_id)
    .where(vectors.c.model == bindparam("of_model"))
    .distinct()
)
_FORGET = delete(vectors).where(*owned(vectors), vectors.c.model == bindparam("of_model"))
_DIMENSION = select(vectors.c.dimension).where(vectors.c.model == bindparam("of_model")).limit(1)
_OTHER = vectors.alias("other")
_LACKING = (
    select(vectors.c.ref)
    .where(
        vectors.c.model == bindparam("than"),
        ~exists().where(
            *(_OTHER.c[key] == vectors.c[key] for key in ("namespace", "user_id", "corpus", "ref")),
            _OTHER.c.model == bindparam("of_model"),
        ),
    )
    .limit(1)
)
_REMOVE = delete(vectors).where(*_OWNER, vectors.c.ref.in_(bindparam("refs", expanding=True)))


class SqlVectors:
    """`ports.VectorTable` on one connection."""

    def __init__(self, connection: Connection, users: SqlUsers) -> None:
        self._connection = connection
        self._users = users

    def write(
        self, scope: Scope, corpus: Corpus, model: str, entries: Sequence[VectorEntry]
    ) -> None:
        """Replace the vectors of these refs."""
        rows = [
            {
                "namespace": scope.namespace,
                "user_id": scope.user,
                "corpus": corpus.value,
                "model": model,
                "ref": entry.ref,
                "dimension": entry.vectors.shape[1],
                "parts": np.ascontiguousarray(entry.vectors, dtype=_FLOAT).tobytes(),
            }
            for entry in entries
        ]
        if rows:
            _WRITE.write(self._connection, rows)
            self._users.changed(scope, corpus)

    def read(self, scope: Scope, corpus: Corpus, model: str) -> VectorRows:
        """All of one owner, ordered by ref.

        Raises:
            Corrupt: the model's vectors are not all of one length.
        """
        rows = self._connection.execute(
            _READ,
            {**whose(scope), "in_corpus": corpus.value, "of_model": model},
        ).all()
        dimensions = {row.dimension for row in rows}
        if len(dimensions) > 1:
            raise Corrupt("Vectors of one model differ in length; make them anew.")
        dimension = dimensions.pop() if dimensions else 0
        width = dimension * _FLOAT.itemsize
        refs = tuple(row.ref for row in rows for _ in range(len(row.parts) // width))
        matrix = np.frombuffer(b"".join(row.parts for row in rows), dtype=_FLOAT)
        return VectorRows(
            refs=refs, matrix=matrix.reshape(len(refs), dimension).astype(np.float32, copy=False)
        )

    def refs(self, scope: Scope, corpus: Corpus, model: str | None = None) -> set[str]:
        """What has vectors of this model; None: of any."""
        wanted = {**whose(scope), "in_corpus": corpus.value}
        if model is None:
            return set(self._connection.execute(_REFS, wanted).scalars())
        return set(self._connection.execute(_REFS_OF, {**wanted, "of_model": model}).scalars())

    def remove(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> int:
        """Delete, whatever the model. Returns how many rows went."""
        owner = {**whose(scope), "in_corpus": corpus.value}
        gone = sum(
            self._connection.execute(_REMOVE, {**owner, "refs": some}).rowcount
            for some in bunches(refs)
        )
        if gone:
            self._users.changed(scope, corpus)
        return gone

    def forget(self, model: str) -> None:
        """Delete all vectors of a model, whoever's; owner by owner, so no statement takes long."""
        owners = self._connection.execute(_OWNERS, {"of_model": model}).all()
        for namespace, user in owners:
            whose_ones = {"of_namespace": namespace, "of_user": user}
            self._connection.execute(_FORGET, {**whose_ones, "of_model": model})

    def dimension(self, model: str) -> int | None:
        """Numbers in a vector of this model, whoever's; None where there is none."""
        return self._connection.execute(_DIMENSION, {"of_model": model}).scalar()

    def lacking(self, model: str, than: str) -> bool:
        """Has anybody a text with vectors of ``than`` and none of ``model``?"""
        found = self._connection.execute(_LACKING, {"of_model": model, "than": than})
        return found.first() is not None
