"""The conductor of recall: from a question to a text, within a deadline, never an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime

from perdure import text
from perdure.errors import DatabaseUnavailable, PerdureError, Rejected, Unavailable
from perdure.observe import Meter
from perdure.policy import Policy, SearchPolicy
from perdure.ports import Clock, Database, Embedder, Reranker, Vector, VectorIndex
from perdure.recall.budget import fit
from perdure.recall.course import Course, Late
from perdure.recall.gate import gate
from perdure.recall.question import Asked, Query, asked
from perdure.recall.rank import Ranked, Sifted
from perdure.recall.render import layout, render
from perdure.recall.rerank import reordered, searched
from perdure.recall.roads import fixed, ordered
from perdure.recall.search import pinned, sightings
from perdure.recall.sources import Sources
from perdure.recall.topics import topics
from perdure.text import Language
from perdure.types import (
    Answer,
    Found,
    Message,
    Mode,
    Reason,
    Scope,
    Switches,
    aware,
    new_id,
)

ARMS = ("semantic", "fulltext", "episodes")
"""What `Recaller.search` can look through."""
_THREADS = 16  # slow work of recalls that may run at once; more waits, within its deadline


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
    pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(_THREADS, thread_name_prefix="perdure-recall")
    )
    sources: Sources = field(init=False)

    def __post_init__(self) -> None:
        sources = Sources(
            database=self.database,
            embedder=self.embedder,
            index=self.index,
            switches=self.switches,
        )
        object.__setattr__(self, "sources", sources)

    def close(self) -> None:
        """Give the threads back; work that is late ends by itself."""
        self.pool.shutdown(wait=False, cancel_futures=True)

    def answer(
        self,
        scope: Scope,
        question: str | Sequence[Message],
        *,
        policy: Policy,
        at: datetime,
        mode: Mode = Mode.ON,
    ) -> Answer:
        """The few memories that matter for the next message, as text, with reasons.

        Args:
            scope: who asks, and where.
            question: the next message, or the conversation that ends with it.
            policy: the numbers of this namespace.
            at: now.
            mode: what memory may do in this conversation.

        Returns:
            What to say, what not and why. A part that failed is named in ``degraded``; the text is
            empty if the database does not answer, the deadline passes or memory may not be read.

        Raises:
            Rejected: the question or the time cannot be meant.
        """
        at = aware(at, "at")
        query = Query(
            scope=scope,
            words=asked(question, policy.search.question_chars),
            at=at,
            policy=fixed(policy),
        )
        course = Course(self.pool, policy.search.deadline_ms / 1000 or None)
        answer = None
        if not mode.reads:
            course.degrade("recall", Reason.MODE_OFF)
        elif not (self.switches.enabled and self.switches.recall):
            course.degrade("recall", Reason.SWITCHED_OFF)
        else:
            try:
                answer = self._answer(query, course)
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
        self._count(answer)
        return answer

    def _answer(self, query: Query, course: Course) -> Answer | None:
        """The stages in their order; None where memory is switched off."""
        policy, at, stage = query.policy, query.at, course.stage
        with stage("read"):
            owner = course.within(lambda: self.sources.owner(query.scope, policy.defaults))
        if not owner.preferences.memory_enabled:
            course.degrade("recall", Reason.SWITCHED_OFF)
            return None
        vector = self.sources.vector_in_time(query.words, owner, policy.search, course)
        pins = pinned(owner.seen.values(), at, policy) if policy.search.pinned else []
        with stage("search"):
            hits, said = self.sources.look(query, vector, owner, pins, course)
        with stage("rank"):
            arms = sightings(hits, owner.seen, pins, at, policy.search)
            ranked, twins = ordered(arms, owner.seen, query)
        with stage("gate"):
            gated = gate(ranked, at, query.scope, owner.preferences, policy)
        with stage("rerank"):
            better = self._reranked(gated.kept, query, course)
        with stage("topics"):
            varied = Sifted(tuple(better))
            if self.embedder is not None:
                varied = topics(better, hits.vectors, self.embedder.similarity, policy.topics)
        form = layout(policy.render, _language(query, varied.kept))
        chars = policy.episodes.quote_chars
        with stage("budget"):
            fitted = fit(varied.kept, form, policy.budget, episodes=said, quote_chars=chars)
        with stage("render"):
            quotes = [found.episode for found in fitted.episodes if found.episode is not None]
            items = [entry.item for entry in fitted.kept]
            written = render(items, form, omitted=fitted.omitted, said=quotes, quote_chars=chars)
        return replace(
            _NOTHING,
            text=written,
            kept=tuple(entry.kept() for entry in fitted.kept),
            dropped=(*fitted.dropped, *varied.dropped, *gated.dropped, *twins),
            episodes=fitted.episodes,
        )

    def _reranked(self, kept: Sequence[Ranked], query: Query, course: Course) -> Sequence[Ranked]:
        """The second opinion's order, or the one before it if there is none in time."""
        second, unsure, knobs = self.reranker, searched(kept), query.policy.rerank
        if second is None or not knobs.enabled or len(unsure) < 2:  # noqa: PLR2004 - one has no order
            return kept
        texts = [entry.item.content for entry in unsure]
        try:
            opinions = course.within(
                lambda: second.rerank(query.words.message, texts), knobs.timeout_ms / 1000
            )
        except (Late, PerdureError):
            course.degrade("rerank", Reason.RERANK_FAILED)
            return kept
        return reordered(kept, opinions)

    def search(
        self,
        scope: Scope,
        query: str | Sequence[Message],
        limit: int = 10,
        arms: Sequence[str] = ("semantic", "fulltext"),
        *,
        policy: Policy,
        at: datetime,
    ) -> list[Found]:
        """Ranked hits before gate and budget, best first; ties by what is newer.

        Args:
            scope: whose memories or messages, and where.
            query: what to look for.
            limit: how many hits at most, at least 1.
            arms: ``semantic`` and ``fulltext`` look through memories, ``episodes`` through what
                was said. None looks nowhere.
            policy: the numbers of this namespace.
            at: now; what has expired by then is not found.

        Returns:
            Hits with a score in 0..1.

        Raises:
            Rejected: a value cannot be meant; the error names the field.
            Unavailable: every arm failed.
        """
        at = aware(at, "at")
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise Rejected("Expected a whole number of at least 1.", field="limit")
        for arm in arms:
            if arm not in ARMS:
                raise Rejected(f"Known are {', '.join(ARMS)}.", field="arms")
        words = asked(query, policy.search.question_chars)
        if not words.whole or not arms:
            return []
        knobs = policy.search.but(
            pinned=False,
            semantic="semantic" in arms,
            fulltext="fulltext" in arms,
            episodes="episodes" in arms,
            per_arm=max(policy.search.per_arm, limit),
        )
        vector = self._vector_for(arms, words, knobs)
        asks = Query(scope=scope, words=words, at=at, policy=policy.but(search=knobs))
        with self.database.read() as tx:
            found = self.sources.memories(tx, asks, vector)
            if knobs.episodes:
                found += self.sources.said(tx, asks, vector, limit)
        found.sort(key=lambda one: one.score, reverse=True)
        return found[:limit]

    def _vector_for(
        self, arms: Collection[str], words: Asked, knobs: SearchPolicy
    ) -> Vector | None:
        """The query's vector; None where words can stand in for it."""
        if not {"semantic", "episodes"} & set(arms):
            return None
        try:
            if not self.sources.has_vectors:
                raise Unavailable("Vectors are switched off.")
            return self.sources.vector(words, knobs.last_turn)
        except PerdureError:
            if set(arms) == {"semantic"}:
                raise
            self.meter.count("recall_degraded", part="semantic", reason=Reason.SEARCH_FAILED)
            return None

    def _count(self, answer: Answer) -> None:
        """What operations ask about: how often, how much, why not, how well."""
        self.meter.count("recalls", hit=str(bool(answer.kept)).lower())
        self.meter.count("recall_kept", len(answer.kept))
        for reason, dropped in Counter(one.reason for one in answer.dropped).items():
            self.meter.count("recall_dropped", dropped, reason=reason)
        for one in answer.degraded:
            self.meter.count("recall_degraded", part=one.part, reason=one.reason)
        self.meter.count("recall_ms", answer.timings["total"])


_NOTHING = Answer(text="", kept=(), dropped=(), degraded=(), trace="")


def _language(query: Query, kept: Sequence[Ranked]) -> Language:
    """Of titles and labels: as the policy says, else the question's, else the memories'."""
    wanted = query.policy.render.language
    if wanted != "auto":
        return wanted
    return text.language(query.words.message or "\n".join(entry.item.content for entry in kept))
