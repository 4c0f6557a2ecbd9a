"""One of several processes that capture and work at once; started by test_crew.py.

Says "ready" on its standard output, waits for a line, then says each capture once it is committed.
Ends when all is done, but not before it reads another line: whoever dies must leave somebody.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from datetime import UTC, datetime

from perdure.jobs.worker import Worker
from perdure.observe import Meter
from perdure.policy import JobsPolicy
from perdure.store.database import SqlDatabase
from perdure.types import (
    Actor,
    AuditEntry,
    JobState,
    JobType,
    Message,
    Operation,
    Promise,
    Role,
    Scope,
    new_id,
)

USERS = ("ann", "bo", "小林")
FATAL = 5  # the job that kills the first process


def main(url: str, number: int, captures: int) -> None:
    print("ready", flush=True)  # noqa: T201 - so that all begin together
    sys.stdin.readline()
    database = SqlDatabase.open(url, clock=now)
    done = 0

    def handler(job):
        nonlocal done
        done += 1
        time.sleep(random.Random(job.id).random() * 0.003)
        if number == 0 and done == FATAL:
            os.kill(os.getpid(), signal.SIGKILL)
        return lambda tx: kept(tx, job)

    worker = Worker(
        database,
        {JobType.EXTRACT: handler, JobType.EMBED: lambda job: lambda tx: kept(tx, job)},
        JobsPolicy(lease_s=1.0),
        clock=now,
        meter=Meter(),
        rng=random.Random(number),
    )
    for turn in range(captures):
        capture(database, Scope(user=USERS[turn % 3]), f"c{number}", f"{number}-{turn}")
        worker.run_once()
    last = threading.Event()
    threading.Thread(target=hear, args=(last,), daemon=True).start()
    while unfinished(database) or not last.is_set():
        if not worker.run_once():
            time.sleep(0.02)
    database.close()


def hear(last):
    sys.stdin.readline()
    last.set()


def now():
    return datetime.now(UTC)


def capture(database, scope, conversation, name):
    """A turn, the promise to learn from it and the promise to index it, in one commit."""
    said = [Message(Role.USER, name, id=f"{name}-u"), Message(Role.ASSISTANT, "ok", id=f"{name}-a")]

    def keep(tx):
        tx.messages.add(scope, conversation, said, now(), name)
        for kind in (JobType.EXTRACT, JobType.EMBED):
            promise = Promise(
                type=kind, namespace=scope.namespace, user=scope.user, key=f"{kind} {name}",
                payload={}, trace=name, ordered=kind is JobType.EXTRACT,
            )  # fmt: skip
            tx.jobs.promise(promise, now())

    database.run(keep, scope)
    print(name, flush=True)  # noqa: T201 - what the test reads


def kept(tx, job):
    """Writes down that a promise was kept."""
    entry = AuditEntry(
        id=new_id(now()), item=job.type, namespace=job.namespace, user=job.user,
        operation=Operation.CREATE, actor=Actor.SYSTEM, reason=str(job.id), before=None,
        after=None, at=now(),
    )  # fmt: skip
    tx.audit.add([entry])
    return {}


def unfinished(database):
    with database.read() as tx:
        return any(not state.finished for state in tx.jobs.depth(now()) if state in JobState)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
