"""Where something is wrong, as far as it is words and no name: the Chinese of each place."""

from __future__ import annotations

from collections.abc import Mapping

PLACES: Mapping[str, str] = {
    # of a file or a body with one JSON object a line
    "line {number}": "第 {number} 行",
    "line {number}, {place}": "第 {number} 行，{place}",
    # where a number of the policy came from
    "environment: {place}": "环境变量：{place}",
    "run time: {place}": "运行时值：{place}",
}
