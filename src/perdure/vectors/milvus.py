"""Keeps vectors in Milvus, by the extra ``milvus``: one collection a model."""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

from perdure import text
from perdure.errors import Misconfigured, MissingExtra, VectorsUnavailable
from perdure.ports import Corpus, Hit, Vector, VectorEntry, Vectors
from perdure.types import Scope

_HEX = 64  # characters of a fingerprint
_REF = 4 * 64  # bytes of an id of ours
_MOST = 16_384  # rows of one reply; Milvus gives no more
_IN_LIST = 500  # ids in one question
_AHEAD = 2  # parts of a text that are asked for at once; most texts have one
_SPARE = 4  # parts that one text is expected to fill of a reply
_UNREACHED = 2  # Milvus's number for a server that cannot be reached


class MilvusHost:
    """`ports.VectorHost` on one Milvus server. Share it between threads.

    Owner and ref are searched for by their fingerprints: nothing that somebody wrote is ever part
    of a filter. The owner's fingerprint is the partition key, and comparison is exact. Rows of a
    known ref are found, and deleted, by their primary key: a filter would look at every row where
    there is no partition, as in Milvus Lite.

    Args:
        url: such as ``http://127.0.0.1:19530``.
        token: ``user:password`` or an API key; None where none is wanted.
        model: the embedder's name; each has a collection of its own.
        timeout_s: seconds of one question.
    """

    name = "milvus"

    def __init__(self, url: str, token: str | None, model: str, *, timeout_s: float = 2.0) -> None:
        if importlib.util.find_spec("pymilvus") is None:
            raise MissingExtra("milvus")
        self._url = url
        self._token = token or ""
        self._timeout_s = timeout_s
        self._model = model
        self._collection = f"perdure_{text.fingerprint(model)[:32]}"
        self._lock = Lock()
        self._client: Any = None
        self._dimension = 0  # of the collection, once it is there and loaded

    def ping(self) -> None:
        """Do nothing, if it answers.

        Raises:
            VectorsUnavailable: it does not; so say all that follow.
        """
        with self._told():
            self._connected().has_collection(self._collection, timeout=self._timeout_s)

    def write(self, scope: Scope, corpus: Corpus, entries: Sequence[VectorEntry]) -> None:
        """Replace the vectors of these refs.

        Raises:
            Misconfigured: the collection has vectors of another length.
        """
        owner = _owner(scope)
        rows = [
            {
                "id": _id(owner, corpus, entry.ref, part),
                "owner": owner,
                "corpus": corpus.value,
                "key": text.fingerprint(entry.ref),
                "ref": entry.ref,
                "part": part,
                "stamp": entry.stamp,
                "vector": vector.tolist(),
            }
            for entry in entries
            for part, vector in enumerate(entry.vectors)
        ]
        behind = {entry.ref: len(entry.vectors) for entry in entries}
        with self._told(), self._lock:  # Milvus Lite, for tests, loses what two write at once
            client, name = self._there(create=entries[0].vectors.shape[1])
            self._fits(entries[0].vectors.shape[1])
            client.upsert(name, rows, timeout=self._timeout_s)
            self._delete(client, self._stored(client, scope, corpus, behind))

    def search(self, scope: Scope, corpus: Corpus, query: Vector, limit: int) -> list[Hit]:
        """The nearest texts by cosine, best first, one hit a ref; the best part speaks.

        Raises:
            Misconfigured: the query has another length than the stored vectors.
        """
        with self._told():
            client, name = self._there()
            if not name:
                return []
            self._fits(len(query))
            wanted = limit
            while True:
                asked = min(wanted, _MOST)
                (found,) = client.search(
                    name,
                    data=[query.tolist()],
                    filter=_whose(scope, corpus),
                    limit=asked,
                    output_fields=["ref"],
                    timeout=self._timeout_s,
                )
                best: dict[str, float] = {}
                for hit in found:
                    ref, cosine = hit["entity"]["ref"], float(hit["distance"])
                    best[ref] = max(cosine, best.get(ref, cosine))
                if len(best) >= limit or len(found) < asked or asked == _MOST:
                    break
                wanted *= _SPARE
        nearest = sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
        return [Hit(ref=ref, similarity=min(1.0, max(0.0, cosine))) for ref, cosine in nearest]

    def get(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> dict[str, Vectors]:
        """The stored vectors of these refs."""
        parts: dict[str, list[tuple[int, Sequence[float]]]] = {}
        with self._told():
            client, name = self._there()
            all_parts = dict.fromkeys(refs if name else (), 0)
            for row in self._stored(client, scope, corpus, all_parts, "vector"):
                parts.setdefault(row["ref"], []).append((row["part"], row["vector"]))
        return {
            ref: np.array([vector for _, vector in sorted(rows)], dtype=np.float32)
            for ref, rows in parts.items()
        }

    def refs(self, scope: Scope, corpus: Corpus) -> dict[str, str]:
        """Everything of the owner, each with its stamp."""
        with self._told():
            client, name = self._there()
            if not name:
                return {}
            rows = self._rows(client, _whose(scope, corpus), ["ref", "stamp"])
            return {row["ref"]: row["stamp"] for row in rows}

    def remove(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Delete."""
        with self._told(), self._lock:  # the same
            client, name = self._there()
            all_parts = dict.fromkeys(refs if name else (), 0)
            self._delete(client, self._stored(client, scope, corpus, all_parts))

    def clear(self) -> None:
        """Delete everything of the model, whoever's."""
        with self._told(), self._lock:  # the same
            self._connected().drop_collection(self._collection, timeout=self._timeout_s)
            self._dimension = 0

    def close(self) -> None:
        """Give the connection back."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    # ── the server ───────────────────────────────────────────────────────────────────────────────

    def _stored(
        self, client: Any, scope: Scope, corpus: Corpus, since: Mapping[str, int], *more: str
    ) -> list[Mapping[str, Any]]:
        """Rows of these refs with id, ref, part and more; by primary key, from that part on.

        Parts are numbered without a gap, so they are asked for until one is missing.
        """
        owner = _owner(scope)
        found: list[Mapping[str, Any]] = []
        wanted = dict(since)
        while wanted:
            ids = [
                _id(owner, corpus, ref, first + ahead)
                for ref, first in wanted.items()
                for ahead in range(_AHEAD)
            ]
            rows = [
                row
                for some in _bunches(ids)
                for row in client.get(
                    self._collection, ids=some, output_fields=["ref", "part", *more],
                    timeout=self._timeout_s,
                )
            ]  # fmt: skip
            found += rows
            there = Counter(row["ref"] for row in rows)
            wanted = {ref: first + _AHEAD for ref, first in wanted.items() if there[ref] == _AHEAD}
        return found

    def _delete(self, client: Any, rows: Sequence[Mapping[str, Any]]) -> None:
        """Delete these; last parts first, so that what is cut short leaves no gap."""
        last_first = sorted(rows, key=lambda row: -int(row["part"]))
        for some in _bunches([row["id"] for row in last_first]):
            client.delete(self._collection, ids=some, timeout=self._timeout_s)

    def _rows(self, client: Any, wanted: str, fields: list[str]) -> list[Mapping[str, Any]]:
        """All rows, also where they are more than one reply holds; paging is slow, and rare."""
        given = {"filter": wanted, "output_fields": fields, "timeout": self._timeout_s}
        rows: list[Mapping[str, Any]] = client.query(self._collection, limit=_MOST, **given)
        if len(rows) < _MOST:
            return rows
        pages = client.query_iterator(self._collection, batch_size=_MOST // 4, **given)
        try:
            return [row for page in iter(pages.next, []) for row in page]
        finally:
            pages.close()

    def _connected(self) -> Any:
        if self._client is None:
            logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # a page for each failure
            client = importlib.import_module("pymilvus").MilvusClient
            self._client = client(self._url, token=self._token, timeout=self._timeout_s)
        return self._client

    def _there(self, create: int = 0) -> tuple[Any, str]:
        """The client and the loaded collection; no name where there is none.

        Args:
            create: make one for vectors of this length where there is none.
        """
        client = self._connected()
        if self._dimension:
            return client, self._collection
        if not client.has_collection(self._collection, timeout=self._timeout_s):
            if not create:
                return client, ""
            self._create(client, create)
        client.load_collection(self._collection, timeout=self._timeout_s)  # after its restart
        told = client.describe_collection(self._collection, timeout=self._timeout_s)
        (field,) = (one for one in told["fields"] if one["name"] == "vector")
        self._dimension = int(field["params"]["dim"])
        return client, self._collection

    def _create(self, client: Any, dimension: int) -> None:
        kinds = importlib.import_module("pymilvus").DataType
        schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", kinds.VARCHAR, is_primary=True, max_length=_HEX)
        schema.add_field("owner", kinds.VARCHAR, max_length=_HEX, is_partition_key=True)
        schema.add_field("corpus", kinds.VARCHAR, max_length=16)
        schema.add_field("key", kinds.VARCHAR, max_length=_HEX)
        schema.add_field("ref", kinds.VARCHAR, max_length=_REF)
        schema.add_field("part", kinds.INT32)
        schema.add_field("stamp", kinds.VARCHAR, max_length=_HEX)
        schema.add_field("vector", kinds.FLOAT_VECTOR, dim=dimension)
        exact = client.prepare_index_params()
        exact.add_index("vector", index_type="FLAT", metric_type="COSINE")
        client.create_collection(
            self._collection,
            schema=schema,
            index_params=exact,
            consistency_level="Strong",  # what one process wrote another one finds
            timeout=self._timeout_s,
        )

    def _fits(self, length: int) -> None:
        if length != self._dimension:
            raise Misconfigured(
                "The embedder {model} gives {given} numbers; stored are {stored}. "
                "Make the vectors anew: perdure reindex.",
                field="embedder",
                model=self._model,
                given=length,
                stored=self._dimension,
            )

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the client raises becomes ours; then the collection is looked for again."""
        errors = importlib.import_module("pymilvus").MilvusException
        grpc = importlib.import_module("grpc").RpcError
        try:
            yield
        except (errors, grpc) as error:
            self._dimension = 0
            if getattr(error, "code", None) == _UNREACHED:
                self._client = None
            raise VectorsUnavailable("Milvus does not answer as it should.") from error


def _owner(scope: Scope) -> str:
    return text.fingerprint(*scope.owner)


def _whose(scope: Scope, corpus: Corpus) -> str:
    """The condition that a row is the owner's; made of a fingerprint and a word of ours."""
    return f"owner == {json.dumps(_owner(scope))} and corpus == {json.dumps(corpus.value)}"


def _id(owner: str, corpus: Corpus, ref: str, part: int) -> str:
    """The primary key of a part."""
    return text.fingerprint(owner, corpus, ref, str(part))


def _bunches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """As many as one question may name."""
    for start in range(0, len(ids), _IN_LIST):
        yield ids[start : start + _IN_LIST]
