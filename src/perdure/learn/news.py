"""Does a statement that was called known say something that its memory does not say?"""

from __future__ import annotations

from perdure import text
from perdure.learn import polarity, support
from perdure.learn.basic.instead import same_question
from perdure.learn.basic.subject import subject
from perdure.learn.details import beyond
from perdure.types import Action, Candidate, MemoryItem


def told(candidate: Candidate, row: MemoryItem) -> Action:
    """What a candidate does to the row that is said to say it already.

    TOUCH where that is so. UPDATE where it says otherwise, or more of the same. ADD where another
    one may be spoken of: a person sees two memories sooner than one that is gone.
    """
    new, old = candidate.content, row.content
    if polarity.opposed(new, old):
        return Action.UPDATE  # "no longer likes" is not known from "likes"
    come, gone = beyond(new, [old]), beyond(old, [new])
    redated = _other_dates(new, old)
    if not come and not redated:
        return Action.TOUCH
    comparable = text.language(new) == text.language(old)
    if comparable and same_question(candidate, [row]) is not None:
        return Action.UPDATE
    if not (come.numbers or redated or (comparable and come.names)):
        return Action.TOUCH  # other words for the same
    another = gone.names or subject(new)[0] != subject(old)[0]
    return Action.ADD if another else Action.UPDATE


def _other_dates(new: str, old: str) -> bool:
    """Both name days or times, and not the same ones."""
    come, known = (
        {*support.numbers(said, dates=True)} - {*support.numbers(said)} for said in (new, old)
    )
    return bool(known and come - known)
