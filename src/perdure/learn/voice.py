"""Whose word a statement is: the clauses it can come from, who is spoken of, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perdure import text
from perdure.learn import support
from perdure.learn.basic import chinese_words, english_words, grammar_of
from perdure.learn.basic.own_words import own_words
from perdure.learn.basic.rules import Vocabulary
from perdure.learn.basic.single import Answer, answer
from perdure.learn.polarity import flips
from perdure.types import Candidate, Reason, Role, Utterance

_NOT_OWN = frozenset({Reason.QUOTED, Reason.NOT_ABOUT_USER})
_STILL_OWN = frozenset({None, Reason.PASSING})
_MOST = 0.5  # share of a statement's words, from which it comes from a clause
_LONGEST = 1_000  # characters of a sentence; pasted text is longer

_english = Vocabulary(english_words)
_english.name(WHO=r"(?!famil(y|ies)\b)({KIN}|{STRANGER})('s)?", THIRD=r"she|he|they|her|his|their")
_RELATION = (
    _english.any_case(r"\b({WHO}|{THIRD})\b"),
    Vocabulary(chinese_words).exact(r"{KIN}|{STRANGER}|[他她]"),
)
"""Words that name somebody else in a statement."""
_SUBJECT = (
    # "my wife", "our dogs" …; not "my husband and I", "my parents taught me"
    _english.any_case(r"^(my|our|the|his|her|their) ([\w-]+ ){0,2}?{WHO}\b(?!.*\b(I|me|we|us)\b)"),
    Vocabulary(chinese_words).exact(r"^(我|咱|我们|咱们)?家?的?({KIN}|{STRANGER})(?!.*我)"),
)
"""How a clause begins whose subject is somebody of the user's."""
_HEAD = (
    _english.any_case(
        r"^((my|our|his|her|their|the|an?) ([\w-]+ ){0,2}?(?P<who>{WHO}))?\s?"
        r"(?P<name>(?!(I|She|He|They|My|Our)\b)(?-i:\p{Lu})[\w-]+)?"
    ),
    Vocabulary(chinese_words).exact(
        r"^(我|咱)?们?家?的?(?P<who>{KIN}|{STRANGER})?(?P<name>[小老阿]\p{Han}|\p{Lu}\w+|(?![他她它我你不没也很都在有是会能想要喜爱住去来说])\p{Han}{2})?"
    ),
)
"""The same with the names in it: "my neighbour Jorun", 我朋友小王."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of what the user said that can be a statement of its own."""

    text: str
    reason: Reason | None
    """What speaks against its being the user's own statement."""
    others: frozenset[str] = frozenset()
    """Names and relations of those it speaks of, where that is not the user."""
    answer: Answer | None = None
    """What it says on a topic on which there is one answer only."""

    @property
    def foreign(self) -> bool:
        """It says nothing of the user."""
        return self.reason in _NOT_OWN

    def share(self, statement: str) -> float:
        """The share of the statement's words that stand in it."""
        words = support.content(statement)
        return len(words & support.content(self.text)) / len(words) if words else 0.0


def clauses(said: Sequence[Utterance]) -> tuple[Clause, ...]:
    """The clauses of the user's lines, in order."""
    return tuple(clause for line in said if line.role is Role.USER for clause in _clauses(line))


def objection(candidate: Candidate, heard: Sequence[Clause]) -> Reason | None:
    """Why the user did not say this of themselves, or None.

    A statement that only somebody else's clause supports must say whom it is about; and none may
    turn a denial into a claim, or a dislike into a liking.
    """
    against = [_against(candidate, clause) for clause in _nearest(candidate.content, heard)]
    return against[0] if against and None not in against else None


def denied(statement: str, heard: Sequence[Clause]) -> bool:
    """Did the user say the contrary of it? What comes nearest to its words counts, if anything."""
    nearest = _nearest(statement, heard)
    if nearest:
        return all(flips(statement, clause.text) for clause in nearest)
    return any(flips(statement, clause.text) for clause in heard if not clause.foreign)


def _against(candidate: Candidate, clause: Clause) -> Reason | None:
    """Why the statement cannot come from this clause, or None."""
    if clause.foreign and not candidate.explicit and not _names(candidate.content, clause):
        return clause.reason
    return Reason.UNSUPPORTED if flips(candidate.content, clause.text) else None


def direct(candidate: Candidate, heard: Sequence[Clause], share: float) -> bool:
    """Did the user say so in as many words? An inference is none.

    Args:
        candidate: the statement.
        heard: what the user said.
        share: of its words that one own clause must have.
    """
    said = answer(candidate.content)
    return candidate.explicit or any(
        clause.reason in _STILL_OWN
        and (
            clause.share(candidate.content) >= share or (said is not None and clause.answer == said)
        )
        and not flips(candidate.content, clause.text)
        for clause in heard
    )


# ── from lines to clauses ────────────────────────────────────────────────────────────────────────


def _clauses(line: Utterance) -> Iterator[Clause]:
    named = frozenset(text.normalise(name) for name in support.names(line.content))
    before: frozenset[str] = frozenset()
    for sentence in own_words(line.content):
        if len(sentence.text) > _LONGEST:
            continue
        grammar = grammar_of(sentence.text)
        for clause in grammar.clauses(sentence.text):
            reason = sentence.reason or clause.reason or grammar.objection(clause.text)
            if reason is None and any(begins.match(clause.text) for begins in _SUBJECT):
                reason = Reason.NOT_ABOUT_USER
            others: frozenset[str] = frozenset()
            if reason is Reason.QUOTED:  # whoever is named outside the quotation
                others = named - {text.normalise(name) for name in support.names(clause.text)}
            elif reason is Reason.NOT_ABOUT_USER:  # "she" is whoever was named before
                before = others = _subject(clause.text) or before
            own = grammar.statement(clause.text, line.at.date()) if reason is None else None
            yield Clause(clause.text, reason, others, answer(own.content) if own else None)


def _subject(clause: str) -> frozenset[str]:
    """Whom a clause about somebody else speaks of, by name and by what they are to the user."""
    names: set[str] = set()
    for pattern in _HEAD:
        if match := pattern.match(clause):
            names |= {match[group] for group in match.re.groupindex if match[group]}
    return frozenset(text.normalise(name).removesuffix("'s") for name in names)


def _nearest(statement: str, heard: Sequence[Clause]) -> list[Clause]:
    """The clauses that have most of the statement's words; none if that is little."""
    shares = [clause.share(statement) for clause in heard]
    most = max(shares, default=0.0)
    if most < _MOST:
        return []
    return [clause for clause, share in zip(heard, shares, strict=True) if share == most]


def _names(statement: str, clause: Clause) -> bool:
    """Does the statement say that it is about somebody else?"""
    folded = text.normalise(statement)
    return any(other in folded for other in clause.others) or of_another(statement)


def of_another(statement: str) -> bool:
    """Does it speak of somebody by what they are to the user, or as "she" and 他?"""
    return any(pattern.search(statement) for pattern in _RELATION)
