"""What was said in earlier conversations, found by words, meaning and the talk around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

import numpy as np
import regex
from numpy.typing import NDArray

from perdure import text
from perdure.policy import Policy
from perdure.ports import Corpus, Posting, Postings, Transaction
from perdure.recall.search import bm25
from perdure.recall.shelf import Kept
from perdure.types import Role, Scope

Scores: TypeAlias = NDArray[np.float64]
"""Shape (messages,), in the order of an outline."""

_HAN = regex.compile(r"\p{Han}")


@dataclass(frozen=True, slots=True)
class Outline:
    """Every kept message of a user: place, conversation and speaker, oldest first."""

    seqs: tuple[int, ...]
    conversations: tuple[int, ...]
    """Numbered from 0 in order of appearance."""
    speakers: tuple[str, ...]
    names: tuple[str, ...]
    """Ids of the conversations by number."""

    @classmethod
    def of(cls, rows: Iterable[tuple[int, str, str, datetime]]) -> Outline:
        """From seq, conversation, speaker and time of each message."""
        rows = sorted(rows, key=lambda row: row[0])
        numbers: dict[str, int] = {}
        return cls(
            tuple(row[0] for row in rows),
            tuple(numbers.setdefault(row[1], len(numbers)) for row in rows),
            tuple(row[2] for row in rows),
            tuple(numbers),
        )

    def __len__(self) -> int:
        return len(self.seqs)


@dataclass(frozen=True, slots=True)
class Outlines:
    """The outlines of all users, each good until a commit changes what was said."""

    _kept: Kept[tuple[str, str], Outline] = field(default_factory=lambda: Kept(rows=500_000))

    def of(self, tx: Transaction, scope: Scope) -> Outline:
        """What the owner said, as it is now."""
        return self._kept.get(
            scope.owner,
            tx.users.revision(scope, Corpus.EPISODES),
            lambda: Outline.of(tx.messages.outline(scope)),
        )


def scores(
    outline: Outline,
    question: str,
    postings: Postings,
    cosines: Mapping[str, float] | None,
    policy: Policy,
) -> Scores:
    """One score a message, in standard deviations; 0 is what an average message has.

    Args:
        outline: the user's messages.
        question: what is looked for.
        postings: of the question's terms in the user's messages.
        cosines: of each message with the question, by ref; None: vectors did not answer.
        policy: the weights, and BM25's numbers.
    """
    knobs, k1, b = policy.episodes, policy.search.bm25_k1, policy.search.bm25_b
    query = set(text.terms(question))
    by_ref = bm25(query, postings, k1, b)
    refs = [str(seq) for seq in outline.seqs]
    own = knobs.words_weight * _standard([by_ref.get(ref, 0.0) for ref in refs])
    if cosines is not None:
        least = min(cosines.values(), default=0.0)
        own = own + knobs.dense_weight * _standard([cosines.get(ref, least) for ref in refs])
    total = with_neighbours(own, outline.conversations, (knobs.next_weight, knobs.second_weight))
    if knobs.conversation_weight and len(outline):
        whole = bm25(query, pooled(postings, outline), k1, b)
        of_conversations = _standard(
            [whole.get(str(number), 0.0) for number in range(len(outline.names))]
        )
        total += knobs.conversation_weight * of_conversations[list(outline.conversations)]
    speaker = named_speaker(question, outline.speakers)
    if speaker is not None:
        total += knobs.speaker_bonus * np.array([s == speaker for s in outline.speakers])
    return total


def pooled(postings: Postings, outline: Outline) -> Postings:
    """The same postings with each conversation, by its number, read as one text.

    The length of a message without any searched term is not known; it counts as the average of
    such messages.
    """
    conversation = {
        str(seq): number for seq, number in zip(outline.seqs, outline.conversations, strict=True)
    }
    found = [posting for posting in postings.found if posting.ref in conversation]
    silent = len(outline) - len(found)
    missing = postings.texts * postings.average_length - sum(one.length for one in found)
    average = max(0.0, missing) / silent if silent else 0.0
    lengths = [average * size for size in _sizes(outline.conversations)]
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


def with_neighbours(own: Scores, conversations: Sequence[int], weights: Sequence[float]) -> Scores:
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


def _sizes(conversations: Sequence[int]) -> list[int]:
    """How many messages each conversation has, by number."""
    sizes = Counter(conversations)
    return [sizes[number] for number in range(len(sizes))]
