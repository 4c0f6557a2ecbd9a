"""What the offline rules do when a later statement changes an earlier one, or only looks like it.

    python bench/extraction/changes.py [--check] [--show SPLIT] [--json FILE]

A line of ``pairs.jsonl`` is ``{"id", "split", "first", "then", "both"}``: what a person says, and
what they say later. Where ``both`` is true both statements must stay, else the later one alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from perdure.learn.basic import extract_basic
from perdure.learn.basic.outdated import outdated
from perdure.types import Candidate, Role, Utterance

PAIRS = Path(__file__).with_name("pairs.jsonl")
AT = datetime(2026, 11, 26, 9, tzinfo=UTC)
BESIDE = 0.15  # --check: of what changed, no more stands beside what it was
LOST = 0.05  # --check: of what may stay, no more is lost


@dataclass(frozen=True, slots=True)
class Pair:
    """Two statements of one person."""

    id: str
    language: str
    split: str
    first: str
    then: str
    both: bool


@dataclass(slots=True)
class Tally:
    """What became of the pairs of one language, kind and split."""

    ends: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)

    def share(self, end: str) -> float:
        """Of the pairs in which both statements were heard."""
        heard = self.ends.total() - self.ends["unheard"]
        return self.ends[end] / max(1, heard)


def pairs() -> Iterator[Pair]:
    """All pairs of the file."""
    for line in PAIRS.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield Pair(language=row["id"][:2], **row)


def heard(said: str) -> tuple[Candidate, ...]:
    """What the extractor makes of one message."""
    one = Utterance(seq=1, id="m1", conversation="c1", role=Role.USER, content=said, at=AT)
    return extract_basic([one], AT).candidates


def end(pair: Pair) -> tuple[str, str]:
    """How a pair ends: right, beside (both stand), lost (one stands), or unheard."""
    first, then = heard(pair.first), heard(pair.then)
    told = " | ".join(one.content for one in (*first, *then))
    if len(first) != 1 or len(then) != 1:
        return "unheard", told
    replaced = bool(outdated(then[0], first))
    if replaced is not pair.both:
        return "right", told
    return ("lost" if pair.both else "beside"), told


def measured() -> dict[tuple[str, str, bool], Tally]:
    """Tallies by language, split, and whether both must stay."""
    tallies: dict[tuple[str, str, bool], Tally] = {}
    for pair in pairs():
        tally = tallies.setdefault((pair.language, pair.split, pair.both), Tally())
        what, told = end(pair)
        tally.ends[what] += 1
        if what != "right":
            tally.remarks.append(f"{what:8}{pair.id}: {pair.first} {pair.then} -> {told}")
    return tallies


def main() -> int:
    """Print a table; 1 if it errs more often than is promised."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--check", action="store_true", help="exit 1 beyond the promised errors")
    parser.add_argument("--show", choices=("build", "held", "blind"), help="list what went wrong")
    options = parser.parse_args()
    tallies = measured()
    fine = True
    print(f"{'':22}{'pairs':>6}{'unheard':>9}{'beside':>8}{'lost':>6}")
    for (language, split, both), tally in sorted(tallies.items()):
        name = f"{language} {split}, {'both stay' if both else 'changed'}"
        ends = tally.ends
        print(f"{name:22}{ends.total():6}{ends['unheard']:9}{ends['beside']:8}{ends['lost']:6}")
        fine = fine and tally.share("beside") <= BESIDE and tally.share("lost") <= LOST
        if options.show == split:
            print("\n".join(tally.remarks))
    if options.json:
        figures = {
            f"{language} {split} {'both' if both else 'changed'}": dict(tally.ends)
            for (language, split, both), tally in sorted(tallies.items())
        }
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    return 1 if options.check and not fine else 0


if __name__ == "__main__":
    sys.exit(main())
