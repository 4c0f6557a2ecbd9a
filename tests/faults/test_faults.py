"""The fault script in short: all are killed for a few seconds, nothing is lost or doubled."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from servers import missing

SHORT_S = 6
KILLS = {"none": 3, "kafka": 6}
"""Who can be killed dies once, and without a bus one of them twice."""
RUNS = [("sqlite", "none"), ("sqlite", "kafka"), ("mariadb", "kafka"), ("postgres", "kafka")]


@pytest.mark.spec("5", "3.2")
@pytest.mark.case("STO-09")
@pytest.mark.timeout(400)
@pytest.mark.parametrize(("database", "bus"), RUNS)
def test_what_was_acknowledged_is_learnt_once_and_in_order_whoever_is_killed(
    database: str, bus: str, tmp_path: Path
) -> None:
    lack = missing(database, kafka=bus == "kafka")
    if lack is not None:
        pytest.skip(lack)
    counts = tmp_path / "counts.json"
    script = Path(__file__).with_name("run.py")
    done = subprocess.run(
        [
            sys.executable, str(script), "--database", database, "--bus", bus,
            "--seconds", str(SHORT_S), "--kills", str(KILLS[bus]), "--turns", "21",
            "--json", str(counts),
        ],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = json.loads(counts.read_text("utf-8"))
    assert run["learnt"] == run["acknowledged"] > 20
    assert sum(run["kills"].values()) >= KILLS[bus]
    assert [run[name] for name in ("lost", "twice", "disordered", "unfinished", "disagreeing")] == (
        [0] * 5
    )
