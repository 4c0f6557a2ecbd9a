"""The tables, their keys and the indexes that serve the store's questions."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
)

from perdure.store.columns import (
    BYTES,
    ID,
    LONG,
    NAME,
    WORD,
    Document,
    Moment,
    Pairs,
    binding,
    line,
    number,
    owner,
)
from perdure.types import MAX_NAMESPACE

ERROR = 2_000  # characters of a job's last error
_NAMES = {"pk": "pk_%(table_name)s"}

metadata = MetaData(naming_convention=_NAMES)
"""Prefixed names, since a host may keep its own tables in the same database. No foreign keys:
rows belong to an owner, and the store removes what hangs together in one transaction."""


users = Table(
    "perdure_users",
    metadata,
    *owner(),
    Column("memory_enabled", Boolean),  # empty: the user has said nothing
    Column("auto_learn", Boolean),
    Column("sensitive_allowed", Boolean),
    Column("memories_revision", BigInteger, nullable=False, default=0),
    Column("episodes_revision", BigInteger, nullable=False, default=0),
    Column("updated_at", Moment, nullable=False),
    Column("consolidated_at", Moment),  # empty: never
    Column("consolidated_by", line(ID)),  # the run
    PrimaryKeyConstraint("namespace", "user_id"),
)

conversations = Table(
    "perdure_conversations",
    metadata,
    *owner(),
    binding("conversation_id", nullable=False),
    Column("watermark", BigInteger, nullable=False),
    binding("project"),
    binding("assistant"),
    binding("run"),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    PrimaryKeyConstraint("namespace", "user_id", "conversation_id"),
)

messages = Table(
    "perdure_messages",
    metadata,
    number(),
    *owner(),
    binding("conversation_id", nullable=False),
    binding("message_id", nullable=False),
    Column("role", line(WORD), nullable=False),
    binding("name"),
    Column("content", LONG, nullable=False),
    Column("chars", Integer, nullable=False),
    Column("at", Moment, nullable=False),
    Column("trace", line(ID), nullable=False),
    Column("kept_at", Moment),  # when it came in; never empty, but younger than the table
    UniqueConstraint(
        "namespace", "user_id", "conversation_id", "message_id", name="uq_perdure_messages_message"
    ),
    Index("ix_perdure_messages_conversation", "namespace", "user_id", "conversation_id", "id"),
    Index("ix_perdure_messages_trace", "trace"),
    Index("ix_perdure_messages_kept_at", "namespace", "kept_at"),
    sqlite_autoincrement=True,
)

memories = Table(
    "perdure_memories",
    metadata,
    *owner(),
    Column("id", line(ID), nullable=False),
    Column("level", line(WORD), nullable=False),
    binding("project"),
    binding("assistant"),
    binding("run"),
    binding("conversation_id"),
    Column("kind", line(WORD), nullable=False),
    Column("title", LONG, nullable=False),
    Column("content", LONG, nullable=False),
    Column("normalized_content", LONG, nullable=False),
    Column("folded_content", LONG, nullable=False),  # what a search for literal words looks at
    Column("content_hash", line(ID), nullable=False),
    Column("confidence", Double, nullable=False),
    Column("importance", Double, nullable=False),
    Column("sensitivity", Integer, nullable=False),
    Column("explicit", Boolean, nullable=False),
    Column("source", line(WORD), nullable=False),
    Column("edited_by_user", Boolean, nullable=False),
    Column("suspicious", Boolean, nullable=False),
    Column("status", line(WORD), nullable=False),
    Column("vector_status", line(WORD), nullable=False),
    Column("metadata", Pairs, nullable=False),
    binding("source_message_id"),  # the first of origin_messages, for tracing by index
    Column("origin_messages", Document, nullable=False),
    binding("origin_conversation"),
    Column("origin_event", line(NAME)),
    Column("origin_job", line(ID)),
    Column("origin_trace", line(ID)),
    Column("origin_model", line(NAME)),
    Column("origin_prompt", line(NAME)),
    Column("use_count", Integer, nullable=False),
    Column("expires_at", Moment),
    Column("last_access_at", Moment),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    PrimaryKeyConstraint("namespace", "user_id", "id"),
    UniqueConstraint("namespace", "user_id", "content_hash", name="uq_perdure_memories_statement"),
    Index("ix_perdure_memories_newest", "namespace", "user_id", "status", "updated_at", "id"),
    Index("ix_perdure_memories_listed", "namespace", "user_id", "status", "created_at", "id"),
    Index("ix_perdure_memories_kind", "namespace", "user_id", "status", "kind", "updated_at"),
    Index("ix_perdure_memories_level", "namespace", "user_id", "level", "status"),
    Index("ix_perdure_memories_project", "namespace", "user_id", "project", "status"),
    Index(
        "ix_perdure_memories_conversation",
        "namespace",
        "user_id",
        "conversation_id",
        "status",
        "updated_at",
    ),
    Index(
        "ix_perdure_memories_assistant",
        "namespace",
        "user_id",
        "assistant",
        "run",
        "status",
        "updated_at",
    ),
    Index("ix_perdure_memories_source_message", "namespace", "user_id", "source_message_id"),
    Index("ix_perdure_memories_expires_at", "expires_at"),
    Index("ix_perdure_memories_vector_status", "vector_status"),
    Index("ix_perdure_memories_expiry", "namespace", "status", "expires_at"),
)

tombstones = Table(
    "perdure_tombstones",
    metadata,
    *owner(),
    Column("content_hash", line(ID), nullable=False),
    binding("conversation_id", nullable=False),  # of the message; "" on the statement's own row
    binding("message_id", nullable=False),  # the same
    Column("at", Moment, nullable=False),
    PrimaryKeyConstraint("namespace", "user_id", "content_hash", "conversation_id", "message_id"),
    Index("ix_perdure_tombstones_message", "namespace", "user_id", "message_id"),
)

deletions = Table(
    "perdure_deletions",  # deleted memories whose text is still somewhere
    metadata,
    *owner(),
    Column("item_id", line(ID), nullable=False),
    Column("at", Moment, nullable=False),
    PrimaryKeyConstraint("namespace", "user_id", "item_id"),
    Index("ix_perdure_deletions_at", "namespace", "at"),
)

jobs = Table(
    "perdure_jobs",
    metadata,
    number(),
    Column("type", line(WORD), nullable=False),
    *owner(),
    binding("conversation_id"),
    binding("source_message_id"),
    Column("idempotency_key", line(ID), nullable=False),  # fingerprint of owner and key
    Column("key", LONG, nullable=False),
    Column("payload", Document, nullable=False),
    Column("result", Document, nullable=False),
    Column("trace", line(ID), nullable=False),
    Column("state", line(WORD), nullable=False),
    Column("ordered", Boolean, nullable=False),
    Column("retry_count", Integer, nullable=False),
    Column("max_retry", Integer, nullable=False),
    Column("next_retry_at", Moment),  # when it is due; empty unless it waits
    Column("lease_until", Moment),  # empty unless it runs
    Column("token", line(ID)),  # the same: proof of who runs it
    Column("running_key", line(ID)),  # the same: at most one ordered job of an owner runs
    Column("last_error", line(ERROR)),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("span", line(ID)),  # what promised it, for tracing (W3C traceparent)
    UniqueConstraint("idempotency_key", name="uq_perdure_jobs_idempotency_key"),
    UniqueConstraint("running_key", name="uq_perdure_jobs_running_key"),
    Index("ix_perdure_jobs_due", "next_retry_at", "id"),
    Index("ix_perdure_jobs_state", "state", "id"),
    Index("ix_perdure_jobs_since", "state", "updated_at"),
    Index("ix_perdure_jobs_owner", "namespace", "user_id", "ordered", "state", "id"),
    Index("ix_perdure_jobs_trace", "trace"),
    sqlite_autoincrement=True,
)

outbox = Table(
    "perdure_outbox",  # promises on their way out; each goes when its job comes
    metadata,
    number(),
    Column("type", line(WORD), nullable=False),
    *owner(),
    binding("conversation_id"),
    binding("source_message_id"),
    Column("idempotency_key", line(ID), nullable=False),  # the job's
    Column("key", LONG, nullable=False),
    Column("payload", Document, nullable=False),
    Column("trace", line(ID), nullable=False),
    Column("ordered", Boolean, nullable=False),
    Column("max_retry", Integer, nullable=False),
    Column("run_at", Moment),
    Column("created_at", Moment, nullable=False),
    Column("sent_at", Moment),  # when it was last published; empty: not yet
    UniqueConstraint("idempotency_key", name="uq_perdure_outbox_idempotency_key"),
    Index("ix_perdure_outbox_sent", "sent_at", "id"),
    Index("ix_perdure_outbox_owner", "namespace", "user_id", "id"),
    Index("ix_perdure_outbox_trace", "trace"),
    sqlite_autoincrement=True,
)

leads = Table(
    "perdure_leads",  # what only one process does at a time, and which
    metadata,
    number(),
    Column("name", line(WORD), nullable=False),
    Column("token", line(ID), nullable=False),
    Column("lease_until", Moment, nullable=False),
    UniqueConstraint("name", name="uq_perdure_leads_name"),
    sqlite_autoincrement=True,
)

audit_log = Table(
    "perdure_audit_log",
    metadata,
    number(),
    *owner(),
    Column("entry_id", line(ID), nullable=False),
    Column("item_id", line(ID), nullable=False),
    Column("operation", line(WORD), nullable=False),
    Column("actor", line(WORD), nullable=False),
    Column("reason", LONG, nullable=False),
    Column("before", LONG),
    Column("after", LONG),
    Column("at", Moment, nullable=False),
    Column("trace", line(ID)),
    Column("was", LONG),  # a whole memory that left the table, as JSON; empty once scrubbed
    Column("by", line(NAME)),  # which person or key, where that is known
    Column("was_at", Moment),  # since when `was` is there; empty where it is
    Column("moved", LONG),  # fields besides the content, before and after; empty once scrubbed
    Column("imported_by", line(NAME)),  # who handed it in from elsewhere; empty: it happened here
    Index("ix_perdure_audit_log_item", "namespace", "user_id", "item_id", "id"),
    Index("ix_perdure_audit_log_newest", "namespace", "id"),
    Index("ix_perdure_audit_log_user", "namespace", "user_id", "id"),
    Index("ix_perdure_audit_log_was_at", "namespace", "was_at"),
    sqlite_autoincrement=True,
)

feedback = Table(
    "perdure_feedback",
    metadata,
    number(),
    *owner(),
    Column("trace", line(ID), nullable=False),
    Column("item_id", line(ID), nullable=False),
    Column("verdict", line(WORD), nullable=False),
    Column("at", Moment, nullable=False),
    UniqueConstraint(
        "namespace", "user_id", "item_id", "trace", "verdict", name="uq_perdure_feedback_verdict"
    ),
    Index("ix_perdure_feedback_at", "namespace", "at", "verdict"),
    sqlite_autoincrement=True,
)

answers = Table(
    "perdure_answers",  # what an answer said, by id: what its user may judge
    metadata,
    number(),
    *owner(),
    Column("trace", line(ID), nullable=False),
    Column("item_ids", Document, nullable=False),
    Column("at", Moment, nullable=False),
    UniqueConstraint("namespace", "user_id", "trace", name="uq_perdure_answers_trace"),
    Index("ix_perdure_answers_newest", "namespace", "user_id", "id"),
    sqlite_autoincrement=True,
)

vectors = Table(
    "perdure_vectors",
    metadata,
    *owner(),
    Column("corpus", line(WORD), nullable=False),
    Column("model", line(128), nullable=False),
    Column("ref", line(ID), nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("parts", BYTES, nullable=False),  # one vector a part, float32, little endian
    PrimaryKeyConstraint("namespace", "user_id", "corpus", "model", "ref"),
    Index("ix_perdure_vectors_model", "model"),
)

texts = Table(
    "perdure_texts",  # what the full-text index knows: one row a text, see fulltext.py
    metadata,
    number(),
    *owner(),
    Column("corpus", line(WORD), nullable=False),
    Column("ref", line(ID), nullable=False),
    Column("length", Integer, nullable=False),
    UniqueConstraint("namespace", "user_id", "corpus", "ref", name="uq_perdure_texts_ref"),
    sqlite_autoincrement=True,
)

erasures = Table(
    "perdure_erasures",  # what stays of an erased user: counts and times, never a text
    metadata,
    Column("id", line(ID), nullable=False),
    *owner(),
    Column("by", line(NAME), nullable=False),
    Column("asked_at", Moment, nullable=False),
    Column("done_at", Moment),  # empty while it goes on
    Column("removed", Document, nullable=False),  # how many rows of each place
    PrimaryKeyConstraint("id"),
    Index("ix_perdure_erasures_owner", "namespace", "user_id", "asked_at"),
)

spend = Table(
    "perdure_spend",  # by month, model and purpose; the user "" is all of the namespace together
    metadata,
    *owner(),
    Column("month", line(WORD), nullable=False),  # as 2026-11, in UTC
    Column("model", line(NAME), nullable=False),
    Column("purpose", line(WORD), nullable=False),
    Column("calls", BigInteger, nullable=False),
    Column("tokens_in", BigInteger, nullable=False),
    Column("tokens_out", BigInteger, nullable=False),
    Column("cost", Double, nullable=False),  # at the prices of the time
    PrimaryKeyConstraint("namespace", "user_id", "month", "model", "purpose"),
)

runtime_values = Table(
    "perdure_runtime_values",
    metadata,
    Column("namespace", line(MAX_NAMESPACE), nullable=False),
    Column("name", line(128), nullable=False),
    Column("value", Document, nullable=False),
    PrimaryKeyConstraint("namespace", "name"),
)

keys = Table(
    "perdure_keys",
    metadata,
    Column("id", line(ID), nullable=False),
    Column("namespace", line(MAX_NAMESPACE), nullable=False),
    Column("name", line(NAME), nullable=False),
    Column("role", line(WORD), nullable=False),
    Column("permissions", Document, nullable=False),
    Column("hashed", line(ID), nullable=False),  # of the secret, which is nowhere
    Column("created_at", Moment, nullable=False),
    Column("last_used_at", Moment),
    Column("revoked_at", Moment),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("hashed", name="uq_perdure_keys_hashed"),
    Index("ix_perdure_keys_namespace", "namespace", "id"),
)

requests = Table(
    "perdure_requests",  # those with an Idempotency-Key; no word of them, or of their answers
    metadata,
    number(),
    *owner(),
    Column("key", line(ID), nullable=False),  # fingerprint of the client's
    Column("fingerprint", line(ID), nullable=False),
    binding("ref"),  # empty while it is being served
    Column("at", Moment, nullable=False),
    UniqueConstraint("namespace", "user_id", "key", name="uq_perdure_requests_key"),
    Index("ix_perdure_requests_at", "at"),
    sqlite_autoincrement=True,
)
