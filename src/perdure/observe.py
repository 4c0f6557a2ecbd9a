"""What is counted and traced, in one place. Names and labels only; never a text.

Prometheus reads it under ``perdure_<name>``, counters with ``_total`` behind. Its client library
is loaded when somebody reads, since loading it takes as long as the rest of a start.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Literal, TypeAlias

from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

Labels: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Metric:
    """One thing that is counted, timed or measured."""

    name: str
    says: str
    labels: tuple[str, ...] = ()
    kind: Literal["counter", "seconds", "gauge"] = "counter"

    @property
    def full_name(self) -> str:
        """As Prometheus shows it."""
        return f"perdure_{self.name}" + ("_total" if self.kind == "counter" else "")


METRICS: Mapping[str, Metric] = {
    one.name: one
    for one in (
        Metric("jobs", "Tries of jobs that ended, by how", ("type", "outcome")),
        Metric("captures", "Turns handed in, by what the receipt said", ("state", "reason")),
        Metric("recalls", "Answers, by whether they said anything", ("hit",)),
        Metric("recall_seconds", "Time of an answer, which a reply waits for", (), "seconds"),
        Metric("recall_kept", "Memories that answers said"),
        Metric("recall_dropped", "Memories that answers left out", ("reason",)),
        Metric("recall_degraded", "Parts that answers did without", ("part", "reason")),
        Metric("reranks", "Orders that a reranker was asked about", ("outcome",)),
        Metric("cache", "Looks into what is kept in memory", ("of", "hit")),
        Metric("memory_decision", "What candidates did", ("action",)),
        Metric("memory_refused", "Candidates that were refused", ("reason",)),
        Metric("memory_replies", "Replies of models that learn", ("purpose",)),
        Metric("memory_json_parse_fail", "Replies that could not be read", ("purpose",)),
        Metric("memory_reply_entries_skipped", "Entries of replies that could not be read"),
        Metric("memory_comparison_fail", "Turns that were compared word for word only"),
        Metric("memory_embedding_late", "Statements whose vector came later"),
        Metric("memory_readable_seconds", "From a turn to what was learnt of it", (), "seconds"),
        Metric("memory_consolidated", "Memories merged and dropped", ("op",)),
        Metric("memory_consolidation_fail", "Groups that could not be tidied up"),
        Metric("memory_cleaned", "What cleaning removed", ("what",)),
        Metric("memory_reconciled", "What repairing the index mended", ("what",)),
        Metric("memory_feedback", "What users said about memories", ("verdict",)),
        Metric("memory_erased", "Users that were erased"),
        Metric("model_calls", "Calls of models", ("model", "purpose", "outcome")),
        Metric("model_tokens", "Tokens of models", ("model", "purpose", "direction")),
        Metric("model_cost", "Money spent on models, at the set prices", ("model", "purpose")),
        Metric("spend_unnoted", "Calls of models whose cost could not be written down"),
        Metric("queue_depth", "Jobs in each state", ("state",), "gauge"),
        Metric("queue_age_seconds", "Age of the job that has waited longest", (), "gauge"),
        Metric("vectors", "Memories by the state of their vector", ("status",), "gauge"),
        Metric("vector_work", "Pauses of vector work for a backlog, and ends of them", ("state",)),
        Metric("bus_events", "Events that left over the bus and came back", ("outcome",)),
        Metric("outbox_depth", "Promises on their way out", (), "gauge"),
        Metric("outbox_age_seconds", "Age of the oldest of them", (), "gauge"),
        Metric("database_up", "1 while the database answers", (), "gauge"),
        Metric(
            "database_refused", "Requests and jobs that ended since the database did not answer"
        ),
    )
}
"""Everything that is counted; a name that is not here cannot be counted."""

BUCKETS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.8, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3_600.0,
    86_400.0, float("inf"),
)  # fmt: skip
"""Upper ends of the stretches that times are sorted into, in seconds."""


@dataclass(slots=True)
class _Times:
    """How many times fell into each stretch, and all of them together."""

    counts: list[int] = field(default_factory=lambda: [0] * len(BUCKETS))
    total: float = 0.0


class Meter:
    """Counts, times and levels of one running Perdure. Share it between threads.

    Args:
        whole: what counts everything that is counted here; None: this does.
    """

    def __init__(self, whole: Meter | None = None) -> None:
        self._whole = whole
        self._within: dict[str, Meter] = {}
        self._sums: defaultdict[tuple[str, Labels], float] = defaultdict(float)
        self._times: defaultdict[str, _Times] = defaultdict(_Times)
        self._lock = Lock()

    def within(self, namespace: str) -> Meter:
        """What is counted of one namespace; all of it is counted here as well."""
        with self._lock:
            found = self._within.get(namespace)
            if found is None:
                found = self._within[namespace] = Meter(self)
            return found

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter, for example ``count("jobs", type="extract", outcome="dead")``."""
        key = _key(name, labels)
        with self._lock:
            self._sums[key] += amount
        if self._whole is not None:
            self._whole.count(name, amount, **labels)

    def time(self, name: str, seconds: float) -> None:
        """Note how long something took."""
        if METRICS[name].kind != "seconds":
            raise KeyError(name)
        with self._lock:
            times = self._times[name]
            times.counts[bisect_left(BUCKETS, seconds)] += 1
            times.total += seconds
        if self._whole is not None:
            self._whole.time(name, seconds)

    def level(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        key = _key(name, labels)
        with self._lock:
            self._sums[key] = value

    def read(self, name: str, **labels: str) -> float:
        """The sum of a counter over everything that carries these labels."""
        wanted = set(labels.items())
        with self._lock:
            return sum(
                n for (key, has), n in self._sums.items() if key == name and wanted <= set(has)
            )

    def split(self, name: str, label: str) -> dict[str, float]:
        """The same by the values of one label."""
        found: defaultdict[str, float] = defaultdict(float)
        with self._lock:
            for (key, has), amount in self._sums.items():
                if key == name:
                    found[dict(has)[label]] += amount
        return dict(found)

    def quantile(self, name: str, share: float) -> float | None:
        """A quantile of times in seconds, as Prometheus estimates it; None: nothing was timed."""
        with self._lock:
            counts = list(self._times[name].counts)
        wanted, seen = share * sum(counts), 0
        if not wanted:
            return None
        for place, count in enumerate(counts[:-1]):
            if count and seen + count >= wanted:
                low = BUCKETS[place - 1] if place else 0.0
                return low + (BUCKETS[place] - low) * (wanted - seen) / count
            seen += count
        return BUCKETS[-2]

    def collect(self) -> Iterator[Family]:
        """Everything as Prometheus' client library takes it: a meter is one of its collectors."""
        from prometheus_client import core  # noqa: PLC0415 - slow to load, see the top

        with self._lock:
            sums = dict(self._sums)
            times = {name: (list(one.counts), one.total) for name, one in self._times.items()}
        for metric in METRICS.values():
            name, says = f"perdure_{metric.name}", f"{metric.says}."
            if metric.kind == "seconds":
                counts, total = times.get(metric.name, ([0] * len(BUCKETS), 0.0))
                yield core.HistogramMetricFamily(name, says, _cumulated(counts), total)
                continue
            sort = core.GaugeMetricFamily if metric.kind == "gauge" else core.CounterMetricFamily
            family = sort(name, says, labels=metric.labels)
            for (key, labels), amount in sorted(sums.items()):
                if key == metric.name:
                    family.add_metric([dict(labels)[one] for one in metric.labels], amount)
            if not metric.labels and not family.samples:
                family.add_metric([], 0.0)
            yield family

    def exposition(self) -> bytes:
        """Everything in Prometheus' text format (version 0.0.4)."""
        from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 - the same

        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)


def _key(name: str, labels: Mapping[str, str]) -> tuple[str, Labels]:
    """Where an amount is kept.

    Raises:
        KeyError: no such thing is counted, or not with these labels.
    """
    if set(METRICS[name].labels) != labels.keys():
        raise KeyError(name, *labels)
    return name, tuple(sorted((one, str(value)) for one, value in labels.items()))


def _cumulated(counts: list[int]) -> list[tuple[str, float]]:
    ends = [*(str(end) for end in BUCKETS[:-1]), "+Inf"]
    return [(end, float(sum(counts[: place + 1]))) for place, end in enumerate(ends)]


# ── the ten that everybody asks for ──────────────────────────────────────────────────────────────

Told: TypeAlias = float | dict[str, float] | None


@dataclass(frozen=True, slots=True)
class Rate:
    """One of the ten: what it says, how Prometheus computes it, and how we do."""

    says: str
    promql: str
    of: Callable[[Meter], Told]


def _share(part: float, whole: float) -> float | None:
    """A share; None where there is nothing to share."""
    return part / whole if whole else None


def _judged(meter: Meter, verdict: str) -> float | None:
    """Of the memories that were said, those with a verdict; which may be of an earlier process."""
    share = _share(meter.read("memory_feedback", verdict=verdict), meter.read("recall_kept"))
    return None if share is None else min(1.0, share)


def _ended(meter: Meter, *outcomes: str) -> float:
    return sum(meter.read("jobs", outcome=outcome) for outcome in outcomes)


def _decisions(meter: Meter) -> dict[str, float]:
    found = meter.split("memory_decision", "action")
    whole = sum(found.values())
    return {action: amount / whole for action, amount in sorted(found.items())} if whole else {}


def _inc(name: str, split: str = "", **labels: str) -> str:
    """PromQL: how much a counter rose in a day; a value with | is any of several."""
    wanted = ",".join(f'{k}{"=~" if "|" in v else "="}"{v}"' for k, v in labels.items())
    by = f" by ({split}) " if split else ""
    return f"sum{by}(increase({METRICS[name].full_name}{{{wanted}}}[1d]))".replace("{}", "")


def _ratio(part: str, whole: str) -> str:
    """PromQL: a share that is 0, not nothing, before its part has happened once."""
    return f"({part} or vector(0)) / {whole}"


RATES: Mapping[str, Rate] = {
    "memory_job_success_rate": Rate(
        "Of the jobs that came to an end, those that succeeded",
        _ratio(_inc("jobs", outcome="success"), _inc("jobs", outcome="success|dead")),
        lambda m: _share(_ended(m, "success"), _ended(m, "success", "dead")),
    ),
    "memory_job_retry_rate": Rate(
        "Of the tries of jobs, those that failed and come again",
        _ratio(_inc("jobs", outcome="retry"), _inc("jobs", outcome="success|retry|dead")),
        lambda m: _share(_ended(m, "retry"), _ended(m, "success", "retry", "dead")),
    ),
    "memory_retrieval_hit_rate": Rate(
        "Of the verdicts of users on memories that were said, those that call one useful",
        _ratio(_inc("memory_feedback", verdict="useful"), _inc("memory_feedback")),
        lambda m: _share(m.read("memory_feedback", verdict="useful"), m.read("memory_feedback")),
    ),
    "memory_injection_count_avg": Rate(
        "Memories in an answer, on average",
        _ratio(_inc("recall_kept"), _inc("recalls")),
        lambda m: _share(m.read("recall_kept"), m.read("recalls")),
    ),
    "memory_wrong_mention_rate": Rate(
        "Of the memories that were said, those that users said did not belong there",
        _ratio(_inc("memory_feedback", verdict="wrong_mention"), _inc("recall_kept")),
        lambda m: _judged(m, "wrong_mention"),
    ),
    "memory_user_correction_rate": Rate(
        "Of the memories that were said, those that users corrected",
        _ratio(_inc("memory_feedback", verdict="correction"), _inc("recall_kept")),
        lambda m: _judged(m, "correction"),
    ),
    "chat_p95_latency_delta_with_memory": Rate(
        "Seconds that memory adds to a reply, at the 95th percentile: those of an answer",
        "histogram_quantile(0.95, sum by (le) (increase(perdure_recall_seconds_bucket[1d])))",
        lambda m: m.quantile("recall_seconds", 0.95),
    ),
    "memory_json_parse_fail_rate": Rate(
        "Of the replies of models that learn, those that could not be read",
        _ratio(_inc("memory_json_parse_fail"), _inc("memory_replies")),
        lambda m: _share(m.read("memory_json_parse_fail"), m.read("memory_replies")),
    ),
    "memory_decision_distribution": Rate(
        "What candidates did, in shares: ADD, UPDATE, TOUCH, DELETE, NONE",
        _inc("memory_decision", "action") + " / scalar(" + _inc("memory_decision") + ")",
        _decisions,
    ),
    "reranker_fallback_rate": Rate(
        "Of the orders that a reranker was asked about, those that stayed as they were",
        _ratio(_inc("reranks", outcome="fallback"), _inc("reranks")),
        lambda m: _share(m.read("reranks", outcome="fallback"), m.read("reranks")),
    ),
}
"""By the names that the design gives them."""


def summary(meter: Meter) -> dict[str, Told]:
    """The ten, ready made, of what a meter counted; None where nothing has happened yet."""
    return {name: rate.of(meter) for name, rate in RATES.items()}


# ── tracing ──────────────────────────────────────────────────────────────────────────────────────

_PARENT = "traceparent"
_format = TraceContextTextMapPropagator()


def here() -> str | None:
    """Where we are in a trace (W3C traceparent); None while nobody traces."""
    carrier: dict[str, str] = {}
    _format.inject(carrier)
    return carrier.get(_PARENT)


@contextmanager
def span(name: str, parent: str | None = None, **about: str | int) -> Iterator[None]:
    """A stretch of work in a trace; nothing at all where no OpenTelemetry SDK is set up.

    Args:
        name: what is done.
        parent: where it was promised, from `here`; None: inside the span that is open.
        about: ids and counts, never a text.
    """
    context = _format.extract({_PARENT: parent}) if parent is not None else None
    tracer = trace.get_tracer("perdure")
    with tracer.start_as_current_span(
        name,
        context,
        attributes={f"perdure.{key}": value for key, value in about.items()},
        record_exception=False,  # the words of a stranger's exception may be anybody's
        set_status_on_exception=False,
    ) as current:
        try:
            yield
        except BaseException as failure:
            current.set_status(trace.StatusCode.ERROR, type(failure).__name__)
            raise
