"""Learning costs money: it is written down, and stops at a limit until there is more."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from perdure import Memory, Message, Scope
from perdure.errors import CapReached, DatabaseUnavailable, Misconfigured, ReplyUnusable
from perdure.learn.spending import Spending, month_of
from perdure.observe import Meter
from perdure.policy import ASSISTANT, CostPolicy
from perdure.ports import Question
from perdure.settings import load
from perdure.testing.fakes import ScriptedChat
from perdure.types import Reason, ReceiptState
from perdure.wiring import wire

ann = Scope(user="ann")
bo = Scope(user="bo")
PRICES = "m=2/8,*=1/1"


class Office:
    """A memory with a scripted model that costs something."""

    def __init__(self, folder, monkeypatch, **environ):
        self.now = datetime(2026, 1, 31, 22, 0, tzinfo=UTC)
        self.asked = 0
        self.during = lambda: None
        monkeypatch.setattr("perdure.wiring.running.chat_model", lambda _settings, _meter: self)
        self.name = "m"
        chosen = load({"PERDURE_EMBEDDER": "none", **environ})
        url = f"sqlite:///{folder / 'office.db'}"
        self.memory = Memory(wire(chosen.but(database_url=url), lambda: self.now))

    def ask(self, question, model=None):
        from perdure.ports import Reply  # noqa: PLC0415 - only here

        self.asked += 1
        self.during()
        said = str(question.messages[-1])
        facts = [{"content": "Lives in Bergen", "kind": "fact"}] if "Bergen" in said else []
        return Reply(
            text=json.dumps({"facts": facts, "items": facts}), model=model or self.name,
            tokens_in=1_000, tokens_out=500,
        )  # fmt: skip

    def says(self, who, said="I live in Bergen.", number=[0]):  # noqa: B006 - counts turns
        number[0] += 1
        self.now += timedelta(milliseconds=5)
        return self.memory.capture(who, "c", [Message("user", said, id=f"m{number[0]}")])

    def replies_without_a_text(self):
        """As models do whose tokens were used up by thinking."""

        def unusable():
            raise ReplyUnusable("The reply has no text.").costing(1_000, 500)

        self.during = unusable

    def work(self):
        while self.memory.parts.worker.run_once():
            pass


@pytest.fixture
def office(tmp_path, monkeypatch):
    made = []

    def build(**environ):
        prices = {"PERDURE_POLICY__COST__PRICES": PRICES}
        made.append(Office(tmp_path, monkeypatch, **{**prices, **environ}))
        return made[-1]

    yield build
    for one in made:
        one.memory.close()


@pytest.mark.spec("10")
def test_what_a_user_cost_is_written_down_by_month_model_and_purpose(office):
    office = office()
    office.says(ann)
    office.says(bo)
    office.work()

    (spent,) = office.memory.costs.of(ann)
    assert (spent.month, spent.model, spent.purpose, spent.calls) == ("2026-01", "m", "extract", 1)
    assert (spent.tokens_in, spent.tokens_out) == (1_000, 500)
    assert spent.cost == pytest.approx((2 * 1_000 + 8 * 500) / 1_000_000)
    (together,) = office.memory.costs.together("default")
    assert together.cost == pytest.approx(2 * spent.cost)
    assert office.memory.costs.of(ann, "2026-02") == []
    assert office.memory.parts.meter.read("model_cost", purpose="extract") == together.cost


@pytest.mark.spec("10")
@pytest.mark.parametrize(
    "limit",
    [
        {"PERDURE_POLICY__COST__USER_MONTH": "0.006"},
        {"PERDURE_POLICY__COST__USER_TOKENS_MONTH": "1500"},
        {"PERDURE_POLICY__COST__NAMESPACE_MONTH": "0.006"},
    ],
    ids=str,
)
def test_a_spent_month_stops_learning_not_recall_and_goes_on_with_the_next(office, limit):
    office = office(**limit)
    office.says(ann)
    office.work()
    waits = office.says(ann, "I moved to Bergen with my cat.")
    office.work()

    receipt = office.memory.receipt(ann, waits.trace)
    assert (receipt.state, receipt.reason) == (ReceiptState.QUEUED, Reason.COST_CAP)
    assert receipt.next_try_at is not None
    assert receipt.tries == 0
    assert "Bergen" in office.memory.recall(ann, "Where do I live?").text
    assert office.asked == 1

    for _ in range(3):
        office.now += timedelta(hours=1.5)
        office.work()
    receipt = office.memory.receipt(ann, waits.trace)
    assert receipt.state is ReceiptState.LEARNT
    assert [one.month for one in office.memory.costs.of(ann, "2026-02")] == ["2026-02"]


@pytest.mark.spec("10", "8")
def test_a_raised_limit_is_noticed_within_the_hour(office):
    office = office(PERDURE_POLICY__COST__USER_MONTH="0.006")
    office.now = datetime(2026, 1, 2, 8, tzinfo=UTC)
    office.says(ann)
    office.work()
    waits = office.says(ann, "I moved to Bergen with my cat.")
    office.work()
    office.memory.parts.runtime.set("default", "cost.user_month", 1.0)
    office.now += timedelta(hours=1.5)
    office.work()
    assert office.memory.receipt(ann, waits.trace).state is ReceiptState.LEARNT


@pytest.mark.spec("10")
def test_one_user_s_limit_is_no_limit_of_another(office):
    office = office(PERDURE_POLICY__COST__USER_MONTH="0.006")
    office.says(ann)
    office.work()
    office.says(ann, "I moved to Bergen with my cat.")
    fine = office.says(bo)
    office.work()
    assert office.memory.receipt(bo, fine.trace).state is ReceiptState.LEARNT


@pytest.mark.spec("10")
def test_zero_is_nothing_and_a_person_who_asks_is_told(office):
    office = office(PERDURE_POLICY__COST__USER_MONTH="0")
    office.memory.items.add(ann, "Owns a kayak")
    for number in range(3):
        office.says(ann, f"I live in Bergen {number}.")
    office.work()
    assert office.asked == 0
    assert office.memory.parts.meter.read("jobs", outcome="busy") == 3 - 2


@pytest.mark.spec("9", "10")
def test_a_call_that_ends_after_an_erasure_leaves_no_trace_of_the_user(office):
    office = office()
    office.during = lambda: office.memory.erase(ann)
    office.says(ann)
    office.work()
    assert office.memory.erasure(ann).clean
    assert [one.calls for one in office.memory.costs.together("default")] == [1]
    assert office.memory.costs.of(ann) == []


@pytest.mark.spec("8", "10")
def test_the_namespace_s_model_is_asked_and_priced(office):
    office = office()
    office.memory.parts.runtime.set("default", "memory.extraction_model", "small")
    office.says(ann)
    office.work()
    (spent,) = office.memory.costs.of(ann)
    assert spent.model == "small"
    assert spent.cost == pytest.approx(1_500 / 1_000_000)


def test_a_cost_that_cannot_be_written_down_is_not_paid_twice():
    class Gone:
        def run(self, work, scope):
            raise DatabaseUnavailable

    meter = Meter()
    spending = Spending(
        chat=ScriptedChat("{}"), model=None, database=Gone(), scope=ann,  # type: ignore[arg-type]
        policy=CostPolicy(), clock=lambda: datetime(2026, 12, 31, tzinfo=UTC), meter=meter,
    )  # fmt: skip
    question = Question(
        purpose="extract", version="1", messages=({"role": "user", "content": "x"},)
    )
    assert spending.ask(question).text == "{}"
    assert meter.read("spend_unnoted") == 1


def test_a_month_is_one_in_utc():
    late = datetime.fromisoformat("2027-01-01T05:00:00+09:00")
    assert month_of(late) == "2026-12"


@pytest.mark.parametrize("price", ["m", "m=1", "m=a/b", "=1/2", "m=-1/2", "m=inf/1"])
def test_a_price_that_is_none_is_refused(price):
    with pytest.raises(Misconfigured):
        ASSISTANT.turned({"cost": {"prices": price}}, "test")


def test_a_name_with_signs_of_its_own_has_a_price():
    prices = CostPolicy(prices=("org/model=v2=1/2",))
    assert prices.of("org/model=v2", 1_000_000, 1_000_000) == 3.0
    assert prices.of("other", 1_000_000, 0) == 0.0
    assert issubclass(CapReached, Exception)


@pytest.mark.spec("10")
@pytest.mark.case("COST-01")
def test_a_paid_reply_without_a_text_is_on_the_account_and_the_cap_stops_the_next(office):
    office = office(
        PERDURE_POLICY__COST__PRICES=PRICES, PERDURE_POLICY__COST__USER_TOKENS_MONTH="1"
    )
    office.replies_without_a_text()
    office.says(ann)
    for _ in range(6):
        office.work()
        office.now += timedelta(minutes=5)

    (spent,) = office.memory.costs.of(ann, "2026-01")
    assert (spent.model, spent.calls, spent.tokens_in, spent.tokens_out) == ("m", 1, 1_000, 500)
    assert spent.cost == pytest.approx(0.006)
    assert office.asked == 1
    assert office.memory.parts.meter.read("model_cost") == pytest.approx(0.006)
