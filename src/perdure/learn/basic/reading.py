"""Finds a person's own statements without any model: rules for English and Chinese, no guesses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta

from perdure import text
from perdure.learn import secret
from perdure.learn.basic.dates import Dated, Tense, resolve
from perdure.learn.basic.own_words import own_words
from perdure.learn.basic.rules import EXPLICIT, ORDER, WEIGHTS, Clause, Grammar, Statement
from perdure.learn.basic.whole import whole
from perdure.learn.extract import Extracted
from perdure.types import Candidate, Kind, Reason, Refused, Role, Utterance

LONGEST_SENTENCE = 1_000
LONGEST_CLAUSE = 240
"""Characters; whoever speaks of themselves is briefer, pasted text is not."""
GRACE = timedelta(days=1)
"""A plan expires so long after its last day in UTC: the person's own zone is not known."""
NEVER_OVERRULED = frozenset({Reason.QUESTION, Reason.HYPOTHETICAL, Reason.QUOTED})
"""Reasons that "remember that" does not overrule."""


def extract_basic(said: Sequence[Utterance], at: datetime) -> Extracted:
    """What the user's messages say of the user, found by rules; deterministic and conservative.

    Args:
        said: messages of one conversation, oldest first; only those of the user are read.
        at: now. A plan that is over by then is refused; relative days are read from the time of
            the message.

    Returns:
        Candidates near the person's own words, and near misses with the reason against each.
        Chatter appears in neither.
    """
    found = [verdict for one in said if one.role is Role.USER for verdict in _read(one, at)]
    kept: dict[str, Candidate] = {}
    refused: list[Refused] = []
    for candidate, reason in found:
        if reason is not None:
            refused.append(Refused(candidate=candidate, reason=reason))
        else:
            kept.setdefault(text.normalise(candidate.content), candidate)
    return Extracted(candidates=tuple(kept.values()), refused=tuple(refused))


def _read(one: Utterance, at: datetime) -> Iterator[tuple[Candidate, Reason | None]]:
    """Each clause of a message that is a statement or looks like one, with the verdict on it."""
    secrets = secret.values([one.content])
    for sentence in own_words(one.content):
        if len(sentence.text) > LONGEST_SENTENCE:
            continue
        if sentence.reason is None and _tells(sentence.text, secrets):
            # The screen refuses it, so that whoever told a secret hears that it is not kept.
            yield Candidate(content=sentence.text, messages=(one.id,)), None
        grammar = grammar_of(sentence.text)
        for clause in grammar.clauses(sentence.text):
            if not _tells(clause.text, secrets):
                yield from _judge(one, clause, sentence.reason, grammar, at)


def _tells(said: str, secrets: frozenset[str]) -> bool:
    """Does it tell a secret, by itself or with what stands beside it?"""
    return secret.has_secret(said) or secret.repeats(said, secrets)


def grammar_of(sentence: str) -> Grammar:
    """What reads this sentence; 我用 TypeScript is Chinese, however few of its letters are."""
    if text.language(sentence) == "zh" or "我" in sentence:
        from perdure.learn.basic.chinese import CHINESE  # noqa: PLC0415 - slow to compile

        return CHINESE
    from perdure.learn.basic.english import ENGLISH  # noqa: PLC0415 - slow to compile

    return ENGLISH


def dated(statement: str, day: date, *, ahead: bool = False) -> Dated:
    """The statement with days that are relative to this one resolved, and the last it names.

    Args:
        statement: any statement.
        day: on which it was made.
        ahead: it is a plan: a bare "Friday" or 月底 is the next one.
    """
    tense = Tense.AHEAD if ahead else Tense.LASTING
    return resolve(statement, day, tense, grammar_of(statement).days)


def _judge(
    one: Utterance, clause: Clause, aside: Reason | None, grammar: Grammar, at: datetime
) -> Iterator[tuple[Candidate, Reason | None]]:
    """The statement that a clause makes, or what speaks against it; nothing for chatter."""
    if len(clause.text) > LONGEST_CLAUSE:
        return
    day = one.at.date()
    of_sentence = aside or clause.reason
    reason = of_sentence or grammar.objection(clause.text)
    if clause.explicit and reason not in NEVER_OVERRULED:
        reason = None
    if reason is not None:
        about_another = of_sentence is None and reason is Reason.NOT_ABOUT_USER
        if about_another or grammar.personal(clause.text):
            yield Candidate(content=clause.text, messages=(one.id,)), reason
        return
    statement = grammar.statement(clause.text, day)
    if statement is None and clause.explicit:
        statement = grammar.asked(clause.text, day)
    if statement is None or not (content := whole(statement.content)):
        return
    statement = replace(statement, content=content)
    candidate = _candidate(statement, clause, one, grammar)
    over = candidate.expires_at is not None and candidate.expires_at <= at
    yield candidate, Reason.PASSING if over else None


def _candidate(statement: Statement, clause: Clause, one: Utterance, grammar: Grammar) -> Candidate:
    """A statement with the weight of its kind; more of an order, or if asked to remember it."""
    weight = WEIGHTS[statement.kind]
    if statement.order:
        weight = weight.at_least(ORDER)
    if clause.explicit:
        weight = weight.at_least(EXPLICIT)
    return Candidate(
        content=statement.content,
        kind=statement.kind,
        level=statement.level,
        confidence=weight.confidence,
        importance=weight.importance,
        sensitivity=grammar.sensitivity(statement.content),
        explicit=clause.explicit,
        expires_at=end_of(statement.until) if statement.kind is Kind.TODO_HINT else None,
        messages=(one.id,),
    )


def end_of(last: date | None) -> datetime | None:
    """The moment from which a plan is over."""
    if last is None or last > date.max - 2 * GRACE:
        return None
    return datetime.combine(last + timedelta(days=1), time(), UTC) + GRACE
