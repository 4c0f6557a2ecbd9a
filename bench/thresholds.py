"""What the cosines of an embedder mean: how they spread over pairs whose meaning is known.

Questions and memories are those of ``notes.jsonl``, in English and in Chinese; ``pairs.jsonl``
holds pairs on one subject, with one detail changed, and in other words. The thresholds in the
embedders' modules were chosen from this table; ``perdure calibrate`` finds those of another one.

    python bench/thresholds.py [--embedder e5] [--json FILE]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from measures import EMBEDDERS, Figures, arguments, read, report, table
from notes import LANGUAGES, notes
from perdure.observe import Meter
from perdure.ports import Embedder
from perdure.settings import Settings
from perdure.wiring import embedder_of

SHARES = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def cosines(embedder: Embedder) -> Iterator[tuple[str, np.ndarray]]:
    """The cosines of every sort of pairs."""
    every = notes()
    kept = [note for note in every if note.said]
    asked = {
        language: embedder.embed([note.asks[language] for note in every], "search")
        for language in LANGUAGES
    }
    told = {
        language: embedder.embed([note.said[language] for note in kept], "add")
        for language in LANGUAGES
    }
    answers = np.array([[a is k for k in kept] for a in every])
    other = {"en": "zh", "zh": "en"}
    own = [asked[language] @ told[language].T for language in LANGUAGES]
    across = [asked[language] @ told[other[language]].T for language in LANGUAGES]
    for where, found in (("", own), (", across languages", across)):
        yield f"a question and another memory{where}", np.concatenate([c[~answers] for c in found])
        yield f"a question and its answer{where}", np.concatenate([c[answers] for c in found])
    two = np.triu_indices(len(kept), k=1)
    told_own = [told[language] @ told[language].T for language in LANGUAGES]
    yield "two memories", np.concatenate([each[two] for each in told_own])
    yield "a memory and its translation", np.diag(told["en"] @ told["zh"].T)
    pairs = read(Path(__file__).with_name("pairs.jsonl"))
    for sort in dict.fromkeys(pair["sort"] for pair in pairs):
        some = [pair[language] for pair in pairs if pair["sort"] == sort for language in LANGUAGES]
        yield sort, between(embedder, some)
    texts = [note.said[language] for note in kept for language in LANGUAGES]
    yield "a full stop changed", between(embedder, [[said, said[:-1]] for said in texts])


def between(embedder: Embedder, pairs: list[list[str]]) -> np.ndarray:
    """Of the two texts of each pair."""
    first, second = (embedder.embed([pair[side] for pair in pairs], "add") for side in (0, 1))
    return np.asarray((first * second).sum(axis=1))


def main() -> int:
    """Run the bench."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--embedder", choices=EMBEDDERS, default="bundled")
    given = parser.parse_args()
    embedder = embedder_of(Settings(embedder=given.embedder), Meter())
    assert embedder is not None
    found: dict[str, Figures] = {}
    for sort, values in cosines(embedder):
        found[f"{sort} ({len(values)})"] = {
            f"{share} %": round(float(np.percentile(values, share)), 3) for share in SHARES
        }
    report({"model": embedder.model, "cosines": found}, given.json)
    print(f"{embedder.model}: so many percent of the pairs lie below, in hundredths")
    print(table({sort: {n: 100 * v for n, v in row.items()} for sort, row in found.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
