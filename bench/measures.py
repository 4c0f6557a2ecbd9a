"""How well a ranking finds what it should: the measures that the retrieval benches share."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, TypeAlias

Figures: TypeAlias = dict[str, float]
"""Each measure in 0..100."""


def figures(ranked: Sequence[str], gold: Collection[str]) -> Figures:
    """The measures of one question.

    Args:
        ranked: what was found, best first, without repetitions.
        gold: what holds the answer; not empty.
    """
    hits = [ref in gold for ref in ranked]
    gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits[:10]) if hit)
    best = sum(1 / math.log2(place + 2) for place in range(min(len(gold), 10)))
    return {
        "any@1": 100.0 * any(hits[:1]),
        "any@5": 100.0 * any(hits[:5]),
        "all@5": 100.0 * (sum(hits[:5]) == len(gold)),
        "recall@5": 100.0 * sum(hits[:5]) / len(gold),
        "recall@10": 100.0 * sum(hits[:10]) / len(gold),
        "ndcg@10": 100.0 * gain / best,
    }


def average(rows: Iterable[Figures]) -> Figures:
    """The mean of each measure over many questions."""
    every = list(rows)
    return {name: round(mean(row[name] for row in every), 2) for name in every[0]} if every else {}


def unique(refs: Iterable[str]) -> list[str]:
    """The same order without repetitions."""
    return list(dict.fromkeys(refs))


def read(file: Path) -> list[dict[str, Any]]:
    """The objects of a JSON-lines file."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]


def arguments(purpose: str, data: str | None = None) -> argparse.ArgumentParser:
    """The options that every bench takes."""
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    if data is not None:
        parser.add_argument("--data", type=Path, required=True, help=f"folder with {data}")
        parser.add_argument("--check", action="store_true", help="exit 1 below the floors")
    return parser


def report(result: Mapping[str, Any], file: Path | None) -> None:
    """Write the figures where they were asked for."""
    if file is not None:
        file.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")


def table(rows: Mapping[str, Figures]) -> str:
    """The figures as text, one row a name."""
    names = list(next(iter(rows.values())))
    width = max(map(len, rows))
    head = " " * width + "".join(f"{name:>11}" for name in names)
    body = [f"{row:<{width}}" + "".join(f"{f[n]:>11.1f}" for n in names) for row, f in rows.items()]
    return "\n".join([head, *body])


def missed(floors: Mapping[str, tuple[float, float]]) -> list[str]:
    """The measures below their floor, as sentences. Each is (figure, floor)."""
    return [
        f"{name}: {got:.1f} < {floor:.1f}" for name, (got, floor) in floors.items() if got < floor
    ]
