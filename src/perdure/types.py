"""The shared words: who is meant, what was said, what is remembered, and what became of it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Self, TypeAlias, TypeVar

from perdure import text
from perdure.errors import Rejected, TooLarge

Word = TypeVar("Word", bound=StrEnum)

ItemId: TypeAlias = str
Trace: TypeAlias = str

MAX_USER = 255
MAX_NAMESPACE = 64
MAX_BINDING = 128
MAX_MESSAGE = 1_000_000


def new_id(at: datetime) -> str:
    """An opaque id of 32 hex digits that sorts by time (RFC 9562, version 7)."""
    millis = int(at.timestamp() * 1000) & ((1 << 48) - 1)
    low = secrets.randbits(74)
    value = (
        (millis << 80) | (0x7 << 76) | ((low >> 62) << 64) | (0b10 << 62) | (low & ((1 << 62) - 1))
    )
    return f"{value:032x}"


def aware(value: datetime, where: str) -> datetime:
    """The same moment in UTC.

    Raises:
        Rejected: the time has no zone, so nobody can know which moment is meant; or it lies
            beyond the calendar.
    """
    if value.tzinfo is None or value.utcoffset() is None:
        raise Rejected("A time needs a zone, for example 2026-11-30T09:00:00+01:00.", field=where)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise Rejected("There is no such time in UTC.", field=where) from None


def identifier(value: Any, where: str, limit: int) -> str:
    """An id as the caller means it, exactly: no trimming, no folding.

    Raises:
        Rejected: it is not a text, blank, longer than ``limit`` characters, or holds a NUL or
            half a character.
    """
    if not isinstance(value, str):
        raise Rejected("Expected a text.", field=where)
    if not value.strip():
        raise Rejected("May not be blank.", field=where)
    if len(value) > limit:
        raise Rejected(f"May have at most {limit} characters.", field=where)
    if text.clean(value) != value:
        raise Rejected("May not contain NUL or half a character.", field=where)
    return value


def optional_identifier(value: Any, where: str, limit: int) -> str | None:
    """As `identifier`; None and the empty text mean that nothing is named."""
    return None if value is None or value == "" else identifier(value, where, limit)


def one_of(words: type[Word], value: Any, where: str) -> Word:
    """The word of an enumeration.

    Raises:
        Rejected: there is no such word; the error lists those there are.
    """
    try:
        return words(value)
    except ValueError:
        raise Rejected(f"Known are {', '.join(words)}.", field=where) from None


# ── who is meant ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memories are meant, and optionally where. Ids are compared exactly."""

    user: str
    namespace: str = "default"
    project: str | None = None
    assistant: str | None = None
    run: str | None = None
    conversation: str | None = None

    def __post_init__(self) -> None:
        identifier(self.user, "user", MAX_USER)
        identifier(self.namespace, "namespace", MAX_NAMESPACE)
        for name in ("project", "assistant", "run", "conversation"):
            value = optional_identifier(getattr(self, name), name, MAX_BINDING)
            object.__setattr__(self, name, value)

    @property
    def owner(self) -> tuple[str, str]:
        """Namespace and user: the wall that nothing crosses."""
        return self.namespace, self.user

    def within(self, **bindings: Any) -> Self:
        """The same owner with other bindings."""
        return replace(self, **bindings)


# ── what was said ────────────────────────────────────────────────────────────────────────────────


class Role(StrEnum):
    """Who speaks in a message."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    DEVELOPER = "developer"
    TOOL = "tool"
    FUNCTION = "function"


def _spoken(content: Any, role: Role) -> str:
    """The text of a message's content: a text, or OpenAI-style content parts."""
    if content is None:
        if role is Role.USER:
            raise Rejected("A user's message needs a content.", field="content")
        return ""
    if isinstance(content, str):
        return text.clean(content)
    if isinstance(content, Sequence) and not isinstance(content, bytes | bytearray):
        return text.clean("\n".join(filter(None, map(_part, content))))
    raise Rejected("Expected a text or a list of content parts.", field="content")


def _part(part: Any) -> str:
    """The text of one content part; pictures, sound and the like have none."""
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping):
        said = part.get("text", "")
        if isinstance(said, str):
            return said
        if said is None:
            return ""
    raise Rejected("Expected content parts with a text.", field="content")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    ``content`` may be given as a text, as a list of content parts of which the texts are kept,
    or, for anyone but the user, as None (a turn that only calls tools).
    """

    role: Role
    content: str
    at: datetime | None = None
    """When it was said. None means now."""
    id: str | None = None
    """The host's id of it, unique in its conversation; it makes a redelivery harmless."""
    name: str | None = None
    """The speaker's name where several people share a role."""

    def __post_init__(self) -> None:
        role = one_of(Role, self.role, "role")
        object.__setattr__(self, "role", role)
        object.__setattr__(self, "content", _spoken(self.content, role))
        if len(self.content) > MAX_MESSAGE:
            raise TooLarge(f"A message may have {MAX_MESSAGE:,} characters.", field="content")
        if self.at is not None:
            if not isinstance(self.at, datetime):
                raise Rejected("Expected a time.", field="at")
            object.__setattr__(self, "at", aware(self.at, "at"))
        object.__setattr__(self, "id", optional_identifier(self.id, "id", MAX_BINDING))
        object.__setattr__(self, "name", optional_identifier(self.name, "name", MAX_BINDING))


class Mode(StrEnum):
    """What memory may do in one conversation or for one turn."""

    OFF = "off"
    READ = "read"
    WRITE = "write"
    ON = "on"

    @property
    def reads(self) -> bool:
        """Memories may be recalled."""
        return self in (Mode.READ, Mode.ON)

    @property
    def writes(self) -> bool:
        """Turns may be learnt from."""
        return self in (Mode.WRITE, Mode.ON)


class Outcome(StrEnum):
    """How the task of a turn ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ConversationKind(StrEnum):
    """What sort of conversation a turn belongs to."""

    MAIN = "main"
    SUBAGENT = "subagent"
    SIDE_TASK = "side_task"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A finished turn: the new messages of one conversation, oldest first."""

    conversation: str
    messages: tuple[Message, ...]
    mode: Mode = Mode.ON
    outcome: Outcome = Outcome.COMPLETED
    kind: ConversationKind = ConversationKind.MAIN

    def __post_init__(self) -> None:
        identifier(self.conversation, "conversation", MAX_BINDING)
        if not self.messages:
            raise Rejected("A turn needs at least one message.", field="messages")
        for number, message in enumerate(self.messages):
            if not isinstance(message, Message):
                raise Rejected("Expected a Message.", field=f"messages[{number}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A message as it was kept: with its place, its time and its id."""

    seq: int
    """Rises with each kept message of the store; orders a conversation."""
    id: str
    conversation: str
    role: Role
    content: str
    at: datetime
    name: str | None = None
    trace: Trace | None = None
    """Of the capture that kept it; the messages of one turn share it."""

    @property
    def speaker(self) -> str:
        """The name if there is one, else the role."""
        return self.name or self.role.value


# ── what is remembered ───────────────────────────────────────────────────────────────────────────


class Level(StrEnum):
    """Is a memory about the user or about one of the user's projects?"""

    USER = "user"
    PROJECT = "project"


class Kind(StrEnum):
    """What sort of statement a memory is."""

    PREFERENCE = "preference"
    CONSTRAINT = "constraint"
    FACT = "fact"
    TODO_HINT = "todo_hint"


class Source(StrEnum):
    """How a memory came to be."""

    MANUAL = "manual"
    AUTO = "auto"
    CONSOLIDATED = "consolidated"
    IMPORTED = "imported"


class Status(StrEnum):
    """What holds for a memory now."""

    ACTIVE = "active"
    DISMISSED = "dismissed"
    """Refused by the user; never learnt again by itself."""
    ARCHIVED = "archived"
    """Set aside by the system: crowded out, expired or superseded."""
    DELETED = "deleted"


class VectorStatus(StrEnum):
    """Does the vector index agree with the row?"""

    PENDING = "pending"
    SYNCED = "synced"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a memory came from. Shown to the user, never a condition of visibility."""

    conversation: str | None = None
    messages: tuple[str, ...] = ()
    """Ids of the messages it was learnt from."""
    event: str | None = None
    job: str | None = None
    trace: Trace | None = None
    model: str | None = None
    """The model that proposed it; ``basic`` is the built-in extractor."""
    prompt: str | None = None
    """Version of the prompt that was used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """One stored statement."""

    id: ItemId
    namespace: str
    user: str
    content: str
    content_hash: str
    created_at: datetime
    updated_at: datetime
    """Moves when the content changes, is confirmed again or restored; never on access."""
    normalized_content: str = ""
    title: str = ""
    level: Level = Level.USER
    project: str | None = None
    assistant: str | None = None
    run: str | None = None
    conversation: str | None = None
    kind: Kind = Kind.FACT
    confidence: float = 0.5
    importance: float = 0.5
    sensitivity: int = 0
    """0 ordinary, 1 medium, 2 high."""
    explicit: bool = False
    source: Source = Source.MANUAL
    edited_by_user: bool = False
    suspicious: bool = False
    """Reads like an instruction; kept out of prompts until a person accepts it."""
    status: Status = Status.ACTIVE
    expires_at: datetime | None = None
    origin: Origin = field(default_factory=Origin)
    last_access_at: datetime | None = None
    use_count: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)
    vector_status: VectorStatus = VectorStatus.PENDING

    @property
    def machine_written(self) -> bool:
        """Written by the machine and not edited by a person since."""
        return self.source in (Source.AUTO, Source.CONSOLIDATED) and not self.edited_by_user

    @property
    def protected(self) -> bool:
        """A person wrote, imported or edited it: no machine changes it."""
        return not self.machine_written

    def expired(self, at: datetime) -> bool:
        """Its time was up at that moment."""
        return self.expires_at is not None and self.expires_at <= at

    def visible_in(self, scope: Scope) -> bool:
        """May this scope see it? A binding left empty is seen everywhere."""
        return self.owner == scope.owner and all(
            mine is None or mine == theirs
            for mine, theirs in (
                (self.project, scope.project),
                (self.assistant, scope.assistant),
                (self.run, scope.run),
                (self.conversation, scope.conversation),
            )
        )

    @property
    def owner(self) -> tuple[str, str]:
        """Namespace and user."""
        return self.namespace, self.user

    @property
    def bound(self) -> Scope:
        """The scope that it is bound to."""
        return Scope(
            namespace=self.namespace,
            user=self.user,
            project=self.project,
            assistant=self.assistant,
            run=self.run,
            conversation=self.conversation,
        )


def content_hash(scope: Scope, level: Level, content: str, how: text.Normalisation) -> str:
    """What makes two statements of one user the same. The kind is left out on purpose."""
    return text.fingerprint(
        level,
        scope.project or "" if level is Level.PROJECT else "",
        scope.assistant or "",
        scope.run or "",
        scope.conversation or "",
        text.normalise(content, how),
    )


# ── what a model proposes, and what becomes of it ────────────────────────────────────────────────


class Reason(StrEnum):
    """Why something was refused or left out. Every one is named in the reference."""

    # a turn is not learnt from
    DISABLED = "DISABLED"
    MODE_OFF = "MODE_OFF"
    AUTO_LEARN_OFF = "AUTO_LEARN_OFF"
    NOT_COMPLETED = "NOT_COMPLETED"
    CONVERSATION_KIND = "CONVERSATION_KIND"
    NO_USER_MESSAGE = "NO_USER_MESSAGE"
    NO_REPLY = "NO_REPLY"
    TOO_SHORT = "TOO_SHORT"
    NOT_ENOUGH_NEW = "NOT_ENOUGH_NEW"
    NOTHING_SAID = "NOTHING_SAID"
    ALREADY_LEARNT = "ALREADY_LEARNT"
    # a candidate is refused
    EMPTY = "EMPTY"
    TOO_LONG = "TOO_LONG"
    TOO_MANY_ITEMS = "TOO_MANY_ITEMS"
    NOT_A_STATEMENT = "NOT_A_STATEMENT"
    QUESTION = "QUESTION"
    HYPOTHETICAL = "HYPOTHETICAL"
    QUOTED = "QUOTED"
    NOT_ABOUT_USER = "NOT_ABOUT_USER"
    PASSING = "PASSING"
    UNSUPPORTED = "UNSUPPORTED"
    SECRET = "SECRET"  # noqa: S105 - the name of a reason, not a secret
    INJECTED = "INJECTED"
    SENSITIVE_NOT_LEARNT = "SENSITIVE_NOT_LEARNT"
    UNKNOWN_REFERENCE = "UNKNOWN_REFERENCE"
    UNKNOWN_ACTION = "UNKNOWN_ACTION"
    PROTECTED = "PROTECTED"
    LIKE_DISMISSED = "LIKE_DISMISSED"
    DELETED_EARLIER = "DELETED_EARLIER"
    CAPACITY = "CAPACITY"
    CHANGED_MEANWHILE = "CHANGED_MEANWHILE"
    REPEATED = "REPEATED"
    # a memory is left out of an answer
    LOW_SCORE = "LOW_SCORE"
    LOW_CONFIDENCE = "LOW_CONFIDENCE"
    EXPIRED = "EXPIRED"
    SENSITIVE_BLOCKED = "SENSITIVE_BLOCKED"
    DUP_TOPIC = "DUP_TOPIC"
    DISMISSED = "DISMISSED"
    SCOPE = "SCOPE"
    SWITCHED_OFF = "SWITCHED_OFF"
    OVER_TYPE_LIMIT = "OVER_TYPE_LIMIT"
    OVER_BUDGET = "OVER_BUDGET"
    SUSPICIOUS = "SUSPICIOUS"
    # a part of an answer is missing
    SEARCH_FAILED = "SEARCH_FAILED"
    SEARCH_LATE = "SEARCH_LATE"
    VECTORS_OFF = "VECTORS_OFF"
    RERANK_FAILED = "RERANK_FAILED"
    DATABASE_UNAVAILABLE = "DATABASE_UNAVAILABLE"
    DEADLINE = "DEADLINE"


class Action(StrEnum):
    """What a candidate does to what is stored."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    TOUCH = "TOUCH"
    DELETE = "DELETE"
    NONE = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement that a model, or the built-in extractor, proposes."""

    content: str
    kind: Kind = Kind.FACT
    level: Level = Level.USER
    title: str = ""
    confidence: float = 0.5
    importance: float = 0.5
    sensitivity: int = 0
    explicit: bool = False
    expires_at: datetime | None = None
    suspicious: bool = False
    messages: tuple[str, ...] = ()
    """Ids of the messages that support it."""
    proposed: Action | None = None
    """What the model says it does, where the call that proposed it asked for that too."""
    about: int | None = None
    """The small number of the memory it does it to, as shown in that call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one candidate is proposed to do.

    ``reference`` is the small number under which a memory was shown in this one call; the real id
    never reaches a model.
    """

    action: Action
    candidate: Candidate
    reference: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A candidate that will not be stored, and why."""

    candidate: Candidate
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A checked decision, ready to be written. ``target`` is the row as it was shown."""

    action: Action
    candidate: Candidate
    target: MemoryItem | None = None


class Operation(StrEnum):
    """What happened to a memory, as the audit names it."""

    CREATE = "create"
    UPDATE = "update"
    TOUCH = "touch"
    DISMISS = "dismiss"
    RESTORE = "restore"
    ARCHIVE = "archive"
    DELETE = "delete"
    MERGE = "merge"


class Actor(StrEnum):
    """Who did it."""

    SYSTEM = "system"
    USER = "user"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One change of one memory: who, why, before, after."""

    id: str
    item: ItemId
    namespace: str
    user: str
    operation: Operation
    actor: Actor
    reason: str
    before: str | None
    """The content before, None if there was none or it was scrubbed."""
    after: str | None
    at: datetime
    trace: Trace | None = None


# ── promises kept later ──────────────────────────────────────────────────────────────────────────


class JobType(StrEnum):
    """What a job does."""

    EXTRACT = "extract"  # learn from a captured turn
    EMBED = "embed"  # write the vectors of memories or messages
    RECONCILE = "reconcile"  # repair what the vector index lost
    CONSOLIDATE = "consolidate"  # tidy up the memories of one user
    CLEANUP = "cleanup"  # set aside what expired, scrub what was deleted


class JobState(StrEnum):
    """How far a job has come."""

    PENDING = "pending"
    PROCESSING = "processing"
    SUCCESS = "success"
    FAILED = "failed"
    """The last try failed; it runs again at its next time."""
    DEAD = "dead"

    @property
    def finished(self) -> bool:
        """It will not run again by itself."""
        return self in (JobState.SUCCESS, JobState.DEAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A job to be written, in the transaction of what it belongs to."""

    type: JobType
    namespace: str
    user: str
    key: str
    """Asking twice with the same key is asking once."""
    payload: Mapping[str, Any]
    trace: Trace
    conversation: str | None = None
    source_message: str | None = None
    max_retry: int = 5
    ordered: bool = True
    """Wait for earlier jobs of the same user, and never run beside one."""
    run_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A promise as it stands in the table. ``token`` proves that this worker still holds it."""

    id: int
    type: JobType
    namespace: str
    user: str
    key: str
    payload: Mapping[str, Any]
    trace: Trace
    state: JobState
    conversation: str | None = None
    source_message: str | None = None
    retry_count: int = 0
    max_retry: int = 5
    next_retry_at: datetime | None = None
    token: str | None = None
    last_error: str | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def scope(self) -> Scope:
        """Whose job it is."""
        return Scope(namespace=self.namespace, user=self.user)


# ── switches ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """A user's own switches."""

    memory_enabled: bool = True  # off: no capture, no learning, no recall; managing still works
    auto_learn: bool = True  # off: nothing is learnt unasked; what exists is still recalled
    sensitive_allowed: bool = False  # on: sensitive statements may be learnt and said


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """The deployment's switches; each stops its part alone."""

    enabled: bool = True
    learn: bool = True
    recall: bool = True
    workers: bool = True
    vectors: bool = True


# ── what became of a turn ────────────────────────────────────────────────────────────────────────


class ReceiptState(StrEnum):
    """How far learning from a turn has come."""

    SKIPPED = "skipped"
    """It will not be learnt from; the reason says why."""
    QUEUED = "queued"
    RUNNING = "running"
    LEARNT = "learnt"
    """Learning ended; the lists say what was stored and what was refused."""
    FAILED = "failed"
    """The last try failed; there will be another."""
    DEAD = "dead"
    """It failed for good; a person can retry it."""

    @property
    def final(self) -> bool:
        """Nothing more will happen by itself."""
        return self in (ReceiptState.SKIPPED, ReceiptState.LEARNT, ReceiptState.DEAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """One thing that learning from a turn did to one memory."""

    action: Action
    item: ItemId


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedNote:
    """Why a proposed statement was not stored. The statement itself is not kept."""

    reason: Reason
    kind: Kind
    messages: tuple[str, ...] = ()
    """Ids of the messages it was proposed from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became, or will become, of a captured turn."""

    trace: Trace
    scope: Scope
    state: ReceiptState
    reason: Reason | None = None
    learnt: tuple[Learnt, ...] = ()
    refused: tuple[RefusedNote, ...] = ()
    error: str | None = None
    """The kind of the last failure, without any text of the conversation."""
    tries: int = 0
    next_try_at: datetime | None = None
    model: str | None = None
    """What learnt from it; ``basic`` is the built-in extractor."""


# ── what is handed back ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score that explains itself: its terms add up to the total."""

    terms: Mapping[str, float]

    @property
    def total(self) -> float:
        """The sum of the terms."""
        return sum(self.terms.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A ranked hit before gate and budget: a memory, or a sentence of a conversation."""

    item: MemoryItem | None
    episode: Utterance | None
    score: float
    """Similarity to the query, 0..1."""
    arms: tuple[str, ...]

    @property
    def content(self) -> str:
        """The text that was found."""
        if self.item is not None:
            return self.item.content
        return self.episode.content if self.episode is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A memory that the answer says, and its score."""

    item: MemoryItem
    score: Score
    arms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A memory that the answer leaves out, and why."""

    item: MemoryItem
    reason: Reason
    score: Score | None = None
    arms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Degraded:
    """A part of recall that did not work this time, and why."""

    part: str
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The text to put before the model, what it says, what it leaves out and why."""

    text: str
    kept: tuple[Kept, ...]
    dropped: tuple[Dropped, ...]
    degraded: tuple[Degraded, ...]
    trace: Trace
    timings: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds by stage."""
    episodes: tuple[Found, ...] = ()
    """Messages of earlier conversations that the text quotes, where the policy wants them."""

    def as_system(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The conversation with this answer as a system message behind the host's own rules.

        Args:
            messages: as OpenAI-style chat messages, oldest first; they are left as they are.

        Returns:
            The same messages, with one more directly behind the leading system and developer
            messages; without it if the answer is empty or memories stand there already.
        """
        placed = [dict(message) for message in messages]
        if self._fits(placed):
            rules = 0
            while rules < len(placed) and placed[rules].get("role") in _RULES:
                rules += 1
            role = placed[rules - 1]["role"] if rules else Role.SYSTEM.value
            placed.insert(rules, {"role": role, "content": self.text})
        return placed

    def as_supplement(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The conversation with this answer at the end of its last message.

        For agents that build their own prompt; see `as_system` for arguments and result.
        """
        placed = [dict(message) for message in messages]
        if placed and self._fits(placed):
            content = placed[-1].get("content")
            placed[-1]["content"] = (
                [*content, {"type": "text", "text": self.text}]
                if isinstance(content, list | tuple)
                else f"{content}\n\n{self.text}"
                if content
                else self.text
            )
        return placed

    def _fits(self, messages: Sequence[Mapping[str, Any]]) -> bool:
        """There is something to say, and no memories stand in these messages already."""
        mark = self.text.partition("\n")[0]
        return bool(mark) and not any(
            mark in _written(message.get("content"))
            for message in messages
            if message.get("role") not in _REPLIES
        )


_RULES = frozenset({"system", "developer"})
_REPLIES = frozenset({"assistant", "tool", "function"})
"""What a model or a tool writes may quote our mark; that places nothing."""


def _written(content: Any) -> str:
    """All text of a message's content: a text, or content parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence) and not isinstance(content, bytes | bytearray):
        return "\n".join(
            said
            for part in content
            if isinstance(part, Mapping) and isinstance(said := part.get("text"), str)
        )
    return ""
