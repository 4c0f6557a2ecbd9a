"""Which memories are near a new statement, and whether it is like one that its user refused."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from perdure import text
from perdure.errors import Unavailable
from perdure.learn import polarity, support
from perdure.learn.basic.instead import same_question
from perdure.learn.details import beyond
from perdure.learn.paraphrase import paraphrases
from perdure.learn.shown import level_of
from perdure.learn.voice import of_another
from perdure.policy import DecidePolicy
from perdure.ports import Corpus, Hit, Similarity, Transaction, Vector, VectorIndex
from perdure.types import Candidate, MemoryItem, Scope, Status


@dataclass(frozen=True, slots=True)
class Near:
    """A candidate with what is near it, nearest first."""

    candidate: Candidate
    neighbours: tuple[MemoryItem, ...] = ()
    """Active memories of its level that the scope sees, none of them in quarantine."""
    dismissed: tuple[MemoryItem, ...] = ()
    like_dismissed: bool = False
    """It says what its user refused, in other words, and the user did not ask for it."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """Where texts are found by meaning."""

    index: VectorIndex
    similarity: Similarity
    vectors: Mapping[str, Vector]
    """Of the candidates, by content."""


def read_near(
    tx: Transaction,
    scope: Scope,
    candidates: Sequence[Candidate],
    active: Sequence[MemoryItem],
    *,
    meaning: Meaning | None,
    policy: DecidePolicy,
    at: datetime,
) -> tuple[Near, ...]:
    """What is near each candidate; by words where there is no vector to search with.

    Args:
        tx: only read.
        scope: where the statements were made.
        candidates: new statements.
        active: what the scope sees.
        meaning: where to search by meaning; None: by words alone.
        policy: how near a neighbour is, and how many there are.
        at: now; what is over by then is near nothing.
    """
    owner = Scope(namespace=scope.namespace, user=scope.user)
    hits = [_hits(tx, owner, candidate, meaning, policy) for candidate in candidates]
    refs = dict.fromkeys(hit.ref for found in hits for hit in found)
    rows = {
        row.id: row
        for row in tx.items.get(scope, list(refs))
        if row.visible_in(scope) and not (row.status is Status.ACTIVE and row.expired(at))
    }
    return tuple(
        near(candidate, [(rows[hit.ref], hit.similarity) for hit in found if hit.ref in rows],
             same_question(candidate, active), scope, policy)
        for candidate, found in zip(candidates, hits, strict=True)
    )  # fmt: skip


def near(
    candidate: Candidate,
    found: Sequence[tuple[MemoryItem, float]],
    replaced: MemoryItem | None,
    scope: Scope,
    policy: DecidePolicy,
) -> Near:
    """The neighbours among what was found.

    Args:
        candidate: a new statement.
        found: rows with their relevance to it, 0..1, nearest first.
        replaced: the row that answers the same question, if there is just one answer to it.
        scope: where the statement was made.
        policy: how near a neighbour is, and how many there are.
    """
    close = [(row, share) for row, share in found if share >= policy.neighbour_floor]
    dismissed = [(row, share) for row, share in close if row.status is Status.DISMISSED]
    level = level_of(candidate, scope)
    shown = [row for row, _ in close if not row.suspicious]
    active = [row for row in shown if row.status is Status.ACTIVE and row.level is level]
    if replaced is not None:
        active = [replaced, *(row for row in active if row.id != replaced.id)]
    return Near(
        candidate=candidate,
        neighbours=tuple(active[: policy.neighbours]),
        dismissed=tuple(row for row, _ in dismissed if not row.suspicious)[: policy.neighbours],
        like_dismissed=policy.guard_dismissed
        and not candidate.explicit
        and any(_like(candidate.content, row.content, share, policy) for row, share in dismissed),
    )


def _like(statement: str, refused: str, share: float, policy: DecidePolicy) -> bool:
    """Does it say the same? What it exchanges or adds, or a "not", makes it another statement."""
    new = beyond(statement, [refused])
    return (
        share >= policy.like_dismissed
        and not (new.names or new.numbers)
        and paraphrases(statement, refused)
        and of_another(statement) == of_another(refused)
        and polarity.denies(statement) == polarity.denies(refused)
        and not polarity.opposed(statement, refused)
    )


_NO_LONGER = re.compile(r"\bno longer\b|不再", re.IGNORECASE)
"""Tells how a memory changed, not which one."""

# ── by meaning, or by words ──────────────────────────────────────────────────────────────────────


def _hits(
    tx: Transaction,
    owner: Scope,
    candidate: Candidate,
    meaning: Meaning | None,
    policy: DecidePolicy,
) -> list[Hit]:
    """What the search found, with relevance instead of cosines."""
    vector = meaning.vectors.get(candidate.content) if meaning is not None else None
    if meaning is None or vector is None:
        return _by_words(tx, owner, candidate.content, policy.searched)
    try:
        found = meaning.index.search(tx, owner, Corpus.MEMORIES, vector, policy.searched)
    except Unavailable:
        return _by_words(tx, owner, candidate.content, policy.searched)
    return [
        Hit(ref=hit.ref, similarity=meaning.similarity.relevance(hit.similarity)) for hit in found
    ]


def _by_words(tx: Transaction, owner: Scope, content: str, limit: int) -> list[Hit]:
    """The texts that share most words with a statement, the rare ones first."""
    said = _NO_LONGER.sub(" ", content)
    wanted = {term for term in text.terms(said) if not support.weak(term)}
    postings = tx.fulltext.postings(owner, Corpus.MEMORIES, wanted)
    rarity = {
        term: math.log1p(postings.texts / (1 + sum(term in one.counts for one in postings.found)))
        for term in wanted
    }
    whole = sum(rarity.values())
    shares = [
        Hit(ref=one.ref, similarity=_alike(one.counts, rarity, one.length, whole))
        for one in postings.found
    ]
    return sorted(shares, key=lambda hit: (-hit.similarity, hit.ref))[:limit]


def _alike(
    counts: Mapping[str, int], rarity: Mapping[str, float], length: int, whole: float
) -> float:
    """0..1: the share of the statement's words that a text has, less where it has many others."""
    if not whole:
        return 0.0
    shared = sum(rarity[term] for term in counts if term in rarity)
    others = max(0, length - len(counts) - 1)  # one that differs may be the one that changed
    return shared / whole * (1 - others / (2 * max(1, length)))
