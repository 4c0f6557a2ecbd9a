"""What a vector index must do: subclass, provide ``database`` and ``opens``; see `contracts`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from perdure.errors import Misconfigured
from perdure.ports import Corpus, Database, Hit, Outside, VectorEntry, VectorIndex
from perdure.testing.samples import ANN, AWKWARD, BO, unit
from perdure.types import Scope

MEMORIES, EPISODES = Corpus.MEMORIES, Corpus.EPISODES

Opens = Callable[[str], VectorIndex]
"""An index of this model; twice for one model is what two processes have."""


class VectorIndexContract:
    """Near by cosine, one owner at a time, whoever else there is and whoever wrote it."""

    @pytest.fixture
    def index(self, opens: Opens) -> VectorIndex:
        """The index that most tests need."""
        return opens("m")

    @pytest.mark.spec("5")
    @pytest.mark.case("API-03")
    def test_similarity_is_the_cosine_from_0_to_1_and_higher_is_nearer(
        self, database: Database, index: VectorIndex
    ) -> None:
        put(database, index, ANN, entry("coins", (1.0, 0.0)), entry("opposite", (-1.0, 0.0)))
        put(database, index, ANN, entry("wifi", (0.46, (1 - 0.46**2) ** 0.5)))
        hits = search(database, index, ANN, (1.0, 0.0))
        assert [hit.ref for hit in hits] == ["coins", "wifi", "opposite"]
        assert [hit.similarity for hit in hits] == pytest.approx([1.0, 0.46, 0.0], abs=1e-6)
        assert search(database, index, ANN, (1.0, 0.0), limit=0) == []

    def test_the_best_part_speaks_for_a_text_and_each_text_is_found_once(
        self, database: Database, index: VectorIndex
    ) -> None:
        long = [(0.0, 1.0)] * 7
        put(database, index, ANN, entry("a", (1, 1)), entry("b", (1, 1)))
        put(database, index, ANN, entry("c", *long, (1, 0)), entry("d", *[(1, 0.1)] * 8))
        hits = search(database, index, ANN, (1, 0))
        assert [hit.ref for hit in hits] == ["c", "d", "a", "b"]
        assert search(database, index, ANN, (1, 0), limit=3) == hits[:3]

    @pytest.mark.spec("5")
    def test_owners_corpora_and_models_are_strangers(
        self, database: Database, index: VectorIndex, opens: Opens
    ) -> None:
        other = opens("other")
        put(database, index, ANN, entry("1", (1, 0)))
        put(database, index, BO, entry("1", (0, 1)), entry("2", (1, 0)))
        put(database, index, ANN, entry("3", (1, 0)), corpus=EPISODES)
        put(database, other, ANN, entry("4", (1, 0, 0)))
        assert [hit.ref for hit in search(database, index, ANN, (1, 0))] == ["1"]
        assert [hit.ref for hit in search(database, index, BO, (1, 0))] == ["2", "1"]
        assert [hit.ref for hit in search(database, other, ANN, (1, 0, 0))] == ["4"]
        assert search(database, index, ANN.within(namespace="else"), (1, 0)) == []
        assert found(database, index, ANN) == {"1"}
        assert found(database, index, ANN, EPISODES) == {"3"}

    @pytest.mark.spec("5", "9")
    @pytest.mark.case("ISO-05", "ISO-07")
    def test_ids_are_values_and_compared_exactly(
        self, database: Database, index: VectorIndex
    ) -> None:
        scopes = [Scope(user=user, namespace=name) for user in AWKWARD for name in ("n", "N ")]
        for number, scope in enumerate(scopes):
            put(database, index, scope, entry(str(number), (1, number)))
        for number, scope in enumerate(scopes):
            assert found(database, index, scope) == {str(number)}, scope
            assert [hit.ref for hit in search(database, index, scope, (1, 0))] == [str(number)]

    def test_refs_are_values_and_compared_exactly(
        self, database: Database, index: VectorIndex
    ) -> None:
        refs = [ref[:64] for ref in AWKWARD]
        put(database, index, ANN, *(entry(ref, (1, n)) for n, ref in enumerate(refs)))
        assert found(database, index, ANN) == set(refs)
        for ref in refs:
            with database.read() as tx:
                assert index.get(tx, ANN, MEMORIES, [ref]).keys() == {ref}
        take(database, index, ANN, refs[0])
        assert found(database, index, ANN) == set(refs[1:])

    def test_vectors_come_back_with_all_their_parts_and_none_of_before(
        self, database: Database, index: VectorIndex
    ) -> None:
        put(database, index, ANN, entry("a", (1, 0), (0, 1), (1, 1)), entry("b", (0, 1)))
        put(database, index, ANN, entry("a", (3, 4), (1, 0)))
        with database.read() as tx:
            stored = index.get(tx, ANN, MEMORIES, ["a", "b", "unknown"])
            assert index.get(tx, ANN, MEMORIES, []) == {}
        assert stored.keys() == {"a", "b"}
        np.testing.assert_allclose(stored["a"], np.array([[0.6, 0.8], [1.0, 0.0]]), atol=1e-6)
        assert stored["a"].dtype == np.float32

    def test_what_is_removed_is_found_no_more(self, database: Database, index: VectorIndex) -> None:
        put(database, index, ANN, entry("1", (1, 0)), entry("2", (1, 0)))
        put(database, index, BO, entry("1", (1, 0)))
        put(database, index, ANN, entry("1", (1, 0)), corpus=EPISODES)
        take(database, index, ANN, "1", "unknown")
        take(database, index, ANN)
        assert [hit.ref for hit in search(database, index, ANN, (1, 0))] == ["2"]
        assert found(database, index, BO) == {"1"}
        assert found(database, index, ANN, EPISODES) == {"1"}

    def test_what_another_process_wrote_is_found_at_once(
        self, database: Database, opens: Opens
    ) -> None:
        mine, theirs = opens("m"), opens("m")
        put(database, mine, ANN, entry("1", (1, 0)))
        assert [hit.ref for hit in search(database, theirs, ANN, (1, 0))] == ["1"]
        put(database, theirs, ANN, entry("2", (1, 0)))
        take(database, theirs, ANN, "1")
        assert [hit.ref for hit in search(database, mine, ANN, (1, 0))] == ["2"]

    @pytest.mark.case("STO-03")
    def test_a_length_that_does_not_fit_is_told_with_both_numbers(
        self, database: Database, index: VectorIndex
    ) -> None:
        put(database, index, ANN, entry("1", (1, 0)))
        with pytest.raises(Misconfigured, match="3 numbers; stored are 2"):
            search(database, index, ANN, (1, 0, 0))

    def test_many_rows_give_the_same_order_as_sorting_them_all(
        self, database: Database, index: VectorIndex
    ) -> None:
        rows = np.random.default_rng(1).normal(size=(600, 8)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        entries = [VectorEntry(ref=f"{n:03}", vectors=rows[n : n + 1]) for n in range(600)]
        put(database, index, ANN, *entries)
        with database.read() as tx:
            hits = index.search(tx, ANN, MEMORIES, rows[7], 25)
            assert len(index.get(tx, ANN, MEMORIES, [e.ref for e in entries])) == len(entries)
        order = np.argsort(-(rows @ rows[7]), kind="stable")[:25]
        assert [hit.ref for hit in hits] == [f"{n:03}" for n in order]


def entry(ref: str, *rows: tuple[float, ...]) -> VectorEntry:
    """A text with a vector for each of its parts."""
    return VectorEntry(ref=ref, vectors=np.concatenate([unit(*row) for row in rows]), stamp="s")


def put(
    database: Database,
    index: VectorIndex,
    scope: Scope,
    *entries: VectorEntry,
    corpus: Corpus = MEMORIES,
) -> None:
    """Write, as a job does."""
    if isinstance(index, Outside):
        index.send(scope, corpus, entries)
    with database.begin() as tx:
        index.upsert(tx, scope, corpus, entries)


def take(database: Database, index: VectorIndex, scope: Scope, *refs: str) -> None:
    """Remove memories, as a person and a job do."""
    with database.begin() as tx:
        index.remove(tx, scope, MEMORIES, refs)
    if isinstance(index, Outside):
        index.discard(scope, MEMORIES, refs)


def search(
    database: Database, index: VectorIndex, scope: Scope, query: tuple[float, ...], limit: int = 10
) -> list[Hit]:
    """The nearest memories."""
    with database.read() as tx:
        return index.search(tx, scope, MEMORIES, unit(*query)[0], limit)


def found(
    database: Database, index: VectorIndex, scope: Scope, corpus: Corpus = MEMORIES
) -> set[str]:
    """What it has, which SQL knows too."""
    with database.read() as tx:
        refs = set(index.refs(tx, scope, corpus))
        assert tx.vectors.refs(scope, corpus, index.model) == refs
    return refs
