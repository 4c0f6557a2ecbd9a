"""What every store must do with lists: an order that stands still, nothing lost between pages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perdure.errors import Rejected
from perdure.ports import Database, ItemFilter
from perdure.testing.samples import ANN, later, memory
from perdure.types import MemoryItem


class ListContract:
    """Lists of memories, page by page. Subclass, provide ``database``, inherit the tests."""

    @pytest.mark.spec("6")
    def test_pages_are_newest_first_and_lose_nothing(self, database: Database) -> None:
        """Newest is what came last; a change since does not count."""
        items = [
            memory(ANN, f"fact {n}", created_at=later(n // 3), updated_at=later(90 - n))
            for n in range(20)
        ]
        with database.begin() as tx:
            for item in items:
                tx.items.add(item)
        expected = sorted(items, key=lambda i: (i.created_at, i.id), reverse=True)
        seen: list[MemoryItem] = []
        after = None
        with database.read() as tx:
            while True:
                page = tx.items.page(ANN, ItemFilter(), limit=6, after=after)
                assert page.total == 20
                seen += page.items
                after = page.next
                if after is None:
                    break
            for nonsense in ("", "x", "é", "MTIzNA"):
                with pytest.raises(Rejected):
                    tx.items.page(ANN, ItemFilter(), after=nonsense)
        assert seen == expected

    @pytest.mark.spec("6")
    def test_a_walk_returns_each_row_that_stays_once_whatever_happens_meanwhile(
        self, database: Database
    ) -> None:
        stay = [memory(ANN, f"fact {n}", created_at=later(n)) for n in range(12)]
        gone = [memory(ANN, f"gone {n}", created_at=later(n)) for n in (1, 9)]
        with database.begin() as tx:
            for item in (*stay, *gone):
                tx.items.add(item)
        seen: list[str] = []
        after, pages = None, 0
        while pages == 0 or after is not None:
            with database.read() as tx:
                page = tx.items.page(ANN, ItemFilter(), limit=4, after=after)
            seen += [item.id for item in page.items]
            after, pages = page.next, pages + 1
            with database.begin() as tx:
                for place in (0, 5, 11):  # of the last page, a middle one, and the first
                    tx.items.put(replace(stay[place], updated_at=later(100 + pages)))
                tx.items.used(ANN, [stay[1].id], later(200))
                tx.items.add(memory(ANN, f"new {pages}", created_at=later(100 + pages)))
                tx.items.remove(ANN, [one.id for one in gone])
        there = {item.id for item in stay}
        assert sorted(one for one in seen if one in there) == sorted(there)
