"""How well the offline extractor finds what people say of themselves, and what it wrongly keeps.

    python bench/extraction/run.py [--json FILE] [--quick] [--check] [--data DIR] [--show SPLIT]

A line of the labelled sets is one user turn: ``{"id", "text", "at", "split", "keep"}``, where
``keep`` lists what is worth keeping (a short gist and its kind), half of the time nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from perdure import text
from perdure.learn.basic import extract_basic
from perdure.types import Candidate, Kind, Role, Utterance

HERE = Path(__file__).parent
SHARE = 0.5  # of the content terms of gist and candidate together, from which they say the same
PRECISION = 0.8  # --check: no less on the held half, in either language
RECALL = 0.5  # the same
STOP = frozenset(
    "a an and are as at be been by for from has have he her his i in is it its me my of on or our"
    " she so that the their them they this to too user was we were which who will with"
    " 的 了 是 在 我 也 都 就 和 很 们 着 吧".split()
)
NEGATION = re.compile(
    r"\b(?:not|no|never|cannot|nothing|without)\b|n't\b|[不没别无未勿]", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One labelled user turn."""

    id: str
    text: str
    at: datetime
    split: str
    keep: tuple[tuple[str, Kind], ...]


@dataclass(slots=True)
class Tally:
    """What was right, wrong and missed in one language and split."""

    turns: int = 0
    right: int = 0
    wrong: int = 0
    missed: int = 0
    kinds: int = 0
    remarks: list[str] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """The numbers that are reported, 0..1 but for the counts."""
        precision = self.right / max(1, self.right + self.wrong)
        recall = self.right / max(1, self.right + self.missed)
        return {
            "turns": self.turns,
            "statements": self.right + self.missed,
            "precision": round(precision, 3),
            "recall": round(recall, 3),
            "f1": round(2 * precision * recall / max(1e-9, precision + recall), 3),
            "kind": round(self.kinds / max(1, self.right), 3),
        }


def turns(path: Path) -> Iterator[Turn]:
    """The labelled turns of one file."""
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield Turn(
            id=row["id"],
            text=row["text"],
            at=datetime.fromisoformat(row["at"]),
            split=row["split"],
            keep=tuple((k["content"], Kind(k["kind"])) for k in row["keep"]),
        )


def learnt(said: str, at: datetime) -> tuple[Candidate, ...]:
    """What the extractor keeps of one turn."""
    one = Utterance(seq=1, id="m1", conversation="c1", role=Role.USER, content=said, at=at)
    return extract_basic([one], at).candidates


def content_terms(statement: str) -> set[str]:
    """The terms of a statement without little words; an English plural counts as its singular."""
    found = set(text.terms(statement)) - STOP
    return {t[:-1] if t.isascii() and len(t) > 3 and t.endswith("s") else t for t in found}


def share(gist: str, statement: str) -> float:
    """How much of both is common, 0..1; 0 where one denies and the other does not."""
    if bool(NEGATION.search(gist)) is not bool(NEGATION.search(statement)):
        return 0.0
    left, right = content_terms(gist), content_terms(statement)
    return 2 * len(left & right) / max(1, len(left) + len(right))


def score(turn: Turn, found: Sequence[Candidate], tally: Tally) -> None:
    """Pair each candidate with the gist it says, best first; the rest is wrong or missed."""
    pairs = sorted(
        (
            (share(gist, candidate.content), i, j)
            for i, (gist, _) in enumerate(turn.keep)
            for j, candidate in enumerate(found)
        ),
        key=lambda p: (-p[0], p[1], p[2]),
    )
    gists: set[int] = set()
    candidates: set[int] = set()
    for common, i, j in pairs:
        if common >= SHARE and i not in gists and j not in candidates:
            gists.add(i)
            candidates.add(j)
            tally.kinds += turn.keep[i][1] is found[j].kind
            if turn.keep[i][1] is not found[j].kind:
                tally.remarks.append(f"kind    {turn.id}: {found[j].content} [{found[j].kind}]")
    tally.turns += 1
    tally.right += len(gists)
    tally.wrong += len(found) - len(candidates)
    tally.missed += len(turn.keep) - len(gists)
    for j, candidate in enumerate(found):
        if j not in candidates:
            tally.remarks.append(f"wrong   {turn.id}: {candidate.content} [{candidate.kind}]")
    for i, (gist, _) in enumerate(turn.keep):
        if i not in gists:
            tally.remarks.append(f"missed  {turn.id}: {gist}")


def measured(path: Path) -> dict[str, Tally]:
    """The tallies of one language by split."""
    tallies: dict[str, Tally] = {"build": Tally(), "held": Tally()}
    for turn in turns(path):
        score(turn, learnt(turn.text, turn.at), tallies[turn.split])
    return tallies


def speed(path: Path, seconds: float) -> int:
    """Sentences a second on one core."""
    texts = [turn.text for turn in turns(path)]
    at = next(turns(path)).at
    sentences = sum(len(list(text.sentences(said))) for said in texts)
    rounds = 0
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for said in texts:
            learnt(said, at)
        rounds += 1
    return round(rounds * sentences / (time.perf_counter() - begin))


def public(folder: Path) -> dict[str, Any]:
    """Figures on the public set: notes of an assistant, many of them about third persons.

    Its labels are English, so Chinese notes are only asked whether anything was found in them.
    """
    at = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    labels = {
        row["id"]: tuple(
            (m["content"], Kind.PREFERENCE if m["type"] == "preference" else Kind.FACT)
            for m in row["memories"]
            if m["type"] in ("preference", "fact")
        )
        for row in map(json.loads, (folder / "labels.jsonl").read_text("utf-8").splitlines())
    }
    report: dict[str, Any] = {}
    for language in ("en", "zh"):
        tally = Tally()
        hits = fired = 0
        for line in (folder / f"{language}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            keep = labels.get(row["id"], ())
            found = learnt(row["text"], at)
            fired += bool(found)
            hits += bool(found and keep)
            score(Turn(row["id"], row["text"], at, "public", keep), found, tally)
        holding = sum(bool(k) for k in labels.values())
        report[language] = {
            "snippets": tally.turns,
            "holding": holding,
            "fired": fired,
            "fired_on_holding": hits,
        }
        if language == "en":
            report[language] |= tally.figures()
    return report


def table(name: str, path: Path, show: str | None) -> dict[str, Any]:
    """The figures of one file by split, printed; with what went wrong where that is asked for."""
    tallies = measured(path)
    figures: dict[str, Any] = {split: tally.figures() for split, tally in tallies.items()}
    for split, row in figures.items():
        print(
            f"{name:5} {split:5}{row['turns']:6}{row['statements']:6}{row['precision']:11.3f}"
            f"{row['recall']:8.3f}{row['f1']:7.3f}{row['kind']:7.3f}"
        )
    if show:
        print("\n".join(tallies[show].remarks))
    return figures


def main() -> int:
    """Print a table; 1 if the held half is below what is promised."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--quick", action="store_true", help="measure the speed only briefly")
    parser.add_argument("--check", action="store_true", help="exit 1 below the promised figures")
    parser.add_argument("--data", type=Path, help="folder of the public set: en, zh, labels .jsonl")
    parser.add_argument("--show", choices=("build", "held"), help="list what went wrong there")
    options = parser.parse_args()

    report: dict[str, Any] = {}
    fine = True
    print(f"{'':10}{'turns':>7}{'keep':>6}{'precision':>11}{'recall':>8}{'f1':>7}{'kind':>7}")
    for language in ("en", "zh"):
        path = HERE / f"{language}.jsonl"
        report[language] = table(language, path, options.show)
        held = report[language]["held"]
        fine = fine and held["precision"] >= PRECISION and held["recall"] >= RECALL
        report[language]["sentences_per_second"] = speed(path, 0.2 if options.quick else 2.0)
        print(f"{language} {report[language]['sentences_per_second']} sentences a second")
    report["zh plans"] = table("plans", HERE / "plans.jsonl", options.show)
    if options.data:
        report["public"] = public(options.data)
        print(json.dumps(report["public"], indent=1))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    return 1 if options.check and not fine else 0


if __name__ == "__main__":
    sys.exit(main())
