"""Every part by name, top to bottom; the only file that knows them all."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from perdure.control.audit import Audit
from perdure.control.cleanup import WORDS, Cleaner
from perdure.control.costs import Costs
from perdure.control.erase import Eraser
from perdure.control.items import Items
from perdure.control.keys import Keys
from perdure.control.ledger import LateLedger
from perdure.control.metrics import Metrics
from perdure.control.preferences import UserPreferences
from perdure.control.queue import Queue
from perdure.control.runtime import Runtime
from perdure.control.undo import Undo
from perdure.control.uses import Uses
from perdure.control.verdicts import Verdicts
from perdure.events.way import Way, homecoming
from perdure.jobs.backlog import Backlog
from perdure.jobs.job import Handler
from perdure.jobs.upkeep import Chore, Upkeep
from perdure.jobs.worker import Worker
from perdure.learn.basic import extract_basic
from perdure.learn.consolidate import Consolidator
from perdure.learn.steps import Learner
from perdure.observe import Meter
from perdure.ports import Clock
from perdure.recall.answer import Recaller
from perdure.settings import Settings
from perdure.store.file import check_policy
from perdure.types import JobType
from perdure.vectors.fill import Filler
from perdure.vectors.reconcile import Reconciler
from perdure.wiring.models import chat_model, embedder_of, reranker_of
from perdure.wiring.parts import Closing, Parts, Task, Warming
from perdure.wiring.places import bus_of, database_of, handover_of, index_of, is_file


def _warming(part: Warming) -> Task:
    """Loads what is slow to load, so that the first recall need not wait for it."""

    def warm(_: threading.Event) -> None:
        part.warm()

    return warm


def now() -> datetime:
    """The time by this machine's clock, in UTC."""
    return datetime.now(UTC)


def wire(settings: Settings, clock: Clock = now, *, patient: bool = False) -> Parts:
    """Build every part that the settings ask for. Starts no thread.

    Args:
        settings: of the deployment.
        clock: now.
        patient: a database server may answer later.

    Raises:
        Misconfigured: two settings do not go together; the error names them.
        Corrupt: the database file is none.
        DatabaseUnavailable: the database does not answer.
    """
    meter = Meter()
    desktop = is_file(settings)
    database = database_of(settings, clock, patient=patient)
    runtime = Runtime(database, settings.policy, clock, check_policy if desktop else None)
    chat = chat_model(settings, meter)
    embedder = None if desktop else embedder_of(settings, meter)
    index = index_of(settings, embedder, clock, meter)
    before = handover_of(settings, database, index, clock, meter)
    backlog = Backlog(
        database,
        settings.policy.jobs,
        {JobType.EMBED, JobType.RECONCILE},
        clock=clock,
        meter=meter,
    )
    reranker = reranker_of(settings, meter)
    ledger = LateLedger(database, runtime.policy_of, clock, meter)
    learner = Learner(
        database=database,
        chat=chat,
        extraction_model=settings.extraction_model,
        basic=extract_basic,
        embedder=embedder,
        index=index,
        policy_of=runtime.policy_of,
        switches=settings.switches,
        clock=clock,
        meter=meter,
        ledger=ledger,
    )
    consolidator = Consolidator(
        database=database,
        chat=chat,
        extraction_model=settings.extraction_model,
        index=index,
        embeds=index is not None and settings.switches.vectors,
        policy_of=runtime.policy_of,
        switches=settings.switches,
        clock=clock,
        meter=meter,
    )
    filler = Filler(
        database=database,
        embedder=embedder,
        index=index,
        clock=clock,
        policy=settings.policy.capture,
        ledger=ledger,
    )
    cleaner = Cleaner(
        database=database,
        index=index,
        policy_of=runtime.policy_of,
        clock=clock,
        meter=meter,
    )
    reconciler = Reconciler(
        database=database,
        embedder=embedder,
        index=index,
        policy_of=runtime.policy_of,
        clock=clock,
        meter=meter,
    )
    bus = bus_of(settings)
    eraser = Eraser(
        database=database,
        indexes=[] if index is None else [index, *([] if before is None else [before.index])],
        policy=settings.policy.jobs,
        clock=clock,
        meter=meter,
        unsearched=() if bus is None else ("bus",),
    )
    uses = Uses(database, runtime.policy_of, clock)
    recaller = Recaller(
        database=database,
        embedder=embedder,
        index=index,
        reranker=reranker,
        before=before,
        switches=settings.switches,
        clock=clock,
        meter=meter,
        ledger=ledger,
    )
    keys = Keys(database=database, clock=clock, wait_s=settings.policy.database.key_s)
    closing: list[Callable[[], None]] = [recaller.close, keys.close, ledger.write]
    learning: Mapping[JobType, Handler] = (
        {JobType.EXTRACT: learner, JobType.CONSOLIDATE: consolidator}
        if settings.enabled and settings.learn
        else {}  # promised turns wait for a process that learns: switching back loses none
    )
    worker = Worker(
        database,
        {
            **learning,
            JobType.EMBED: filler,
            JobType.RECONCILE: reconciler,
            JobType.CLEANUP: cleaner,
            JobType.ERASE: eraser,
        },
        settings.policy.jobs,
        clock=clock,
        meter=meter,
        rng=random.Random(),  # noqa: S311 - jitter, not cryptography
        forgets=WORDS,
        backlog=backlog,
    )
    way = (
        None
        if bus is None
        else Way.over(
            bus, database, settings.policy.jobs, clock=clock, meter=meter, arrived=worker.notify
        )
    )
    old: tuple[object, ...] = () if before is None else (before.embedder, before.index)
    holders: tuple[object, ...] = (bus, chat, embedder, reranker, index, *old)
    slow: tuple[tuple[str, object], ...] = (("embedder", embedder), ("reranker", reranker))
    closing += [part.close for part in holders if isinstance(part, Closing)]
    return Parts(
        settings=settings,
        clock=clock,
        meter=meter,
        database=database,
        chat=chat,
        embedder=embedder,
        index=index,
        reranker=reranker,
        recaller=recaller,
        worker=worker,
        upkeep=Upkeep(
            database,
            settings.policy.jobs,
            clock=clock,
            chores=(
                Chore(every_s=settings.policy.jobs.cleanup_s, due=cleaner.due),
                Chore(every_s=settings.policy.jobs.reconcile_s, due=reconciler.due),
            ),
        ),
        items=Items(
            database=database,
            embedder=embedder,
            index=index,
            policy_of=runtime.policy_of,
            clock=clock,
            ledger=ledger,
        ),
        verdicts=Verdicts(
            database=database,
            embedder=embedder,
            index=index,
            policy_of=runtime.policy_of,
            clock=clock,
            meter=meter,
            ledger=ledger,
            uses=uses,
        ),
        consolidator=consolidator,
        undo=Undo(
            database=database,
            embedder=embedder,
            index=index,
            policy_of=runtime.policy_of,
            clock=clock,
        ),
        cleaner=cleaner,
        reconciler=reconciler,
        eraser=eraser,
        audit=Audit(database=database, clock=clock),
        costs=Costs(database=database, clock=clock),
        metrics=Metrics(database=database, meter=meter, clock=clock),
        preferences=UserPreferences(database=database, policy_of=runtime.policy_of, clock=clock),
        runtime=runtime,
        keys=keys,
        queue=Queue(database=database, clock=clock),
        uses=uses,
        backlog=backlog,
        way=way,
        beside=(
            *(() if way is not None else (("perdure-homecoming", homecoming(database, clock)),)),
            *(
                (f"perdure-warm-{name}", _warming(part))
                for name, part in slow
                if isinstance(part, Warming)
            ),
        ),
        closing=(*closing, database.close),
    )
