"""Asks a model on somebody's account: within the month's money, and written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from perdure.errors import CapReached, DatabaseUnavailable, ReplyUnusable
from perdure.observe import Meter, span
from perdure.policy import CostPolicy, Policy
from perdure.ports import ChatModel, Clock, Database, Question, Reply, Transaction
from perdure.types import Scope, Spend


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """One user's account with a model."""

    chat: ChatModel
    model: str | None
    """Another model of the same endpoint than its usual one."""
    database: Database
    scope: Scope
    policy: CostPolicy
    clock: Clock
    meter: Meter

    def ask(self, question: Question) -> Reply:
        """The reply, unless the month's money is spent.

        Raises:
            CapReached: it is; ``retry_after`` is when the next month begins.
            PerdureError: as `ChatModel.ask`.
        """
        began = self.clock()
        if self.policy.capped:
            self._check(began)
        meter = self.meter.within(self.scope.namespace)
        with span("model ask", purpose=question.purpose, model=self.model or self.chat.name):
            try:
                reply = self.chat.ask(question, model=self.model)
            except ReplyUnusable as unusable:
                meter.count("memory_replies", purpose=question.purpose)
                self._note(question, self.model or self.chat.name, unusable, began)
                raise
        meter.count("memory_replies", purpose=question.purpose)
        self._note(question, reply.model, reply, began)
        return reply

    def _check(self, at: datetime) -> None:
        knobs = self.policy
        with self.database.read() as tx:
            own = tx.spend.of(self.scope, month_of(at))
            together = tx.spend.together(self.scope.namespace, month_of(at))
        tokens = sum(one.tokens_in + one.tokens_out for one in own)
        if (
            _reached(sum(one.cost for one in own), knobs.user_month)
            or _reached(tokens, knobs.user_tokens_month)
            or _reached(sum(one.cost for one in together), knobs.namespace_month)
        ):
            raise CapReached(retry_after=(_next_month(at) - at).total_seconds())

    def _note(
        self, question: Question, model: str, reply: Reply | ReplyUnusable, began: datetime
    ) -> None:
        """Write down what it cost, whether it can be used or not.

        Of a user who was erased meanwhile only the sum of all.

        The user is held, so that an erasure comes to its end before this is asked, or after it.
        """
        cost = self.policy.of(model, reply.tokens_in, reply.tokens_out)
        spent = Spend(
            month=month_of(began),
            model=model,
            purpose=question.purpose,
            calls=1,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            cost=cost,
        )
        self.meter.within(self.scope.namespace).count(
            "model_cost", cost, model=model, purpose=question.purpose
        )

        def write(tx: Transaction) -> None:
            gone = tx.erasures.since(self.scope, began)
            tx.spend.add(self.scope.namespace, None if gone else self.scope.user, spent)

        try:
            self.database.run(write, self.scope)
        except DatabaseUnavailable:  # asking again would cost again
            self.meter.count("spend_unnoted")


def account(  # noqa: PLR0917 - who asks whom, by which rules, counted where
    chat: ChatModel | None,
    usual: str | None,
    database: Database,
    scope: Scope,
    policy: Policy,
    clock: Clock,
    meter: Meter,
) -> Callable[[Question], Reply] | None:
    """How to ask the model that learns from this user; None if there is none.

    Args:
        chat: the endpoint's model.
        usual: the deployment's model for learning; the namespace's comes before it.
        database: where it is written down.
        scope: who pays.
        policy: prices and limits.
        clock: now.
        meter: what is counted.
    """
    if chat is None:
        return None
    return Spending(
        chat=chat,
        model=policy.learn.extraction_model or usual,
        database=database,
        scope=scope,
        policy=policy.cost,
        clock=clock,
        meter=meter,
    ).ask


def month_of(at: datetime) -> str:
    """The month of a moment, in UTC, as 2026-11."""
    return f"{at.astimezone(UTC):%Y-%m}"


def _reached(spent: float, limit: float | None) -> bool:
    return limit is not None and spent >= limit


def _next_month(at: datetime) -> datetime:
    later = at.astimezone(UTC).replace(day=28) + timedelta(days=4)
    return later.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
