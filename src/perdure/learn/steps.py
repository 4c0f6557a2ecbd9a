"""Conducts the learning from one turn: read, think with no transaction open, then write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, TypeAlias

from perdure.errors import DatabaseUnavailable, ReplyUnusable
from perdure.jobs.job import Effect
from perdure.learn import outcome
from perdure.learn.apply import apply, as_result
from perdure.learn.decide import as_meant
from perdure.learn.extract import Ask, Extracted, Told, extract, heard
from perdure.learn.gate import switched_off
from perdure.learn.meet import Meeting
from perdure.learn.plan import Plan
from perdure.learn.reading import Reading, read_known, read_turn
from perdure.learn.screen import Sources, screen, unwelcome
from perdure.learn.shown import home
from perdure.learn.spending import account
from perdure.learn.voice import Clause, clauses
from perdure.learn.weigh import Words
from perdure.learn.when import timed
from perdure.observe import Meter
from perdure.policy import Policy, ScreenPolicy
from perdure.ports import (
    ChatModel,
    Clock,
    Database,
    EmbedAction,
    Embedder,
    Ledger,
    Transaction,
    VectorIndex,
    on_account,
)
from perdure.types import (
    Action,
    Job,
    Origin,
    Preferences,
    Reason,
    Refused,
    Role,
    Switches,
    Utterance,
    made_at,
)

BasicExtractor: TypeAlias = Callable[[Sequence[Utterance], datetime], Extracted]
"""Finds statements without any model; gets the lines and the time of the last one."""

_EMBEDDED: Mapping[Action, EmbedAction] = {Action.ADD: "add", Action.UPDATE: "update"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Learner:
    """Keeps the promise to learn from a turn. Handles ``extract`` jobs."""

    database: Database
    chat: ChatModel | None
    """None: the built-in extractor learns."""
    extraction_model: str | None
    """Another model of the same endpoint than its usual one."""
    basic: BasicExtractor
    embedder: Embedder | None
    index: VectorIndex | None
    policy_of: Callable[[str], Policy]
    switches: Switches
    clock: Clock
    meter: Meter
    ledger: Ledger | None = None
    """Of what embedding costs; None: nobody pays."""

    @property
    def _embeds(self) -> bool:
        """Memories get vectors here."""
        parts = self.embedder is not None and self.index is not None
        return parts and self.switches.vectors

    def __call__(self, job: Job) -> Effect:
        """Read and think; the effect writes.

        Raises:
            Rejected: the payload is none of ours.
            ReplyUnusable: the model's reply cannot be read, and the policy says to try again.
            ModelUnavailable: the model does not answer.
            DatabaseUnavailable: the database does not answer.
        """
        policy = self.policy_of(job.namespace)
        reading = self._read(job, policy)
        if isinstance(reading, Reason):
            return partial(_leave, outcome.skipped(reading))
        try:
            extracted = self._extract(reading, policy)
        except ReplyUnusable as error:
            self.meter.within(job.namespace).count("memory_json_parse_fail", purpose="extract")
            if policy.learn.bad_reply == "retry":
                raise
            return partial(_leave, outcome.gave_up(error))
        if extracted.skipped:
            self.meter.count("memory_reply_entries_skipped", extracted.skipped)
        plan = self._plan(job, reading, extracted, policy)
        return partial(self._write, plan, reading.by_user, policy)

    def _read(self, job: Job, policy: Policy) -> Reading | Reason:
        """What was said and what is known; or the reason to leave the turn alone.

        Without what is known, statements are still compared word for word when they are written.
        """
        with self.database.read() as tx:
            if tx.erasures.since(job.scope, made_at(job.trace)):
                return Reason.ERASED
            turn = read_turn(tx, job, policy, self.clock())
        if isinstance(turn, Reason):
            return turn
        off = switched_off(turn.preferences, self.switches, turn.by_user, policy.learn)
        if off is not None:
            return off
        try:
            with self.database.read() as tx:
                return read_known(
                    tx, turn, self.index if self._embeds else None, policy,
                    compares=self.chat is not None and policy.decide.strategy != "two_call",
                )  # fmt: skip
        except DatabaseUnavailable:
            self.meter.count("memory_comparison_fail")
            return turn

    # ── think ────────────────────────────────────────────────────────────────────────────────────

    def _extract(self, reading: Reading, policy: Policy) -> Extracted:
        """What the model, or without one the built-in extractor, proposes."""
        said = heard(reading.said)
        ask = self._ask(reading, policy)
        if ask is None:
            return self.basic(said, reading.said[-1].at)
        told = Told(
            said=said,
            context=heard(reading.context),
            known=reading.shown,
            dismissed=reading.dismissed,
            project=reading.scope.project is not None,
        )
        found = extract(ask, told, policy)
        return replace(found, candidates=timed(found.candidates, said))

    def _ask(self, reading: Reading, policy: Policy) -> Ask | None:
        """Asks the model that learns, on the user's account; None if there is none."""
        return account(
            self.chat, self.extraction_model, self.database, reading.scope, policy, self.clock,
            self.meter,
        )  # fmt: skip

    def _plan(self, job: Job, reading: Reading, extracted: Extracted, policy: Policy) -> Plan:
        """Screened, decided, embedded: ready to be checked and written."""
        heard_clauses = clauses(reading.said) if self.chat is not None else ()
        screened = screen(
            as_meant(extracted.candidates, reading.shown, policy),
            Sources(
                reading.said,
                reading.context,
                heard_clauses,
                reading.shown,
                merged=policy.decide.strategy == "exact",
            ),
            reading.preferences,
            policy.screen,
        )
        met = self._meeting(reading, heard_clauses, policy).decide(screened.kept)
        return Plan(
            home=home(reading.scope, policy),
            conversation=reading.conversation,
            decisions=met.decisions,
            refused=(*extracted.refused, *screened.refused, *met.refused),
            preferences=reading.preferences,
            shown=met.shown,
            said={line.id: _came(line) for line in reading.said},
            upto=reading.said[-1].seq,
            origin=Origin(
                conversation=reading.conversation,
                event=job.key,
                job=str(job.id),
                trace=job.trace,
                model=extracted.model,
                prompt=" ".join(filter(None, (extracted.prompt, met.prompt))) or None,
            ),
            vectors=met.vectors,
            embeds=self._embeds,
            consolidates=self.chat is not None,
            cut_off=extracted.cut_off,
            truncated=reading.truncated,
        )

    def _meeting(self, reading: Reading, heard: tuple[Clause, ...], policy: Policy) -> Meeting:
        """What the candidates of this turn meet."""
        by_user = tuple(line.content for line in reading.said if line.role is Role.USER)
        around = tuple(line.content for line in (*reading.context, *reading.said))
        return Meeting(
            database=self.database,
            embedder=on_account(self.embedder, self.ledger, reading.scope)
            if self._embeds
            else None,
            index=self.index if self._embeds else None,
            meter=self.meter,
            ask=self._ask(reading, policy),
            reading=reading,
            words=Words(by_user, around, heard, reading.preferences),
            policy=policy,
        )

    # ── write ────────────────────────────────────────────────────────────────────────────────────

    def _write(
        self, plan: Plan, by_user: str, policy: Policy, tx: Transaction
    ) -> Mapping[str, Any]:
        """Write what still holds, unless a switch went off meanwhile."""
        preferences = tx.users.preferences(plan.home, policy.defaults)
        off = switched_off(preferences, self.switches, by_user, policy.learn)
        if off is not None:
            return outcome.skipped(off)
        plan = _still_welcome(plan, preferences, policy.screen)
        written = apply(tx, plan, policy, self.index, self.clock())
        reasons = Counter(one.reason for one in written.refused)
        actions = Counter(one.action for one in written.learnt)
        actions[Action.NONE] = reasons[Reason.KNOWN]
        meter = self.meter.within(plan.home.namespace)
        for action, times in actions.items():
            meter.count("memory_decision", times, action=action.value)
        for reason, times in reasons.items():
            meter.count("memory_refused", times, reason=reason.value)
        if written.learnt:
            since = made_at(plan.origin.trace or "")
            meter.time("memory_readable_seconds", max(0.0, (self.clock() - since).total_seconds()))
        return as_result(written, plan)


def _came(line: Utterance) -> datetime:
    """When it was said; nothing was said later than it came in, whatever the host's clock says."""
    return min(line.at, made_at(line.trace or ""))


def _still_welcome(plan: Plan, now: Preferences, policy: ScreenPolicy) -> Plan:
    """The plan without what a switch forbids that went off while it was thought through."""
    off = {
        one.candidate: reason
        for one in plan.decisions
        if (reason := unwelcome(one.candidate, now, policy)) is not None
        and unwelcome(one.candidate, plan.preferences, policy) is None
    }
    refused = (Refused(candidate=candidate, reason=reason) for candidate, reason in off.items())
    return replace(
        plan,
        decisions=tuple(one for one in plan.decisions if one.candidate not in off),
        refused=(*plan.refused, *refused),
    )


def _leave(result: Mapping[str, Any], tx: Transaction) -> Mapping[str, Any]:  # noqa: ARG001 - an effect gets it
    """The effect that writes nothing."""
    return result
