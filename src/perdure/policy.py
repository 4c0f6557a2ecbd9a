"""Every number, once: frozen policies, one comment a knob, and the three presets as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from types import UnionType
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from perdure import text
from perdure.details import Detail
from perdure.errors import Misconfigured
from perdure.text import Normalisation
from perdure.types import Kind, Preferences


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A set of knobs that belong together."""

    def but(self, **changes: Any) -> Self:
        """The same knobs with some turned."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPolicy(Group):
    """What a memory may be. Spec 2, 3.6."""

    content_chars: int = 500  # longer is refused when a person writes it
    title_chars: int = 128  # longer titles are cut
    metadata_keys: int = 16  # more is refused
    normalisation: Normalisation = "fold"  # what makes two statements the same
    soft_delete: bool = True  # keep the row as deleted (undo), or remove it at once
    scrub_after_s: int = 30 * 86_400  # deleted text is scrubbed for good after this
    channel_projects: tuple[str, ...] = ()  # patterns of project keys that count as none
    expires: bool = True  # may memories expire at all?
    corrected_importance: float = 1.0  # of what its user corrected, so that it comes first
    vector_wait_s: float = 2.0  # a person's hand waits so long for the embedder, then a job does it
    origin_messages: int = 50  # source messages remembered of one memory; the latest
    judged_answers: int = 1_000  # of a user, whose memories can be judged; the newest

    def project(self, key: str | None) -> str | None:
        """The project that a key names; None where it is empty or only a channel's."""
        if key is None or any(fnmatchcase(key, pattern) for pattern in self.channel_projects):
            return None
        return key


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturePolicy(Group):
    """What is kept of a turn. Spec 3.2."""

    source_chars: int = (
        8_000  # longer source texts are cut in the event, with a note that they were
    )
    keep_messages_s: int = 365 * 86_400  # conversations are kept this long; 0: only until learnt
    episodes: bool = True  # index what was said, so that recall can quote it
    episode_part_chars: int = 2_000  # longer messages are indexed by meaning in parts of this size
    episode_parts: int = 8  # of one message; what comes after is found by its words alone
    episode_dates: bool = True  # a message is found by the day it was said, too


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnPolicy(Group):
    """May a turn be learnt from, and what does the model see of it? Spec 3.1, 3.3."""

    takes: Literal["turn", "last_exchange", "since_watermark"] = "turn"  # which messages
    context_messages: int = 4  # earlier messages shown for context, never learnt from
    context_chars: int = 300  # of each of those
    min_user_chars: int = 0  # shorter user texts are not learnt from
    skips_idle: bool = True  # nor are thanks, "go on" and questions that tell nothing of the user
    trigger_chars: int = 0  # wait until so much is new since the watermark
    needs_reply: bool = False  # without a reply of the assistant the turn is skipped
    explicit_when_off: bool = True  # "remember that ..." works with automatic learning off
    max_items: int = 20  # of one reply; the first are kept
    abandon_over_max: bool = False  # more items than that abandon the whole reply
    item_chars: int = 500  # of one statement
    long_item: Literal["drop", "cut"] = "drop"  # what happens to a longer one
    timeout_s: float = 60.0  # of the whole model call
    temperature: float = 0.0  # low: the same turn should teach the same
    top_p: float = 0.1  # the same
    bad_reply: Literal["give_up", "next_turn", "retry"] = "retry"  # an unusable reply
    max_reply_tokens: int = 2_000  # a longer reply is cut off and retried with less input
    message_chars: int = 96_000  # of an endless message; the receipt says that the rest is left
    input_chars: int = 24_000  # of one call; a longer input is learnt from in halves
    halvings: int = 2  # so often the input is halved where it is too long or its reply cut off
    overlap_chars: int = 300  # of one part, shown for context with the next one
    extraction_model: str = ""  # another model of the endpoint; empty: the deployment's
    bind_to: tuple[str, ...] = ()  # of assistant, run, conversation: what memories stay bound to


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenPolicy(Group):
    """What may never be stored, whatever the model says. Spec 3.3."""

    secrets: Literal["refuse", "mask"] = "refuse"  # passwords, keys, tokens
    instructions: Literal["refuse", "quarantine"] = "quarantine"  # text that poses as an order
    sensitive_from: int = 2  # from this level on, only if explicit or allowed by the user
    phone: int = 1  # how sensitive a phone number is
    email: int = 1  # how sensitive an e-mail address is
    address: int = 1  # how sensitive a postal address is


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidePolicy(Group):
    """How a candidate meets what is stored. Spec 3.4."""

    strategy: Literal["exact", "one_call", "two_call"] = "two_call"  # who compares, and when
    neighbours: int = 5  # nearest memories shown for each candidate (two_call)
    neighbour_floor: float = 0.35  # what is less relevant to a candidate is no neighbour of it
    searched: int = 50  # nearest texts looked at to find those neighbours
    direct_share: float = 0.6  # of a statement's words in the user's own, to be the user's own
    detail_slack: int = 1  # words that an update may lose beyond those that come in
    shown_tokens: int = 600  # of the comparison set (one_call), most recently updated first
    shown_nearest: int = 8  # memories in it where vectors tell which are nearest
    dismissed_tokens: int = 600  # of the refused statements, most recent first (one_call, exact)
    like_dismissed: float = 0.93  # as relevant as this to a dismissed statement is refused
    like_deleted: float = 0.5  # of an older statement's words in a deleted one: refused, too
    guard_dismissed: bool = True  # that guard, in code; off where wording alone decides


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPolicy(Group):
    """How many memories fit. Spec 3.6."""

    active_limit: int = 2_000  # active memories of one user
    evict_per_round: int = 3  # machine-written rows set aside in one round, at most
    evicts: Literal["updated", "created"] = "updated"  # oldest by which time
    evicts_protected: bool = False  # may what a person wrote be set aside too?
    trims: bool = False  # all that is over the limit makes room, also for what a person writes


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidatePolicy(Group):
    """When memories are tidied up. Spec 3.7."""

    enabled: bool = True  # off: never
    active_over: int = 150  # more active memories than this, or
    user_target: int = 300  # a user group larger than this, or
    project_target: int = 300  # a project group larger than this
    cooldown_s: int = 86_400  # and so long since the last time
    content_chars: int = 120  # a longer merged statement gives that merge up
    shown_tokens: int = 12_000  # of one group; what was confirmed longest ago is shown first
    halvings: int = 3  # so often a group is halved that is too long for the model
    new_words: int = 2  # that a merged statement may have beyond those of its sources
    max_removals: int = 20  # memories of one group that leave in one run
    undo_s: int = 30 * 86_400  # so long it can be undone


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentPolicy(Group):
    """What sort of message is answered. Spec 4.2."""

    enabled: bool = True  # off: every message is treated alike
    task_constraint: float = 0.10  # added to constraints when a task is asked for
    chat_relevance: float = 0.10  # added to the weight of relevance in small talk


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPolicy(Group):
    """Where memories are looked for. Spec 4.3, 4.10."""

    mode: Literal["hybrid", "legacy", "newest", "oldest"] = "hybrid"  # which road
    pinned: bool = True  # constraints and sure preferences come whatever the question
    pinned_confidence: float = 0.8  # of a preference, to be pinned
    pinned_preferences: int = 5  # at most, and never over their limit; fewer leave room for others
    semantic: bool = True  # by vector
    fulltext: bool = True  # by words
    episodes: bool = False  # by what was said in earlier conversations
    recent_days: int = 0  # semantic hits no older than this; 0: any age
    kinds: tuple[str, ...] = tuple(Kind)  # what the search arms look for; pinned rows come anyway
    per_arm: int = 50  # hits of one arm
    explained: int = 50  # memories that no arm found, told on explain; the newest
    question_chars: int = 4_000  # of a longer question the end is searched with
    last_turn: float = 0.5  # weight of the last user turn's vector beside the whole question's
    bm25_k1: float = 0.9  # how soon repeating a word stops to help
    bm25_b: float = 0.5  # how much a long text is held back
    words_full: float = 50.0  # rarity of all found words at which words say all they can
    words_weight: float = 0.5  # how much words may add to what the vector says
    legacy_limit: int = 5  # memories in all on the legacy road
    time_words: bool = True  # "last March" and 上周三 prefer what is of that time
    embedded_anew: int = 64  # asked about the past: so many texts that have changed since
    vector_ms: int = 500  # the question's vector is there by then, or the search goes without it
    arm_ms: int = 500  # an arm has found by then, or the answer goes without it
    deadline_ms: int = 800  # the answer comes by then, with what there is; 0: no deadline
    finish_ms: int = 40  # of that time, kept for ranking and writing


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodesPolicy(Group):
    """How what was said is searched. Weights are in standard deviations of one user's scores."""

    words_weight: float = 1.0  # BM25 of the message
    dense_weight: float = 0.5  # cosine of the message
    next_weight: float = 0.5  # score of the messages one place away
    second_weight: float = 0.25  # score of the messages two places away
    conversation_weight: float = 1.0  # BM25 of the whole conversation
    speaker_bonus: float = 1.5  # for messages of the one speaker whom the question names
    time_bonus: float = 1.0  # for messages of the time that the question names
    half_score: float = 6.0  # so many deviations above the mean give a score of one half
    floor: float = 0.5  # below this score nothing is quoted in an answer
    candidates: int = 20_000  # messages whose vectors are compared at most
    quote_chars: int = 300  # of a quoted message
    around: int = 1  # messages before and after a quoted one that are quoted with it
    walls: tuple[str, ...] = ("project", "assistant", "run")  # said there, found only there


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPolicy(Group):
    """What comes first. Spec 4.5."""

    searched: Literal["relevance", "typed"] = "relevance"  # formula of searched rows
    pinned: Literal["relevance", "typed"] = "typed"  # formula of pinned rows
    relevance_weight: float = 0.45  # formula "relevance" (C 8.2): nearness to the question
    confidence_weight: float = 0.25  # how sure it is
    recency_weight: float = 0.20  # how lately it was confirmed
    explicit_weight: float = 0.10  # the user asked to remember it
    typed_importance: float = 0.35  # formula "typed" (D 4): how much it matters
    typed_confidence: float = 0.30  # how sure it is
    typed_recency: float = 0.20  # how lately it was confirmed
    typed_explicit: float = 0.10  # the user asked to remember it
    typed_same_conversation: float = 0.08  # it was learnt in this conversation
    constraint_weight: float = 0.15  # type weights (D 4): of a constraint
    preference_weight: float = 0.10  # of a preference
    todo_hint_weight: float = 0.05  # of a to-do
    fact_weight: float = 0.0  # of a fact
    time_weight: float = 0.20  # of the time that the question names: what its age takes from it
    type_weight_on_searched: bool = True  # type weight is added to "relevance" too
    half_life_days: float = 30.0  # recency halves in this time


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePolicy(Group):
    """What may be said. Spec 4.6."""

    floor: float = 0.55  # below this a searched memory is noise
    min_relevance: float = 0.35  # a searched memory must be at least so relevant by itself
    min_confidence: float = 0.0  # less sure memories are kept back
    sensitive_from: int = 2  # from this level on, only with consent


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsPolicy(Group):
    """How often one thing may be said. Spec 4.6."""

    enabled: bool = True  # off: no cap
    per_topic: int = 2  # more on one topic is nagging
    other_time: float = 0.5  # asked for a time: so far from topic to same, one not of it goes


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankPolicy(Group):
    """A second look at the order. Spec 4.6."""

    enabled: bool = True  # off: a reranker that is there is not asked
    timeout_ms: int = 300  # after that the order before it stands


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPolicy(Group):
    """How much is said. Spec 4.7. None (``none`` in a file) means no limit, 0 means nothing."""

    constraint: int | None = 5  # constraints
    preference: int | None = 5  # preferences
    todo_hint: int | None = 3  # to-dos
    fact: int | None = 5  # facts
    total: int | None = 18  # of all kinds
    user: int | None = None  # of user memories
    project: int | None = None  # of project memories
    tokens: int | None = 1_500  # of the whole text
    bytes: int | None = None  # of the whole text, UTF-8, header and closing line included
    episodes: int = 0  # quoted messages of earlier conversations
    constraints_last: bool = True  # cuts spare constraints; off: rank alone decides
    gaps: bool = True  # what does not fit is skipped; off: everything ranked below goes too


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderPolicy(Group):
    """How it is said. Spec 4.8."""

    form: Literal["typed_v2", "flat", "sections", "bullets"] = "typed_v2"  # shape of the text
    language: Literal["auto", "en", "zh"] = "auto"  # of titles and labels; auto: the question's
    language_letters: int = 6  # fewer English letters ("ok") do not tell a question's language


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsPolicy(Group):
    """How promises are kept. Spec 5."""

    max_retry: int = 5  # tries after the first, then dead
    backoff_s: float = 2.0  # before the second try; doubles each time
    backoff_max_s: float = 900.0  # never longer than this
    retry_after_max_s: float = 3_600.0  # an endpoint is asked again by then, whatever it says
    jitter: float = 0.25  # up to this share is added, so that retries do not march in step
    lease_s: float = 30.0  # a worker that is silent for so long has died
    poll_s: float = 1.0  # an idle worker looks again after this
    keep_finished_s: int = 7 * 86_400  # finished jobs are kept as receipts for so long
    busy_max_s: float = 86_400.0  # a busy model or index does not use up tries for so long
    upkeep_s: float = 60.0  # finished jobs and dead workers' leases are looked after this often
    cleanup_s: float = 3_600.0  # whose memories need cleaning is asked this often; 0: never
    reconcile_s: float = 3_600.0  # whose vectors or terms need repair is asked so; 0: never
    sweep_s: float = 86_400.0  # a vector index outside SQL is compared with it so often; 0: never
    backlog: int = 10_000  # above so many waiting jobs vectors are made later; 0: never
    late_s: float = 60.0  # a job that is due for longer says that too few work; 0: never
    backlog_look_s: float = 5.0  # they are counted this often
    outbox_batch: int = 500  # events that are published, or taken, at once
    republish_s: float = 300.0  # an event that has not come back by then is published again
    repair_batch: int = 100  # memories or messages whose vectors are made anew in one job
    erase_again_s: float = 600.0  # after an erasure vectors outside SQL are looked for again then


@dataclass(frozen=True, slots=True, kw_only=True)
class BusPolicy(Group):
    """How long a bus is waited for; of the whole deployment."""

    taken_s: float = 10.0  # within which a broker has to take what it is given
    topics_s: float = 5.0  # the same for a question about topics
    session_s: float = 10.0  # a consumer that is silent for so long has died


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabasePolicy(Group):
    """How long a database is waited for; of the whole deployment."""

    busy_s: float = 30.0  # who writes waits so long for others who do, over all tries
    lock_s: float = 10.0  # one statement waits so long for a row that another holds; not on SQLite
    tries: int = 5  # a unit of work that lost to another is done so often, then its caller is told
    again_s: float = 0.02  # before the second try; doubles each time, and as much luck on top
    connect_s: float = 5.0  # a server has to take a connection within this
    look_s: float = 3.0  # an idle connection has to show within this that it still leads somewhere
    answer_s: float = 30.0  # a server that is silent for so long, beside lock_s, is lost
    key_s: float = 2.0  # a key is looked up by then, or the request is not served


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPolicy(Group):
    """What models cost, and how much of it learning may spend. Spec 10. None means no limit."""

    prices: tuple[str, ...] = ()  # of a model, as gpt-4o-mini=0.15/0.60: for 1M tokens in and out
    user_month: float | None = None  # money that one user may cost in a month; then no learning
    user_tokens_month: int | None = None  # the same in tokens, in and out together
    namespace_month: float | None = None  # money for all of a namespace

    def __post_init__(self) -> None:
        """Refuse a price that cannot be one."""
        for line in self.prices:
            _price(line)

    @property
    def capped(self) -> bool:
        """There is a limit at all."""
        return (self.user_month, self.user_tokens_month, self.namespace_month) != (None,) * 3

    def of(self, model: str, tokens_in: int, tokens_out: int) -> float:
        """What a call costs, in the currency of the prices; 0 for a model without one."""
        prices = {name: price for name, *price in map(_price, self.prices)}
        into, out = prices.get(model, prices.get("*", (0.0, 0.0)))
        return (into * tokens_in + out * tokens_out) / 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FramePolicy(Group):
    """How long *My memory* is open in a frame of a host. Spec 7."""

    link_s: float = 300.0  # a link opens the frame within this time, once; a day at most
    session_s: float = 3_600.0  # so long the frame stays open; a new link opens it anew


def _price(line: str) -> tuple[str, float, float]:
    """A model, and its prices for a million tokens in and out; ``*`` is every other model."""
    model, _, prices = line.rpartition("=")
    into, _, out = prices.partition("/")
    try:
        found = model.strip(), float(into), float(out)
    except ValueError:
        found = "", 0.0, 0.0
    if not found[0] or not all(0 <= price < float("inf") for price in found[1:]):
        raise Misconfigured("Expected as gpt-4o-mini=0.15/0.60.", field="cost.prices")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Group):
    """All knobs of one namespace."""

    preset: str = "assistant"
    item: ItemPolicy = field(default_factory=ItemPolicy)
    capture: CapturePolicy = field(default_factory=CapturePolicy)
    learn: LearnPolicy = field(default_factory=LearnPolicy)
    screen: ScreenPolicy = field(default_factory=ScreenPolicy)
    decide: DecidePolicy = field(default_factory=DecidePolicy)
    capacity: CapacityPolicy = field(default_factory=CapacityPolicy)
    consolidate: ConsolidatePolicy = field(default_factory=ConsolidatePolicy)
    intent: IntentPolicy = field(default_factory=IntentPolicy)
    search: SearchPolicy = field(default_factory=SearchPolicy)
    episodes: EpisodesPolicy = field(default_factory=EpisodesPolicy)
    rank: RankPolicy = field(default_factory=RankPolicy)
    gate: GatePolicy = field(default_factory=GatePolicy)
    topics: TopicsPolicy = field(default_factory=TopicsPolicy)
    rerank: RerankPolicy = field(default_factory=RerankPolicy)
    budget: BudgetPolicy = field(default_factory=BudgetPolicy)
    render: RenderPolicy = field(default_factory=RenderPolicy)
    jobs: JobsPolicy = field(default_factory=JobsPolicy)
    bus: BusPolicy = field(default_factory=BusPolicy)
    database: DatabasePolicy = field(default_factory=DatabasePolicy)
    cost: CostPolicy = field(default_factory=CostPolicy)
    frame: FramePolicy = field(default_factory=FramePolicy)
    defaults: Preferences = field(default_factory=Preferences)
    """A user's switches where the user has said nothing."""

    def turned(self, knobs: Mapping[str, Mapping[str, Any]], source: str) -> Policy:
        """The same policy with the knobs of one source turned, checked one by one.

        Args:
            knobs: by group, then by name; values as TOML or an environment variable gives them.
            source: named in errors, for example ``perdure.toml``.

        Raises:
            Misconfigured: an unknown group or name, a value of the wrong type, or a negative
                number where none is allowed.
        """
        changed: dict[str, Any] = {}
        for group, values in knobs.items():
            current = getattr(self, group, None) if group in _groups() else None
            if current is None:
                raise Misconfigured(
                    "Unknown policy group; known are {known}.",
                    field=f"{source}: policy.{group}",
                    known=sorted(_groups()),
                )
            changed[group] = replace(
                current,
                **{
                    name: _checked(type(current), name, value, f"{source}: policy.{group}.{name}")
                    for name, value in values.items()
                },
            )
        return replace(self, **changed)


def _groups() -> set[str]:
    """Names of the policy's groups."""
    return {f.name for f in fields(Policy)} - {"preset"}


def _checked(group: type, name: str, value: Any, where: str) -> Any:
    """The value as the knob's type, or an error that names the knob."""
    hints = get_type_hints(group)
    if name not in hints:
        raise Misconfigured("Unknown name; known are {known}.", field=where, known=sorted(hints))
    wanted = hints[name]
    origin = get_origin(wanted)
    if origin is Literal:
        choices = get_args(wanted)
        if value not in choices:
            raise Misconfigured("Choose one of {known}.", field=where, known=choices)
        return value
    if origin is tuple:
        return _texts(value, where)
    if wanted is str:
        if not isinstance(value, str):
            raise Misconfigured("Expected a text.", field=where)
        if text.clean(value) != value:
            raise Misconfigured("May not contain NUL or half a character.", field=where)
        return value.strip()
    if origin is UnionType:
        if isinstance(value, str) and value.lower() == "none":
            return None
        wanted = get_args(wanted)[0]
    return _truth(value, where) if wanted is bool else _number(wanted, name, value, where)


def _texts(value: Any, where: str) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(i, str) for i in items):
        raise Misconfigured("Expected a list of texts.", field=where)
    return tuple(i.strip() for i in items if i.strip())


NEVER_NONE = frozenset({
    "timeout_s", "lease_s", "poll_s", "upkeep_s", "half_score", "link_s", "session_s", "busy_s",
    "lock_s", "tries", "connect_s", "look_s", "answer_s", "key_s", "taken_s", "topics_s",
})  # fmt: skip
"""Knobs for which 0 cannot mean none."""

MOST: Mapping[str, int] = {
    "days": 36_500, "s": 3_153_600_000, "ms": 3_153_600_000_000, "month": 10**15, "": 2**31 - 1,
    "scrub_after_s": 10**14,  # never
}  # fmt: skip
"""The largest number by a name, or by the word that ends it: a hundred years, or what is kept."""

TRUTHS: Mapping[str, bool] = {
    "true": True, "1": True, "on": True, "yes": True,
    "false": False, "0": False, "off": False, "no": False,
}  # fmt: skip
"""How a switch may be written in an environment variable."""


def _truth(value: Any, where: str) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in TRUTHS:
        return TRUTHS[value.lower()]
    raise Misconfigured("Expected true or false.", field=where)


def _number(wanted: type, name: str, value: Any, where: str) -> Any:
    what = Detail("Expected a whole number." if wanted is int else "Expected a number.")
    if isinstance(value, bool) or (wanted is int and isinstance(value, float)):
        raise Misconfigured(what, field=where)
    try:
        number = wanted(value)
    except (TypeError, ValueError):
        raise Misconfigured(what, field=where) from None
    except OverflowError:
        number = float("inf")
    if not 0 <= number < float("inf"):
        raise Misconfigured("May not be negative or endless.", field=where)
    most = MOST.get(name, MOST.get(name.rpartition("_")[2], MOST[""]))
    if number > most:
        raise Misconfigured("Expected {high} or less.", field=where, high=most)
    if number == 0 and name in NEVER_NONE:
        raise Misconfigured("Must be above 0.", field=where)
    return number


# ── presets: the three design notes as data ──────────────────────────────────────────────────────

ASSISTANT = Policy()
"""Every turn is learnt from in the background; hybrid recall; typed sections. Notes C and D."""

TEAM = Policy(
    preset="team",
    item=ItemPolicy(normalisation="space", soft_delete=False, scrub_after_s=600, expires=False),
    capture=CapturePolicy(episodes=False),
    learn=LearnPolicy(
        takes="last_exchange",
        context_messages=0,
        min_user_chars=20,
        skips_idle=False,
        needs_reply=True,
        explicit_when_off=False,
        max_items=3,
        abandon_over_max=True,
        item_chars=120,
        timeout_s=30.0,
        bad_reply="give_up",
    ),
    decide=DecidePolicy(strategy="one_call", shown_tokens=24_000, guard_dismissed=False),
    capacity=CapacityPolicy(active_limit=200),
    consolidate=ConsolidatePolicy(user_target=30, project_target=60),
    intent=IntentPolicy(enabled=False),
    search=SearchPolicy(mode="newest", pinned=False, semantic=False, fulltext=False),
    gate=GatePolicy(floor=0.0, min_relevance=0.0),
    topics=TopicsPolicy(enabled=False),
    budget=BudgetPolicy(
        constraint=None,
        preference=None,
        todo_hint=None,
        fact=None,
        total=None,
        tokens=None,
        user=8,
        project=12,
        constraints_last=False,
    ),
    render=RenderPolicy(form="sections"),
    defaults=Preferences(auto_learn=False),
)
"""Learns when a task completes and the user has opted in; newest first; no vectors. Note A."""

DESKTOP = Policy(
    preset="desktop",
    item=ItemPolicy(
        content_chars=200,
        normalisation="exact",
        soft_delete=False,
        scrub_after_s=0,
        expires=False,
        judged_answers=100,  # each names every memory, and the state is written whole
    ),
    capture=CapturePolicy(episodes=False),
    learn=LearnPolicy(
        takes="since_watermark",
        context_messages=0,
        skips_idle=False,
        trigger_chars=4_000,
        explicit_when_off=False,
        max_items=1_000,
        item_chars=200,
        long_item="cut",
        timeout_s=180.0,
        bad_reply="next_turn",
        max_reply_tokens=16_000,  # the merged list comes back whole
    ),
    decide=DecidePolicy(strategy="exact", shown_tokens=24_000, guard_dismissed=False),
    capacity=CapacityPolicy(
        active_limit=100,
        evict_per_round=1_000,
        evicts="created",
        evicts_protected=True,
        trims=True,
    ),
    consolidate=ConsolidatePolicy(enabled=False),
    intent=IntentPolicy(enabled=False),
    search=SearchPolicy(mode="oldest", pinned=False, semantic=False, fulltext=False),
    gate=GatePolicy(floor=0.0, min_relevance=0.0),
    topics=TopicsPolicy(enabled=False),
    budget=BudgetPolicy(
        constraint=None,
        preference=None,
        todo_hint=None,
        fact=None,
        total=None,
        tokens=None,
        bytes=8 * 1024,
        constraints_last=False,
        gaps=False,
    ),
    render=RenderPolicy(form="bullets"),
)
"""One person, one file; learns after 4,000 new characters; a bullet list. Note B."""

DESKTOP_LIMITS = range(10, 1_001)
"""How many active memories one person may choose to keep there. B 1."""

PRESETS: Mapping[str, Policy] = {p.preset: p for p in (ASSISTANT, TEAM, DESKTOP)}


def preset(name: str) -> Policy:
    """The preset of that name.

    Raises:
        Misconfigured: there is none.
    """
    if name not in PRESETS:
        raise Misconfigured("Choose one of {known}.", field="preset", known=list(PRESETS))
    return PRESETS[name]
