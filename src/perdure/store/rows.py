"""Memories and jobs as rows of their tables, and back."""

from __future__ import annotations

import json
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Row

from perdure import text
from perdure.store.columns import micros, moment
from perdure.store.schema import memories
from perdure.types import (
    Job,
    JobState,
    JobType,
    Kind,
    Level,
    MemoryItem,
    Origin,
    Outgoing,
    Promise,
    Source,
    Status,
    VectorStatus,
)

COLUMNS = tuple(memories.c[name] for name in memories.c.keys() if name != "folded_content")  # noqa: SIM118 - not a dict
"""What `item` reads, in any order."""
_MOMENTS = ("expires_at", "last_access_at", "created_at", "updated_at")


def row(item: MemoryItem) -> dict[str, Any]:
    """Every column of a memory."""
    origin = item.origin
    return {
        "namespace": item.namespace,
        "user_id": item.user,
        "id": item.id,
        "level": item.level.value,
        "project": item.project,
        "assistant": item.assistant,
        "run": item.run,
        "conversation_id": item.conversation,
        "kind": item.kind.value,
        "title": item.title,
        "content": item.content,
        "normalized_content": item.normalized_content,
        "folded_content": text.normalise(item.content),
        "content_hash": item.content_hash,
        "confidence": item.confidence,
        "importance": item.importance,
        "sensitivity": item.sensitivity,
        "explicit": item.explicit,
        "source": item.source.value,
        "edited_by_user": item.edited_by_user,
        "suspicious": item.suspicious,
        "status": item.status.value,
        "vector_status": item.vector_status.value,
        "metadata": item.metadata,
        "source_message_id": next(iter(origin.messages), None),
        "origin_messages": list(origin.messages),
        "origin_conversation": origin.conversation,
        "origin_event": origin.event,
        "origin_job": origin.job,
        "origin_trace": origin.trace,
        "origin_model": origin.model,
        "origin_prompt": origin.prompt,
        "use_count": item.use_count,
        "expires_at": item.expires_at,
        "last_access_at": item.last_access_at,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def item(found: Row[Any] | SimpleNamespace) -> MemoryItem:
    """The memory of a row of `COLUMNS`."""
    return MemoryItem(
        id=found.id,
        namespace=found.namespace,
        user=found.user_id,
        content=found.content,
        content_hash=found.content_hash,
        created_at=found.created_at,
        updated_at=found.updated_at,
        normalized_content=found.normalized_content,
        title=found.title,
        level=Level(found.level),
        project=found.project,
        assistant=found.assistant,
        run=found.run,
        conversation=found.conversation_id,
        kind=Kind(found.kind),
        confidence=found.confidence,
        importance=found.importance,
        sensitivity=found.sensitivity,
        explicit=found.explicit,
        source=Source(found.source),
        edited_by_user=found.edited_by_user,
        suspicious=found.suspicious,
        status=Status(found.status),
        expires_at=found.expires_at,
        origin=Origin(
            conversation=found.origin_conversation,
            messages=tuple(found.origin_messages),
            event=found.origin_event,
            job=found.origin_job,
            trace=found.origin_trace,
            model=found.origin_model,
            prompt=found.origin_prompt,
        ),
        last_access_at=found.last_access_at,
        use_count=found.use_count,
        metadata=found.metadata,
        vector_status=VectorStatus(found.vector_status),
    )


def packed(item: MemoryItem) -> str:
    """A whole memory as JSON."""
    values = row(item)
    for name in _MOMENTS:
        values[name] = None if values[name] is None else micros(values[name])
    return json.dumps(values, ensure_ascii=False)


def unpacked(text: str) -> MemoryItem:
    """The memory that `packed` wrote."""
    values = json.loads(text)
    for name in _MOMENTS:
        values[name] = None if values[name] is None else moment(values[name])
    return item(SimpleNamespace(**values))


def promised(promise: Promise, at: datetime) -> dict[str, Any]:
    """The columns that a job and a promise on its way out have in common."""
    return {
        "type": promise.type.value,
        "namespace": promise.namespace,
        "user_id": promise.user,
        "conversation_id": promise.conversation,
        "source_message_id": promise.source_message,
        "idempotency_key": text.fingerprint(promise.namespace, promise.user, promise.key),
        "key": promise.key,
        "payload": dict(promise.payload),
        "trace": promise.trace,
        "ordered": promise.ordered,
        "max_retry": promise.max_retry,
        "created_at": at,
    }


def outgoing(row: Row[Any]) -> Outgoing:
    """The promise of a row of the outbox."""
    promise = Promise(
        type=JobType(row.type),
        namespace=row.namespace,
        user=row.user_id,
        key=row.key,
        payload=row.payload,
        trace=row.trace,
        conversation=row.conversation_id,
        source_message=row.source_message_id,
        max_retry=row.max_retry,
        ordered=row.ordered,
        run_at=row.run_at,
    )
    return Outgoing(id=row.id, promise=promise, at=row.created_at)


def waiting(number: int, promise: Promise, at: datetime) -> Job:
    """The job of a promise that nobody has touched yet; 0 is the number of one without a row."""
    return Job(
        id=number,
        type=promise.type,
        namespace=promise.namespace,
        user=promise.user,
        key=promise.key,
        payload=promise.payload,
        trace=promise.trace,
        state=JobState.PENDING,
        conversation=promise.conversation,
        source_message=promise.source_message,
        max_retry=promise.max_retry,
        next_retry_at=promise.run_at or at,
        created_at=at,
        updated_at=at,
    )


def job(row: Row[Any], **changed: Any) -> Job:
    """The job of a row of its table, with what was changed since it was read."""
    fields: dict[str, Any] = {
        "id": row.id,
        "type": JobType(row.type),
        "namespace": row.namespace,
        "user": row.user_id,
        "key": row.key,
        "payload": row.payload,
        "trace": row.trace,
        "state": JobState(row.state),
        "conversation": row.conversation_id,
        "source_message": row.source_message_id,
        "retry_count": row.retry_count,
        "max_retry": row.max_retry,
        "next_retry_at": row.next_retry_at,
        "token": row.token,
        "last_error": row.last_error,
        "result": row.result,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "span": row.span,
    }
    return Job(**{**fields, **changed})
