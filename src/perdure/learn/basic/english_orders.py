"""What an English speaker wants the assistant to do from now on, and what to remember."""

from __future__ import annotations

from datetime import date

import regex

from perdure.learn.basic import english_frames, english_words
from perdure.learn.basic.dates import Tense, resolve
from perdure.learn.basic.english_days import ENGLISH_DAYS
from perdure.learn.basic.english_wording import CLOSER, OURS, as_sentence, third_person
from perdure.learn.basic.rules import Statement, Vocabulary
from perdure.types import Kind

_vocabulary = Vocabulary(english_words, english_frames)
_vocabulary.name(
    LATER=r"(?=.*\b({FROM_NOW_ON}|{EVERY_TIME})\b)",
    ANSWERS=r"(?P<what>answers|replies|responses|explanations|summaries|messages)",
    TONGUE=r"(?P<x>{LANGUAGE}|(?-i:\p{Lu})[\w-]+)\b",
    NO_NAME=r"\b(back|later|when|at|on|if|an?|tomorrow|crazy|old|what|before|after)\b",
)
_re = _vocabulary.any_case

ORDERS: tuple[tuple[regex.Pattern[str], Kind, str], ...] = (
    # "call me Ann", "people call me Bo"; not "call me back"
    (
        _re(
            r"^((I want you to|please|you can|you may|just|people|everyone|friends) )*"
            r"(call|address) me (as )?"
            r"(?P<x>(?!{NO_NAME})[\w'-]+( (?-i:\p{Lu})[\w'-]+)*)"
        ),
        Kind.PREFERENCE,
        "Wants to be called {x}",
    ),
    # "answer me in Norwegian", "from now on write in Dutch"; not "write in Dutch"
    (
        _re(
            r"^(?=.*\b(me|us|always|{FROM_NOW_ON}|{EVERY_TIME})\b)(.*?\b{FROM_NOW_ON},? )?"
            r"(please )?((always|only) )?(answer|reply|respond|talk|speak|write)( to)?( me| us)?"
            r"( only| always)? in {TONGUE}"
        ),
        Kind.PREFERENCE,
        "Wants answers in {x}",
    ),
    # "keep your replies short"
    (
        _re(r"^(.*?\b{FROM_NOW_ON},? )?keep (all )?(your|the) {ANSWERS} (?P<x>\w.*)$"),
        Kind.PREFERENCE,
        "Wants {what} kept {x}",
    ),
    # "I want short answers", "I would like your answers in Dutch"
    (
        _re(r"^I (want|would like|need) (?P<x>([\w-]+ ){0,3}{ANSWERS}\b.*)$"),
        Kind.PREFERENCE,
        "Wants {x}",
    ),
    # "never book before ten", "always show prices with tax", "make sure to never call"
    (
        _re(
            r"^((make sure|I want you|I would like you|you should|you must) (to |you |that you )?)?"
            r"(?P<x>((if|when|whenever) you [^,]+, )?"
            r"((never|always|do not ever) {WISH}|never (before|after|on|without))\b.*)$"
        ),
        Kind.CONSTRAINT,
        "{x}",
    ),
    # "do not call me before nine", "do not suggest anything on Sundays"
    (
        _re(
            r"^(?P<x>do not {LASTING_ORDER}\b.*\b(before|after|on \w+days?|at night|at weekends"
            r"|in the mornings?|unless|that|without|with)\b.*)$"
        ),
        Kind.CONSTRAINT,
        "{x}",
    ),
    # "no emojis", "do not use exclamation marks"
    (
        _re(
            r"^(?P<x>(no|do not use|avoid|stop using) (\w+ )?"
            r"(emojis?|exclamation marks|jargon|small talk))$"
        ),
        Kind.CONSTRAINT,
        "{x}",
    ),
    # "no coffee for me after noon"
    (_re(r"^(?P<x>no ([\w-]+ ){1,4}for me\b.*)$"), Kind.CONSTRAINT, "{x}"),
    # "you can always reach me on 555"
    (
        _re(r"^(you can (always )?)?reach me (?P<x>(on|at|under|by|via)\s.+)$"),
        Kind.FACT,
        "Can be reached {x}",
    ),
    # "from now on use metric units": any order that says it lasts
    (
        _re(
            r"^{LATER}(?P<x>(({FROM_NOW_ON}|{EVERY_TIME})\b[\w\s']*?[,\s]+)?(please )?{WISH}\b.+)$"
        ),
        Kind.PREFERENCE,
        "{x}",
    ),
)
WHEN = _re(r"(^|[\s,]+){FROM_NOW_ON}\b[\s,]*|^please | (for|with) me\b")
FORBIDS = _re(r"^(never|always|do not|no|avoid|stop)\b")


def ordered(text: str, today: date) -> Statement | None:
    """What the person wants the assistant to do from now on, or None."""
    text = TO_DO.sub("", text)
    for pattern, kind, wording in ORDERS:
        match = pattern.match(text)
        if match is None:
            continue
        said = " ".join(WHEN.sub(" ", wording.format(**match.groupdict())).split())
        rule = kind is Kind.PREFERENCE and FORBIDS.match(said)
        said = resolve(said, today, Tense.LASTING, ENGLISH_DAYS).text
        return Statement(
            content=as_sentence(said), kind=Kind.CONSTRAINT if rule else kind, order=True
        )
    return None


SELF = _re(r"^(I|we) (?=\w)")
FOR_NOW = _re(r"^(to )?{FOR_NOW}\b|^\S+( \S+)?$")
TO_DO = _re(r"^to (?=\w)")
TO_YOU = _re(r"^(?!.*\b(I|me|my|we|our|us)\b).*\byou(r|rself)?\b")


def asked(text: str, today: date) -> Statement | None:
    """What the person asked to remember, as near to the words as can be; not advice to "you"."""
    if TO_YOU.search(text) or FOR_NOW.match(text):
        return None
    dated = resolve(CLOSER.sub("", text), today, Tense.AHEAD, ENGLISH_DAYS)
    until = dated.last if dated.last and dated.last > today else None
    said = OURS.sub("", TO_DO.sub("", dated.text))
    if SELF.match(said):
        said = third_person(SELF.sub("", said))
    kind = Kind.TODO_HINT if until or TO_DO.match(text) else Kind.FACT
    return Statement(content=as_sentence(said), kind=kind, until=until)
