"""Tidies up the machine-written memories of a user, one group and one commit at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from perdure import text
from perdure.errors import (
    Misconfigured,
    ModelUnavailable,
    Rejected,
    ReplyCutOff,
    ReplyUnusable,
    TooLarge,
)
from perdure.jobs.job import Effect
from perdure.learn import outcome
from perdure.learn.extract import Ask
from perdure.learn.gate import switched_off
from perdure.learn.groups import BINDINGS, MERGEABLE, Group, cooling
from perdure.learn.merging import Merging
from perdure.learn.operations import Operations, operations
from perdure.learn.reply import extract_json
from perdure.learn.shown import Numbering, within
from perdure.learn.spending import account
from perdure.observe import Meter
from perdure.policy import Policy
from perdure.ports import ChatModel, Clock, Database, Question, Transaction, VectorIndex
from perdure.prompts import consolidate as prompt
from perdure.types import (
    Consolidation,
    Job,
    Level,
    MemoryItem,
    Origin,
    Reason,
    Scope,
    Switches,
    made_at,
    new_id,
)

_FEWEST = 2  # memories that can be merged


@dataclass(frozen=True, slots=True)
class Run:
    """One group in one run."""

    id: str
    group: Group
    policy: Policy
    by: str | None = None
    """Who asked for it; None: it happens by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidator:
    """Handles ``consolidate`` jobs, and does the same for a person who asks."""

    database: Database
    chat: ChatModel | None
    extraction_model: str | None
    index: VectorIndex | None
    embeds: bool
    """A merged memory gets a vector, from a job of its own."""
    policy_of: Callable[[str], Policy]
    switches: Switches
    clock: Clock
    meter: Meter

    def __call__(self, job: Job) -> Effect:
        """Read and think about one group; the effect writes and starts the cooldown.

        A reply that cannot be read, or a model that does not answer, changes nothing and starts no
        cooldown; the job is tried again as jobs are, and no turn promises it anew meanwhile. A
        group that is too long for the model in its smallest parts, too, is given up, and the job
        says so.

        Raises:
            Rejected: the payload is none of ours.
            ReplyUnusable: the reply cannot be read.
            ModelUnavailable: the model does not answer.
            DatabaseUnavailable: the database does not answer.
        """
        policy = self.policy_of(job.namespace)
        run = _run(job, policy)
        with self.database.read() as tx:
            reason = self._not_now(run, tx)
        if reason is not None:
            return partial(_leave, outcome.skipped(reason))
        try:
            found = self._found(run)
        except (ReplyUnusable, ModelUnavailable):
            self.meter.count("memory_consolidation_fail")
            raise
        except TooLarge as error:
            self.meter.count("memory_consolidation_fail")
            return partial(_leave, outcome.gave_up(error, Reason.TOO_LONG))
        return partial(self._effect, run, found)

    def run(self, scope: Scope, *, dry_run: bool, by: str | None = None) -> Consolidation:
        """Tidy up every group of a user now, or only say what that would do.

        Args:
            scope: whose memories; a binding leaves only what is bound to it.
            dry_run: change nothing.
            by: who asked for it, as the audit keeps it.

        Raises:
            Misconfigured: there is no model.
            DatabaseUnavailable: the database does not answer.
        """
        if self.chat is None:
            raise Misconfigured("Tidying up needs a model.", field="llm_model")
        policy = self.policy_of(scope.namespace)
        done = Consolidation(run=new_id(self.clock()), dry_run=dry_run)
        with self.database.read() as tx:
            groups = dict.fromkeys(map(Group.of, tx.items.every(scope, MERGEABLE)))
        for group in groups:
            run = Run(done.run, group, policy, by)
            try:
                found = self._found(run)
            except (ReplyUnusable, ModelUnavailable, TooLarge) as error:
                done = replace(done, failed=(*done.failed, error.code))
                continue
            if not dry_run:
                found = self.database.run(partial(self._write, run, found), scope)
            done = replace(
                done,
                merges=(*done.merges, *found.merges),
                drops=(*done.drops, *found.drops),
                spared=(*done.spared, *found.spared),
            )
        return done

    def _not_now(self, run: Run, tx: Transaction) -> Reason | None:
        """Why there is nothing to do any more, or None."""
        if self.chat is None or not run.policy.consolidate.enabled:
            return Reason.DISABLED
        preferences = tx.users.preferences(run.group.owner, run.policy.defaults)
        last = tx.users.consolidated(run.group.owner)
        if last is not None and last[1] != run.id and cooling(last, run.policy, self.clock()):
            return Reason.ALREADY_LEARNT
        return switched_off(preferences, self.switches, "", run.policy.learn)

    def _found(self, run: Run) -> Operations:
        """What the model proposes for a group, as far as it holds; nothing for a small group."""
        at = self.clock()
        with self.database.read() as tx:
            rows = run.group.rows(tx)
        fresh = [row for row in rows if not (row.suspicious or row.expired(at))]
        shown = Numbering(within(fresh, run.policy.consolidate.shown_tokens))
        ask = account(
            self.chat, self.extraction_model, self.database, run.group.owner, run.policy,
            self.clock, self.meter,
        )  # fmt: skip
        if ask is None or len(shown.rows) < _FEWEST:
            return Operations()
        return _asked(ask, shown.rows, run, run.policy.consolidate.halvings)

    def _write(self, run: Run, found: Operations, tx: Transaction) -> Operations:
        """Write what still holds, and start the cooldown."""
        at = self.clock()
        if tx.erasures.since(run.group.owner, made_at(run.id)):
            return Operations()
        merging = Merging(
            tx=tx,
            owner=run.group.owner,
            level=run.group.level,
            place=run.group.place,
            origin=Origin(
                trace=run.id,
                model=run.policy.learn.extraction_model
                or self.extraction_model
                or (self.chat.name if self.chat is not None else None),
                prompt=prompt.VERSION,
            ),
            policy=run.policy,
            index=self.index,
            embeds=self.embeds,
            at=at,
            by=run.by,
        )
        done = merging.write(found)
        tx.users.consolidate(run.group.owner, run.id, at)
        for what, times in (("merge", len(done.merges)), ("drop", len(done.drops))):
            self.meter.count("memory_consolidated", times, op=what)
        return done

    def _effect(self, run: Run, found: Operations, tx: Transaction) -> Mapping[str, Any]:
        """Write, unless another run was faster."""
        reason = self._not_now(run, tx)
        if reason is not None:
            return outcome.skipped(reason)
        done = self._write(run, found, tx)
        return {
            "merged": [merge.into for merge in done.merges],
            "dropped": [drop.item.id for drop in done.drops],
            "spared": [spared.reason.value for spared in done.spared],
        }


def _asked(ask: Ask, rows: Sequence[MemoryItem], run: Run, halvings: int) -> Operations:
    """What the model proposes; of a group that is too long for it, for each half by itself.

    Raises:
        TooLarge: the question is too long, however few the memories.
        ReplyUnusable: a reply cannot be read.
        ModelUnavailable: the model does not answer.
    """
    try:
        return _read(ask, Numbering(tuple(rows)), run)
    except (ReplyCutOff, TooLarge):
        if not halvings or len(rows) < 2 * _FEWEST:
            raise
    middle = len(rows) // 2
    first = _asked(ask, rows[:middle], run, halvings - 1)
    left = run.policy.consolidate.max_removals - first.removals
    rest = replace(
        run,
        policy=run.policy.but(consolidate=run.policy.consolidate.but(max_removals=left)),
    )
    return first.beside(_asked(ask, rows[middle:], rest, halvings - 1))


def _read(ask: Ask, shown: Numbering[MemoryItem], run: Run) -> Operations:
    """What one call proposes for these memories."""
    reply = ask(_question(shown, run))
    if reply.cut_off:
        raise ReplyCutOff
    return operations(extract_json(reply.text), shown, run.policy.consolidate)


def _question(shown: Numbering[MemoryItem], run: Run) -> Question:
    policy = run.policy
    known = {number: row.content for number, row in shown.numbered().items()}
    return Question(
        purpose="consolidate",
        version=prompt.VERSION,
        messages=prompt.messages(
            known=known,
            item_chars=policy.consolidate.content_chars,
            target=run.group.target(policy),
            language=text.language("\n".join(known.values())),
        ),
        schema=prompt.schema(),
        timeout_s=policy.learn.timeout_s,
        temperature=policy.learn.temperature,
        top_p=policy.learn.top_p,
        max_tokens=policy.learn.max_reply_tokens,
    )


def _run(job: Job, policy: Policy) -> Run:
    """What the job is about.

    Raises:
        Rejected: the payload is none of ours.
    """
    run, level = job.payload.get("consolidation"), job.payload.get("level")
    if not isinstance(run, str) or level not in tuple(Level):
        raise Rejected("Expected a consolidation and a level.", field="payload")
    place = job.scope.within(**{name: job.payload.get(name) for name in BINDINGS})
    return Run(run, Group(Level(level), place), policy)


def _leave(result: Mapping[str, Any], tx: Transaction) -> Mapping[str, Any]:  # noqa: ARG001 - an effect gets it
    """The effect that writes nothing."""
    return result
