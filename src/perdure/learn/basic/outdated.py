"""Which memories a new statement makes untrue: another answer, another number, or the contrary."""

from __future__ import annotations

from collections.abc import Sequence

from perdure import text
from perdure.learn.basic import chinese_claims, english_claims
from perdure.learn.basic.claims import Claim, contrary
from perdure.learn.basic.instead import Known, Stated, same_question
from perdure.types import Kind

_CHOICES = (*english_claims.CHOICES, *chinese_claims.CHOICES)


def outdated(new: Stated, known: Sequence[Known]) -> list[Known]:
    """The statements that cannot hold any more if the new one does, in their order.

    What may hold beside it stays, also where that is not sure: a person sees two memories sooner
    than one that is gone.
    """
    other = same_question(new, known)
    if other is not None:
        return [other]
    claim = _claim(new.content)
    if claim is None or new.kind is Kind.TODO_HINT:
        return []
    return [
        one
        for one in known
        if one.level is new.level
        and one.kind is not Kind.TODO_HINT
        and (old := _claim(one.content)) is not None
        and contrary(claim, old, _CHOICES)
    ]


def _claim(statement: str) -> Claim | None:
    """The parts of a statement, in whichever language it is."""
    if text.language(statement) == "zh":
        return chinese_claims.claim(statement)
    return english_claims.claim(statement)
