"""What the core needs from the outside: stores, models, clock. One responsibility each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from perdure.types import (
    Actor,
    AuditEntry,
    AuditPage,
    Claimed,
    Erasure,
    Feedback,
    Job,
    JobState,
    JobType,
    Key,
    KeyRole,
    Kind,
    Level,
    MemoryItem,
    Message,
    Operation,
    Outgoing,
    Preferences,
    Promise,
    Scope,
    Source,
    Spend,
    Status,
    Tombstone,
    Trace,
    Utterance,
    VectorStatus,
)

Result = TypeVar("Result")

Vector: TypeAlias = NDArray[np.float32]
"""Shape (dimension,), length 1."""
Vectors: TypeAlias = NDArray[np.float32]
"""Shape (texts, dimension), each row of length 1."""

Clock: TypeAlias = Callable[[], datetime]
"""Now, aware, in UTC."""


# ── models ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to a chat model, ready to be sent."""

    purpose: str
    """What it is asked for; counted with its tokens."""
    version: str
    """Of the prompt; stored with what it made."""
    messages: tuple[Mapping[str, str], ...]
    schema: Mapping[str, Any] | None = None
    """JSON schema of the reply, sent where the endpoint offers it."""
    timeout_s: float = 60.0
    """Of the whole call, not of each byte."""
    temperature: float = 0.0
    top_p: float = 0.1
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a chat model answered, as it came."""

    text: str
    model: str
    cut_off: bool = False
    """The token limit ended it."""
    tokens_in: int = 0
    tokens_out: int = 0


class ChatModel(Protocol):
    """Answers one question. Never retries over its time, never logs a text."""

    name: str

    def ask(self, question: Question, model: str | None = None) -> Reply:
        """The reply.

        Args:
            question: what to ask.
            model: another model of the same endpoint.

        Raises:
            ModelBusy: the endpoint asks us to slow down; ``retry_after`` says how long.
            ModelUnavailable: no answer in time, or an answer that is no answer.
            ReplyUnusable: the model answered without a text.
            TooLarge: the question is longer than the model can take.
            Misconfigured: the endpoint refuses the key, the model or the request.
        """
        ...


_ANSWERED = 0.75  # relevance of a memory that answers the question; the rest tells good from best


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """What the cosines of one embedder mean. Thresholds never carry over to another."""

    unrelated: float
    """Cosine that means nothing; becomes relevance 0."""
    same: float
    """Cosine from which two texts are one statement; becomes relevance 1."""
    topic: float
    """Cosine from which two memories are about one topic."""
    answer: float | None = None
    """Cosine that a question reaches with a memory that answers it well; becomes relevance 0.75.
    None: a straight line from ``unrelated`` to ``same``."""

    def relevance(self, cosine: float) -> float:
        """A cosine of this embedder as 0..1; up to ``same``, a nearer text is always more."""
        if self.answer is None:
            share = (cosine - self.unrelated) / (self.same - self.unrelated)
        elif cosine < self.answer:
            share = _ANSWERED * (cosine - self.unrelated) / (self.answer - self.unrelated)
        else:
            share = _ANSWERED + (1 - _ANSWERED) * (cosine - self.answer) / (self.same - self.answer)
        return min(1.0, max(0.0, share))


EmbedAction: TypeAlias = Literal["add", "search", "update"]


class Embedder(Protocol):
    """Turns texts into vectors of length 1."""

    model: str
    similarity: Similarity

    @property
    def dimension(self) -> int:
        """Numbers a text; 0 until an embedder that learns it has seen its first rows."""
        ...

    def embed(self, texts: Sequence[str], action: EmbedAction) -> Vectors:
        """One row a text, shape (len(texts), dimension).

        Raises:
            Unavailable: it does not answer now.
        """
        ...


class Reranker(Protocol):
    """Gives a second opinion on how well texts answer a question."""

    def rerank(self, question: str, texts: Sequence[str]) -> list[float]:
        """One number in 0..1 a text.

        Raises:
            Unavailable: it does not answer now.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What one call of an endpoint used, as the endpoint tells it."""

    model: str
    purpose: str
    tokens: int
    """That went in; nothing is written by these models."""


Account: TypeAlias = Callable[[Used], None]
"""Gets told what was used on it. It is quick, and never fails."""


class Ledger(Protocol):
    """Keeps the accounts of users with models."""

    def account(self, scope: Scope) -> Account:
        """The account of one user."""
        ...


@runtime_checkable
class Paid(Protocol):
    """An embedder or reranker that somebody pays for."""

    def on(self, account: Account) -> Self:
        """The same one; what it uses goes on this account."""
        ...


Model = TypeVar("Model")


def on_account(model: Model, ledger: Ledger | None, scope: Scope) -> Model:
    """The model, on a user's account where it costs anything."""
    return model.on(ledger.account(scope)) if ledger and isinstance(model, Paid) else model


# ── SQL is the truth ─────────────────────────────────────────────────────────────────────────────


class Corpus(StrEnum):
    """What is searched: memories, or what was said."""

    MEMORIES = "memories"
    EPISODES = "episodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """Which memories of an owner are meant. An empty collection shows nothing."""

    statuses: Collection[Status] | None = None
    kinds: Collection[Kind] | None = None
    level: Level | None = None
    project: str | None = None
    sources: Collection[Source] | None = None
    machine_written: bool | None = None
    since: datetime | None = None
    until: datetime | None = None
    words: str | None = None
    """Literal text that the content contains, compared folded; no wildcards."""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A stretch of a list, and the cursor of the next one."""

    items: tuple[MemoryItem, ...]
    next: str | None
    total: int
    """Of all pages together."""

    def __iter__(self) -> Iterator[MemoryItem]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class MemoryStore(Protocol):
    """The memory rows of one owner. A binding in the scope is applied, always."""

    def get(self, scope: Scope, ids: Collection[str]) -> list[MemoryItem]:
        """The rows with these ids, in the order asked, whatever their status.

        A binding that the scope names hides rows bound elsewhere; one left empty hides nothing,
        so that a person can look after every memory. What may be said there is narrower: `active`.
        """
        ...

    def by_hash(self, scope: Scope, content_hash: str) -> MemoryItem | None:
        """The row of this statement, whatever its status."""
        ...

    def page(
        self, scope: Scope, which: ItemFilter, limit: int = 50, after: str | None = None
    ) -> Page:
        """Newest ``updated_at`` first, ties by newer id. Bindings left empty list everything."""
        ...

    def every(self, scope: Scope, which: ItemFilter) -> list[MemoryItem]:
        """All that match, newest ``updated_at`` first."""
        ...

    def walk(self, scope: Scope, after: str, limit: int) -> list[MemoryItem]:
        """The rows with an id above ``after``, whatever their status, by id."""
        ...

    def active(self, scope: Scope) -> list[MemoryItem]:
        """The active rows visible in the scope, newest ``updated_at`` first."""
        ...

    def count(self, scope: Scope, which: ItemFilter) -> int:
        """How many match."""
        ...

    def add(self, item: MemoryItem) -> None:
        """Write a new row.

        Raises:
            Duplicate: its statement is stored already; the transaction stays usable.
        """
        ...

    def put(self, item: MemoryItem, *, shown: datetime | None = None) -> bool:
        """Overwrite the row of the same id and owner.

        Args:
            item: the row as it should be.
            shown: its ``updated_at`` when it was read; a row changed since is left alone.

        Returns:
            False if there is no such row or it was changed since.

        Raises:
            Duplicate: another row has this statement; the transaction stays usable.
        """
        ...

    def remove(self, scope: Scope, ids: Collection[str]) -> int:
        """Delete rows for good; their vectors and search terms go with them."""
        ...

    def used(self, scope: Scope, ids: Collection[str], at: datetime) -> None:
        """Count a use of each and note the time. Does not move ``updated_at``."""
        ...

    def projects(self, scope: Scope) -> list[str]:
        """Project keys seen in memories and conversations, sorted."""
        ...

    def bury(self, scope: Scope, item: MemoryItem, at: datetime) -> None:
        """Leave a tombstone: the hash, the source messages and the time, never the text."""
        ...

    def buried(self, scope: Scope, hashes: Collection[str]) -> dict[str, datetime]:
        """When statements with these hashes were last deleted."""
        ...

    def buried_messages(self, scope: Scope, messages: Collection[str]) -> dict[str, datetime]:
        """Which of these message ids a deleted memory was learnt from, and when it went."""
        ...

    def graves(self, scope: Scope, after: Tombstone | None, limit: int) -> list[Tombstone]:
        """The tombstones behind this one, in a fixed order."""
        ...

    def entomb(self, scope: Scope, stone: Tombstone) -> bool:
        """Set a tombstone as it was. False: it stands there already, as late or later."""
        ...

    def unbury(self, scope: Scope, content_hash: str) -> None:
        """Forget that it was deleted: a person brought it back."""
        ...

    def unscrubbed(self, scope: Scope, before: datetime) -> list[str]:
        """Ids of the memories buried up to then whose text was not scrubbed since, sorted.

        One of them may live again: its row says so.
        """
        ...

    def scrubbed(self, scope: Scope, ids: Collection[str]) -> None:
        """Nothing is left to scrub of these."""
        ...

    def mark_vectors(self, scope: Scope, ids: Collection[str], status: VectorStatus) -> None:
        """Note what the vector index says of these rows."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationState:
    """What is known of a conversation as a whole."""

    conversation: str
    watermark: int = 0
    """``seq`` of the last message that was learnt from; moves only on success."""
    waiting_chars: int = 0
    """Characters said since the watermark."""
    project: str | None = None
    assistant: str | None = None
    run: str | None = None


class MessageStore(Protocol):
    """What was said, while it is kept."""

    def add(
        self, scope: Scope, conversation: str, messages: Sequence[Message], at: datetime, trace: str
    ) -> list[Utterance]:
        """Keep the messages in order; one whose id is known already is left out.

        Messages without an id get one. Returns what was newly kept.
        """
        ...

    def conversation(self, scope: Scope, conversation: str) -> ConversationState | None:
        """The state of one conversation."""
        ...

    def since(
        self, scope: Scope, conversation: str, after: int, limit: int = 1_000
    ) -> list[Utterance]:
        """Messages of one conversation with ``seq`` above ``after``, oldest first."""
        ...

    def before(self, scope: Scope, conversation: str, seq: int, limit: int) -> list[Utterance]:
        """The last messages of one conversation with ``seq`` up to ``seq``, oldest first."""
        ...

    def turn(self, scope: Scope, conversation: str, trace: Trace) -> list[Utterance]:
        """The messages that one capture kept, oldest first."""
        ...

    def by_id(self, scope: Scope, conversation: str, ids: Collection[str]) -> list[Utterance]:
        """Messages of one conversation by the host's ids, oldest first."""
        ...

    def by_seq(self, scope: Scope, seqs: Collection[int]) -> list[Utterance]:
        """Messages of the owner by place."""
        ...

    def outline(self, scope: Scope) -> list[tuple[int, str, str, datetime]]:
        """Of every kept message of the owner: seq, conversation, speaker, time; by seq."""
        ...

    def bindings(self, scope: Scope) -> dict[str, Scope]:
        """Where each conversation of the owner took place: its project, assistant and run."""
        ...

    def learnt(self, scope: Scope, conversation: str, upto: int) -> None:
        """Move the watermark forward, never back."""
        ...

    def remove(
        self,
        scope: Scope,
        *,
        before: datetime | None = None,
        kept_before: datetime | None = None,
        upto: int | None = None,
        conversation: str | None = None,
    ) -> int:
        """Delete messages for good, with their vectors and search terms.

        ``before`` is when they were said, ``kept_before`` when they came in.
        """
        ...


class UserStore(Protocol):
    """A user's switches, and the counters that make caches honest."""

    def preferences(self, scope: Scope, default: Preferences) -> Preferences:
        """The user's switches; what the user never set comes from the default."""
        ...

    def prefer(self, scope: Scope, **switches: bool) -> None:
        """Set switches of the user."""
        ...

    def revision(self, scope: Scope, corpus: Corpus) -> int:
        """Rises with every commit that changes what a recall of this corpus could find."""
        ...

    def changed(self, scope: Scope, corpus: Corpus) -> None:
        """Raise the revision."""
        ...

    def consolidated(self, scope: Scope) -> tuple[datetime, str] | None:
        """When the user's memories were last tidied up, and by which run; None: never."""
        ...

    def consolidate(self, scope: Scope, run: str, at: datetime) -> None:
        """Note that a run tidied them up."""
        ...


class RuntimeStore(Protocol):
    """An admin's values for a namespace, set while the service runs."""

    def get(self, namespace: str) -> dict[str, Any]:
        """All values of the namespace by dotted name."""
        ...

    def hold(self, namespace: str, names: Collection[str]) -> dict[str, Any]:
        """What these have now, None where nothing; nobody else changes them meanwhile.

        Each of them is put in the same unit of work.
        """
        ...

    def put(self, namespace: str, name: str, value: Any) -> None:
        """Set one; None removes it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which entries of a namespace are meant. An empty collection shows nothing."""

    user: str | None = None
    """Whose memories; "" are the values of the namespace itself."""
    item: str | None = None
    by: str | None = None
    """Which person or key did it."""
    actors: Collection[Actor] | None = None
    operations: Collection[Operation] | None = None
    since: datetime | None = None
    until: datetime | None = None


class AuditStore(Protocol):
    """Who changed what, why, before and after."""

    def add(self, entries: Sequence[AuditEntry]) -> None:
        """Write entries, in the transaction of the change itself."""
        ...

    def of(self, scope: Scope, item: str) -> list[AuditEntry]:
        """The history of one memory, oldest first."""
        ...

    def every(self, scope: Scope) -> list[AuditEntry]:
        """The history of all memories of the owner, gone ones included, oldest first."""
        ...

    def page(
        self, namespace: str, which: AuditFilter, limit: int = 50, after: str | None = None
    ) -> AuditPage:
        """Newest first, across the users of a namespace unless the filter names one."""
        ...

    def after(self, scope: Scope, place: int, limit: int) -> list[tuple[int, AuditEntry]]:
        """The owner's entries behind a place, oldest first, each with its own place."""
        ...

    def scrub(self, scope: Scope, items: Collection[str]) -> None:
        """Take the text out of the history of these memories, and of those merged into them.

        What happened to them stays.
        """
        ...

    def blank(self, scope: Scope, entries: Collection[str]) -> None:
        """Take the text out of these entries; that they happened stays."""
        ...

    def forget(self, scope: Scope, before: datetime) -> int:
        """Let go of the rows that left the table up to then. Returns how many there were."""
        ...


class FeedbackStore(Protocol):
    """What users said about memories that were said."""

    def add(self, scope: Scope, said: Feedback) -> bool:
        """Keep it. False: the same verdict on the same memory of the same answer is known."""
        ...

    def after(self, scope: Scope, place: int, limit: int) -> list[tuple[int, Feedback]]:
        """The owner's verdicts behind a place, oldest first, each with its own place."""
        ...

    def of(self, scope: Scope, item: str) -> list[Feedback]:
        """All that was said about one memory, oldest first."""
        ...


class JobStore(Protocol):
    """Promises: written with their cause, kept by whoever holds the token."""

    def promise(self, promise: Promise, at: datetime, *, arrived: bool = False) -> tuple[Job, bool]:
        """Write the job, or find the one that has its key. The flag says that it is new.

        Where there is a bus, promises that it announces go to the outbox first; one that
        ``arrived`` from there becomes a job.
        """
        ...

    def claim(self, at: datetime, lease_s: float, types: Collection[JobType]) -> Job | None:
        """Take the next job that is due, in order per user. Returns jobs of dead workers first."""
        ...

    def beat(self, job: Job, until: datetime) -> bool:
        """Keep the lease. False: the job was taken over."""
        ...

    def finish(
        self,
        job: Job,
        result: Mapping[str, Any],
        at: datetime,
        *,
        without: Collection[str] = (),
    ) -> None:
        """Done, in the transaction of the effect; these fields of the payload are not kept.

        Raises:
            Fenced: another worker holds the job now; nothing of this transaction may stay.
        """
        ...

    def postpone(
        self, job: Job, error: str, next_at: datetime, at: datetime, *, counts: bool = True
    ) -> bool:
        """It failed and will run again. ``counts`` is off where the failure used up no try."""
        ...

    def bury(self, job: Job, error: str, at: datetime, *, without: Collection[str] = ()) -> bool:
        """It failed for good; these fields of the payload are not kept."""
        ...

    def find(self, scope: Scope, key: str) -> Job | None:
        """The job that was promised with this key, while it is kept."""
        ...

    def of(self, scope: Scope, trace: Trace) -> list[Job]:
        """The jobs of one trace."""
        ...

    def page(
        self,
        states: Collection[JobState],
        limit: int = 50,
        after: int | None = None,
        *,
        namespace: str | None = None,
    ) -> list[Job]:
        """Jobs by state, newest first; of one namespace, or None: of all."""
        ...

    def retry(self, ids: Collection[int], at: datetime, *, namespace: str | None = None) -> int:
        """Make dead or failed jobs due now, with all their tries; None: whosever they are."""
        ...

    def drop(self, ids: Collection[int], *, namespace: str | None = None) -> int:
        """Forget jobs that do not run; None: whosever they are."""
        ...

    def waiting(self, types: Collection[JobType], most: int) -> int:
        """How many jobs of these types wait or run; counted up to ``most``."""
        ...

    def depth(self, at: datetime, namespace: str | None = None) -> Mapping[JobState, int]:
        """How many jobs are in each state; of one namespace, or None: of all."""
        ...

    def oldest(self, namespace: str | None = None) -> datetime | None:
        """When the job that has waited longest was promised; None: none waits."""
        ...

    def forget(self, before: datetime) -> int:
        """Remove jobs that succeeded before that time."""
        ...

    def release(self, at: datetime) -> int:
        """Take back what dead workers held; each loses a try, and is dead without any left."""
        ...

    def take_away(self, scope: Scope) -> Mapping[str, int]:
        """Remove every job of an owner but `erase`, running ones too: their holders are fenced."""
        ...

    def strip(self, scope: Scope, fields: Collection[str]) -> int:
        """Take these fields out of the payloads of an owner's jobs that will not run by themselves.

        Returns how many jobs had one.
        """
        ...


class OutboxStore(Protocol):
    """Promises on their way out. Each stays until its job stands in the same commit."""

    def lead(self, token: str, at: datetime, until: datetime) -> bool:
        """Be the one that publishes until then. False: another process is."""
        ...

    def due(self, resent_before: datetime, limit: int) -> list[Outgoing]:
        """What was not published yet, or last before that time; oldest first."""
        ...

    def sent(self, ids: Collection[int], at: datetime) -> None:
        """The bus has these."""
        ...

    def take(self, scope: Scope, key: str) -> list[Outgoing]:
        """Take out the owner's promises up to the one with this key, in their order.

        None if that one is no longer here: it was taken out before, or erased. What was published
        after another that the bus lost can so never overtake it.
        """
        ...

    def remove(self, scope: Scope) -> int:
        """Take back every promise of an owner that is still here; its event then has no effect."""
        ...

    def waiting(self) -> tuple[int, datetime | None]:
        """How many there are, and when the oldest was made."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorEntry:
    """The vectors of one text: one row, or one a part where the text is long."""

    ref: str
    """Id of the memory, or ``seq`` of the message as a text."""
    vectors: Vectors
    """None at all: they are kept elsewhere, and this notes that they are."""
    stamp: str = ""
    """Fingerprint of the text they were made of; empty where that never changes."""


@dataclass(frozen=True, slots=True)
class VectorRows:
    """All vectors of one owner and corpus, as they stand in the table."""

    refs: tuple[str, ...]
    matrix: Vectors
    """Shape (len(refs), dimension); a ref stands once for each of its parts."""


class VectorTable(Protocol):
    """Vectors as plain rows of the same database, in the row's own commit."""

    def write(
        self, scope: Scope, corpus: Corpus, model: str, entries: Sequence[VectorEntry]
    ) -> None:
        """Replace the vectors of these refs."""
        ...

    def read(self, scope: Scope, corpus: Corpus, model: str) -> VectorRows:
        """All of one owner, ordered by ref."""
        ...

    def refs(self, scope: Scope, corpus: Corpus, model: str | None = None) -> set[str]:
        """What has vectors of this model; None: of any."""
        ...

    def remove(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> int:
        """Delete, whatever the model."""
        ...

    def forget(self, model: str) -> None:
        """Delete all vectors of a model, whoever's."""
        ...

    def dimension(self, model: str) -> int | None:
        """Numbers in a vector of this model, whoever's; None where there is none."""
        ...

    def lacking(self, model: str, than: str) -> bool:
        """Has anybody a text with vectors of ``than`` and none of ``model``?"""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """One text that contains a searched term."""

    ref: str
    length: int
    """Terms in the text."""
    counts: Mapping[str, int]
    """How often each searched term stands in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """What one owner's index says about some terms; strangers do not count."""

    texts: int
    """Texts of the owner in the corpus."""
    average_length: float
    found: tuple[Posting, ...]


class FullText(Protocol):
    """An inverted index over our own terms, one owner at a time."""

    def index(self, scope: Scope, corpus: Corpus, texts: Mapping[str, Sequence[str]]) -> None:
        """Replace the terms of these refs."""
        ...

    def postings(self, scope: Scope, corpus: Corpus, terms: Collection[str]) -> Postings:
        """Every text of the owner that contains one of the terms."""
        ...

    def refs(self, scope: Scope, corpus: Corpus) -> set[str]:
        """What has terms, be it none at all."""
        ...

    def compact(self) -> None:
        """Leave nothing in the index of what was removed from it, whoever's it was. Not quick."""
        ...

    def remove(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Delete."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What is overdue in one namespace. None: such things are left alone there."""

    expired: datetime | None
    """Active memories whose time was up by then."""
    deleted: datetime
    """Memories deleted up to then whose text is still somewhere."""
    kept: datetime | None
    """Messages that came in before."""
    merged: datetime
    """Memories merged or dropped up to then that could still be brought back."""


class OwnerStore(Protocol):
    """Who needs looking after. The only questions that name no user; they give no row away."""

    def namespaces(self) -> list[str]:
        """Every namespace that holds anything, sorted."""
        ...

    def every(self, namespace: str) -> list[Scope]:
        """Everyone who has a memory, a conversation or a switch here."""
        ...

    def vectors(self, namespace: str | None = None) -> Mapping[VectorStatus, int]:
        """How many memories of a namespace, or of all, have which vector status."""
        ...

    def overdue(self, namespace: str, due: Due) -> list[Scope]:
        """Owners of something that is overdue."""
        ...

    def unfindable(self, namespace: str, *, model: str | None, episodes: bool) -> list[Scope]:
        """Owners whose rows, terms and vectors disagree, while no job will mend that anyway.

        Args:
            namespace: whose users are meant.
            model: of the vectors there should be; None where there should be none.
            episodes: messages should have terms and vectors too.
        """
        ...


class KeyStore(Protocol):
    """Who may ask over the wire. A secret is known by its hash alone."""

    def add(self, key: Key) -> None:
        """Keep a new key."""
        ...

    def by_hash(self, hashed: str) -> Key | None:
        """The key of this secret, revoked or not."""
        ...

    def of(self, namespace: str) -> list[Key]:
        """Every key of a namespace, revoked ones included, oldest first."""
        ...

    def any_of(self, role: KeyRole) -> bool:
        """Was there ever a key of this role, in whatever namespace?"""
        ...

    def used(self, key: Key, at: datetime) -> None:
        """Note when it was last used."""
        ...

    def revoke(self, namespace: str, ident: str, at: datetime) -> Key | None:
        """Let it open nothing any more. None: there is no such key here."""
        ...


class RequestStore(Protocol):
    """Requests that carry a key of their own, so that sending one twice is sending it once."""

    def claim(
        self, scope: Scope, key: str, fingerprint: str, at: datetime, fresh_s: float
    ) -> Claimed | None:
        """Take a key for a request. None: it is taken now; else the request that has it.

        Args:
            scope: whose request it is.
            key: what the client calls it.
            fingerprint: of what is asked.
            at: now.
            fresh_s: seconds after which a request that was never answered is given up.
        """
        ...

    def answered(self, scope: Scope, key: str, at: datetime, ref: str) -> bool:
        """It was served, and this is what it made. False: it is not the one of ``at`` any more."""
        ...

    def release(self, scope: Scope, key: str, at: datetime) -> None:
        """It came to nothing; the key is free, if it still is that of ``at``."""
        ...

    def forget(self, before: datetime) -> int:
        """Remove what was asked before, whoever asked."""
        ...


class ErasureStore(Protocol):
    """Everything of a user at once: gone, counted, and the receipt that stays."""

    def add(self, erasure: Erasure) -> None:
        """Note that a user is to be erased."""
        ...

    def put(self, erasure: Erasure) -> None:
        """Note how far it has come."""
        ...

    def last(self, scope: Scope) -> Erasure | None:
        """The last erasure of this user; None: there was none."""
        ...

    def since(self, scope: Scope, at: datetime) -> bool:
        """Was the user erased, or is being erased, since then?"""
        ...

    def wipe(self, scope: Scope) -> Mapping[str, int]:
        """Remove every row of the user, in whatever table; how many went, by place.

        What stays are receipts of erasures, the job that goes on with one, and who looked.
        """
        ...

    def held(self, scope: Scope) -> Mapping[str, int]:
        """How many rows of the user `wipe` would remove, by place."""
        ...


class SpendStore(Protocol):
    """What models cost, by month."""

    def add(self, namespace: str, user: str | None, spent: Spend) -> None:
        """Add to the month of the namespace, and of the user where one is named."""
        ...

    def of(self, scope: Scope, month: str) -> list[Spend]:
        """What one user spent in a month, by model and purpose."""
        ...

    def together(self, namespace: str, month: str) -> list[Spend]:
        """What all of a namespace spent in a month, erased users included."""
        ...


class Transaction(Protocol):
    """One unit of work: everything in it happens, or nothing."""

    @property
    def items(self) -> MemoryStore:
        """Memories."""
        ...

    @property
    def messages(self) -> MessageStore:
        """What was said."""
        ...

    @property
    def users(self) -> UserStore:
        """Switches and revisions."""
        ...

    @property
    def jobs(self) -> JobStore:
        """Promises."""
        ...

    @property
    def audit(self) -> AuditStore:
        """Who changed what."""
        ...

    @property
    def outbox(self) -> OutboxStore:
        """Promises on their way out, where there is a bus."""
        ...

    @property
    def vectors(self) -> VectorTable:
        """Vectors in the same commit."""
        ...

    @property
    def fulltext(self) -> FullText:
        """Search terms in the same commit."""
        ...

    @property
    def runtime(self) -> RuntimeStore:
        """An admin's values."""
        ...

    @property
    def feedback(self) -> FeedbackStore:
        """What users said about memories that were said."""
        ...

    @property
    def owners(self) -> OwnerStore:
        """Who needs looking after."""
        ...

    @property
    def keys(self) -> KeyStore:
        """Who may ask over the wire."""
        ...

    @property
    def requests(self) -> RequestStore:
        """Requests that may be sent twice."""
        ...

    @property
    def erasures(self) -> ErasureStore:
        """Everything of a user at once."""
        ...

    @property
    def spend(self) -> SpendStore:
        """What models cost."""
        ...


Also: TypeAlias = Callable[[Transaction, Any], None]
"""Writes more in the commit of a change, and gets what that came to; what it raises takes the
change back."""


class Database(Protocol):
    """Opens units of work. Never held open while a model thinks."""

    def begin(self, scope: Scope | None = None) -> AbstractContextManager[Transaction]:
        """A unit of work that may write; commits at the end, rolls back on any exception.

        Args:
            scope: whose rows it reads and changes: such units of one owner follow one another.
                None for what stands alone: jobs, an admin's values.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        ...

    def run(self, work: Callable[[Transaction], Result], scope: Scope | None = None) -> Result:
        """Do a unit of work as `begin` does; done again where it lost to another one.

        Args:
            work: reads and writes; has no other effect, since it may be done more than once.
            scope: as in `begin`.

        Raises:
            Contended: it lost every time; nothing was written.
            DatabaseUnavailable: the database does not answer.
        """
        ...

    def read(self) -> AbstractContextManager[Transaction]:
        """A unit of work that only reads, and sees one moment; never waits for writers.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        ...

    def purge(self) -> None:
        """Leave nothing of what was removed where the store can help it: no log, no copy.

        Raises:
            DatabaseUnavailable: the database does not answer.
        """
        ...

    def close(self) -> None:
        """Give back every connection."""
        ...


@runtime_checkable
class Joining(Protocol):
    """A database that can also work inside a transaction that the host began."""

    @property
    def engine(self) -> Any:
        """SQLAlchemy's engine on it, for the host's own tables; closed with the database."""
        ...

    def joined(
        self,
        connection: Any,
        committed: Callable[[], None] | None = None,
        scope: Scope | None = None,
    ) -> AbstractContextManager[Transaction]:
        """A unit of work that the host commits or rolls back.

        Args:
            connection: the host's, with the tables in its database.
            committed: called once when the host commits, as far as that can be seen.
            scope: as in `Database.begin`.

        Raises:
            Rejected: it is no such connection, or it has no transaction to join.
            Contended: within, it lost to another transaction; only the host can do its own again.
        """
        ...


# ── search ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One text that a search arm found."""

    ref: str
    similarity: float
    """0..1, whatever the index."""


class VectorIndex(Protocol):
    """Finds an owner's texts by meaning. A projection of SQL that can be rebuilt."""

    model: str
    """What stands at its vectors in SQL; the same embedder's elsewhere have another name."""

    def upsert(
        self, tx: Transaction, scope: Scope, corpus: Corpus, entries: Sequence[VectorEntry]
    ) -> None:
        """Replace the vectors of these refs; of an `Outside` index, note that it has them."""
        ...

    def search(
        self, tx: Transaction, scope: Scope, corpus: Corpus, query: Vector, limit: int
    ) -> list[Hit]:
        """The nearest texts by cosine, best first, one hit a ref; unbound by visibility.

        Raises:
            VectorsUnavailable: it does not answer now.
            Misconfigured: the query has another length than the stored vectors.
        """
        ...

    def get(
        self, tx: Transaction, scope: Scope, corpus: Corpus, refs: Collection[str]
    ) -> dict[str, Vectors]:
        """The stored vectors of these refs."""
        ...

    def refs(self, tx: Transaction, scope: Scope, corpus: Corpus) -> dict[str, str]:
        """What of the owner it can find, each with the stamp of its text as far as it is known."""
        ...

    def remove(self, tx: Transaction, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Delete; from an `Outside` index that is done soon after the commit."""
        ...


@runtime_checkable
class Outside(Protocol):
    """A vector index that is no part of the transaction.

    Jobs write to it, and then note in SQL that they did; until then rows say that they wait.
    """

    def ping(self) -> None:
        """Do nothing, if it answers. It is not asked if it did not answer a moment ago.

        Raises:
            VectorsUnavailable: it does not; ``retry_after`` says when it is asked again.
        """
        ...

    def send(self, scope: Scope, corpus: Corpus, entries: Sequence[VectorEntry]) -> None:
        """Replace the vectors of these refs there.

        Raises:
            VectorsUnavailable: it does not answer now.
        """
        ...

    def discard(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Delete there, now.

        Raises:
            VectorsUnavailable: it does not answer now.
        """
        ...

    def sweep(self, tx: Transaction, scope: Scope) -> None:
        """Promise that what has no row is soon gone from there."""
        ...

    def clear(self) -> None:
        """Delete everything there, whoever's.

        Raises:
            VectorsUnavailable: it does not answer now.
        """
        ...


class VectorHost(Protocol):
    """Keeps vectors of one model outside SQL, each behind its owner's wall."""

    name: str
    """For example ``milvus``."""

    def ping(self) -> None:
        """Do nothing, if it answers.

        Raises:
            VectorsUnavailable: it does not; so say all that follow.
        """
        ...

    def write(self, scope: Scope, corpus: Corpus, entries: Sequence[VectorEntry]) -> None:
        """Replace the vectors of these refs."""
        ...

    def search(self, scope: Scope, corpus: Corpus, query: Vector, limit: int) -> list[Hit]:
        """The nearest texts by cosine, best first, one hit a ref; the best part speaks."""
        ...

    def get(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> dict[str, Vectors]:
        """The stored vectors of these refs."""
        ...

    def refs(self, scope: Scope, corpus: Corpus) -> dict[str, str]:
        """Everything of the owner, each with its stamp."""
        ...

    def remove(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Delete."""
        ...

    def clear(self) -> None:
        """Delete everything of the model, whoever's."""
        ...

    def close(self) -> None:
        """Give the connections back."""
        ...


class Handover(Protocol):
    """Vectors that still answer while those of another embedder are being made."""

    embedder: Embedder
    index: VectorIndex

    def done(self) -> bool:
        """Can all that these find be found by the others? Never goes back to False."""
        ...


# ── the way out of one process ───────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One event as a bus carries it."""

    topic: str
    """Without the deployment's prefix."""
    key: str
    """Letters with the same key keep their order."""
    headers: Mapping[str, str]
    body: bytes


class Bus(Protocol):
    """Carries letters to whoever takes them, at least once and in order per key."""

    def publish(self, letters: Sequence[Letter]) -> None:
        """Returns once the bus has them all.

        Raises:
            Unavailable: it may have some of them; publishing all again does no harm.
        """
        ...

    def take(self, limit: int, wait_s: float) -> list[Letter]:
        """The next letters; the same ones again until `taken` was called.

        Raises:
            Unavailable: the bus does not answer.
        """
        ...

    def taken(self) -> None:
        """What `take` gave last need not be given again.

        Raises:
            Unavailable: it will be, to this taker or another.
        """
        ...

    def close(self) -> None:
        """Leave; others get what comes."""
        ...
