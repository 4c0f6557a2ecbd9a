"""Reads what a recall needs: switches, active rows, vectors, postings, earlier conversations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from perdure import text
from perdure.errors import DatabaseUnavailable, Unavailable
from perdure.policy import Policy
from perdure.ports import (
    Corpus,
    Database,
    Embedder,
    ItemFilter,
    Postings,
    Transaction,
    Vector,
    VectorIndex,
    Vectors,
)
from perdure.recall.episodes import Outline, Outlines, hidden, scores
from perdure.recall.past import believed, postings
from perdure.recall.question import Asked, Query
from perdure.recall.search import best, by_words, fulltext, semantic
from perdure.recall.shelf import Shelf, Shelves
from perdure.types import (
    Found,
    ItemId,
    MemoryItem,
    Preferences,
    Reason,
    Scope,
    Status,
    Switches,
    Utterance,
)


@dataclass(frozen=True, slots=True)
class Owner:
    """A user's switches and active memories."""

    preferences: Preferences
    shelf: Shelf
    seen: Mapping[ItemId, MemoryItem]
    """The rows that the scope may see, newest ``updated_at`` first."""
    anew: frozenset[ItemId] | None = None
    """Of an earlier time: the rows whose words no index has. None: the rows are today's."""

    @property
    def pinnable(self) -> list[MemoryItem]:
        """The rows of a kind that may be pinned."""
        return [item for item in self.shelf.pinnable if item.id in self.seen]


@dataclass(frozen=True, slots=True)
class Meant:
    """What vectors say of memories."""

    dense: Mapping[ItemId, float] | None = None
    """Relevance of what is near the question; None: vectors do not answer."""
    vectors: Mapping[ItemId, Vectors] = field(default_factory=dict)
    """Stored vectors of what was found."""


@dataclass(frozen=True, slots=True)
class Said:
    """Messages that were found, best first."""

    found: Sequence[Found] = ()
    blind: Reason | None = None
    """Why they were found by words alone, though there was a vector to search with."""


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

    def owner(self, scope: Scope, policy: Policy, as_of: datetime | None = None) -> Owner:
        """The user's switches as they are now, and the rows as they are or were."""
        with self.database.read() as tx:
            preferences = tx.users.preferences(scope, policy.defaults)
            if as_of is None:
                shelf = self.shelves.of(tx, scope)
                return Owner(preferences, shelf, shelf.seen_in(scope))
            everywhere = Scope(namespace=scope.namespace, user=scope.user)
            rows = tx.items.every(everywhere, ItemFilter())
            history = tx.audit.every(scope)
        past = believed(rows, history, as_of, policy.item.normalisation)
        shelf = Shelf.of(past.rows)
        return Owner(preferences, shelf, shelf.seen_in(scope), past.anew)

    def dismissed(self, scope: Scope, as_of: datetime | None) -> list[MemoryItem]:
        """The memories that the owner refused; of an earlier time those that stood so by then."""
        everywhere = Scope(namespace=scope.namespace, user=scope.user)
        refused = ItemFilter(statuses=(Status.DISMISSED,))
        with self.database.read() as tx:
            rows = tx.items.every(everywhere, refused)
        return [row for row in rows if as_of is None or row.updated_at <= as_of]

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

    # ── memories ─────────────────────────────────────────────────────────────────────────────────

    def words(self, query: Query, owner: Owner) -> dict[ItemId, float]:
        """Relevance by words of the memories that the scope may see."""
        knobs, words = query.policy.search, query.words.whole
        if owner.anew is not None:
            terms = set(text.terms(words))
            then = {ref: item.content for ref, item in owner.seen.items()}
            return by_words(terms, postings(then, terms), knobs) if terms else {}
        with self.database.read() as tx:
            found = fulltext(tx, query.scope, words, knobs)
        return {ref: relevance for ref, relevance in found.items() if ref in owner.seen}

    def meaning(
        self,
        query: Query,
        vector: Vector | None,
        owner: Owner,
        words: Mapping[ItemId, float],
        also: Iterable[ItemId] = (),
    ) -> Meant:
        """Relevance by meaning, and the stored vectors of what was found.

        Args:
            query: what is asked.
            vector: of the question; None finds nothing by meaning.
            owner: the user's rows.
            words: what words found; its vectors are needed, and it has a meaning too.
            also: ids whose vectors are needed whether found or not.

        Raises:
            Unavailable: the vector index does not answer.
        """
        if self.embedder is None or self.index is None or not self.switches.vectors:
            return Meant()
        knobs, similarity = query.policy.search, self.embedder.similarity
        dense: dict[ItemId, float] | None = None
        if owner.anew is not None:
            vectors = self._vectors_then(query, owner)
            dense = {} if vector is not None else None
        else:
            with self.database.read() as tx:
                if vector is not None:
                    most = knobs.per_arm + len(owner.shelf) - len(owner.seen)
                    dense = semantic(
                        tx, query.scope, vector, most, index=self.index, similarity=similarity
                    )
                refs = {*(dense or ()), *best(words, knobs.per_arm), *also}
                vectors = self.index.get(tx, query.scope, Corpus.MEMORIES, sorted(refs))
        if dense is not None and vector is not None:
            for ref in vectors.keys() - dense.keys():  # found by words, or wanted anyway
                near = similarity.relevance(float((vectors[ref] @ vector).max()))
                if near > 0:
                    dense[ref] = near
        return Meant(dense, vectors)

    def _vectors_then(self, query: Query, owner: Owner) -> dict[ItemId, Vectors]:
        """Vectors of the rows as they were; words that no index has are embedded now, in part."""
        if self.index is None or self.embedder is None or owner.anew is None:
            return {}
        anew = [ref for ref in owner.seen if ref in owner.anew]
        with self.database.read() as tx:
            known = [ref for ref in owner.seen if ref not in owner.anew]
            vectors = self.index.get(tx, query.scope, Corpus.MEMORIES, known)
        some = anew[: query.policy.search.embedded_anew]
        if some:
            rows = self.embedder.embed([owner.seen[ref].content for ref in some], "add")
            vectors |= {ref: rows[place : place + 1] for place, ref in enumerate(some)}
        return vectors

    # ── what was said ────────────────────────────────────────────────────────────────────────────

    def said(
        self,
        query: Query,
        vector: Vector | None,
        limit: int,
        *,
        elsewhere: bool = False,
    ) -> Said:
        """Messages, best first; what is not above the average message is not found.

        Args:
            query: what is looked for; of one conversation if its scope names one.
            vector: of the question; None searches by words alone.
            limit: how many at most.
            elsewhere: of all conversations but the one that the scope names, with the messages
                around each, to be quoted.
        """
        scope, policy, whole = query.scope, query.policy, query.words.whole
        terms = set(text.terms(whole))
        with self.database.read() as tx:
            outline = self.outlines.of(tx, scope)
            if not len(outline):
                return Said()
            found = Postings(texts=len(outline), average_length=0.0, found=())
            if terms:
                found = tx.fulltext.postings(scope, Corpus.EPISODES, terms)
            most = min(len(outline), policy.episodes.candidates)
            cosines, blind = self._cosines(tx, scope, vector, most)
            total = scores(outline, whole, found, cosines, policy, times=query.times)
            total[hidden(outline, query, elsewhere=elsewhere)] = 0.0
            best_last = np.argsort(total, kind="stable")
            places = [int(p) for p in best_last[::-1][:limit] if total[p] > 0]
            around = policy.episodes.around if elsewhere else 0
            near = {place: outline.around(place, around) for place in places}
            wanted = {outline.seqs[p] for place in places for p in (place, *near[place])}
            said = {one.seq: one for one in tx.messages.by_seq(scope, wanted)}
        half = policy.episodes.half_score
        quotes = [
            Found(
                item=None,
                episode=said[outline.seqs[place]],
                score=float(total[place] / (total[place] + half)),
                arms=("episodes",),
                around=_known(said, outline, near[place]),
            )
            for place in places
            if outline.seqs[place] in said
        ]
        return Said(quotes, blind)

    def _cosines(
        self, tx: Transaction, scope: Scope, vector: Vector | None, limit: int
    ) -> tuple[dict[str, float] | None, Reason | None]:
        """Of the nearest messages, by ref; None, and why, where vectors did not answer."""
        if vector is None or self.index is None:
            return None, None
        try:
            nearest = self.index.search(tx, scope, Corpus.EPISODES, vector, limit)
        except DatabaseUnavailable:
            raise
        except Unavailable:
            return None, Reason.SEARCH_FAILED
        return {hit.ref: hit.similarity for hit in nearest}, None


def _known(
    said: Mapping[int, Utterance], outline: Outline, places: Collection[int]
) -> tuple[Utterance, ...]:
    """The messages at these places that are still there, oldest first."""
    seqs: Sequence[int] = [outline.seqs[place] for place in places]
    return tuple(said[seq] for seq in seqs if seq in said)
