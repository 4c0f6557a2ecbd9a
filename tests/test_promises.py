"""Which promises have a test, and which are open: the list and the tests may not disagree."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
PROMISES = tomllib.loads((HERE / "promises.toml").read_text("utf-8"))


def marked(name: str) -> set[str]:
    """Every argument of ``@pytest.mark.<name>`` in this suite."""
    return {
        argument.value
        for file in [*HERE.rglob("test_*.py"), *HERE.glob("../src/perdure/testing/*.py")]
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == name
        and isinstance(node.func.value, ast.Attribute)
        and node.func.value.attr == "mark"
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


def test_every_section_has_a_test_or_stands_in_the_open_list():
    known = set(PROMISES["sections"])
    proven = marked("spec")

    assert proven <= known, f"unknown sections: {sorted(proven - known)}"
    assert known - proven == set(PROMISES["open"]["sections"])


def test_every_known_fault_has_a_test_or_stands_in_the_open_list():
    known = set(PROMISES["cases"]["known"])
    proven = marked("case")

    assert proven <= known, f"unknown cases: {sorted(proven - known)}"
    assert known - proven == set(PROMISES["open"]["cases"])


def test_every_point_that_the_notes_want_tested_is_cited_or_stands_in_the_open_list():
    """A 8 (P2), A 10.6, B 8, C 12.1, C 12.2 and D "验证方式", point by point."""
    known = set(PROMISES["points"])
    proven = marked("point")

    assert proven <= known, f"unknown points: {sorted(proven - known)}"
    assert known - proven == set(PROMISES["open"]["points"])
