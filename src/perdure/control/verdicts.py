"""What users say about memories that were said: useful, out of place, or wrong and corrected."""

from __future__ import annotations

from dataclasses import dataclass, replace

from perdure.control.fields import checked_content
from perdure.control.hand import Hand, known, reworded, room
from perdure.control.uses import Uses
from perdure.errors import NotFound, Rejected
from perdure.observe import Meter
from perdure.policy import Policy
from perdure.ports import Transaction, Vector
from perdure.text import normalise
from perdure.types import (
    Feedback,
    MemoryItem,
    Operation,
    Scope,
    Status,
    Trace,
    Verdict,
    identifier,
    meant,
    one_of,
)

_TRACE = 64  # characters
_CORRECTED = "corrected by the user"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Correction:
    """What a user says is true, ready to be written."""

    statement: str
    vector: Vector | None
    trace: Trace
    policy: Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts(Hand):
    """Takes a user's word on a memory. It outranks what was learnt."""

    meter: Meter
    uses: Uses
    """Knows what answers said."""

    def give(
        self,
        scope: Scope,
        trace: Trace,
        item: str,
        verdict: Verdict | str,
        text: str | None = None,
    ) -> MemoryItem:
        """Keep a verdict; with a correction, the corrected statement too, in the same commit.

        The same correction sent twice is one: the second time changes nothing, also where the
        memory was edited or gone into another one since.

        Returns:
            The memory as it is now. After a correction that is the one that says it, which is
            another than ``item`` where another said it already.

        Raises:
            Rejected: there is no such verdict; or a correction has no text, or anything else has.
            ContentTooLong: the corrected statement is longer than a memory may be.
            NotFound: this user has no such memory, or no answer of that trace said it.
            LimitReached: the corrected memory was not active, and no further one fits.
        """
        trace = identifier(trace, "trace", _TRACE)
        verdict = one_of(Verdict, verdict, "verdict")
        policy = self.policy_of(meant(scope).namespace)
        corrects = verdict is Verdict.CORRECTION
        if not corrects and text is not None:
            raise Rejected("Only a correction has a text.", field="text")
        correction = self._correction(scope, text, trace, policy) if corrects else None

        self.uses.write(scope)  # an answer of a moment ago can be judged

        def write(tx: Transaction) -> tuple[MemoryItem, bool]:
            before = None if correction is None else _corrected(tx, scope, item, correction)
            if before is not None:
                return self._done(tx, before), False
            old = known(tx, scope, item)
            if old.id not in tx.feedback.said(scope, trace):
                raise NotFound(field="trace")
            said = Feedback(trace=trace, item=old.id, verdict=verdict, at=self.clock())
            new = tx.feedback.add(scope, said)
            now = old if correction is None else self._correct(tx, old, correction)
            return self._done(tx, now), new

        now, new = self.database.run(write, scope)
        if new:
            self.meter.within(scope.namespace).count("memory_feedback", verdict=verdict.value)
        return now

    def _correction(
        self, scope: Scope, text: str | None, trace: Trace, policy: Policy
    ) -> _Correction:
        statement = checked_content(text, policy.item, "text")
        return _Correction(
            statement=statement,
            vector=self._vector(scope, statement, policy, "update"),
            trace=trace,
            policy=policy,
        )

    def _correct(self, tx: Transaction, old: MemoryItem, correction: _Correction) -> MemoryItem:
        """Write what is right; older material cannot bring back what was wrong."""
        policy = correction.policy
        new = reworded(old, correction.statement, policy)
        if new.content_hash == old.content_hash:
            return self._confirm(tx, old, new, correction)
        same = tx.items.by_hash(old.bound, new.content_hash)
        if same is not None and same.status is not Status.DELETED:
            self._delete(tx, old, policy, _CORRECTED, correction.trace)
            return self._confirm(tx, same, same, correction)
        if same is not None:
            tx.items.remove(old.bound, [same.id])
        tx.items.bury(old.bound, old, self._after(old))
        untitled = replace(new, title="")  # the old title says what was wrong
        return self._confirm(tx, old, untitled, correction)

    def _confirm(
        self, tx: Transaction, old: MemoryItem, new: MemoryItem, correction: _Correction
    ) -> MemoryItem:
        """A statement on the user's own word: sure, asked for, and no machine's to change."""
        policy = correction.policy
        at = self._after(old)
        if old.status is not Status.ACTIVE:
            room(tx, old.bound, policy, at)
        tx.items.unbury(old.bound, new.content_hash)
        new = replace(
            new,
            status=Status.ACTIVE,
            explicit=True,
            edited_by_user=True,
            suspicious=False,
            confidence=1.0,
            importance=max(old.importance, policy.item.corrected_importance),
            expires_at=None if old.expired(at) else old.expires_at,
            updated_at=at,
        )
        note = self._entry(
            Operation.UPDATE, old, new, at, reason=_CORRECTED, trace=correction.trace
        )
        self._write(tx, new, old, correction.vector, note)
        return new


def _corrected(
    tx: Transaction, scope: Scope, item: str, correction: _Correction
) -> MemoryItem | None:
    """The memory that this very correction was written to before; None: it is news."""
    given = tx.feedback.of(scope, item)
    if not any(f.verdict is Verdict.CORRECTION and f.trace == correction.trace for f in given):
        return None
    entries = [
        one
        for one in tx.audit.every(scope)
        if one.trace == correction.trace and one.reason == _CORRECTED and one.after is not None
    ]
    how = correction.policy.item.normalisation
    statement = normalise(correction.statement, how)
    own = [one for one in entries if one.item == item][-1:]
    for one in own or entries:
        if normalise(one.after or "", how) == statement:
            return next(iter(tx.items.get(scope, [one.item])), None)
    return None
