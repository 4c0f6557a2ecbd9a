"""What the whole suite shares: a skipped test is a failure where everything must run."""

from __future__ import annotations

import os

import pytest

STRICT = os.environ.get("PERDURE_TEST_STRICT") == "1"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With PERDURE_TEST_STRICT=1 a test that skips itself fails with the line it skipped with."""
    report = yield
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped: {report.longrepr[-1]}"
    return report


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch, tmp_path):
    """No test reads settings of whoever runs it, or leaves a file where it was started."""
    for name in list(os.environ):
        if name.startswith("PERDURE_") and name != "PERDURE_TEST_STRICT":
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
