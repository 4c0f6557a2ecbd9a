"""The description is true: whatever is sent is answered as it says, and never with a fault."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast
from unittest import SkipTest

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import FailureGroup
from schemathesis.generation import GenerationMode

from perdure.types import MAY, KeyRole

WANTED = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_headers_conformance", "response_schema_conformance",
)  # fmt: skip
schemathesis.serializer.alias("application/x-ndjson", "text/plain")

PATIENCE = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.spec("6")
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")  # of the tool that asks; what answers is another thread's
def test_every_route_answers_as_described_whatever_is_sent(served):
    """Words that fit the description and words that do not, to every route, with a right key."""
    api = served(rate_limit=0)
    keys = api.memory.parts.keys
    _, app = keys.create("default", "app")
    _, admin = keys.create("default", "admin", KeyRole.ADMIN, MAY[KeyRole.ADMIN])
    where = str(api.base_url).removesuffix("/api/v1/")
    load_all_checks()
    checks = [CHECKS.get_one(name) for name in WANTED]
    schema = schemathesis.openapi.from_dict(api.get(f"{where}/openapi.json", timeout=60).json())
    schema.config.update(base_url=where)
    asked, wrong = 0, []
    for found in schema.get_all_operations():
        operation = cast("Any", found).ok()
        is_admin = "/admin/" in operation.path or operation.path == "/metrics"
        key = {"Authorization": f"Bearer {admin if is_admin else app}"}
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            count, fault = tried(operation, mode, key, checks)
            asked += count
            wrong += [] if fault is None else [f"{operation.label}: {fault}"]
    assert not wrong, "\n".join(wrong)
    assert asked > 200


def tried(operation, mode, key, checks):
    """Ask one route again and again; how often, and what was wrong with an answer."""
    asked = 0

    @PATIENCE
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case):
        nonlocal asked
        asked += 1
        case.call_and_validate(headers=key, checks=checks, timeout=60)

    try:
        with suppress(SkipTest, Unsatisfiable):  # nothing that does not fit can be sent here
            ask()
    except FailureGroup as failures:
        return asked, [f"{one.title}: {one.message}"[:300] for one in failures.exceptions]
    return asked, None
