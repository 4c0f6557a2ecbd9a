"""What recalls, workers and upkeep ask again and again is found by an index, however much there is.

SQLite tells its plan without a row, and what it can find by an index the others can, too.
"""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from sqlalchemy import event

from perdure.ports import Corpus, Due, ItemFilter
from perdure.store.database import SqlDatabase
from perdure.store.filters import cursor
from perdure.testing.samples import ANN, NOW, memory
from perdure.types import JobState, JobType, Status

WHOLE = re.compile(r"SCAN (perdure_(?!places)\w+|other)|.*\(namespace=\?\)$")
AGO = NOW - timedelta(days=30)
TYPES = list(JobType)
ACTIVE = ItemFilter(statuses=frozenset({Status.ACTIVE}))
AFTER = cursor(memory(ANN, "Likes tea"))
ASKED = {
    "a user's active memories": lambda tx: tx.items.active(ANN),
    "a page of a user's memories": lambda tx: tx.items.page(ANN, ACTIVE, 50),
    "the next page of a user's memories": lambda tx: tx.items.page(ANN, ACTIVE, 50, AFTER),
    "a user's revision": lambda tx: tx.users.revision(ANN, Corpus.MEMORIES),
    "a user's terms": lambda tx: tx.fulltext.postings(ANN, Corpus.MEMORIES, ["tea", "茶"]),
    "a user's vectors": lambda tx: tx.vectors.read(ANN, Corpus.MEMORIES, "m"),
    "a user's undoable past": lambda tx: tx.audit.forget(ANN, AGO),
    "the next job": lambda tx: tx.jobs.claim(NOW, 10, TYPES),
    "jobs of dead workers": lambda tx: tx.jobs.release(NOW),
    "jobs that wait": lambda tx: tx.jobs.waiting(TYPES, 1_000),
    "the job that waits longest": lambda tx: tx.jobs.oldest(),
    "the job that is due for longest": lambda tx: tx.jobs.overdue(NOW, TYPES),
    "what the last try failed of": lambda tx: tx.jobs.last_error(TYPES),
    "dead jobs": lambda tx: tx.jobs.page([JobState.DEAD]),
    "jobs to be forgotten": lambda tx: tx.jobs.forget(AGO),
    "who has something overdue": lambda tx: tx.owners.overdue(
        "default", Due(expired=NOW, deleted=AGO, kept=AGO, merged=AGO)
    ),
    "the length of a model's vectors": lambda tx: tx.vectors.dimension("m"),
    "vectors of one model without another's": lambda tx: tx.vectors.lacking("m", "n"),
    "vectors of a model to be forgotten": lambda tx: tx.vectors.forget("m"),
}


@pytest.fixture
def plans_of(place):
    """The steps by which SQLite does what is asked of it."""

    def plans_of(asked):
        database = SqlDatabase.open(place("sqlite"), clock=lambda: NOW)
        said = []
        event.listen(
            database.engine,
            "before_cursor_execute",
            lambda _connection, _cursor, statement, values, *_: said.append((statement, values)),
        )
        with database.begin() as tx:
            asked(tx)
            plans = [
                row[3]
                for statement, values in list(said)
                for row in tx.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
            ]
        database.close()
        return plans

    return plans_of


@pytest.mark.spec("2", "5")
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_no_whole_table_is_read_for(asked, plans_of):
    plans = plans_of(asked)
    assert plans
    assert [step for step in plans if WHOLE.match(step)] == []


@pytest.mark.spec("5")
def test_of_the_jobs_that_are_done_only_old_ones_are_looked_at(plans_of):
    [step] = plans_of(lambda tx: tx.jobs.forget(AGO))
    assert step.endswith("(state=? AND updated_at<?)")


@pytest.mark.spec("6")
@pytest.mark.parametrize("after", [None, AFTER], ids=["first page", "next page"])
def test_a_page_of_memories_is_read_in_its_order_and_nothing_is_sorted(after, plans_of):
    plans = plans_of(lambda tx: tx.items.page(ANN, ACTIVE, 50, after))
    assert any("ix_perdure_memories_listed" in step for step in plans)
    assert not [step for step in plans if "TEMP B-TREE" in step]
