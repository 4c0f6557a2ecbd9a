"""Settings become places: where memories, vectors and events go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perdure.errors import Misconfigured, MissingExtra
from perdure.observe import Meter
from perdure.ports import Bus, Clock, Database, Embedder, Handover, VectorIndex
from perdure.settings import Settings
from perdure.store.database import SqlDatabase
from perdure.store.file import FileDatabase, check_policy
from perdure.types import EVENTS
from perdure.vectors.handover import OldVectors
from perdure.vectors.milvus import MilvusHost
from perdure.vectors.outside import OutsideIndex
from perdure.vectors.pgvector import PgVectorHost
from perdure.vectors.table import TableIndex
from perdure.wiring.models import embedder_of


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
