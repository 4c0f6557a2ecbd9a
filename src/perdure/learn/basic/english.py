"""English sentences: their clauses, and what speaks against keeping one."""

from __future__ import annotations

import regex

from perdure.learn.basic import english_frames, english_words
from perdure.learn.basic.english_days import ENGLISH_DAYS
from perdure.learn.basic.english_orders import asked
from perdure.learn.basic.english_rules import known, statement
from perdure.learn.basic.english_wording import as_i, first_person
from perdure.learn.basic.own_words import HOLE
from perdure.learn.basic.rules import Clause, Grammar, Vocabulary, first_reason
from perdure.types import Reason

_vocabulary = Vocabulary(english_words, english_frames)
_vocabulary.name(
    # "my friend", "one of my colleagues", "she"; what is theirs is theirs too
    OTHER=(
        r"(my|our|an?|the|some|one of my|this|that) ([\w-]+ ){0,2}?{STRANGER}\b"
        r"|(he|she|they|someone|somebody|everyone|everybody|nobody|people|his|her|their)\b"
    ),
    ME=r"^(I|we) ({ADVERB} )*",
)
_re = _vocabulary.any_case

# ── from a sentence to clauses ───────────────────────────────────────────────────────────────────

# Contractions and careless spellings, written out, so that each rule needs one form only.
WRITTEN_OUT = (
    (_re(r"[’‘]"), "'"),
    (regex.compile(r"\bi\b(?![.'])|\bi(?=')"), "I"),
    (_re(r"\bim\b"), "I am"),
    (_re(r"\bive\b"), "I have"),
    (_re(r"\b(can't|cant|can not)\b"), "cannot"),
    (_re(r"\b(won't|wont)\b"), "will not"),
    (_re(r"\b(?P<verb>do|does|did|is)nt\b"), r"\g<verb> not"),
    (_re(r"n't\b"), " not"),
    (_re(r"'m\b"), " am"),
    (_re(r"'re\b"), " are"),
    (_re(r"'ve\b"), " have"),
    (_re(r"'ll\b"), " will"),
    (_re(r"\b(?P<who>I|we|you|they|he|she)'d\b"), r"\g<who> would"),
    (_re(r"\b(?P<who>I|we|you|they) have got\b"), r"\g<who> have"),
    (_re(r"\bgonna\b"), "going to"),
    (_re(r"\bwanna\b"), "want to"),
    (_re(r"\blet's\b"), "let us"),
    (_re(r"\b(?P<it>name|here|there|that|it|he|she|what|where|who|how)'s\b"), r"\g<it> is"),
    # "besides that, I work at a bakery": beside what was said before, not instead of it
    (
        _re(
            r"(^|(?<=\b(and|but) )|(?<=, ))"
            r"(also|plus|besides( that| this)?|in addition( to (that|this|it))?|on top of (that|it)"
            r"|apart from that|on the side),? (?P<who>I|we)"
            r" (?P<verb>work (at|for|as|in)|live in|commute by)\b"
        ),
        r"\g<who> also \g<verb>",
    ),
    # "my name is not Bob, it is Bo"
    (_re(r"\bis not (?P<no>[^,]+), (it is|but) (?P<yes>.+?)[.!]*$"), r"is \g<yes>, not \g<no>"),
    # "my wife's from Osaka", but not "my wife's car"
    (
        _re(
            r"\b(?P<who>(my|our) {KIN})'s (?=(a|an|the|from|in|at|on|not|called|named|{DIET}|\d+"
            r"|(?!wedding|meeting|building|painting|training|ring|spring|clothing)\w+ing)\b)"
        ),
        r"\g<who> is ",
    ),
)
OPENER = _re(
    r"^(as an? [\w-]+( [\w-]+)?,? (?=I\b))?"
    r"[\s,.!–—-]*({OPENER}\b([\s,.!:–—-]+|$)|{INTERJECTION}(\s*[,.!:–—-]\s*)"
    r"|now (?=(I|we|my|our)\b))*"
)
ASKED = _re(
    r"^((please|pls|can you|could you|you should|you must|I want you to|I need you to) )*"
    r"{REMEMBER}\b(?! (when|how|what|where|why|me|the time|to self)\b)"
    r"( (that|this|down|for me|for later|for next time|please))*([\s,:–—-]+|$)"
)
BOUNDARY = _re(
    # as in "I am vegan – what now" or "Intro: I am a nurse"
    r"\s*[;–—]\s*(?!\d)| -{1,2} |: (?=(I|we|my|our)\b)"
    # "…, and I", "… but now I", "…, what"
    r"|,\s*({JOINT} )?(?=((now|these days) )?{BEGINNING}\b)"
    r"|,? {JOINT} (?=((now|these days) )?{BEGINNING}\b)|,\s*(so|but|yet) "
)
# "Whenever I ask for code, give me TypeScript" is one order.
CONDITION = _re(r"^(whenever|every time|each time|when you|if you)\b[^,]+,")
# "I play the cello and speak Finnish": the second verb has the same "I".
SAME_SUBJECT = _re(
    r"(, |,? (and|but) )(?=(also )?((do not|cannot|never) )?"
    r"({LASTING}|{EVENT}|start|begin|leave|will) \w)"
)
INFINITIVE = _re(r"\bto [\w'-]+( [\w'-]+)?$")


def clauses(sentence: str) -> list[Clause]:
    """The clauses of one sentence; what speaks against the sentence speaks against each."""
    text = sentence.strip()
    for pattern, written in WRITTEN_OUT:
        text = pattern.sub(written, text)
    text, explicit = _asked(text)
    if explicit:  # "could you remember that I am vegan?" is no question
        text = text.rstrip("? ")
    reason = first_reason(text, OF_SENTENCE)
    long = [text] if CONDITION.match(text) else [part for part in BOUNDARY.split(text) if part]
    parts = [short for part in long for short in _same_subject(part)]
    if reason is None and text.endswith("?") and not (len(parts) > 1 and ASKS.search(parts[-1])):
        reason = Reason.QUESTION
    found = []
    for part in parts:
        said, wanted = _asked(part)
        explicit = explicit or wanted
        if said:
            found.append(Clause(text=said, explicit=explicit, reason=reason))
    return found


def _asked(text: str) -> tuple[str, bool]:
    """The text without greetings and without "remember that", and whether that was there."""
    text = OPENER.sub("", text)
    wish = ASKED.match(text)
    return (OPENER.sub("", text[wish.end() :]), True) if wish else (text, False)


def _same_subject(clause: str) -> list[str]:
    """Split "I bake bread and play chess" into "I bake bread" and "I play chess"."""
    subject = clause.partition(" ")[0]
    if subject.lower() not in ("i", "we"):
        return [clause]
    parts: list[str] = []
    for piece in SAME_SUBJECT.splititer(clause):
        # "I like to bake and cook" and "I hope you sleep and eat" are one clause
        if parts and (INFINITIVE.search(parts[-1]) or not known(as_i(parts[-1].partition(" ")[2]))):
            return [clause]
        parts.append(f"{subject} {piece}" if parts else piece)
    return parts


# ── what speaks against a clause ─────────────────────────────────────────────────────────────────

ASKS = _re(
    r"^(what|who|whom|whose|when|where|why|how|which)\b(?!ever)"
    r"|^(do|does|did|is|are|am|was|were|can|could|would|will|should|shall|may|might|have|has|had)"
    r" (not )?(I|you|we|he|she|it|they|there|the|my|our|this|that|these|those|a|an|any\w*)\b"
    r"|^any (idea|tips|thoughts|chance|suggestions|recommendations)\b"
)
# Against the whole sentence, whatever its clauses say.
OF_SENTENCE = (
    # "Do I need a visa", with or without its question mark
    (Reason.QUESTION, ASKS),
    # "If I lived in Bergen"; an order under a condition ("if you book, never before ten") stands
    (
        Reason.HYPOTHETICAL,
        _re(r"^{SUPPOSING}\b(?!.*\b(never|always|do not)\b)|\b(if only|what if)\b"),
    ),
    # "My boss said I hate Mondays"
    (
        Reason.NOT_ABOUT_USER,
        _re(r"^({OTHER}|(?-i:\p{Lu})[\w-]+) ((just|always|once) )?{SAYING}\b"),
    ),
    # "I use pandas and it fails"
    (
        Reason.PASSING,
        _re(
            r"\b(it|they|this) ((just|only) )?(fails?|never|crash(es)?|does not|do not|breaks?"
            r"|hangs?|throws?|returns?|will not)\b"
        ),
    ),
    # "Write a cover letter saying I have ten years of experience"
    (
        Reason.PASSING,
        _re(
            r"^(?!make sure){TASK}\b(?!.*\b{FROM_NOW_ON}\b)[^.]*"
            r"\b(saying|where|that|which|about how)\b"
        ),
    ),
)
# Against one clause.
OF_CLAUSE = (
    (Reason.QUESTION, ASKS),
    (Reason.QUOTED, regex.compile(HOLE)),
    # "I might move"; "I would" is no statement either, but "I would rather" is
    (
        Reason.HYPOTHETICAL,
        _re(
            r"\b({DOUBT}|would (?!(much )?rather|sooner|(never|not) say no to\b|like to {GOAL}\b"
            r"|like you to (always|never)\b|like (\w+ ){0,3}(answers|replies)\b)\w+)\b"
        ),
    ),
    # "I used to live in Oslo": past and over
    (Reason.PASSING, _re(r"\b(?<!\b(am|are|get|getting|got) )used to\b|\b{LONG_AGO}\b")),
    # "I am cooking tonight": of this moment, unless something happened that lasts
    (Reason.PASSING, _re(r"^(?!.*\b{EVENT}\b).*\b{MOMENT}\b")),
    # "I need a poem": a task of this conversation
    (
        Reason.PASSING,
        _re(
            r"{ME}(need|want|would like)\b(?! to {GOAL}\b| you to (always|never|call me)\b"
            r"| ([\w-]+ ){0,3}(answers|replies|responses)\b)"
        ),
    ),
    # "I am trying to", "I keep getting an error"
    (
        Reason.PASSING,
        _re(
            r"\b(error|exception|traceback|need help)\b"
            r"|{ME}((am|are) (trying|looking for|getting (?!married|divorced|an? ))"
            r"|keep getting|have to (?!take|be)|got stuck)"
        ),
    ),
    # "I am allergic to Mondays"
    (Reason.PASSING, _re(r"\b{JEST}\b")),
    # "I had three cats": the past, unless it is an event that still holds
    (Reason.PASSING, _re(r"{ME}(?!{EVENT}\b)({ONCE}|(?!need|feed|breed|speed)\w+ed)\b")),
)
# Somebody else is the subject: "my friend lives", "she owns", "Bo prefers".
OF_OTHER = _re(
    r"^({OTHER}('s [\w-]+)?( (from|of|at|in)\s(my\s|the\s|mine)?[\w-]*)?( (?-i:\p{Lu})[\w-]+)?"
    r"|(?!\w+ing\b|{NO_NAME}\b)(?-i:\p{Lu}\p{Ll})[\w-]*) (?P<said>(?!is\b)\w.*)$"
)


def objection(clause: str) -> Reason | None:
    """The first reason to keep nothing of this clause, or None."""
    reason = first_reason(clause, OF_CLAUSE)
    other = OF_OTHER.match(clause)
    if reason is None and other and known(first_person(other["said"])):
        return Reason.NOT_ABOUT_USER
    return reason


# ── together ─────────────────────────────────────────────────────────────────────────────────────

# "I" and, words of doubt aside, a verb or a trait that lasts: what could be taken for a statement.
PERSONAL = _re(
    r"\b(I|we|my {KIN}) (({ADVERB}|{HEDGE}) ){0,4}"
    r"({LIKE}|{LASTING}|{OVER}|{EVENT}|{GOAL}|an?|{TRAIT}|{DIET}|{LIMIT})\b"
    r"|\bmy (name|birthday|favou?rite|e-?mail|phone|address)\b"
)
HEALTH_AND_MONEY = _re(r"\b{HEALTH_AND_MONEY}\b")
# A word for it and something that could be one; an address; a long number that is no date.
CONTACT = _re(
    r"\b{CONTACT}\b.*[\d@]|\b[\w.+-]+@[\w-]+\.\w|(?<![\d-])(?!\d{4}-\d\d-)\+?\d[\d ()/-]{7,}\d"
)


def personal(text: str) -> bool:
    """Could it be taken for a statement about the person?"""
    return PERSONAL.search(text) is not None


def sensitivity(content: str) -> int:
    """2 for health, money and identity documents, 1 for contact data, else 0."""
    return 2 if HEALTH_AND_MONEY.search(content) else int(CONTACT.search(content) is not None)


ENGLISH = Grammar(
    clauses=clauses,
    objection=objection,
    statement=statement,
    asked=asked,
    personal=personal,
    sensitivity=sensitivity,
    days=ENGLISH_DAYS,
)
