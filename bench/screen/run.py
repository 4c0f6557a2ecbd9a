"""How often the screen misses what it must catch, and how often it takes ordinary text for that.

    python bench/screen/run.py [--json FILE] [--check] [--show] [--set NAME]

A line of a set is ``{"class", "text"}``; the class ``ordinary`` must pass untouched.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from perdure import text
from perdure.learn import contact
from perdure.learn.delicate import matters
from perdure.learn.screen import poses_as_order
from perdure.learn.secret import has_secret
from perdure.policy import ScreenPolicy

HERE = Path(__file__).parent
SETS = ("build", "held")
CAUGHT = 0.85  # --check: of what must be caught, in each set and language, at least
PASSED = 0.95  # --check: of ordinary text, the same
ORDINARY = "ordinary"
SECRET = frozenset({"password", "token", "card", "identity"})
REACHED = frozenset({"phone", "email", "address"})


@dataclass(slots=True)
class Tally:
    """One class in one language."""

    right: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def lines(self) -> int:
        """How many there are."""
        return self.right + len(self.wrong)


def right(kind: str, said: str) -> bool:
    """Does the screen see in a text what its class says, and in an ordinary one nothing?"""
    level = contact.level(said, ScreenPolicy())
    if kind in SECRET:
        return has_secret(said)
    if kind in REACHED:
        return level > 0
    if kind == "delicate":
        return bool(matters(said))
    if kind == "order":
        return poses_as_order(said)
    return not (has_secret(said) or level or matters(said) or poses_as_order(said))


def lines(name: str) -> Iterator[tuple[str, str]]:
    """Class and text of each line of a set."""
    for line in (HERE / f"{name}.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        yield row["class"], row["text"]


def measure(name: str) -> dict[tuple[str, str], Tally]:
    """Every line judged, by language and class."""
    tallies: dict[tuple[str, str], Tally] = {}
    for kind, said in lines(name):
        tally = tallies.setdefault((text.language(said), kind), Tally())
        if right(kind, said):
            tally.right += 1
        else:
            tally.wrong.append(said)
    return tallies


def share(tallies: list[Tally]) -> float:
    """Of their lines, how much is right."""
    return sum(tally.right for tally in tallies) / max(1, sum(tally.lines for tally in tallies))


def summed(tallies: dict[tuple[str, str], Tally], language: str) -> dict[str, float]:
    """Both kinds of error in one language: caught of what must be, passed of what may."""
    of = {kind: tally for (lang, kind), tally in tallies.items() if lang == language}
    return {
        "caught": round(share([t for kind, t in of.items() if kind != ORDINARY]), 3),
        "passed": round(share([t for kind, t in of.items() if kind == ORDINARY]), 3),
    }


def main() -> int:
    """Print the table; 1 if it is asked to check and a bound does not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--check", action="store_true", help="exit 1 if a bound does not hold")
    parser.add_argument("--show", action="store_true", help="print what was judged wrongly")
    parser.add_argument("--set", choices=SETS, action="append", help="only this set")
    given = parser.parse_args()
    figures: dict[str, dict[str, object]] = {}
    holds = True
    print(f"{'set':6} {'':3} {'class':10} {'lines':>5} {'right':>6}")
    for name in given.set or SETS:
        tallies = measure(name)
        for (language, kind), tally in sorted(tallies.items()):
            print(f"{name:6} {language:3} {kind:10} {tally.lines:5} {tally.right:6}")
            for said in tally.wrong if given.show else ():
                print(f"       {'passed' if kind != ORDINARY else 'caught'}: {said}")
        for language in ("en", "zh"):
            both = summed(tallies, language)
            holds &= both["caught"] >= CAUGHT and both["passed"] >= PASSED
            print(f"{name:6} {language:3} caught {both['caught']:.3f}, passed {both['passed']:.3f}")
            figures.setdefault(name, {})[language] = both | {
                kind: [tally.right, tally.lines]
                for (lang, kind), tally in sorted(tallies.items())
                if lang == language
            }
    if given.json:
        given.json.write_text(json.dumps(figures, ensure_ascii=False, indent=2) + "\n", "utf-8")
    return 0 if holds or not given.check else 1


if __name__ == "__main__":
    sys.exit(main())
