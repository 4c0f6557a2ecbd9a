"""The inverted index keeps a list for each owner."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from perdure.ports import Corpus
from perdure.store.fulltext import _sign, _token
from perdure.testing.samples import ANN
from perdure.types import Scope

MEMORIES = Corpus.MEMORIES


def test_a_list_holds_one_owner_s_texts_whatever_strangers_say(database):
    with database.begin() as tx:
        for number in range(200):
            scope = Scope(user=f"stranger {number}")
            tx.fulltext.index(scope, MEMORIES, {"1": ["bergen", "rain"]})
        tx.fulltext.index(ANN, MEMORIES, {"1": ["bergen", "bergen"], "2": ["rain"]})
        places = tx.fulltext._connection.execute(
            text("SELECT count(*) FROM perdure_places WHERE term = :token"),
            {"token": _sign(ANN, MEMORIES) + _token("bergen")},
        ).scalar()
        assert places == 2
        tx.fulltext.remove(ANN, MEMORIES, ["1", "2"])
        left = tx.fulltext._connection.execute(
            text("SELECT count(*) FROM perdure_places WHERE term GLOB :sign"),
            {"sign": _sign(ANN, MEMORIES) + "*"},
        ).scalar()
        assert left == 0


def test_owners_who_share_a_sign_still_see_only_their_own(database, monkeypatch):
    monkeypatch.setattr("perdure.store.fulltext._sign", lambda _scope, _corpus: "00000000")
    bo = Scope(user="bo")
    with database.begin() as tx:
        tx.fulltext.index(ANN, MEMORIES, {"1": ["bergen"]})
        tx.fulltext.index(bo, MEMORIES, {"1": ["bergen"], "2": ["bergen"]})
        assert [p.ref for p in tx.fulltext.postings(ANN, MEMORIES, ["bergen"]).found] == ["1"]
        tx.fulltext.remove(ANN, MEMORIES, ["1"])
        assert len(tx.fulltext.postings(bo, MEMORIES, ["bergen"]).found) == 2


@pytest.mark.parametrize("many", [1, 2_000])
def test_a_question_may_have_any_number_of_terms(database, many):
    with database.begin() as tx:
        tx.fulltext.index(ANN, MEMORIES, {"1": [f"term {n}" for n in range(many)]})
        found = tx.fulltext.postings(ANN, MEMORIES, [f"term {n}" for n in range(many)]).found
    assert len(found) == 1
    assert len(found[0].counts) == many
