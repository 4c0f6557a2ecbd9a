"""What is counted has a name in one place, Prometheus reads it, and a trace holds together."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from perdure import Memory, Message, Scope
from perdure.observe import METRICS, RATES, Meter, here, span, summary
from perdure.settings import load

SRC = Path(__file__).parent.parent / "src"
ann = Scope(user="ann")
TEN = {
    "memory_job_success_rate", "memory_job_retry_rate", "memory_retrieval_hit_rate",
    "memory_injection_count_avg", "memory_wrong_mention_rate", "memory_user_correction_rate",
    "chat_p95_latency_delta_with_memory", "memory_json_parse_fail_rate",
    "memory_decision_distribution", "reranker_fallback_rate",
}  # fmt: skip


@pytest.fixture
def memory(tmp_path):
    settings = load({"PERDURE_EMBEDDER": "none"})
    with Memory.open(tmp_path / "perdure.db", settings=settings, workers=False) as opened:
        yield opened


def work(memory):
    while memory.parts.worker.run_once():
        pass


def shown(memory):
    """Every sample by name and labels."""
    families = text_string_to_metric_families(memory.metrics.text().decode())
    return {
        (one.name, *sorted(one.labels.items())): one.value
        for family in families
        for one in family.samples
    }


@pytest.mark.spec("10")
def test_the_ten_are_told_by_their_names_and_begin_with_nothing(memory):
    assert memory.metrics.summary().keys() == TEN == RATES.keys()
    assert set(map(str, memory.metrics.summary().values())) == {"None", "{}"}


@pytest.mark.spec("10")
def test_a_day_of_work_gives_the_rates_that_it_had(memory):
    memory.capture(ann, "c", [Message("user", "I live in Bergen.")])
    work(memory)
    memory.capture(ann, "c", [Message("user", "我不吃香菜。")])
    assert shown(memory)["perdure_queue_depth", ("state", "pending")] == 2
    work(memory)
    answer = memory.recall(ann, "Where do I live?")
    memory.recall(Scope(user="bo"), "Where do I live?")
    memory.feedback(ann, answer.trace, answer.kept[0].item.id, "wrong_mention")
    told = memory.metrics.summary()
    said = len(answer.kept)

    assert told["memory_job_success_rate"] == 1.0
    assert told["memory_retrieval_hit_rate"] == 0.0
    assert told["memory_injection_count_avg"] == said / 2
    assert told["memory_wrong_mention_rate"] == 1 / said
    assert told["memory_user_correction_rate"] == 0.0
    assert told["memory_decision_distribution"] == {"ADD": 1.0, "NONE": 0.0}
    assert 0 < told["chat_p95_latency_delta_with_memory"] < 5
    samples = shown(memory)
    assert samples["perdure_recalls_total", ("hit", "true")] == 1
    assert samples["perdure_memory_readable_seconds_count",] == 2
    assert samples["perdure_vectors", ("status", "pending")] == 2
    assert samples["perdure_database_up",] == 1
    assert samples["perdure_cache_total", ("hit", "false"), ("of", "memories")] >= 1
    assert samples["perdure_queue_age_seconds",] == 0


@pytest.mark.spec("10")
def test_rates_are_shares_of_what_they_name():
    meter = Meter()
    for outcome, times in (("success", 6), ("retry", 3), ("busy", 9), ("dead", 2)):
        meter.count("jobs", times, type="extract", outcome=outcome)
    meter.count("reranks", 3, outcome="ok")
    meter.count("reranks", outcome="fallback")
    meter.count("memory_json_parse_fail", purpose="extract")
    for purpose, times in (("extract", 8), ("decide", 2)):
        meter.count("memory_replies", times, purpose=purpose)
    for ms in range(1, 101):
        meter.time("recall_seconds", ms / 1000)
    told = summary(meter)

    assert told["memory_job_success_rate"] == 6 / 8
    assert told["memory_job_retry_rate"] == 3 / 11
    assert told["reranker_fallback_rate"] == 1 / 4
    assert told["memory_json_parse_fail_rate"] == 1 / 10
    assert told["chat_p95_latency_delta_with_memory"] == pytest.approx(0.095, abs=0.001)
    meter.time("recall_seconds", 1e9)
    assert meter.quantile("recall_seconds", 1.0) == 86_400.0


@pytest.mark.spec("10")
def test_every_name_in_a_query_is_one_that_prometheus_finds():
    names = set(re.findall(r"perdure_\w+", Meter().exposition().decode()))
    for rate in RATES.values():
        used = re.findall(r"perdure_\w+", rate.promql)
        assert used
        assert set(used) <= names
        for labels in re.findall(r"perdure_(\w+?)_total\{(.*?)\}", rate.promql):
            given = set(re.findall(r'(\w+)=~?"', labels[1]))
            assert given <= set(METRICS[labels[0]].labels)


def test_whatever_the_code_counts_has_a_name_here():
    counted = set()
    for file in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in {"count", "time", "level"}
                and "meter" in ast.unparse(node.func.value)
                and isinstance(node.args[0], ast.Constant)
            ):
                counted.add(node.args[0].value)
    assert counted == METRICS.keys()


def test_a_name_or_a_label_that_is_none_cannot_be_counted():
    meter = Meter()
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("joobs", {}), ("jobs", {}), ("recall_kept", {"user": "ann"}),
    ]  # fmt: skip
    for name, labels in wrong:
        with pytest.raises(KeyError):
            meter.count(name, **labels)
    with pytest.raises(KeyError):
        meter.time("jobs", 1.0)


@pytest.mark.spec("10")
def test_a_database_that_does_not_answer_is_a_level_not_an_error(memory, monkeypatch):
    from perdure.errors import DatabaseUnavailable  # noqa: PLC0415 - only here

    def gone():
        raise DatabaseUnavailable

    monkeypatch.setattr(memory.parts.database, "read", gone)
    assert shown(memory)["perdure_database_up",] == 0


# ── tracing ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def spans(monkeypatch):
    """Every span that ends, as an SDK hands it on."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    provider.shutdown()


@pytest.mark.spec("10")
def test_one_trace_leads_from_the_request_to_the_memory(memory, spans):
    with span("request"):
        taken = memory.capture(ann, "c", [Message("user", "I live in Bergen.")])
    work(memory)

    found = {one.name: one for one in spans.get_finished_spans()}
    assert {"request", "memory capture", "job extract", "job embed"} <= found.keys()
    assert len({one.context.trace_id for one in found.values()}) == 1
    (item,) = memory.items.list(ann)
    assert found["job extract"].attributes["perdure.trace"] == taken.trace == item.origin.trace
    assert "Bergen" not in str([one.to_json() for one in found.values()])


@pytest.mark.spec("10")
def test_a_span_tells_the_kind_of_a_failure_and_none_of_its_words(spans):
    with pytest.raises(ValueError, match="Bergen"), span("work", item="i1"):
        raise ValueError("lives in Bergen")
    (one,) = spans.get_finished_spans()
    assert one.status.description == "ValueError"
    assert "Bergen" not in one.to_json()


def test_nothing_is_traced_where_nobody_set_it_up(memory):
    assert here() is None
    with span("work"):
        assert here() is None
    memory.capture(ann, "c", [Message("user", "I live in Bergen.")])
    work(memory)
