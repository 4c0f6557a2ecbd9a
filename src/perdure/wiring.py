"""Settings become running parts, by name, top to bottom; the only file that knows them all.

Clients of endpoints are imported where they are made: loading the client library takes a third of
a start, and most commands ask no model.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from perdure.control.audit import Audit
from perdure.control.cleanup import WORDS, Cleaner
from perdure.control.costs import Costs
from perdure.control.erase import Eraser
from perdure.control.items import Items
from perdure.control.keys import Keys
from perdure.control.ledger import LateLedger
from perdure.control.metrics import Metrics
from perdure.control.preferences import UserPreferences
from perdure.control.runtime import Runtime
from perdure.control.undo import Undo
from perdure.control.uses import Uses
from perdure.control.verdicts import Verdicts
from perdure.errors import Misconfigured, MissingExtra, VectorsUnavailable
from perdure.events.way import Way, homecoming
from perdure.jobs.backlog import Backlog
from perdure.jobs.job import Handler
from perdure.jobs.upkeep import Chore, Upkeep
from perdure.jobs.worker import Worker
from perdure.learn.basic import extract_basic
from perdure.learn.consolidate import Consolidator
from perdure.learn.steps import Learner
from perdure.models.bundled import SIMILARITY, BundledEmbedder
from perdure.models.calibrate import read as read_similarity
from perdure.models.e5 import SIMILARITY as E5_SIMILARITY
from perdure.models.e5 import E5Embedder
from perdure.observe import Meter
from perdure.policy import Policy
from perdure.ports import (
    Bus,
    ChatModel,
    Clock,
    Database,
    Embedder,
    Handover,
    Outside,
    Reranker,
    VectorIndex,
)
from perdure.recall.answer import Recaller
from perdure.settings import Settings
from perdure.store.database import SqlDatabase
from perdure.store.file import FileDatabase, check_policy
from perdure.types import EVENTS, JobType, Switches
from perdure.vectors.fill import Filler
from perdure.vectors.fits import check_length
from perdure.vectors.handover import OldVectors
from perdure.vectors.milvus import MilvusHost
from perdure.vectors.outside import OutsideIndex
from perdure.vectors.pgvector import PgVectorHost
from perdure.vectors.reconcile import Reconciler
from perdure.vectors.table import TableIndex

VectorsNow: TypeAlias = Literal["on", "off", "paused", "unavailable"]
"""Paused: made later, since much else waits. Unavailable: words answer until the index does."""

Task: TypeAlias = Callable[[threading.Event], None]
"""Runs in a thread of its own until the event is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """One running Perdure, taken apart."""

    settings: Settings
    clock: Clock
    meter: Meter
    database: Database
    chat: ChatModel | None
    embedder: Embedder | None
    index: VectorIndex | None
    reranker: Reranker | None
    recaller: Recaller
    worker: Worker
    upkeep: Upkeep
    items: Items
    verdicts: Verdicts
    consolidator: Consolidator
    undo: Undo
    cleaner: Cleaner
    reconciler: Reconciler
    eraser: Eraser
    audit: Audit
    costs: Costs
    metrics: Metrics
    preferences: UserPreferences
    runtime: Runtime
    keys: Keys
    uses: Uses
    backlog: Backlog
    way: Way | None = None
    """The way out over a bus; None: there is none."""
    beside: tuple[tuple[str, Task], ...] = ()
    """More that runs beside the conversation: name and task of each thread."""
    closing: tuple[Callable[[], None], ...] = ()
    """What gives back connections and threads, in order."""

    @property
    def switches(self) -> Switches:
        """The deployment's switches."""
        return self.settings.switches

    def policy_of(self, namespace: str) -> Policy:
        """The numbers that hold for a namespace now."""
        return self.runtime.policy_of(namespace)

    def check(self) -> None:
        """The embedder's vectors go with those that are stored.

        Raises:
            Misconfigured: they have another length; the error says both.
        """
        if self.embedder is not None and self.index is not None:
            check_length(self.database, self.embedder, self.index)

    def vectors_now(self) -> VectorsNow:
        """How the search by meaning does.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        if self.index is None or not self.switches.vectors:
            return "off"
        try:
            if isinstance(self.index, Outside):
                self.index.ping()
        except VectorsUnavailable:
            return "unavailable"
        return "paused" if self.backlog.over() else "on"

    def background(self) -> Sequence[tuple[str, Task]]:
        """What runs beside the conversation: name and task of each thread."""
        workers = [
            (f"perdure-worker-{number}", self.worker.run)
            for number in range(self.settings.worker_threads)
        ]
        return [
            *workers,
            ("perdure-upkeep", self.upkeep.run),
            ("perdure-uses", self.uses.run),
            *(() if self.way is None else self.way.tasks),
            *self.beside,
        ]

    def notify(self) -> None:
        """Wake the workers: there may be something to do, or it is time to stop."""
        if self.way is not None:
            self.way.relay.notify()
        self.worker.notify()

    def close(self) -> None:
        """Give everything back."""
        self.uses.write()
        for close in self.closing:
            close()


@runtime_checkable
class Closing(Protocol):
    """A part that holds connections or threads."""

    def close(self) -> None:
        """Give them back."""
        ...


@runtime_checkable
class Warming(Protocol):
    """A part that is slow the first time."""

    def warm(self) -> None:
        """Be slow now."""
        ...


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
    eraser = Eraser(
        database=database,
        indexes=[] if index is None else [index, *([] if before is None else [before.index])],
        policy=settings.policy.jobs,
        clock=clock,
        meter=meter,
    )
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
    closing: list[Callable[[], None]] = [recaller.close, ledger.write]
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
    bus = bus_of(settings)
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
        preferences=UserPreferences(database=database, policy_of=runtime.policy_of),
        runtime=runtime,
        keys=Keys(database=database, clock=clock),
        uses=Uses(database, clock),
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


def is_file(settings: Settings) -> bool:
    """Memories live in a desktop file, not in a database."""
    return "://" not in settings.database_url and settings.database_url.endswith(".json")


def database_of(settings: Settings, clock: Clock, *, patient: bool = False) -> Database:
    """Where memories live."""
    if not is_file(settings):
        leaving = () if settings.bus == "none" else EVENTS
        return SqlDatabase.open(
            settings.database_url,
            clock=clock,
            policy=settings.policy.database,
            leaving=leaving,
            patient=patient,
        )
    if settings.bus != "none":
        raise Misconfigured("A desktop file has no outbox.", field="PERDURE_BUS")
    check_policy(settings.policy)
    return FileDatabase.open(
        Path(settings.database_url),
        clock=clock,
        normalisation=settings.policy.item.normalisation,
        busy_s=settings.policy.database.busy_s,
    )


def bus_of(settings: Settings) -> Bus | None:
    """What carries events; it is reached when there is something to carry."""
    if settings.bus == "none":
        return None
    if settings.kafka_servers is None:
        raise Misconfigured("Kafka needs an address.", field="PERDURE_KAFKA_SERVERS")
    try:
        from perdure.events.kafka import KafkaBus  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise MissingExtra("kafka") from None
    reached: dict[str, Any] = {
        "bootstrap.servers": settings.kafka_servers,
        "security.protocol": settings.kafka_security,
    }
    if settings.kafka_security.startswith("sasl"):
        reached["sasl.mechanism"] = settings.kafka_mechanism
        reached["sasl.username"] = settings.kafka_username or ""
        reached["sasl.password"] = settings.kafka_password or ""
    return KafkaBus(
        reached,
        prefix=settings.kafka_topic_prefix,
        group=settings.kafka_group,
        policy=settings.policy.bus,
    )


def chat_model(settings: Settings, meter: Meter) -> ChatModel | None:
    """The model that learns; None means the built-in extractor."""
    if settings.llm_base_url is None and settings.llm_api_key is None:
        return None
    model = settings.extraction_model or settings.llm_model
    if model is None:
        raise Misconfigured("A model endpoint needs a model.", field="PERDURE_LLM_MODEL")
    from perdure.models.chat import OpenAIChat  # noqa: PLC0415 - a slow import, see the top

    return OpenAIChat(
        base_url=settings.llm_base_url,
        api_key=settings.llm_api_key,
        model=settings.llm_model or model,
        meter=meter,
    )


def embedder_of(settings: Settings, meter: Meter) -> Embedder | None:
    """What turns texts into vectors; None searches by words only."""
    if not settings.vectors or settings.embedder == "none" or not compares(settings.policy):
        return None
    measured = settings.embedding_similarity
    similarity = None if measured is None else read_similarity(measured)
    if settings.embedder == "bundled":
        return BundledEmbedder(similarity=similarity or SIMILARITY)
    if settings.embedder == "e5":
        return E5Embedder(similarity=similarity or E5_SIMILARITY)
    from perdure.models.embed import USUAL, FastEmbed, OpenAIEmbedder  # noqa: PLC0415 - a slow import, see the top

    if settings.embedder == "fastembed":
        return FastEmbed(settings.embedding_model, similarity=similarity or USUAL)
    if settings.embedding_model is None:
        raise Misconfigured("It needs a model.", field="PERDURE_EMBEDDING_MODEL")
    return OpenAIEmbedder(
        base_url=settings.embedding_base_url or settings.llm_base_url,
        api_key=settings.embedding_api_key or settings.llm_api_key,
        model=settings.embedding_model,
        meter=meter,
        similarity=similarity or USUAL,
    )


def compares(policy: Policy) -> bool:
    """Does anything ask for vectors? Making them for nobody costs a start and memory."""
    learns = policy.decide.strategy == "two_call" or policy.decide.guard_dismissed
    return learns or policy.search.semantic or policy.capture.episodes


def index_of(
    settings: Settings, embedder: Embedder | None, clock: Clock, meter: Meter
) -> VectorIndex | None:
    """Where vectors are kept. Nothing is connected yet."""
    if embedder is None:
        return None
    url = settings.vector_url
    if settings.vector_index == "table":
        return TableIndex(embedder.model, meter=meter)
    if settings.vector_index == "milvus":
        if url is None:
            raise Misconfigured("Milvus needs an address.", field="PERDURE_VECTOR_URL")
        milvus = MilvusHost(url, settings.vector_token, embedder.model)
        return OutsideIndex(milvus, embedder.model, clock=clock)
    pgvector = PgVectorHost(url or settings.database_url, embedder.model)
    return OutsideIndex(pgvector, embedder.model, clock=clock)


def handover_of(
    settings: Settings,
    database: Database,
    index: VectorIndex | None,
    clock: Clock,
    meter: Meter,
) -> Handover | None:
    """What answers until the index is complete: the embedder before, or the table before."""
    if index is None:
        return None
    if settings.embedder_before != "none":
        former = settings.but(
            embedder=settings.embedder_before,
            embedding_model=settings.embedding_model_before,
            embedding_similarity=None,
        )
    elif settings.vector_index == "table":
        return None
    else:
        former = settings.but(vector_index="table")
    embedder = embedder_of(former, meter)
    old = index_of(former, embedder, clock, meter)
    if embedder is None or old is None or old.model == index.model:
        return None
    before = OldVectors(database, embedder, old, index)
    before.look()  # what was complete before the start is so from the first question on
    return before


def reranker_of(settings: Settings, meter: Meter) -> Reranker | None:
    """What gives a second opinion on the order; None: the order of the scores stands."""
    wanted = settings.reranker == "fastembed" or settings.rerank_base_url is not None
    if settings.reranker == "none" or not wanted:
        return None
    from perdure.models.rerank import EndpointReranker, FastEmbedReranker  # noqa: PLC0415 - a slow import, see the top

    if settings.reranker == "fastembed" or settings.rerank_base_url is None:
        return FastEmbedReranker(settings.rerank_model)
    return EndpointReranker(
        settings.rerank_base_url, settings.rerank_api_key, settings.rerank_model, meter=meter
    )
