"""Cuts a text into pieces of a SentencePiece vocabulary: the likeliest way to spell it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_SPACES = re.compile(" +")
_START = "\u2581"  # stands before every word
_UNKNOWN_COSTS = 10.0  # an unknown character is so much less likely than the rarest piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Pieces with the logarithms of their likelihoods. Share it between threads."""

    pieces: Mapping[str, tuple[int, float]]
    """Number and score of each piece; what only marks a place in a row is not among them."""
    folded: Mapping[int, str]
    """What stands for a code point before the text is cut, as `str.translate` wants it."""
    unknown: int
    """The number of what no piece spells."""
    longest: int = field(init=False)
    _rarest: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "longest", max(map(len, self.pieces)))
        object.__setattr__(self, "_rarest", min(score for _, score in self.pieces.values()))

    def cut(self, said: str, chars: int) -> list[int]:
        """The numbers of the pieces, in order; neighbours that no piece spells are one.

        Args:
            said: any text.
            chars: code points that are looked at, after folding: one sign can stand for many.
        """
        folded = _SPACES.sub(" ", said.translate(self.folded))[:chars].strip(" ")
        return [piece for word in folded.split(" ") if word for piece in self._spelt(_START + word)]

    def _spelt(self, word: str) -> list[int]:
        """The likeliest pieces of one word, by the best way to each of its places (Viterbi)."""
        unlikely = self._rarest - _UNKNOWN_COSTS
        best, before = [0.0], [(0, self.unknown)]
        for end in range(1, len(word) + 1):
            score, way = best[end - 1] + unlikely, (end - 1, self.unknown)
            for start in range(max(0, end - self.longest), end):
                known = self.pieces.get(word[start:end])
                if known is not None and best[start] + known[1] > score:
                    score, way = best[start] + known[1], (start, known[0])
            best.append(score)
            before.append(way)
        found: list[int] = []
        place = len(word)
        while place:
            place, piece = before[place]
            if not (piece == self.unknown and found and found[-1] == piece):
                found.append(piece)
        return found[::-1]
