"""The first tables."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Double,
    Integer,
    PrimaryKeyConstraint,
    UniqueConstraint,
)

from perdure.store.migrations.steps import (
    BYTES,
    LONG,
    MOMENT,
    NUMBER,
    create_index,
    create_table,
    line,
    may,
    must,
    owner,
    sqlite,
)

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ID = line(64)
_WORD = line(16)
_BINDING = line(128)
_NAME = line(255)
_WHOLE = Integer()
_FLAG = Boolean()


def upgrade() -> None:
    """Create every table on an empty database."""
    _people()
    _conversations()
    _memories()
    _jobs()
    _indexes()


def _key(table: str, *names: str) -> PrimaryKeyConstraint:
    return PrimaryKeyConstraint(*names, name=op.f(f"pk_{table}"))


def _people() -> None:
    create_table(
        "perdure_users",
        *owner(),
        may("memory_enabled", _FLAG),
        may("auto_learn", _FLAG),
        may("sensitive_allowed", _FLAG),
        must("memories_revision", BigInteger()),
        must("episodes_revision", BigInteger()),
        must("updated_at", MOMENT),
        _key("perdure_users", "namespace", "user_id"),
    )
    create_table(
        "perdure_runtime_values",
        must("namespace", _ID),
        must("name", _BINDING),
        must("value", LONG),
        _key("perdure_runtime_values", "namespace", "name"),
    )
    create_table(
        "perdure_audit_log",
        must("id", NUMBER),
        *owner(),
        must("entry_id", _ID),
        must("item_id", _ID),
        must("operation", _WORD),
        must("actor", _WORD),
        must("reason", LONG),
        may("before", LONG),
        may("after", LONG),
        must("at", MOMENT),
        may("trace", _ID),
        _key("perdure_audit_log", "id"),
        sqlite_autoincrement=True,
    )


def _conversations() -> None:
    create_table(
        "perdure_conversations",
        *owner(),
        must("conversation_id", _BINDING),
        must("watermark", BigInteger()),
        may("project", _BINDING),
        may("assistant", _BINDING),
        may("run", _BINDING),
        must("created_at", MOMENT),
        must("updated_at", MOMENT),
        _key("perdure_conversations", "namespace", "user_id", "conversation_id"),
    )
    create_table(
        "perdure_messages",
        must("id", NUMBER),
        *owner(),
        must("conversation_id", _BINDING),
        must("message_id", _BINDING),
        must("role", _WORD),
        may("name", _BINDING),
        must("content", LONG),
        must("chars", _WHOLE),
        must("at", MOMENT),
        must("trace", _ID),
        _key("perdure_messages", "id"),
        UniqueConstraint(
            "namespace",
            "user_id",
            "conversation_id",
            "message_id",
            name="uq_perdure_messages_message",
        ),
        sqlite_autoincrement=True,
    )


def _memories() -> None:
    create_table(
        "perdure_memories",
        *owner(),
        must("id", _ID),
        must("level", _WORD),
        may("project", _BINDING),
        may("assistant", _BINDING),
        may("run", _BINDING),
        may("conversation_id", _BINDING),
        must("kind", _WORD),
        must("title", LONG),
        must("content", LONG),
        must("normalized_content", LONG),
        must("folded_content", LONG),
        must("content_hash", _ID),
        must("confidence", Double()),
        must("importance", Double()),
        must("sensitivity", _WHOLE),
        must("explicit", _FLAG),
        must("source", _WORD),
        must("edited_by_user", _FLAG),
        must("suspicious", _FLAG),
        must("status", _WORD),
        must("vector_status", _WORD),
        must("metadata", LONG),
        may("source_message_id", _BINDING),
        must("origin_messages", LONG),
        may("origin_conversation", _BINDING),
        may("origin_event", _NAME),
        may("origin_job", _ID),
        may("origin_trace", _ID),
        may("origin_model", _NAME),
        may("origin_prompt", _NAME),
        must("use_count", _WHOLE),
        may("expires_at", MOMENT),
        may("last_access_at", MOMENT),
        must("created_at", MOMENT),
        must("updated_at", MOMENT),
        _key("perdure_memories", "namespace", "user_id", "id"),
        UniqueConstraint(
            "namespace", "user_id", "content_hash", name="uq_perdure_memories_statement"
        ),
    )
    create_table(
        "perdure_tombstones",
        *owner(),
        must("content_hash", _ID),
        must("conversation_id", _BINDING),
        must("message_id", _BINDING),
        must("at", MOMENT),
        _key(
            "perdure_tombstones",
            "namespace",
            "user_id",
            "content_hash",
            "conversation_id",
            "message_id",
        ),
    )
    _projections()


def _projections() -> None:
    create_table(
        "perdure_vectors",
        *owner(),
        must("corpus", _WORD),
        must("model", _BINDING),
        must("ref", _ID),
        must("dimension", _WHOLE),
        must("parts", BYTES),
        _key("perdure_vectors", "namespace", "user_id", "corpus", "model", "ref"),
    )
    create_table(
        "perdure_texts",
        must("id", NUMBER),
        *owner(),
        must("corpus", _WORD),
        must("ref", _ID),
        must("length", _WHOLE),
        _key("perdure_texts", "id"),
        UniqueConstraint("namespace", "user_id", "corpus", "ref", name="uq_perdure_texts_ref"),
        sqlite_autoincrement=True,
    )
    if not sqlite():
        create_table(
            "perdure_words",
            must("token", line(80)),
            must("text", BigInteger()),
            must("times", _WHOLE),
            _key("perdure_words", "token", "text"),
        )
        return
    op.execute(
        "CREATE VIRTUAL TABLE perdure_terms USING fts5(tokens, tokenize = 'ascii', columnsize = 0)"
    )
    op.execute("CREATE VIRTUAL TABLE perdure_places USING fts5vocab(perdure_terms, instance)")


def _jobs() -> None:
    create_table(
        "perdure_jobs",
        must("id", NUMBER),
        must("type", _WORD),
        *owner(),
        may("conversation_id", _BINDING),
        may("source_message_id", _BINDING),
        must("idempotency_key", _ID),
        must("key", LONG),
        must("payload", LONG),
        must("result", LONG),
        must("trace", _ID),
        must("state", _WORD),
        must("ordered", _FLAG),
        must("retry_count", _WHOLE),
        must("max_retry", _WHOLE),
        may("next_retry_at", MOMENT),
        may("lease_until", MOMENT),
        may("token", _ID),
        may("running_key", _ID),
        may("last_error", line(2_000)),
        must("created_at", MOMENT),
        must("updated_at", MOMENT),
        _key("perdure_jobs", "id"),
        UniqueConstraint("idempotency_key", name="uq_perdure_jobs_idempotency_key"),
        UniqueConstraint("running_key", name="uq_perdure_jobs_running_key"),
        sqlite_autoincrement=True,
    )


def _indexes() -> None:
    mine = ["namespace", "user_id"]
    for table, name, columns in (
        ("audit_log", "item", [*mine, "item_id", "id"]),
        ("messages", "conversation", [*mine, "conversation_id", "id"]),
        ("messages", "trace", ["trace"]),
        ("memories", "newest", [*mine, "status", "updated_at", "id"]),
        ("memories", "kind", [*mine, "status", "kind", "updated_at"]),
        ("memories", "level", [*mine, "level", "status"]),
        ("memories", "project", [*mine, "project", "status"]),
        ("memories", "conversation", [*mine, "conversation_id", "status", "updated_at"]),
        ("memories", "assistant", [*mine, "assistant", "run", "status", "updated_at"]),
        ("memories", "source_message", [*mine, "source_message_id"]),
        ("memories", "expires_at", ["expires_at"]),
        ("tombstones", "message", [*mine, "message_id"]),
        ("jobs", "due", ["next_retry_at", "id"]),
        ("jobs", "state", ["state", "id"]),
        ("jobs", "owner", [*mine, "ordered", "state", "id"]),
        ("jobs", "trace", ["trace"]),
    ):
        create_index(f"ix_perdure_{table}_{name}", f"perdure_{table}", columns)
    if not sqlite():
        create_index("ix_perdure_words_text", "perdure_words", ["text"])
