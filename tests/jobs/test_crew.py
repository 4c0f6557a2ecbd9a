"""Several processes at once on one database, one of them killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from perdure.store.database import SqlDatabase
from perdure.types import JobState, JobType, Scope

CREW = 4
CAPTURES = 30


def hear(process):
    return process.stdout.readline()


def tell(crew, word):
    for process in crew:
        process.stdin.write(f"{word}\n")
        process.stdin.flush()


@pytest.mark.spec("5", "3.2")
@pytest.mark.case("STO-09")
def test_four_processes_lose_nothing_keep_the_order_and_outlive_one_of_them(database_url):
    """C 12.2.2, 12.2.3: each capture becomes a job, each job is done once, in each user's order."""
    url = database_url
    script = Path(__file__).with_name("crew.py")
    crew = [
        subprocess.Popen(
            [sys.executable, str(script), url, str(number), str(CAPTURES)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(CREW)
    ]  # fmt: skip
    for process in crew:  # the one that dies must not come when the others are done
        assert hear(process) == "ready\n"
    tell(crew, "go")
    crew[0].wait(timeout=60)
    tell(crew[1:], "end with the work")
    said = [process.communicate(timeout=60) for process in crew]
    assert [process.returncode for process in crew] == [-signal.SIGKILL, 0, 0, 0], said
    acknowledged = {name for out, _ in said for name in out.split()}
    assert len(acknowledged) > CREW * CAPTURES * 3 / 4

    database = SqlDatabase.open(url, clock=lambda: datetime.now(UTC))
    with database.read() as tx:
        jobs = tx.jobs.page(list(JobState), limit=10_000)[::-1]
        kept = {
            (user, kind): [int(entry.reason) for entry in tx.audit.of(Scope(user=user), kind)]
            for user in ("ann", "bo", "小林")
            for kind in (JobType.EXTRACT, JobType.EMBED)
        }
        messages = sum(len(tx.messages.outline(Scope(user=user))) for user in ("ann", "bo", "小林"))
    database.close()

    captured = {job.trace for job in jobs}
    assert acknowledged <= captured
    assert len(captured - acknowledged) <= 1  # committed, and killed before it could say so
    assert messages == 2 * len(captured)
    assert {job.state for job in jobs} == {JobState.SUCCESS}
    assert any(job.retry_count for job in jobs)  # the one taken over
    for (user, kind), order in kept.items():
        expected = [job.id for job in jobs if (job.user, job.type) == (user, kind)]
        assert sorted(order) == expected  # each once
        if kind is JobType.EXTRACT:
            assert order == expected
