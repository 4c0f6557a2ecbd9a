"""What an English clause says of a person or a project: the rules, one comment each."""

from __future__ import annotations

from datetime import date

from perdure.learn.basic import english_frames, english_words
from perdure.learn.basic.dates import Dated, Tense, resolve
from perdure.learn.basic.english_days import ENGLISH_DAYS, MONTHS
from perdure.learn.basic.english_orders import ordered
from perdure.learn.basic.english_wording import (
    as_i,
    as_sentence,
    bare,
    first_person,
    of_team,
    third_person,
)
from perdure.learn.basic.rules import Rule, Statement, Vocabulary
from perdure.types import Kind, Level

_vocabulary = Vocabulary(english_words, english_frames)
_vocabulary.name(
    NUMBER=r"{COUNT}|\d+",
    MONTH="|".join(MONTHS),
    LASTS=r"(?!([\w-]+ ){0,2}?{PASSING_NOUN}\b)",
    TIME=r"(days?|weeks?|months?|years?|decades?)\b",
)
_re = _vocabulary.any_case


def _says(kind: Kind, source: str, tense: Tense = Tense.LASTING) -> Rule:
    """A rule on what follows "I": adverbs, then the pattern."""
    return Rule(kind, _re(rf"^({{ADVERB}} )*{source}"), tense)


RULES = (
    # "prefer tea", "cannot stand noise", "am a big fan of jazz"; not "like it"
    _says(Kind.PREFERENCE, r"{LIKE} (?!{LIKED_NOW}\b|to$)\w"),
    # "am vegan", "have been vegetarian since May"
    _says(Kind.CONSTRAINT, r"(am|have been|have become|became|went|eat|keep)\b.{0,20}\b{DIET}\b"),
    # "do not eat pork", "cannot have dairy", "can only meet after six"
    _says(
        Kind.CONSTRAINT,
        r"(do not (?!have)|cannot |never |no longer |can only |only |must not "
        r"|am not (allowed|able) to ){LIMIT}\b",
    ),
    # "no longer own a dog"
    _says(Kind.FACT, r"no longer ({LASTING} \w|{ALONE}$|have \w)"),
    # "avoid sugar", "never fly"
    _says(Kind.CONSTRAINT, r"(avoid|never) ({ADVERB} )*(?!{NO_HABIT}\b|\w+ed\b)\w"),
    # "moved to Bergen", "have adopted a dog", "turned 34": it happened and still holds;
    # not "turned 30 pages"
    _says(
        Kind.FACT,
        r"(have )?({ADVERB} )*(?!turned [\w-]+ (?!(years old|last|this|in|on|today|yesterday|now"
        r"|recently|just|two|three|a|and)\b)){EVENT}\b(?! (in|on|it|up)$)",
        Tense.BEHIND,
    ),
    # "am from Lyon", "am learning Dutch"
    _says(Kind.FACT, r"am (not )?({ADVERB} )*{TRAIT}\b"),
    # "am a nurse", "am the treasurer of the club"
    _says(Kind.FACT, r"am (not )?(an?|the) {LASTS}\w"),
    # "am 34", "am four", "am Norwegian"
    _says(Kind.FACT, r"am {COUNT}( years old)?( now)?$"),
    _says(Kind.FACT, r"am (\d{1,3}( years old)?(?!\s*[\w%])|(?-i:\p{Lu}\p{Ll})[\w-]+)"),
    # "have two kids", "have no car", "have asthma"
    _says(Kind.FACT, r"do not have (any )?({KIN}|pets)\b"),
    _says(Kind.FACT, r"(do not )?have ({NUMBER} {LASTS}|\w*\s*{ILLNESS}\b)"),
    # "have a second job at a bakery", "have another son who is nine"
    _says(
        Kind.FACT,
        r"have (an?|another) ([\w-]+ ){0,2}?(job|gig|side business)\b"
        r"(?! (interview|offer|application))",
    ),
    _says(Kind.FACT, r"have another ([\w-]+ )?{KIN}\b"),
    # "have lived here since May", "have been learning Dutch for a year"
    _says(
        Kind.FACT,
        r"have (been|had|known|taught|worn|\w+ed)\b.*\b(since (?!then)|for (\d|over|about|almost"
        r"|nearly|many|several|most|({NUMBER}|some|the last) (\w+ )?{TIME}))",
    ),
    # "speak Finnish", "do not own a car"; not "use this function"
    _says(
        Kind.FACT,
        r"(do not )?(?!(prefer|like|love|enjoy|hate|dislike)\b|{LASTING_NOW}\b)"
        r"({LASTING} \w|{ALONE}$)",
    ),
    # "can eat shrimp again": it was not so before
    _says(Kind.FACT, r"can ({ADVERB} )*(eat|drink|have|drive|run|work) (\w.*\b)?(again|now)$"),
    # "can speak Dutch"
    _says(Kind.FACT, r"can {SKILL} \w"),
    # "water the plants every morning"
    Rule(
        Kind.FACT,
        _re(r"^(?=.*\b{HABIT}\b)({ADVERB} )*(have to )?(?!{NO_HABIT}\b|\w+ed\b)\w"),
    ),
    # "plan to learn Dutch", "am getting married"
    _says(
        Kind.TODO_HINT,
        r"((want|plan|intend|aim|would like|am planning|am going) to {GOAL}\b"
        r"|am planning an? (?!few)\w|am getting married|am expecting an?\b)",
        Tense.AHEAD,
    ),
)
# Anything that names a day to come, unless it is a habit or about this conversation.
PLAN = _re(
    r"^(?!.*\b(if|now|{HABIT})\b)({ADVERB} )*+"
    r"((am going to|will|have to|must|want to|plan to) )?+"
    r"(?!{PASSING_PLAN}\b|{EVENT}\b|(\w+ )?(?!need\b)\w+ed\b)\w"
)
# "I love making him happy", "I go to this park": nobody will know later who or what was meant.
POINTS_AWAY = (
    _re(
        r"^(?!.*\b(an?|the|my|our) \w+.*\b(him|her|them|it)\b)(I|we|my|our)\b.*\b({POINTING}|her$"
        r"|this(?! (year|month|week|spring|summer|autumn|fall|winter|weekend|coming))"
        r"|these(?! days))\b"
    ),
    _re(r"^(I|we)\b(?!.*\b(my|our)\b).*\b(his|her)\b"),
    _re(r"\byour(self|s)\b|^(I|we)\b.*\b(for|with|to|on) you\b"),
)

# "last month we moved": the day may stand first
WHEN_FIRST = _re(
    r"^(?P<when>(last|this|next) [\w-]+|yesterday|tomorrow|in {MONTH}|on \w+day),?"
    r" (?=(I|we|my|our)\b)"
)
SELF = _re(r"^(I|we) (?P<said>.+)$")
# "my wife", "our dog Biscuit", "my sister and her kids"
MINE = _re(
    r"^(my|our) (?P<who>([\w-]+ ){0,2}?{KIN}(?! {KIN}\b)( (?-i:\p{Lu})\w+| and \w+( \w+)?)?)"
    r" (?P<said>({ADVERB} )*\w+\b.*)$"
)
THINGS = (
    # "my e-mail is", "my favourite colour is", "my budget for gifts is": whatever follows
    _re(
        r"^(my|our) (?P<thing>{OWN}( [\w'-]+){0,4}?)"
        r" (?P<said>(is|are)\b(?! ({ADVERB} )*{STATE}\b).+)$"
    ),
    # "my laptop is a ThinkPad", "our flat is on the fifth floor": what stays, not "is broken"
    _re(
        r"^(my|our) (?P<thing>(?!{PASSING_THING}\b|(\w+ )?{STRANGER}( (is|are|has)\b|'s? ))"
        r"([\w'-]+ ){0,4}?[\w'-]+)"
        r" (?P<said>(is|are) ({ADVERB} )*(not )?(the {LASTS}|{NUMBER} {LASTS}|{STAYS} |\d"
        r"|(?-i:\p{Lu}))\w*.*"
        r"|has {NUMBER} {LASTS}\w.*"
        r"|(starts?|ends?|leaves?|opens?|closes?|runs?) (at|on|in|every)\b.+)$"
    ),
)
FAVOURITE = _re(r"^(least |all-time )?(favou?rite|preferred|go-to)\b")
YEARLY = _re(r"\b(birthday|anniversary|name day)$")
BUDGET = _re(r"^(budget|limit)\b")

PROJECT = (
    # "in this project we never commit to main"
    _re(r"^(in|on|for) (this|our) ([\w-]+ ){0,2}?{PROJECT}\b,? \w+ \w+"),
    # "our repo uses pnpm", "the staging server of our project deploys at two"
    _re(
        r"^(our|this|the(?= (project|repo|codebase|monorepo)\b)|the ([\w-]+ ){1,3}(of|in|for)"
        r" (our|this)) ([\w-]+ ){0,2}?{PROJECT}('s [\w-]+)? ({ADVERB} )*{WORK_VERB}\b"
    ),
    # "we never deploy on Fridays"
    _re(r"^we ({ADVERB} )*{WORK_VERB}\b(?=.*\b{TEAMWORK}\b)"),
)
RULE_OF_WORK = _re(r"\b(never|always|must|only|do not|does not|cannot|not allowed|requires?)\b")


def statement(clause: str, today: date) -> Statement | None:
    """What the clause says of the person or the project, or None."""
    text = bare(clause)
    if first := WHEN_FIRST.match(text):
        text = f"{text[first.end() :]} {first['when']}"
    if any(pattern.search(text) for pattern in POINTS_AWAY):
        return None
    return (
        _of_project(text)
        or ordered(text, today)
        or _of_self(text, today)
        or _of_kin(text, today)
        or _of_thing(text, today)
    )


def known(said: str) -> Rule | None:
    """The first rule that knows what follows "I"."""
    return next((rule for rule in RULES if rule.pattern.match(said)), None)


def _of_project(text: str) -> Statement | None:
    if not any(pattern.match(text) for pattern in PROJECT):
        return None
    kind = Kind.CONSTRAINT if RULE_OF_WORK.search(text) else Kind.FACT
    return Statement(content=of_team(text), kind=kind, level=Level.PROJECT)


def _planned(said: str, today: date) -> Dated | None:
    """What is said, dated, if it names a day to come."""
    plan = resolve(said, today, Tense.AHEAD, ENGLISH_DAYS)
    return plan if plan.last and plan.last > today and PLAN.match(said) else None


def _of_self(text: str, today: date) -> Statement | None:
    match = SELF.match(text)
    if match is None:
        return None
    said = as_i(match["said"])
    if plan := _planned(said, today):
        content = as_sentence(third_person(plan.text))
        return Statement(content=content, kind=Kind.TODO_HINT, until=plan.last)
    rule = known(said)
    if rule is None:
        return None
    dated = resolve(said, today, rule.tense, ENGLISH_DAYS).text
    return Statement(content=as_sentence(third_person(dated)), kind=rule.kind)


def _of_kin(text: str, today: date) -> Statement | None:
    match = MINE.match(text)
    if match is None:
        return None
    said = first_person(match["said"])
    plan = _planned(said, today)
    rule = None if plan else known(said)
    if plan is None and rule is None:
        return None
    tense = rule.tense if rule else Tense.AHEAD
    dated = resolve(match["said"], today, tense, ENGLISH_DAYS).text
    return Statement(
        content=as_sentence(f"{match['who']} {dated}"),
        kind=Kind.TODO_HINT if plan else Kind.FACT,
        until=plan.last if plan else None,
    )


def _of_thing(text: str, today: date) -> Statement | None:
    match = next((found for p in THINGS if (found := p.match(text))), None)
    if match is None:
        return None
    thing, said = match["thing"], match["said"]
    plan = resolve(said, today, Tense.AHEAD, ENGLISH_DAYS)
    if plan.last and plan.last > today and not YEARLY.search(thing):
        content = as_sentence(f"{thing} {plan.text}")
        return Statement(content=content, kind=Kind.TODO_HINT, until=plan.last)
    kind = Kind.FACT
    if FAVOURITE.match(thing):
        kind = Kind.PREFERENCE
    elif BUDGET.match(thing):
        kind = Kind.CONSTRAINT
    said = resolve(said, today, Tense.LASTING, ENGLISH_DAYS).text
    return Statement(content=as_sentence(f"{thing} {said}"), kind=kind)
