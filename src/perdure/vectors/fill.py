"""Makes what was written findable: vectors of memories, vectors and terms of what was said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from perdure import text
from perdure.errors import Rejected, Unavailable
from perdure.jobs.job import Effect
from perdure.policy import CapturePolicy
from perdure.ports import (
    Clock,
    Corpus,
    Database,
    EmbedAction,
    Embedder,
    Transaction,
    VectorEntry,
    VectorIndex,
    Vectors,
)
from perdure.types import (
    Job,
    JobType,
    MemoryItem,
    Promise,
    Role,
    Scope,
    Status,
    Utterance,
    VectorStatus,
)

_SPOKEN = frozenset({Role.USER, Role.ASSISTANT})
_WORDS = "words"
_DONE = "done"


@dataclass(frozen=True, slots=True)
class _Work:
    """What one job makes findable."""

    items: tuple[MemoryItem, ...]
    said: tuple[Utterance, ...]


@dataclass(frozen=True, slots=True)
class _Vectors:
    """What the embedder made of it, by id and by place."""

    items: Mapping[str, Vectors]
    said: Mapping[int, Vectors]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filler:
    """The handler of ``embed`` jobs. Doing one twice does no harm.

    The payload names memories, ``{"items": [ids]}``, messages by place, ``{"messages": [seqs]}``,
    or the messages of one capture, ``{"conversation": id, "trace": trace}``, or several of these.
    Without an embedder what was said is found by its words alone; when the embedder does not
    answer, words come first and a second job makes the vectors.
    """

    database: Database
    embedder: Embedder | None
    index: VectorIndex | None
    clock: Clock
    policy: CapturePolicy = field(default_factory=CapturePolicy)

    def __call__(self, job: Job) -> Effect:
        """Read, make the vectors, and hand back what writes them.

        Raises:
            Rejected: the payload is none of ours.
            Unavailable: the embedder does not answer, and the words are indexed already.
        """
        work = self._read(job)
        if self.embedder is None or self.index is None:
            return lambda tx: self._write(tx, job.scope, work, None)
        try:
            vectors = self._embed(self.embedder, work)
        except Unavailable:
            if not work.said or job.payload.get(_WORDS) == _DONE:
                raise
            return lambda tx: self._words_first(tx, job, work)
        return lambda tx: self._write(tx, job.scope, work, vectors)

    def _read(self, job: Job) -> _Work:
        ids = job.payload.get("items", [])
        seqs = job.payload.get("messages", [])
        conversation = job.payload.get("conversation", "")
        trace = job.payload.get("trace", "")
        lists = isinstance(ids, list) and isinstance(seqs, list)
        if not lists or not (ids or seqs or (conversation and trace)):
            raise Rejected("Expected items, messages, or one capture.", field="payload")
        with self.database.read() as tx:
            return _Work(
                items=tuple(
                    item
                    for item in tx.items.get(job.scope, ids)
                    if item.vector_status is not VectorStatus.SYNCED
                    and item.status is not Status.DELETED
                ),
                said=tuple(
                    one
                    for one in (
                        *tx.messages.turn(job.scope, conversation, trace),
                        *tx.messages.by_seq(job.scope, seqs),
                    )
                    if findable(one)
                ),
            )

    def _embed(self, embedder: Embedder, work: _Work) -> _Vectors:
        """One call for what is new, and one for memories that say something else now."""
        new = {item.id: [item.content] for item in work.items if not _changed(item)}
        changed = {item.id: [item.content] for item in work.items if _changed(item)}
        said = {one.seq: parts(one, self.policy) for one in work.said}
        added = _embedded(embedder, {**new, **said}, "add")
        return _Vectors(
            items={
                **{ref: added[ref] for ref in new},
                **_embedded(embedder, changed, "update"),
            },
            said={seq: added[seq] for seq in said},
        )

    def _write(
        self, tx: Transaction, scope: Scope, work: _Work, vectors: _Vectors | None
    ) -> Mapping[str, Any]:
        """What still stands as it was read; whatever was changed meanwhile has its own job."""
        now = tx.items.get(scope, [item.id for item in work.items])
        known = {item.id: item.content for item in now if item.status is not Status.DELETED}
        items = [item for item in work.items if known.get(item.id) == item.content]
        still = {one.seq for one in tx.messages.by_seq(scope, [one.seq for one in work.said])}
        said = [one for one in work.said if one.seq in still]
        tx.fulltext.index(
            scope, Corpus.EPISODES, {str(one.seq): terms(one, self.policy) for one in said}
        )
        if vectors is None or self.index is None:
            return {"items": 0, "messages": len(said), "vectors": False}
        memories = [VectorEntry(ref=i.id, vectors=vectors.items[i.id]) for i in items]
        episodes = [VectorEntry(ref=str(one.seq), vectors=vectors.said[one.seq]) for one in said]
        self.index.upsert(tx, scope, Corpus.MEMORIES, memories)
        self.index.upsert(tx, scope, Corpus.EPISODES, episodes)
        tx.items.mark_vectors(scope, [item.id for item in items], VectorStatus.SYNCED)
        return {"items": len(items), "messages": len(said), "vectors": True}

    def _words_first(self, tx: Transaction, job: Job, work: _Work) -> Mapping[str, Any]:
        tx.jobs.promise(
            Promise(
                type=JobType.EMBED,
                namespace=job.namespace,
                user=job.user,
                key=text.fingerprint(job.key, "vectors"),
                payload={**job.payload, _WORDS: _DONE},
                trace=job.trace,
                conversation=job.conversation,
                max_retry=job.max_retry,
                ordered=False,
            ),
            self.clock(),
        )
        return self._write(tx, job.scope, work, None)


# ── the texts by which something is found ────────────────────────────────────────────────────────


def findable(said: Utterance) -> bool:
    """Somebody said something in it."""
    return said.role in _SPOKEN and bool(said.content.strip())


def searchable(said: Utterance) -> str:
    """The text by which a message is found, by its words and by its meaning."""
    return f"{said.name}: {said.content}" if said.name else said.content


def terms(said: Utterance, policy: CapturePolicy) -> list[str]:
    """The terms by which a message is found: its words and, in UTC, the day it was said."""
    words = text.terms(searchable(said))
    return [*words, *text.date_terms(said.at.date())] if policy.episode_dates else words


def parts(said: Utterance, policy: CapturePolicy) -> list[str]:
    """The texts whose vectors stand for a message: all of it, or whole sentences of a long one."""
    whole = searchable(said)
    if len(whole) <= policy.episode_part_chars:
        return [whole]
    return list(islice(_packed(whole, policy.episode_part_chars), policy.episode_parts))


def _packed(whole: str, size: int) -> Iterator[str]:
    """Sentences put together up to a size; one that is longer by itself is cut into pieces."""
    held = ""
    for piece in (piece for sentence in text.sentences(whole) for piece in _pieces(sentence, size)):
        if held and len(held) + 1 + len(piece) > size:
            yield held
            held = ""
        held = f"{held} {piece}" if held else piece
    if held:
        yield held


def _pieces(sentence: str, size: int) -> Iterator[str]:
    """At most ``size`` characters each, as a person counts them."""
    while sentence:
        piece = text.cut(sentence, size)
        yield piece
        sentence = sentence[len(piece) :]


def _changed(item: MemoryItem) -> bool:
    return item.updated_at > item.created_at


_Ref = TypeVar("_Ref")


def _embedded(
    embedder: Embedder, texts: Mapping[_Ref, list[str]], action: EmbedAction
) -> dict[_Ref, Vectors]:
    """The vectors of each entry's texts, from one call; no call for nothing."""
    if not texts:
        return {}
    rows = embedder.embed([one for each in texts.values() for one in each], action)
    found: dict[_Ref, Vectors] = {}
    start = 0
    for ref, each in texts.items():
        found[ref] = rows[start : start + len(each)]
        start += len(each)
    return found
