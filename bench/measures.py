"""How well a ranking finds what it should: the measures that the retrieval benches share."""

from __future__ import annotations

import argparse
import importlib
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, TypeAlias

EMBEDDERS = ("bundled", "e5")
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
        parser.add_argument("--embedder", choices=EMBEDDERS, default="bundled")
    return parser


def with_matrix(parser: argparse.ArgumentParser) -> None:
    """Options of a bench that can turn the parts of the search on and off."""
    parser.add_argument("--matrix", action="store_true", help="turn the parts on one by one")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the matrix, as PNG")


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


def plot(
    file: Path,
    title: str,
    axes: tuple[str, str],
    lines: Mapping[str, Sequence[tuple[float, float, str]]],
) -> None:
    """Draw one or two lines through points as PNG, if matplotlib is there; else say that it is not.

    Args:
        file: where to.
        title: of the picture.
        axes: names of the horizontal and the vertical one.
        lines: points by name, each with what is written beside it.
    """
    pyplot = _pyplot(file)
    if pyplot is None:
        return
    figure, drawn = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for (name, points), side in zip(lines.items(), ("left", "right"), strict=False):
        across, up, _ = zip(*points, strict=True)
        (line,) = drawn.plot(across, up, marker="o", markersize=4, label=name)
        for (x, y), words in {(x, y): words for x, y, words in points if words}.items():
            drawn.annotate(
                words, (x, y), xytext=(6, -10) if side == "left" else (-6, 5), ha=side,
                textcoords="offset points", fontsize=8, color=line.get_color(),
            )  # fmt: skip
    drawn.set(title=title, xlabel=axes[0], ylabel=axes[1])
    drawn.margins(x=0.09)
    drawn.grid(visible=True, alpha=0.3)
    drawn.legend()
    figure.savefig(file, dpi=120)


def bars(file: Path, title: str, rows: Mapping[str, Figures], *, most: float | None = 100) -> None:
    """Draw measures of several set-ups beside each other as PNG, one colour a measure.

    Args:
        file: where to.
        title: of the picture.
        rows: measures from 0 on by set-up.
        most: where the axis ends; None: where the longest bar does.
    """
    pyplot = _pyplot(file)
    if pyplot is None:
        return
    names = list(next(iter(rows.values())))
    figure, drawn = pyplot.subplots(figsize=(9, 0.5 * len(rows) + 1.5), layout="constrained")
    high = 0.8 / len(names)
    for place, name in enumerate(names):
        spots = [row + place * high for row in range(len(rows))]
        drawn.barh(spots, [row[name] for row in rows.values()], height=high, label=name)
    drawn.set_yticks([row + 0.4 - high / 2 for row in range(len(rows))], labels=list(rows))
    drawn.set(title=title, xlim=(0, most))
    drawn.invert_yaxis()
    drawn.grid(visible=True, axis="x", alpha=0.3)
    figure.legend(loc="outside lower center", ncols=len(names))
    figure.savefig(file, dpi=120)


def _pyplot(file: Path) -> Any:
    """Where matplotlib is installed, its drawing; else None, and a line says so."""
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        print(f"no picture {file}: matplotlib is not there; pip install --group bench")
        return None
    pyplot.switch_backend("agg")
    return pyplot
