"""What the core needs from the outside: stores, models, clock. One responsibility each."""

from __future__ import annotations

from perdure.ports.audit import AuditFilter, AuditStore
from perdure.ports.bus import Bus, Letter
from perdure.ports.callers import KeyStore, RequestStore
from perdure.ports.clock import Clock
from perdure.ports.database import Also, Database, Joining, Result, Transaction
from perdure.ports.indexes import Handover, Hit, Outside, VectorHost, VectorIndex
from perdure.ports.jobs import JobStore, OutboxStore
from perdure.ports.memories import ItemFilter, MemoryStore, Page
from perdure.ports.messages import ConversationState, MessageStore
from perdure.ports.models import (
    Account,
    ChatModel,
    EmbedAction,
    Embedder,
    Ledger,
    Model,
    Paid,
    Question,
    Reply,
    Reranker,
    Similarity,
    Used,
    Vector,
    Vectors,
    on_account,
)
from perdure.ports.people import (
    Due,
    ErasureStore,
    FeedbackStore,
    OwnerStore,
    RuntimeStore,
    SpendStore,
    UserStore,
)
from perdure.ports.vectors import Corpus, VectorEntry, VectorRows, VectorTable
from perdure.ports.words import FullText, Posting, Postings

__all__ = [
    "Account",
    "Also",
    "AuditFilter",
    "AuditStore",
    "Bus",
    "ChatModel",
    "Clock",
    "ConversationState",
    "Corpus",
    "Database",
    "Due",
    "EmbedAction",
    "Embedder",
    "ErasureStore",
    "FeedbackStore",
    "FullText",
    "Handover",
    "Hit",
    "ItemFilter",
    "JobStore",
    "Joining",
    "KeyStore",
    "Ledger",
    "Letter",
    "MemoryStore",
    "MessageStore",
    "Model",
    "OutboxStore",
    "Outside",
    "OwnerStore",
    "Page",
    "Paid",
    "Posting",
    "Postings",
    "Question",
    "Reply",
    "RequestStore",
    "Reranker",
    "Result",
    "RuntimeStore",
    "Similarity",
    "SpendStore",
    "Transaction",
    "Used",
    "UserStore",
    "Vector",
    "VectorEntry",
    "VectorHost",
    "VectorIndex",
    "VectorRows",
    "VectorTable",
    "Vectors",
    "on_account",
]
