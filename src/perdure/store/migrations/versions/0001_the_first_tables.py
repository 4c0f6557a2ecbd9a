"""The first tables."""

from __future__ import annotations

from typing import Any

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeEngine

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TEXT = Text()
_ID = String(64)
_WORD = String(16)
_BINDING = String(128)
_LONG = String(255)
_WHOLE = Integer()
_FLAG = Boolean()
_MOMENT = BigInteger()  # microseconds since 1970


def upgrade() -> None:
    """Create every table on an empty database."""
    _people()
    _conversations()
    _memories()
    _jobs()
    _indexes()


def _must(name: str, kind: TypeEngine[Any]) -> Column[Any]:
    return Column(name, kind, nullable=False)


def _may(name: str, kind: TypeEngine[Any]) -> Column[Any]:
    return Column(name, kind, nullable=True)


def _owner() -> tuple[Column[Any], Column[Any]]:
    return _must("namespace", _ID), _must("user_id", _LONG)


def _number() -> Column[Any]:
    return _must("id", BigInteger().with_variant(Integer(), "sqlite"))


def _key(table: str, *names: str) -> PrimaryKeyConstraint:
    return PrimaryKeyConstraint(*names, name=op.f(f"pk_{table}"))


def _people() -> None:
    op.create_table(
        "perdure_users",
        *_owner(),
        _may("memory_enabled", _FLAG),
        _may("auto_learn", _FLAG),
        _may("sensitive_allowed", _FLAG),
        _must("memories_revision", BigInteger()),
        _must("episodes_revision", BigInteger()),
        _must("updated_at", _MOMENT),
        _key("perdure_users", "namespace", "user_id"),
    )
    op.create_table(
        "perdure_runtime_values",
        _must("namespace", _ID),
        _must("name", _BINDING),
        _must("value", _TEXT),
        _key("perdure_runtime_values", "namespace", "name"),
    )
    op.create_table(
        "perdure_audit_log",
        _number(),
        *_owner(),
        _must("entry_id", _ID),
        _must("item_id", _ID),
        _must("operation", _WORD),
        _must("actor", _WORD),
        _must("reason", _TEXT),
        _may("before", _TEXT),
        _may("after", _TEXT),
        _must("at", _MOMENT),
        _may("trace", _ID),
        _key("perdure_audit_log", "id"),
        sqlite_autoincrement=True,
    )


def _conversations() -> None:
    op.create_table(
        "perdure_conversations",
        *_owner(),
        _must("conversation_id", _BINDING),
        _must("watermark", BigInteger()),
        _may("project", _BINDING),
        _may("assistant", _BINDING),
        _may("run", _BINDING),
        _must("created_at", _MOMENT),
        _must("updated_at", _MOMENT),
        _key("perdure_conversations", "namespace", "user_id", "conversation_id"),
    )
    op.create_table(
        "perdure_messages",
        _number(),
        *_owner(),
        _must("conversation_id", _BINDING),
        _must("message_id", _BINDING),
        _must("role", _WORD),
        _may("name", _BINDING),
        _must("content", _TEXT),
        _must("chars", _WHOLE),
        _must("at", _MOMENT),
        _must("trace", _ID),
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
    op.create_table(
        "perdure_memories",
        *_owner(),
        _must("id", _ID),
        _must("level", _WORD),
        _may("project", _BINDING),
        _may("assistant", _BINDING),
        _may("run", _BINDING),
        _may("conversation_id", _BINDING),
        _must("kind", _WORD),
        _must("title", _TEXT),
        _must("content", _TEXT),
        _must("normalized_content", _TEXT),
        _must("folded_content", _TEXT),
        _must("content_hash", _ID),
        _must("confidence", Double()),
        _must("importance", Double()),
        _must("sensitivity", _WHOLE),
        _must("explicit", _FLAG),
        _must("source", _WORD),
        _must("edited_by_user", _FLAG),
        _must("suspicious", _FLAG),
        _must("status", _WORD),
        _must("vector_status", _WORD),
        _must("metadata", _TEXT),
        _may("source_message_id", _BINDING),
        _must("origin_messages", _TEXT),
        _may("origin_conversation", _BINDING),
        _may("origin_event", _LONG),
        _may("origin_job", _ID),
        _may("origin_trace", _ID),
        _may("origin_model", _LONG),
        _may("origin_prompt", _LONG),
        _must("use_count", _WHOLE),
        _may("expires_at", _MOMENT),
        _may("last_access_at", _MOMENT),
        _must("created_at", _MOMENT),
        _must("updated_at", _MOMENT),
        _key("perdure_memories", "namespace", "user_id", "id"),
        UniqueConstraint(
            "namespace", "user_id", "content_hash", name="uq_perdure_memories_statement"
        ),
    )
    op.create_table(
        "perdure_tombstones",
        *_owner(),
        _must("content_hash", _ID),
        _must("conversation_id", _BINDING),
        _must("message_id", _BINDING),
        _must("at", _MOMENT),
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
    op.create_table(
        "perdure_vectors",
        *_owner(),
        _must("corpus", _WORD),
        _must("model", _BINDING),
        _must("ref", _ID),
        _must("dimension", _WHOLE),
        _must("parts", LargeBinary()),
        _key("perdure_vectors", "namespace", "user_id", "corpus", "model", "ref"),
    )
    op.create_table(
        "perdure_texts",
        _number(),
        *_owner(),
        _must("corpus", _WORD),
        _must("ref", _ID),
        _must("length", _WHOLE),
        _key("perdure_texts", "id"),
        UniqueConstraint("namespace", "user_id", "corpus", "ref", name="uq_perdure_texts_ref"),
        sqlite_autoincrement=True,
    )
    if op.get_context().dialect.name == "sqlite":
        op.execute(
            "CREATE VIRTUAL TABLE perdure_terms"
            " USING fts5(tokens, tokenize = 'ascii', columnsize = 0)"
        )
        op.execute("CREATE VIRTUAL TABLE perdure_places USING fts5vocab(perdure_terms, instance)")


def _jobs() -> None:
    op.create_table(
        "perdure_jobs",
        _number(),
        _must("type", _WORD),
        *_owner(),
        _may("conversation_id", _BINDING),
        _may("source_message_id", _BINDING),
        _must("idempotency_key", _ID),
        _must("key", _TEXT),
        _must("payload", _TEXT),
        _must("result", _TEXT),
        _must("trace", _ID),
        _must("state", _WORD),
        _must("ordered", _FLAG),
        _must("retry_count", _WHOLE),
        _must("max_retry", _WHOLE),
        _may("next_retry_at", _MOMENT),
        _may("lease_until", _MOMENT),
        _may("token", _ID),
        _may("running_key", _ID),
        _may("last_error", String(2_000)),
        _must("created_at", _MOMENT),
        _must("updated_at", _MOMENT),
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
        op.create_index(f"ix_perdure_{table}_{name}", f"perdure_{table}", columns)
