"""Settings become running parts."""

from __future__ import annotations

from perdure.wiring.models import chat_model, compares, embedder_of, reranker_of
from perdure.wiring.parts import Closing, Parts, Task, VectorsNow, Warming
from perdure.wiring.places import bus_of, database_of, handover_of, index_of, is_file
from perdure.wiring.running import now, wire

__all__ = [
    "Closing",
    "Parts",
    "Task",
    "VectorsNow",
    "Warming",
    "bus_of",
    "chat_model",
    "compares",
    "database_of",
    "embedder_of",
    "handover_of",
    "index_of",
    "is_file",
    "now",
    "reranker_of",
    "wire",
]
