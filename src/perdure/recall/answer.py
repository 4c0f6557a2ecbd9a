"""The conductor of recall: from a question to a text, within a deadline, never an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime

from perdure import text
from perdure.errors import DatabaseUnavailable, Rejected
from perdure.observe import Meter
from perdure.policy import Policy, SearchPolicy
from perdure.ports import (
    Clock,
    Database,
    Embedder,
    Handover,
    Ledger,
    Reranker,
    VectorIndex,
    on_account,
)
from perdure.recall.arms import look
from perdure.recall.budget import fit, passage
from perdure.recall.course import Course, Late
from perdure.recall.explain import explained, unfound
from perdure.recall.find import checked, find
from perdure.recall.gate import gate
from perdure.recall.question import Query, asked
from perdure.recall.rank import Ranked, Sifted, of_time
from perdure.recall.render import dated, layout, render
from perdure.recall.rerank import reordered, searched
from perdure.recall.roads import fixed, ordered
from perdure.recall.search import pinned, sightings
from perdure.recall.shelf import Shelves
from perdure.recall.sources import Sources
from perdure.recall.topics import topics
from perdure.recall.withheld import withheld
from perdure.text import Language
from perdure.types import (
    Answer,
    Dropped,
    Findings,
    MemoryItem,
    Message,
    Mode,
    Reason,
    Scope,
    Stage,
    Switches,
    aware,
    new_id,
)

_THREADS = 16  # database reads of recalls that may run at once; more waits, within its deadline
_ASKING = 8  # questions to an embedder or a reranker that may run at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Recaller:
    """Answers questions from one database. Share it between threads."""

    database: Database
    embedder: Embedder | None
    index: VectorIndex | None
    reranker: Reranker | None
    switches: Switches
    clock: Clock
    meter: Meter
    before: Handover | None = None
    """Answers by meaning until the vectors of the others are complete."""
    ledger: Ledger | None = None
    """None: nobody pays."""
    pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(_THREADS, thread_name_prefix="perdure-recall")
    )
    models: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(_ASKING, thread_name_prefix="perdure-ask")
    )
    sources: Sources = field(init=False)

    def __post_init__(self) -> None:
        sources = Sources(
            database=self.database,
            embedder=self.embedder,
            index=self.index,
            switches=self.switches,
            shelves=Shelves.counted(self.meter),
        )
        object.__setattr__(self, "sources", sources)

    def _now(self, scope: Scope) -> Sources:
        """With the vectors that answer now; one recall keeps to one kind of them."""
        before, sources = self.before, self.sources
        if before is not None and not before.done():
            sources = replace(sources, embedder=before.embedder, index=before.index)
        paid = on_account(sources.embedder, self.ledger, scope)
        return sources if paid is sources.embedder else replace(sources, embedder=paid)

    def close(self) -> None:
        """Give the threads back; work that is late ends by itself."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.models.shutdown(wait=False, cancel_futures=True)

    def forget(self, scope: Scope) -> None:
        """Let go what is kept in memory of an owner."""
        self.sources.shelves.drop(scope)
        self.sources.outlines.drop(scope)

    def answer(
        self,
        scope: Scope,
        question: str | Sequence[Message],
        *,
        policy: Policy,
        at: datetime,
        mode: Mode = Mode.ON,
        as_of: datetime | None = None,
        explain: bool = False,
        newer: Callable[[], Policy] | None = None,
    ) -> Answer:
        """The few memories that matter for the next message, as text, with reasons.

        Args:
            scope: who asks, and where.
            question: the next message, or the conversation that ends with it.
            policy: the numbers of this namespace.
            at: now.
            mode: what memory may do in this conversation.
            as_of: answer with what was believed then; None: now.
            explain: tell the way of each memory that was considered, and what was not: what no arm
                found, was dismissed or is bound elsewhere.
            newer: reads the policy that holds now, which is then taken; the deadline is the old
                one's.

        Returns:
            What to say, what not and why. A part that failed is named in ``degraded``; the text is
            empty if the database does not answer, the deadline passes or memory may not be read.

        Raises:
            Rejected: the question or the time cannot be meant.
        """
        at, as_of = aware(at, "at"), earlier(as_of, at)

        def query_by(policy: Policy) -> Query:
            words = asked(question, policy.search.question_chars)
            rules = fixed(policy)
            return Query(scope=scope, words=words, at=as_of or at, policy=rules, as_of=as_of)

        query = query_by(policy)
        course = Course(self.pool, self.models, _deadline(policy.search))
        answer = None
        if not mode.reads:
            course.degrade("recall", Reason.MODE_OFF)
        elif not (self.switches.enabled and self.switches.recall):
            course.degrade("recall", Reason.SWITCHED_OFF)
        else:
            try:
                if newer is not None:
                    query = query_by(course.within("policy", newer))
                answer = self._answer(query, course, explain=explain)
            except DatabaseUnavailable:
                course.degrade("database", Reason.DATABASE_UNAVAILABLE)
            except Late:
                course.degrade("recall", Reason.DEADLINE)
        answer = replace(
            answer or _NOTHING,
            trace=new_id(at),
            degraded=tuple(course.degraded),
            timings=course.finish(),
        )
        _count(answer, self.meter.within(scope.namespace))
        return answer

    def _answer(self, query: Query, course: Course, *, explain: bool) -> Answer | None:
        """The stages in their order; None where memory is switched off."""
        policy, at, stage = query.policy, query.at, course.stage
        sources = self._now(query.scope)
        owner = course.within("read", lambda: sources.owner(query.scope, policy, query.as_of))
        if not owner.preferences.memory_enabled:
            course.degrade("recall", Reason.SWITCHED_OFF)
            return None
        user = owner.preferences
        pins: list[MemoryItem] = []
        if policy.search.pinned:
            pins = pinned(owner.pinnable, at, query.scope, user, policy)
        with stage("search"):
            looked = look(sources, query, owner, pins, course)
        with stage("rank"):
            arms = sightings(looked.hits, owner.seen, pins, at, policy.search)
            ranked, twins = ordered(arms, owner.seen, query, user)
        with stage("gate"):
            gated = gate(ranked, at, query.scope, user, policy)
        with stage("rerank"):
            better = self._reranked(gated.kept, query, course)
        with stage("topics"):
            varied = Sifted(tuple(better))
            if sources.embedder is not None:
                similarity = sources.embedder.similarity
                then = {one.item.id for one in better if of_time(one.item, query.times)}
                vectors = looked.hits.vectors
                varied = topics(better, vectors, similarity, policy.topics, then=then)
        form = layout(policy.render, _language(query, varied.kept))
        if query.times:
            form = dated(form, {entry.item.id for entry in varied.kept if not entry.pinned})
        chars = policy.episodes.quote_chars
        with stage("budget"):
            fitted = fit(varied.kept, form, policy.budget, episodes=looked.said, quote_chars=chars)
        with stage("render"):
            written = render(
                [entry.item for entry in fitted.kept],
                form,
                pinned={entry.item.id for entry in fitted.kept if entry.pinned},
                omitted=fitted.omitted,
                said=passage(fitted.episodes),
                quote_chars=chars,
            )
        dropped: dict[Stage, Sequence[Dropped]] = {
            Stage.BUDGET: fitted.dropped,
            Stage.TOPICS: varied.dropped,
            Stage.GATE: gated.dropped,
            Stage.MERGE: twins,
        }
        if explain:
            look_behind = course.start(
                "withheld", lambda: withheld(sources, query, owner, looked.vector)
            )
            shut = course.arm(look_behind, "withheld", ())
            dropped[Stage.GATE] = (*gated.dropped, *shut)
            most = policy.search.explained
            dropped[Stage.SEARCH] = unfound(arms, ranked, owner.seen, most)
        return replace(
            _NOTHING,
            text=written,
            kept=tuple(entry.kept() for entry in fitted.kept),
            dropped=tuple(one for some in dropped.values() for one in some),
            episodes=fitted.episodes,
            considered=explained(arms, ranked, dropped) if explain else (),
        )

    def _reranked(self, kept: Sequence[Ranked], query: Query, course: Course) -> Sequence[Ranked]:
        """The second opinion's order, or the one before it if there is none in time."""
        second = on_account(self.reranker, self.ledger, query.scope)
        unsure, knobs = searched(kept), query.policy.rerank
        meter = self.meter.within(query.scope.namespace)
        if second is None or not knobs.enabled or len(unsure) < 2:  # noqa: PLR2004 - one has no order
            return kept
        texts = [entry.item.content for entry in unsure]
        asking = course.start(
            "rerank",
            lambda: reordered(kept, second.rerank(query.words.message, texts)),
            knobs.timeout_ms / 1000,
            asks=True,
        )
        better = course.arm(asking, "rerank", None, Reason.RERANK_FAILED)
        meter.count("reranks", outcome="fallback" if better is None else "ok")
        return kept if better is None else better

    def search(
        self,
        scope: Scope,
        query: str | Sequence[Message],
        limit: int = 10,
        arms: Sequence[str] = ("semantic", "fulltext"),
        *,
        policy: Policy,
        at: datetime,
        as_of: datetime | None = None,
        floor: float = 0.0,
    ) -> Findings:
        """Ranked hits before gate and budget, best first; ties by what is newer.

        Args:
            scope: whose memories or messages, and where.
            query: what to look for.
            limit: how many hits at most, at least 1.
            arms: ``semantic`` and ``fulltext`` look through memories, ``episodes`` through what
                was said. None looks nowhere.
            policy: the numbers of this namespace.
            at: now; what has expired by then is not found.
            as_of: look through what was believed and said by then; None: now.
            floor: hits with a lower score, 0..1, are left out.

        Returns:
            Hits with a score in 0..1, how many the floor left out, and what failed.

        Raises:
            Rejected: a value cannot be meant; the error names the field.
            Unavailable: every arm failed.
        """
        at, as_of = aware(at, "at"), earlier(as_of, at)
        checked(limit, arms, floor)
        words = asked(query, policy.search.question_chars)
        if not words.whole or not arms:
            return Findings()
        knobs = policy.search.but(
            pinned=False,
            semantic="semantic" in arms,
            fulltext="fulltext" in arms,
            episodes="episodes" in arms,
            per_arm=max(policy.search.per_arm, limit),
        )
        wanted = Query(
            scope=scope,
            words=words,
            at=as_of or at,
            policy=policy.but(search=knobs),
            as_of=as_of,
        )
        return find(self._now(scope), self.meter, wanted, limit, floor)


_NOTHING = Answer(text="", kept=(), dropped=(), degraded=(), trace="")


def _count(answer: Answer, meter: Meter) -> None:
    """What operations ask about: how often, how much, why not, how well."""
    meter.count("recalls", hit=str(bool(answer.kept)).lower())
    meter.count("recall_kept", len(answer.kept))
    for reason, dropped in Counter(one.reason for one in answer.dropped).items():
        meter.count("recall_dropped", dropped, reason=reason)
    for one in answer.degraded:
        meter.count("recall_degraded", part=one.part, reason=one.reason)
    meter.time("recall_seconds", answer.timings["total"] / 1000)


def earlier(as_of: datetime | None, at: datetime) -> datetime | None:
    """The time that is asked about.

    Raises:
        Rejected: it has no zone, or has not come yet.
    """
    if as_of is None:
        return None
    as_of = aware(as_of, "as_of")
    if as_of > at:
        raise Rejected("May not lie in the future.", field="as_of")
    return as_of


def _deadline(policy: SearchPolicy) -> float | None:
    """Seconds until everything slow has ended; None: there is no deadline."""
    whole = policy.deadline_ms
    return max(whole - policy.finish_ms, whole / 2) / 1000 or None


def _language(query: Query, kept: Sequence[Ranked]) -> Language:
    """Of titles and labels: as the policy says, else the question's, else the memories'.

    A message of few letters ("ok") does not tell: the conversation does, or what is remembered.
    """
    knobs, words = query.policy.render, query.words
    if knobs.language != "auto":
        return knobs.language
    for said in (words.message, words.whole):
        if text.language(said) == "zh" or sum(map(str.isalpha, said)) >= knobs.language_letters:
            return text.language(said)
    return text.language("\n".join(entry.item.content for entry in kept) or words.message)
