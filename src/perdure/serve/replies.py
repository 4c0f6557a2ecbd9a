"""What goes out over the wire: the core's values under their final names, without namespaces."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import AliasPath, BaseModel, BeforeValidator, ConfigDict, Field, computed_field

from perdure.types import (
    Action,
    Actor,
    Answer,
    JobState,
    JobType,
    KeyRole,
    Kind,
    Level,
    Operation,
    Permission,
    Reason,
    ReceiptState,
    Role,
    Source,
    Stage,
    Status,
    Told,
    VectorStatus,
)
from perdure.types.words import in_words


def _from(*path: str) -> Any:
    """Where a field is read in the core's value, if its name differs there."""
    return Field(validation_alias=AliasPath(*path) if len(path) > 1 else path[0])


class Reply(BaseModel):
    """Reads the core's value by its attributes: ``ItemOut.model_validate(item)``."""

    model_config = ConfigDict(from_attributes=True)


# ── memories ─────────────────────────────────────────────────────────────────────────────────────


class OriginOut(Reply):
    """Where a memory came from."""

    conversation_id: Annotated[str | None, _from("conversation")]
    message_ids: Annotated[list[str], _from("messages")]
    event_id: Annotated[str | None, _from("event")]
    job_id: Annotated[str | None, _from("job")]
    trace: str | None
    model: str | None
    prompt_version: Annotated[str | None, _from("prompt")]


class ItemOut(Reply):
    """One memory."""

    id: str
    user_id: Annotated[str, _from("user")]
    content: str
    kind: Kind
    level: Level
    title: str
    project: str | None
    assistant_id: Annotated[str | None, _from("assistant")]
    run_id: Annotated[str | None, _from("run")]
    conversation_id: Annotated[str | None, _from("conversation")]
    confidence: float
    importance: float
    sensitivity: int
    explicit: bool
    source: Source
    edited_by_user: bool
    suspicious: bool
    status: Status
    expires_at: datetime | None
    origin: OriginOut
    created_at: datetime
    updated_at: datetime
    last_access_at: datetime | None
    use_count: int
    metadata: dict[str, str]
    vector_status: VectorStatus


class PageOut(Reply):
    """A stretch of a list; `next` is the cursor of the following one."""

    items: list[ItemOut]
    next: str | None
    total: int


class MovedOut(Reply):
    """A field of a memory before and after a change."""

    before: Told
    after: Told


class EntryOut(Reply):
    """One change of a memory: who, why, before, after."""

    id: str
    operation: Operation
    actor: Actor
    by: str | None
    """Which key, user or command it was, where that is known."""
    reason: str
    before: str | None
    after: str | None
    moved: dict[str, MovedOut] = Field(
        description="Fields besides the content that it moved, by name.",
        examples=[{"kind": {"before": "fact", "after": "preference"}}],
    )
    at: datetime
    trace: str | None
    imported_by: str | None = Field(
        description="Who handed it in from elsewhere: then `actor` and `by` are what a file says. "
        "Null: it happened here.",
    )


class HistoryOut(Reply):
    """What happened to a memory, oldest first."""

    entries: list[EntryOut]


class ClearedOut(Reply):
    """How many memories were deleted."""

    deleted: int


class ProjectsOut(Reply):
    """The user's project keys seen so far."""

    projects: list[str]


class SwitchesOut(Reply):
    """A user's switches."""

    memory_enabled: bool
    auto_learn: bool
    sensitive_allowed: bool


class MergeOut(Reply):
    """Memories that became one, or would."""

    sources: list[ItemOut]
    content: str
    into: str | None
    """The memory that says it; null in a preview."""


class DropOut(Reply):
    """A memory that left, or would, since another one says all of it."""

    item: ItemOut
    covered_by: str
    into: str | None


class SparedOut(Reply):
    """Memories that were proposed to be merged or dropped and stay."""

    item_ids: Annotated[list[str], _from("items")]
    reason: Reason


class ConsolidatedOut(Reply):
    """What merging a user's memories did, or would do."""

    run: str
    dry_run: bool
    merges: list[MergeOut]
    drops: list[DropOut]
    spared: list[SparedOut]
    failed: list[str]
    """Codes of groups whose reply could not be used; nothing changed there."""


class UndoneOut(Reply):
    """What was brought back."""

    restored: list[ItemOut]
    left: list[str]
    """Merged memories that were changed since, and stay."""


# ── what became of a turn ────────────────────────────────────────────────────────────────────────


class LearntOut(Reply):
    """One thing that learning did to one memory."""

    action: Action
    id: Annotated[str, _from("item")]


class RefusedOut(Reply):
    """Why a proposed statement was not stored."""

    reason: Reason
    kind: Kind
    message_ids: Annotated[list[str], _from("messages")]


def _code(error: str | None) -> str | None:
    """The code alone: what follows it may name a host, which is for whoever runs the service."""
    return error and error.partition(":")[0]


class ReceiptOut(Reply):
    """What became, or will become, of a captured turn."""

    trace: str
    user_id: Annotated[str, _from("scope", "user")]
    state: ReceiptState
    reason: Reason | None
    learnt: list[LearntOut]
    refused: list[RefusedOut]
    error: Annotated[str | None, BeforeValidator(_code)]
    tries: int
    next_try_at: datetime | None
    model: str | None
    truncated: int


# ── what is handed back ──────────────────────────────────────────────────────────────────────────


class EpisodeOut(Reply):
    """Something that was said earlier."""

    id: str
    conversation_id: Annotated[str, _from("conversation")]
    role: Role
    name: str | None
    content: str
    at: datetime


class KeptOut(Reply):
    """A memory that the text says. The score's terms and the arms are told on `explain`."""

    id: Annotated[str, _from("item", "id")]
    kind: Annotated[Kind, _from("item", "kind")]
    content: Annotated[str, _from("item", "content")]
    score: Annotated[float, _from("score", "total")]
    terms: Annotated[dict[str, float] | None, _from("score", "terms")] = None
    arms: list[str] | None = None


class DroppedOut(Reply):
    """A memory that was left out, and why. Its content is told on `explain` only."""

    id: Annotated[str, _from("item", "id")]
    kind: Annotated[Kind, _from("item", "kind")]
    reason: Reason
    content: Annotated[str | None, _from("item", "content")] = None
    score: Annotated[float | None, _from("score", "total")] = None
    terms: Annotated[dict[str, float] | None, _from("score", "terms")] = None
    arms: list[str] | None = None


class DegradedOut(Reply):
    """A part of recall that did not work this time."""

    part: str
    reason: Reason


class PlaceOut(Reply):
    """Where one arm of the search put a memory; 1 is its best."""

    arm: str
    rank: int


class WordsOut(Reply):
    """A reason as a person would say it."""

    en: str
    zh: str


class ConsideredOut(Reply):
    """A memory that recall considered, and what became of it."""

    id: Annotated[str, _from("item", "id")]
    kind: Annotated[Kind, _from("item", "kind")]
    content: Annotated[str, _from("item", "content")]
    stage: Stage
    reason: Reason | None
    score: Annotated[float | None, _from("score", "total")] = None
    terms: Annotated[dict[str, float] | None, _from("score", "terms")] = None
    relevance: float
    places: list[PlaceOut]

    @computed_field
    def why(self) -> WordsOut | None:
        """The reason in words."""
        if self.reason is None:
            return None
        return WordsOut(en=in_words(self.reason, "en"), zh=in_words(self.reason, "zh"))


class ContextOut(Reply):
    """The text to put before the model, and how it came about."""

    text: str
    kept: list[KeptOut]
    dropped: list[DroppedOut]
    episodes: list[EpisodeOut]
    degraded: list[DegradedOut]
    trace: str
    timings_ms: Annotated[dict[str, float], _from("timings")]
    considered: list[ConsideredOut] | None = None
    """Best first, then some that no arm found; told on `explain`."""

    @classmethod
    def of(cls, answer: Answer, *, explain: bool) -> ContextOut:
        """An answer, with or without everything that explains it."""
        episodes = [found.episode for found in answer.episodes if found.episode is not None]
        told = cls.model_validate(
            {name: getattr(answer, name) for name in _ANSWERED} | {"episodes": episodes}
        )
        if not explain:
            told.considered = None
            for said in told.kept:
                said.terms = said.arms = None
            for left_out in told.dropped:
                left_out.terms = left_out.arms = left_out.content = None
        return told


_ANSWERED = ("text", "kept", "dropped", "degraded", "trace", "timings", "considered")


class HitOut(Reply):
    """A memory, or something that was said, and how similar it is to the query."""

    content: str
    score: float
    arms: list[str]
    item: ItemOut | None
    episode: EpisodeOut | None


class HitsOut(Reply):
    """Hits, best first, and what kept the search from finding more."""

    hits: list[HitOut]
    hidden: int = Field(
        description="Hits that `floor` left out; without it they would be here.", examples=[0]
    )
    degraded: list[DegradedOut] = Field(
        description="Parts that did not work this time; what the others found stands.",
        examples=[[{"part": "semantic", "reason": "SEARCH_FAILED"}]],
    )


# ── moving and looking after ─────────────────────────────────────────────────────────────────────


class ImportedOut(Reply):
    """What became of the lines that came in."""

    lines: int
    outcomes: dict[str, dict[str, int]]
    """By type of line: how many were captured, skipped, kept, stored, or known already."""
    captures: list[str]
    """Traces of the turns that are being learnt from."""


class RowsOut(Reply):
    """A numbered page of a user's memories, for admins; `next` is the cursor of the one behind."""

    items: list[ItemOut]
    page: int
    page_size: int
    total: int
    next: str | None


class JobOut(Reply):
    """A promise, without its payload."""

    id: int
    type: JobType
    state: JobState
    user_id: Annotated[str, _from("user")]
    conversation_id: Annotated[str | None, _from("conversation")]
    trace: str
    retry_count: int
    max_retry: int
    next_retry_at: datetime | None
    last_error: str | None
    created_at: datetime | None
    updated_at: datetime | None


class JobsOut(Reply):
    """A stretch of the list of jobs; `next` is the cursor of the following one."""

    jobs: list[JobOut]
    next: int | None


class ValuesOut(Reply):
    """The run-time values of a namespace, and every number that holds there now."""

    values: dict[str, Any]
    """What was set at run time."""
    policy: dict[str, Any]
    """Everything that holds, by dotted name."""


class KeyOut(Reply):
    """A key, without its secret."""

    id: str
    name: str
    role: KeyRole
    permissions: list[Permission]
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


class NewKeyOut(KeyOut):
    """A key that was just made."""

    secret: str
    """Shown this once, and kept nowhere."""


class KeysOut(Reply):
    """Every key of the namespace, oldest first."""

    keys: list[KeyOut]


class ErasureOut(Reply):
    """The receipt of erasing a user: counts and times, never a text."""

    id: str
    user_id: Annotated[str, _from("user")]
    by: str
    asked_at: datetime
    done_at: datetime | None
    removed: dict[str, int]
    """How many rows went, by place."""
    found: dict[str, int] | None
    """What a new search of every place finds now."""
    unsearched: list[str]
    """Places where nobody can search for one user, and which keep what was said for a time of their
    own: `bus` are the topics of events."""
    clean: bool
    """It is done, and the search found nothing in any place that can be searched."""


class NotedOut(EntryOut):
    """One entry of the audit."""

    item_id: Annotated[str, _from("item")]
    """A memory, or the name of what was set or looked at."""
    user_id: Annotated[str, _from("user")]
    """Empty where no single user is meant."""


class AuditOut(Reply):
    """A stretch of the audit, newest first; `next` is the cursor of the following one."""

    entries: list[NotedOut]
    next: str | None


class SpendOut(Reply):
    """What one model was used for in a month."""

    month: str
    """As 2026-11, in UTC."""
    model: str
    purpose: str
    """`extract`, `decide`, `consolidate`, `embed`, `rerank`."""
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float


class CostsOut(Reply):
    """What models were used for in a month."""

    spend: list[SpendOut]


class PageLinkOut(Reply):
    """A link into a frame: the way in for one user."""

    url: str = Field(
        description="By the address that this request came to.",
        examples=["https://memory.example/pages/in/3q2-8w?link=eyJhbGciOi"],
    )
    path: str = Field(
        description="The same without it, where browsers reach the service by another one.",
        examples=["/pages/in/3q2-8w?link=eyJhbGciOi"],
    )
    expires_at: datetime = Field(
        description="Until then it can be opened, once.", examples=["2026-11-30T09:05:00Z"]
    )


class SummaryOut(Reply):
    """How the namespace stands."""

    rates: dict[str, float | dict[str, float] | None]
    """The ten by name, of this process since it began; decisions are split by what they did."""
    works_here: bool
    """This process works on jobs. If not, rates of jobs and learning are with the workers."""
    queue: dict[JobState, int]
    """Jobs in each state."""
    queue_age_seconds: float
    """Age of the job that has waited longest."""
    vectors: dict[VectorStatus, int]
    """Memories by the state of their vector."""
    spend: list[SpendOut]
    """What models cost this month."""
