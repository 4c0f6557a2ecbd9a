"""Makes what was written findable: vectors of memories, vectors and terms of what was said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias, TypeVar

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
    Ledger,
    Outside,
    Transaction,
    VectorEntry,
    VectorIndex,
    Vectors,
    on_account,
)
from perdure.types import (
    Job,
    JobType,
    MemoryItem,
    Promise,
    Role,
    Status,
    Utterance,
    VectorStatus,
)

_Made: TypeAlias = Mapping[Corpus, Sequence[VectorEntry]]

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
    Without an embedder what was said is found by its words alone; when embedder or index do not
    answer, words come first and a second job makes the vectors. An index outside gets its vectors
    before the transaction that notes them.
    """

    database: Database
    embedder: Embedder | None
    index: VectorIndex | None
    clock: Clock
    policy: CapturePolicy = field(default_factory=CapturePolicy)
    ledger: Ledger | None = None
    """None: nobody pays."""

    def __call__(self, job: Job) -> Effect:
        """Read, make the vectors, and hand back what writes them.

        Raises:
            Rejected: the payload is none of ours.
            Unavailable: embedder or index do not answer, and the words are indexed already.
        """
        work = self._read(job)
        if self.embedder is None or self.index is None:
            return lambda tx: self._write(tx, job, work, None)
        outside = self.index if isinstance(self.index, Outside) else None
        try:
            if outside is not None:
                outside.ping()  # before anything is embedded in vain
            embedder = on_account(self.embedder, self.ledger, job.scope)
            made = self._made(work, self._embed(embedder, work))
            if outside is not None:
                for corpus, entries in made.items():
                    outside.send(job.scope, corpus, entries)
                self._take_back(outside, job, made)
        except Unavailable:
            if work.said and job.payload.get(_WORDS) != _DONE:
                return lambda tx: self._words_first(tx, job, work)
            self._note_failure(job, work)
            raise
        return lambda tx: self._write(tx, job, work, made)

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

    def _made(self, work: _Work, vectors: _Vectors) -> _Made:
        """The entries of an index."""
        return {
            Corpus.MEMORIES: [
                VectorEntry(ref=item.id, vectors=vectors.items[item.id], stamp=stamp(item))
                for item in work.items
            ],
            Corpus.EPISODES: [
                VectorEntry(ref=str(one.seq), vectors=vectors.said[one.seq]) for one in work.said
            ],
        }

    def _take_back(self, outside: Outside, job: Job, made: _Made) -> None:
        """What lost its row meanwhile: an erasure may have searched there before we sent."""
        sent = {corpus: {entry.ref for entry in entries} for corpus, entries in made.items()}
        with self.database.read() as tx:
            said = tx.messages.by_seq(job.scope, [int(ref) for ref in sent[Corpus.EPISODES]])
            rows = {
                Corpus.MEMORIES: {one.id for one in tx.items.get(job.scope, sent[Corpus.MEMORIES])},
                Corpus.EPISODES: {str(one.seq) for one in said},
            }
        for corpus, refs in sent.items():
            outside.discard(job.scope, corpus, refs - rows[corpus])

    def _write(
        self, tx: Transaction, job: Job, work: _Work, made: _Made | None
    ) -> Mapping[str, Any]:
        """What still stands as it was read; whatever was changed meanwhile has its own job."""
        scope = job.scope
        now = tx.items.get(scope, [item.id for item in work.items])
        known = {item.id: item.content for item in now if item.status is not Status.DELETED}
        items = {item.id for item in work.items if known.get(item.id) == item.content}
        still = {one.seq for one in tx.messages.by_seq(scope, [one.seq for one in work.said])}
        said = [one for one in work.said if one.seq in still]
        tx.fulltext.index(
            scope, Corpus.EPISODES, {str(one.seq): terms(one, self.policy) for one in said}
        )
        if made is None or self.index is None:
            return {"items": 0, "messages": len(said), "vectors": False}
        kept = {Corpus.MEMORIES: items, Corpus.EPISODES: {str(one.seq) for one in said}}
        for corpus, entries in made.items():
            stands = [entry for entry in entries if entry.ref in kept[corpus]]
            self.index.upsert(tx, scope, corpus, stands)
            if isinstance(self.index, Outside):
                vain = {entry.ref for entry in entries} - kept[corpus]
                self.index.remove(tx, scope, corpus, vain - known.keys())
                self._again(tx, job, sorted(vain & known.keys()))
        tx.items.mark_vectors(scope, items, VectorStatus.SYNCED)
        return {"items": len(items), "messages": len(said), "vectors": True}

    def _again(self, tx: Transaction, job: Job, items: Sequence[str]) -> None:
        """What was sent of a newer text meanwhile may be overwritten by ours."""
        if items:
            tx.items.mark_vectors(job.scope, items, VectorStatus.PENDING)
            self._promise(tx, job, "again", {"items": list(items)})

    def _note_failure(self, job: Job, work: _Work) -> None:
        """The last try says at the row that it failed; reconciling starts over."""
        if job.retry_count >= job.max_retry and work.items:
            ids = [item.id for item in work.items]
            self.database.run(
                lambda tx: tx.items.mark_vectors(job.scope, ids, VectorStatus.FAILED), job.scope
            )

    def _words_first(self, tx: Transaction, job: Job, work: _Work) -> Mapping[str, Any]:
        self._promise(tx, job, "vectors", {**job.payload, _WORDS: _DONE})
        return self._write(tx, job, work, None)

    def _promise(self, tx: Transaction, job: Job, what: str, payload: Mapping[str, Any]) -> None:
        tx.jobs.promise(
            Promise(
                type=JobType.EMBED,
                namespace=job.namespace,
                user=job.user,
                key=text.fingerprint(job.key, what),
                payload=payload,
                trace=job.trace,
                conversation=job.conversation,
                max_retry=job.max_retry,
                ordered=False,
            ),
            self.clock(),
        )


def stamp(item: MemoryItem) -> str:
    """Tells which text of a memory a vector was made of."""
    return text.fingerprint(item.content)


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
