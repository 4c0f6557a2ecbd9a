"""A new embedder, another index, another length: the old answers until the new is complete."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from perdure import Scope
from perdure.errors import DatabaseUnavailable, Misconfigured
from perdure.ports import Corpus
from perdure.settings import load
from perdure.vectors.fits import check_length
from perdure.vectors.handover import OldVectors
from perdure.vectors.table import TableIndex

ANN = Scope(user="ann")


def seen(house):
    """Looks once, and waits until that is over."""
    house.parts.recaller.before.look()


def models(house):
    with house.parts.database.read() as tx:
        return {m for m in ("words", "before", "fake: words") if tx.vectors.dimension(m)}


@pytest.mark.spec("5")
@pytest.mark.case("STO-03")
def test_the_old_embedder_answers_until_the_new_one_has_everything(house):
    new = house.embedder
    house.embedder = house.maker(load({"PERDURE_EMBEDDER": "bundled"}), None)
    memory = house.open()
    for thing in ("Owns a telescope", "Plays the viola"):
        memory.items.add(ANN, thing)
    memory.close()

    house.embedder = new
    house.open(embedder_before="bundled")
    seen(house)
    assert house.finds("telescope") == ["Owns a telescope"]
    assert new.asked == []  # the old one was asked

    house.upkeep()
    assert models(house) == {"words", "before"}
    seen(house)
    assert house.finds("telescope") == ["Owns a telescope"]
    assert ("search", "telescope") in new.asked

    seen(house)  # nobody needs the old ones now
    assert models(house) == {"words"}
    assert house.finds("viola") == ["Plays the viola"]


@pytest.mark.spec("5")
def test_the_table_answers_until_an_index_outside_has_everything(house):
    house.open().items.add(ANN, "Owns a telescope")
    house.memory.close()
    house.open(vector_index="milvus", vector_url="http://127.0.0.1:1")
    house.host.away = True
    house.upkeep()
    seen(house)
    assert house.finds("telescope") == ["Owns a telescope"]

    house.host.away = False
    house.pass_by(3600)
    house.upkeep()
    seen(house)
    house.host.asked = 0
    assert house.finds("telescope") == ["Owns a telescope"]
    assert house.host.asked
    seen(house)
    assert models(house) == {"fake: words"}


def test_a_fresh_store_has_nothing_to_wait_for(house):
    house.open(vector_index="milvus", vector_url="http://127.0.0.1:1")
    assert house.parts.recaller.before.done()


def test_nobody_waits_for_the_question_whether_the_new_ones_are_complete(house, monkeypatch):
    house.open().items.add(ANN, "Owns a telescope")
    house.memory.close()
    house.open(vector_index="milvus", vector_url="http://127.0.0.1:1")
    old = house.parts.recaller.before
    house.work()
    house.upkeep()
    gate, look = threading.Event(), old.look
    monkeypatch.setattr(old, "look", lambda: gate.wait(10) and look())
    assert not old.done()  # it is asked beside
    gate.set()
    until = time.monotonic() + 10
    while not old.done() and time.monotonic() < until:
        time.sleep(0.01)
    assert old.done()


def test_a_question_that_fails_leaves_the_old_vectors_in_place(house):
    house.open()
    nowhere: Any = Nowhere()
    old = OldVectors(nowhere, house.embedder, TableIndex("a"), TableIndex("b"))
    old.look()
    old.look()
    assert not old.done()


class Nowhere:
    """A database that does not answer."""

    def read(self):
        raise DatabaseUnavailable


@pytest.mark.case("STO-03")
def test_an_edit_leaves_no_vector_of_the_old_text_for_any_model(house):
    item = house.open().items.add(ANN, "Owns a telescope")
    house.memory.close()
    house.embedder.model = "other"
    house.open().items.edit(ANN, item.id, content="Owns a kayak")
    with house.parts.database.read() as tx:
        assert tx.vectors.refs(ANN, Corpus.MEMORIES, "words") == set()
        assert tx.vectors.refs(ANN, Corpus.MEMORIES, "other") == {item.id}


@pytest.mark.spec("5")
@pytest.mark.case("STO-03")
def test_another_length_under_the_same_name_stops_the_start_with_both_numbers(house):
    house.open().items.add(ANN, "Owns a telescope")
    house.memory.close()
    house.embedder.dimension = 384
    memory = house.open()
    with pytest.raises(Misconfigured, match=r"384 numbers; stored are 1024.*perdure reindex"):
        memory.start()

    assert house.parts.reconciler.rebuild(house.now) == 1
    house.work()
    house.parts.check()
    assert house.finds("telescope") == ["Owns a telescope"]


def test_an_index_outside_is_emptied_where_the_length_changed(house):
    house.open(vector_index="milvus", vector_url="http://127.0.0.1:1").items.add(ANN, "Has a cat")
    house.work()
    house.memory.close()
    house.embedder.dimension = 384
    house.open()
    with pytest.raises(Misconfigured, match="384 numbers; stored are 1024"):
        house.parts.check()
    house.parts.reconciler.rebuild(house.now)
    house.work()
    assert house.finds("cat") == ["Has a cat"]


def test_an_embedder_that_does_not_know_its_length_is_asked_and_may_be_away(house):
    house.open().items.add(ANN, "Owns a telescope")
    index, asked = TableIndex("words"), house.embedder
    asked.dimension = 0
    asked.away = True
    check_length(house.parts.database, asked, index)
    check_length(house.parts.database, asked, TableIndex("other"))  # none stored, none asked
    assert [action for action, _ in asked.asked] == ["add", "search"]
