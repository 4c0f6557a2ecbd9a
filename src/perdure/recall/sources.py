"""Reads what a recall needs: switches, active rows, vectors, postings, earlier conversations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perdure import text
from perdure.errors import DatabaseUnavailable, PerdureError, Unavailable
from perdure.policy import SearchPolicy
from perdure.ports import (
    Corpus,
    Database,
    Embedder,
    Postings,
    Transaction,
    Vector,
    VectorIndex,
)
from perdure.recall.course import Course, Late
from perdure.recall.episodes import Outlines, scores
from perdure.recall.merge import by_id
from perdure.recall.question import Asked, Query
from perdure.recall.rank import by_relevance
from perdure.recall.search import Hits, best, fulltext, semantic, sightings
from perdure.recall.shelf import Shelf, Shelves
from perdure.types import Found, MemoryItem, Preferences, Reason, Scope, Switches


@dataclass(frozen=True, slots=True)
class Owner:
    """A user's switches and active memories."""

    preferences: Preferences
    shelf: Shelf
    seen: Mapping[str, MemoryItem]
    """The rows that the scope may see, newest ``updated_at`` first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where a recall reads. Every transaction is short, and none is open while a model thinks."""

    database: Database
    embedder: Embedder | None
    index: VectorIndex | None
    switches: Switches
    shelves: Shelves = field(default_factory=Shelves)
    outlines: Outlines = field(default_factory=Outlines)

    @property
    def has_vectors(self) -> bool:
        """There is something to search by meaning with."""
        return self.switches.vectors and self.embedder is not None and self.index is not None

    def owner(self, scope: Scope, defaults: Preferences) -> Owner:
        """The user's switches and rows, as they are now."""
        with self.database.read() as tx:
            shelf = self.shelves.of(tx, scope)
            return Owner(tx.users.preferences(scope, defaults), shelf, shelf.seen_in(scope))

    def vector(self, question: Asked, last_turn: float) -> Vector:
        """The vector to search with: the whole question, leaning to what was said last.

        Raises:
            Unavailable: the embedder does not answer.
        """
        if self.embedder is None:
            raise Unavailable("There is no embedder.")
        rows = self.embedder.embed(question.texts, "search")
        vector = rows[0] if len(rows) == 1 else rows[0] + last_turn * rows[1]
        length = float(np.linalg.norm(vector))
        return np.asarray(vector / length if length else vector, dtype=np.float32)

    def hits(
        self,
        tx: Transaction,
        query: Query,
        vector: Vector | None,
        owner: Owner,
        also: Iterable[str] = (),
    ) -> tuple[Hits, bool]:
        """What vectors and words find among the owner's memories.

        Args:
            tx: to read in.
            query: what is asked.
            vector: of the question; None searches by words alone.
            owner: the user's rows.
            also: ids whose vectors are needed whether found or not.

        Returns:
            The hits, and whether the vector index failed.
        """
        scope, policy = query.scope, query.policy.search
        words: dict[str, float] = {}
        if policy.fulltext:
            found = fulltext(tx, scope, query.words.whole, policy)
            words = {ref: relevance for ref, relevance in found.items() if ref in owner.seen}
        if self.embedder is None or self.index is None or not self.switches.vectors:
            return Hits(words=words), False
        similarity = self.embedder.similarity
        dense = None
        try:
            if vector is not None:
                limit = policy.per_arm + len(owner.shelf) - len(owner.seen)
                dense = semantic(tx, scope, vector, limit, index=self.index, similarity=similarity)
            refs = {*(dense or ()), *best(words, policy.per_arm), *also}
            vectors = self.index.get(tx, scope, Corpus.MEMORIES, sorted(refs))
        except DatabaseUnavailable:
            raise
        except Unavailable:
            return Hits(words=words), True
        if dense is not None and vector is not None:
            for ref in vectors.keys() - dense.keys():  # found by words, or wanted anyway
                near = similarity.relevance(float((vectors[ref] @ vector).max()))
                if near > 0:
                    dense[ref] = near
        return Hits(dense=dense, words=words, vectors=vectors), False

    def said(
        self,
        tx: Transaction,
        query: Query,
        vector: Vector | None,
        limit: int,
        *,
        elsewhere: bool = False,
    ) -> list[Found]:
        """Messages, best first; what is not above the average message is not found.

        Args:
            tx: to read in.
            query: what is looked for; of one conversation if its scope names one.
            vector: of the question; None searches by words alone.
            limit: how many at most.
            elsewhere: of all conversations but the one that the scope names.
        """
        scope, policy, whole = query.scope, query.policy, query.words.whole
        outline = self.outlines.of(tx, scope)
        if not len(outline):
            return []
        terms = set(text.terms(whole))
        postings = Postings(texts=len(outline), average_length=0.0, found=())
        if terms:
            postings = tx.fulltext.postings(scope, Corpus.EPISODES, terms)
        cosines = self._cosines(tx, scope, vector, min(len(outline), policy.episodes.candidates))
        total = scores(outline, whole, postings, cosines, policy)
        if scope.conversation is not None:
            here = np.array([name == scope.conversation for name in outline.names])
            total[here[list(outline.conversations)] == elsewhere] = 0.0
        newest_last = np.argsort(total, kind="stable")
        chosen = [outline.seqs[p] for p in newest_last[::-1][:limit] if total[p] > 0]
        points = dict(zip(outline.seqs, total.tolist(), strict=True))
        said = {one.seq: one for one in tx.messages.by_seq(scope, chosen)}
        return [
            Found(
                item=None,
                episode=said[seq],
                score=points[seq] / (points[seq] + policy.episodes.half_score),
                arms=("episodes",),
            )
            for seq in chosen
            if seq in said
        ]

    def memories(self, tx: Transaction, query: Query, vector: Vector | None) -> list[Found]:
        """Memories that an arm finds, best first; nothing that has expired."""
        policy, at = query.policy, query.at
        knobs = policy.search
        if not (knobs.semantic or knobs.fulltext):
            return []
        shelf = self.shelves.of(tx, query.scope)
        owner = Owner(policy.defaults, shelf, shelf.seen_in(query.scope))
        hits, _ = self.hits(tx, query, vector, owner)
        arms = sightings(hits, owner.seen, (), at, knobs)
        arms.pop("structured", None)
        return [
            Found(item=one.item, episode=None, score=one.relevance, arms=one.arms)
            for one in by_relevance(by_id(arms))
            if not (policy.item.expires and one.item.expired(at))
        ]

    def vector_in_time(
        self, question: Asked, owner: Owner, policy: SearchPolicy, course: Course
    ) -> Vector | None:
        """The question's vector, made while no transaction is open; None: search without it."""
        wanted = policy.episodes or (policy.semantic and owner.seen)
        if not wanted or not question.whole:
            return None
        if not self.has_vectors:
            course.degrade("semantic", Reason.VECTORS_OFF)
            return None
        with course.stage("embed"):
            try:
                return course.within(
                    lambda: self.vector(question, policy.last_turn), policy.vector_ms / 1000
                )
            except Late:
                course.degrade("semantic", Reason.SEARCH_LATE)
            except PerdureError:
                course.degrade("semantic", Reason.SEARCH_FAILED)
        return None

    def look(
        self,
        query: Query,
        vector: Vector | None,
        owner: Owner,
        pins: Sequence[MemoryItem],
        course: Course,
    ) -> tuple[Hits, list[Found]]:
        """What the arms of a recall find, in one transaction; nothing if that takes too long."""
        policy, knobs = query.policy, query.policy.search
        quotes = policy.budget.episodes if knobs.episodes else 0
        if not query.words.whole or not (knobs.semantic or knobs.fulltext or quotes):
            return Hits(dense={}), []

        def reading() -> tuple[Hits, bool, list[Found]]:
            ids = [item.id for item in pins]
            with self.database.read() as tx:
                hits, failed = self.hits(tx, query, vector, owner, ids)
                said = self.said(tx, query, vector, quotes, elsewhere=True) if quotes else []
                return hits, failed, said

        try:
            hits, failed, said = course.within(reading)
        except Late:
            course.degrade("search", Reason.SEARCH_LATE)
            return Hits(dense={}), []
        if failed:
            course.degrade("semantic", Reason.SEARCH_FAILED)
        return hits, [found for found in said if found.score >= policy.episodes.floor]

    def _cosines(
        self, tx: Transaction, scope: Scope, vector: Vector | None, limit: int
    ) -> dict[str, float] | None:
        """Of the nearest messages, by ref; None: vectors did not answer."""
        if vector is None or self.index is None:
            return None
        try:
            nearest = self.index.search(tx, scope, Corpus.EPISODES, vector, limit)
        except DatabaseUnavailable:
            raise
        except Unavailable:
            return None
        return {hit.ref: hit.similarity for hit in nearest}
