from __future__ import annotations

import threading

import pytest

from perdure.recall.shelf import Kept, Shelf
from perdure.types import Scope


def test_a_value_is_read_again_only_when_its_revision_changed():
    kept: Kept[str, str] = Kept(rows=10)
    reads = []

    def read(value):
        def reading():
            reads.append(value)
            return value

        return reading

    assert kept.get("ann", 1, read("one")) == "one"
    assert kept.get("ann", 1, read("never")) == "one"
    assert kept.get("ann", 2, read("two")) == "two"
    assert reads == ["one", "two"]


def test_the_least_used_leave_first_when_there_are_too_many_rows():
    kept: Kept[str, str] = Kept(rows=4)
    reads = []

    def get(key, size=2):
        def reading():
            reads.append(key)
            return "x" * size

        kept.get(key, 1, reading)

    get("ann")
    get("bo")
    get("ann")
    get("小林")
    get("ann")
    get("bo")
    assert reads == ["ann", "bo", "小林", "bo"]
    get("huge", 99)  # more than fits: kept alone
    get("huge", 99)
    assert reads[4:] == ["huge"]


def test_threads_may_share_it():
    kept: Kept[int, str] = Kept(rows=50)
    wrong = []

    def work(seed):
        for n in range(500):
            key = (n * seed) % 17
            if kept.get(key, n % 3, key.__str__) != str(key):
                wrong.append(key)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (3, 5, 7, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.spec("1")
def test_a_scope_sees_what_is_bound_to_it_and_what_is_bound_nowhere(item):
    free, mao, chat = item("free", 1), item("mao", 2, project="mao"), item("c", 3, conversation="c")
    shelf = Shelf.of([free, mao, chat])

    assert list(shelf.seen_in(Scope(user="ann"))) == [free.id]
    assert list(shelf.seen_in(Scope(user="ann", project="mao"))) == [free.id, mao.id]
    assert list(shelf.seen_in(Scope(user="ann", project="mao", conversation="c"))) == list(
        shelf.rows
    )
