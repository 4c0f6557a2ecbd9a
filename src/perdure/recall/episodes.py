"""What was said in earlier conversations, found by words, meaning and the talk around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import regex
from numpy.typing import NDArray

from perdure import text
from perdure.policy import Policy
from perdure.ports import Corpus, Posting, Postings, Transaction
from perdure.recall.question import Query
from perdure.recall.search import bm25
from perdure.recall.shelf import Kept
from perdure.recall.when import Span
from perdure.types import Role, Scope

Scores: TypeAlias = NDArray[np.float64]
"""Shape (messages,), in the order of an outline."""

_HAN = regex.compile(r"\p{Han}")


@dataclass(frozen=True, slots=True)
class Outline:
    """Every kept message of a user: place, conversation, speaker and time, oldest first."""

    seqs: tuple[int, ...]
    refs: tuple[str, ...]
    """The same as texts, as indexes know them."""
    conversations: NDArray[np.int64]
    """Numbered from 0 in order of appearance."""
    speakers: tuple[str, ...]
    times: tuple[datetime, ...]
    names: tuple[str, ...]
    """Ids of the conversations by number."""
    bound: tuple[Scope | None, ...]
    """Where each conversation took place, by number."""

    @classmethod
    def of(
        cls,
        rows: Iterable[tuple[int, str, str, datetime]],
        bindings: Mapping[str, Scope] = MappingProxyType({}),
    ) -> Outline:
        """From seq, conversation, speaker and time of each message, and where each took place."""
        rows = sorted(rows, key=lambda row: row[0])
        numbers: dict[str, int] = {}
        conversations = [numbers.setdefault(row[1], len(numbers)) for row in rows]
        return cls(
            seqs=tuple(row[0] for row in rows),
            refs=tuple(str(row[0]) for row in rows),
            conversations=np.array(conversations, dtype=np.int64),
            speakers=tuple(row[2] for row in rows),
            times=tuple(row[3] for row in rows),
            names=tuple(numbers),
            bound=tuple(bindings.get(name) for name in numbers),
        )

    def __len__(self) -> int:
        return len(self.seqs)

    def around(self, place: int, most: int) -> list[int]:
        """The places of the messages next to one, at most so many before and after it."""
        if not most:
            return []
        same = np.flatnonzero(self.conversations == self.conversations[place]).tolist()
        here = same.index(place)
        return [n for n in same[max(0, here - most) : here + most + 1] if n != place]


@dataclass(frozen=True, slots=True)
class Outlines:
    """The outlines of all users, each good until a commit changes what was said."""

    _kept: Kept[tuple[str, str], Outline] = field(default_factory=lambda: Kept(rows=500_000))

    def of(self, tx: Transaction, scope: Scope) -> Outline:
        """What the owner said, as it is now."""
        return self._kept.get(
            scope.owner,
            tx.users.revision(scope, Corpus.EPISODES),
            lambda: Outline.of(tx.messages.outline(scope), tx.messages.bindings(scope)),
        )

    def drop(self, scope: Scope) -> None:
        """Forget the owner's."""
        self._kept.drop(scope.owner)


def hidden(outline: Outline, query: Query, *, elsewhere: bool) -> NDArray[np.bool_]:
    """The messages that this question may not find.

    A conversation that took place in a project, with an assistant or in a run is found only there,
    as the policy says; an earlier time knows nothing of what was said later.

    Args:
        outline: the user's messages.
        query: with its scope, its time, and the policy.
        elsewhere: the conversation that the scope names is left out; otherwise only it is found.
    """
    scope, policy = query.scope, query.policy
    walled = [bound is not None and _walled(bound, scope, policy) for bound in outline.bound]
    if scope.conversation is not None:
        walled = [
            wall or (name == scope.conversation) == elsewhere
            for wall, name in zip(walled, outline.names, strict=True)
        ]
    shut = np.array(walled, dtype=np.bool_)[outline.conversations]
    if query.as_of is not None:
        shut |= np.array([at > query.as_of for at in outline.times], dtype=np.bool_)
    return shut


def _walled(bound: Scope, scope: Scope, policy: Policy) -> bool:
    """The conversation took place where this scope is not."""
    return any(
        binding is not None and binding != getattr(scope, name)
        for name, binding in (
            ("project", policy.item.project(bound.project)),
            ("assistant", bound.assistant),
            ("run", bound.run),
        )
        if name in policy.episodes.walls
    )


def scores(
    outline: Outline,
    question: str,
    postings: Postings,
    cosines: Mapping[str, float] | None,
    policy: Policy,
    *,
    times: Sequence[Span] = (),
) -> Scores:
    """One score a message, in standard deviations; 0 is what an average message has.

    Args:
        outline: the user's messages.
        question: what is looked for.
        postings: of the question's terms in the user's messages.
        cosines: of each message with the question, by ref; None: vectors did not answer.
        policy: the weights, and BM25's numbers.
        times: when it was said, if the question tells.
    """
    knobs, k1, b = policy.episodes, policy.search.bm25_k1, policy.search.bm25_b
    query = set(text.terms(question))
    by_ref = bm25(query, postings, k1, b)
    own = knobs.words_weight * _heard([by_ref.get(ref, 0.0) for ref in outline.refs])
    if cosines is not None:
        least = min(cosines.values(), default=0.0)
        near = [cosines.get(ref, least) for ref in outline.refs]
        own = own + knobs.dense_weight * _standard(near)
    total = with_neighbours(own, outline.conversations, (knobs.next_weight, knobs.second_weight))
    if knobs.conversation_weight and len(outline):
        whole = bm25(query, pooled(postings, outline), k1, b)
        of_conversations = _heard(
            [whole.get(str(number), 0.0) for number in range(len(outline.names))]
        )
        total += knobs.conversation_weight * of_conversations[outline.conversations]
    speaker = named_speaker(question, outline.speakers)
    if speaker is not None:
        total += knobs.speaker_bonus * np.array([s == speaker for s in outline.speakers])
    if times:
        then = [any(span.holds(at) for span in times) for at in outline.times]
        total += knobs.time_bonus * np.array(then, dtype=np.float64)
    return total


def pooled(postings: Postings, outline: Outline) -> Postings:
    """The same postings with each conversation, by its number, read as one text.

    The length of a message without any searched term is not known; it counts as the average of
    such messages.
    """
    conversation = dict(zip(outline.refs, outline.conversations.tolist(), strict=True))
    found = [posting for posting in postings.found if posting.ref in conversation]
    silent = len(outline) - len(found)
    missing = postings.texts * postings.average_length - sum(one.length for one in found)
    average = max(0.0, missing) / silent if silent else 0.0
    lengths = (average * np.bincount(outline.conversations)).tolist()
    counts: dict[int, Counter[str]] = {}
    for one in found:
        number = conversation[one.ref]
        lengths[number] += one.length - average
        counts.setdefault(number, Counter()).update(one.counts)
    return Postings(
        texts=len(lengths),
        average_length=sum(lengths) / len(lengths) if lengths else 0.0,
        found=tuple(
            Posting(ref=str(number), length=round(lengths[number]), counts=counted)
            for number, counted in sorted(counts.items())
        ),
    )


def with_neighbours(
    own: Scores, conversations: Sequence[int] | NDArray[np.int64], weights: Sequence[float]
) -> Scores:
    """To each score, add those of the messages 1, 2, … places away in the same conversation.

    Args:
        own: in the order of speaking within each conversation.
        conversations: the number of each message's conversation.
        weights: by distance, from 1.
    """
    groups = np.asarray(conversations, dtype=np.int64)
    order = np.argsort(groups, kind="stable")
    groups, spoken = groups[order], own[order]
    total = spoken.copy()
    for distance, weight in enumerate(weights, start=1):
        same = groups[distance:] == groups[:-distance]
        total[distance:] += weight * np.where(same, spoken[:-distance], 0.0)
        total[:-distance] += weight * np.where(same, spoken[distance:], 0.0)
    result = np.empty_like(total)
    result[order] = total
    return result


def named_speaker(question: str, speakers: Iterable[str]) -> str | None:
    """The only speaker whose name the question contains as a word, else None."""
    folded = text.normalise(question)
    found = set()
    for speaker in set(speakers) - set(Role):
        name = regex.escape(text.normalise(speaker))
        edge = "" if _HAN.search(name) else r"\b"
        if name and regex.search(edge + name + edge, folded):
            found.add(speaker)
    return found.pop() if len(found) == 1 else None


def _standard(values: Sequence[float]) -> Scores:
    """Mean 0 and deviation 1; all zeros where nothing stands out."""
    given = np.asarray(values, dtype=np.float64)
    deviation = float(given.std()) if given.size else 0.0
    return (given - given.mean()) / deviation if deviation > 1e-9 else np.zeros_like(given)  # noqa: PLR2004 - less is rounding


def _heard(values: Sequence[float]) -> Scores:
    """As `_standard`; where every text has the same words of the question, each stands out."""
    flat = min(values, default=0.0)
    return np.ones(len(values)) if flat > 0 and flat == max(values) else _standard(values)
