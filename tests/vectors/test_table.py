"""Exact search over an owner's rows, never from a stale picture."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from perdure.errors import Misconfigured
from perdure.ports import Corpus, VectorEntry
from perdure.testing.samples import ANN, BO, unit
from perdure.vectors.table import TableIndex

MEMORIES = Corpus.MEMORIES


def entry(ref, *rows):
    return VectorEntry(ref=ref, vectors=np.concatenate([unit(*row) for row in rows]))


def write(database, index, scope, *entries, corpus=MEMORIES):
    with database.begin() as tx:
        index.upsert(tx, scope, corpus, entries)


def search(database, index, scope, *query, limit=10, corpus=MEMORIES):
    with database.read() as tx:
        return index.search(tx, scope, corpus, unit(*query)[0], limit)


def test_similarity_is_the_cosine_and_higher_is_nearer(database):
    """API-03, in the index: cosines 1.0, 0.46 and 0.02 are the similarities."""
    index = TableIndex("m")
    write(
        database, index, ANN,
        entry("coins", (1.0, 0.0)),
        entry("wifi", (0.46, (1 - 0.46**2) ** 0.5)),
        entry("heights", (0.02, (1 - 0.02**2) ** 0.5)),
        entry("opposite", (-1.0, 0.0)),
    )  # fmt: skip
    hits = search(database, index, ANN, 1.0, 0.0)
    assert [hit.ref for hit in hits] == ["coins", "wifi", "heights", "opposite"]
    assert [hit.similarity for hit in hits] == pytest.approx([1.0, 0.46, 0.02, 0.0], abs=1e-6)


def test_the_best_part_speaks_for_a_text_and_ties_go_by_ref(database):
    index = TableIndex("m")
    write(database, index, ANN, entry("b", (1, 1)), entry("a", (1, 1)), entry("c", (0, 1), (1, 0)))
    hits = search(database, index, ANN, 1, 0)
    assert [hit.ref for hit in hits] == ["c", "a", "b"]
    assert search(database, index, ANN, 1, 0, limit=2) == hits[:2]
    assert search(database, index, ANN, 1, 0, limit=0) == []


def test_owners_corpora_and_models_are_strangers(database):
    index, other = TableIndex("m"), TableIndex("other")
    write(database, index, ANN, entry("1", (1, 0)))
    write(database, index, BO, entry("2", (1, 0)))
    write(database, index, ANN, entry("3", (1, 0)), corpus=Corpus.EPISODES)
    write(database, other, ANN, entry("4", (1, 0, 0)))
    assert [h.ref for h in search(database, index, ANN, 1, 0)] == ["1"]
    assert [h.ref for h in search(database, index, BO, 1, 0)] == ["2"]
    assert [h.ref for h in search(database, other, ANN, 1, 0, 0)] == ["4"]
    assert search(database, index, ANN.within(namespace="else"), 1, 0) == []


def test_what_another_process_wrote_is_found_at_once(database):
    mine, theirs = TableIndex("m"), TableIndex("m")
    write(database, mine, ANN, entry("1", (1, 0)))
    assert [h.ref for h in search(database, mine, ANN, 1, 0)] == ["1"]
    write(database, theirs, ANN, entry("2", (1, 0)))
    with database.begin() as tx:
        theirs.remove(tx, ANN, MEMORIES, ["1"])
    assert [h.ref for h in search(database, mine, ANN, 1, 0)] == ["2"]
    with database.read() as tx:
        found = mine.get(tx, ANN, MEMORIES, ["1", "2"])
    np.testing.assert_array_equal(found["2"], unit(1, 0))
    assert found.keys() == {"2"}


def test_what_was_rolled_back_is_never_found(database):
    index = TableIndex("m")

    def write_look_and_fail():
        with database.begin() as tx:
            index.upsert(tx, ANN, MEMORIES, [entry("ghost", (1, 0))])
            assert index.search(tx, ANN, MEMORIES, unit(1, 0)[0], 5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_look_and_fail()
    assert search(database, index, ANN, 1, 0) == []
    write(database, index, ANN, entry("real", (1, 0)))
    assert [h.ref for h in search(database, index, ANN, 1, 0)] == ["real"]


def test_memory_is_bounded_and_the_answers_are_the_same(database):
    index = TableIndex("m", cache_bytes=8_000)
    scopes = [ANN.within(namespace=str(n)) for n in range(20)]
    for n, scope in enumerate(scopes):
        write(database, index, scope, *(entry(f"{n}-{k}", (1, k)) for k in range(10)))
    for _ in range(2):
        for n, scope in enumerate(scopes):
            assert search(database, index, scope, 1, 0)[0].ref == f"{n}-0"
            assert index._held <= 8_000
    assert index._held == sum(one.size for one in index._cache.values())


def test_an_embedder_that_changed_its_length_is_told_so(database):
    index = TableIndex("m")
    write(database, index, ANN, entry("1", (1, 0)))
    with pytest.raises(Misconfigured, match="3 numbers; stored are 2"):
        search(database, index, ANN, 1, 0, 0)
    assert search(database, index, BO, 1, 0, 0) == []  # nothing stored, nothing wrong


def test_threads_share_an_index_without_a_wrong_answer(database):
    index = TableIndex("m", cache_bytes=4_000)
    scopes = [ANN.within(namespace=str(n)) for n in range(4)]
    wrong = []

    def work(number):
        scope = scopes[number]
        for step in range(25):
            write(database, index, scope, entry(f"{step:02}", (1, 0)))
            refs = [hit.ref for hit in search(database, index, scope, 1, 0, limit=99)]
            if refs != [f"{n:02}" for n in range(step + 1)]:
                wrong.append(refs)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_many_rows_give_the_same_order_as_sorting_them_all(database):
    index = TableIndex("m")
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(500, 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    entries = [VectorEntry(ref=f"{n:03}", vectors=rows[n : n + 1]) for n in range(500)]
    write(database, index, ANN, *entries)
    with database.read() as tx:
        hits = index.search(tx, ANN, MEMORIES, rows[7], 25)
    cosines = rows @ rows[7]
    order = sorted(range(500), key=lambda n: (-cosines[n], n))[:25]
    assert hits[0].similarity == pytest.approx(1.0)
    assert [hit.ref for hit in hits] == [f"{n:03}" for n in order]
