"""How an English statement is worded: third person without "I", trimmed, with a capital letter."""

from __future__ import annotations

import regex

from perdure.learn.basic import english_frames, english_words
from perdure.learn.basic.rules import Vocabulary

_re = Vocabulary(english_words, english_frames).any_case

# "I work at a bakery too", "my favourite colour is green as well": one more, beside the first.
FURTHER = _re(
    r"^(?P<who>(I|we|(my|our) [^,]+?)"
    r" (?=(works?|lives?|commutes?|(am|is|are) (based|living|working))\b)"
    r"|(my|our) ([\w-]+ )?favou?rite [\w -]{1,30}? (is|are) )"
    r"(?P<said>[^,]+?),? (too|as well|on top of that|in addition)[\s.!]*$"
)
# What trails after a statement: "thanks", "by the way".
CLOSER = _re(r"([\s,]+{CLOSER}|[\s.,;:!?…–—-])+$")
OURS = _re(r"^(our|my|this) (?=\w)")
# First person inside a statement; longer forms first.
NEUTRAL = (
    (_re(r"\b(I|we) am\b|\bwe are\b"), "they are"),
    (_re(r"\b(I|we)\b"), "they"),
    (_re(r"\b(my|our)\b"), "their"),
    (_re(r"\b(mine|ours)\b"), "theirs"),
    (_re(r"\b(myself|ourselves)\b"), "themselves"),
    (_re(r"\b(me|us)\b"), "the user"),
)
# The same in a statement about a project, where "we" is the team.
OF_TEAM = (
    (_re(r"^(our|my|this) (?=\w)"), "The "),
    (_re(r"\bour\b"), "the"),
    (_re(r"\bwe\b"), "the team"),
)

THIRD = {"am": "is", "are": "is", "have": "has", "do": "does", "go": "goes"}
FIRST = {"is": "am", "are": "am", "has": "have", "does": "do", "goes": "go"}
UNCHANGED = _re(
    r"^(cannot|can|will|would|should|could|must|may|might|had|was|were|{EVENT})\b|^(?!need\b)\w+ed\b"
)
VERB = _re(r"^(?P<before>(({ADVERB}|never|no longer|only) )*)(?P<verb>[\w'-]+)(?P<rest>.*)$")


# "are" after "we" and its adverbs.
ARE = _re(r"(?<=^({ADVERB} )*)are\b")


def bare(clause: str) -> str:
    """Without what trails after it; "I work at a bakery too" as "I also work at a bakery"."""
    return str(CLOSER.sub("", FURTHER.sub(r"\g<who>also \g<said>", clause)))


def third_person(said: str) -> str:
    """Turn "do not like tea" into "does not like tea"; pasts and "cannot" stay."""
    match = VERB.match(said)
    if match is None or UNCHANGED.match(match["verb"] + match["rest"]):
        return said
    verb = match["verb"]
    verb = THIRD.get(verb.lower()) or _with_s(verb)
    return f"{match['before']}{verb}{match['rest']}"


def _with_s(verb: str) -> str:
    if regex.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if regex.search(r"[^aeiou]y$", verb) else f"{verb}s"


def as_i(said: str) -> str:
    """What follows "we" as it would follow "I"."""
    return str(ARE.sub("am", said))


def first_person(said: str) -> str:
    """Turn "does not like tea" into "do not like tea": one set of rules serves everybody."""
    match = VERB.match(said)
    if match is None:
        return said
    verb = match["verb"].lower()
    if verb in FIRST:
        verb = FIRST[verb]
    elif verb.endswith("ies"):
        verb = f"{verb[:-3]}y"
    elif regex.search(r"(?:ss|x|z|ch|sh|o)es$", verb):
        verb = verb[:-2]
    elif regex.search(r"[^s]s$", verb):
        verb = verb[:-1]
    return f"{match['before']}{verb}{match['rest']}"


def as_sentence(text: str) -> str:
    """Trimmed, in neutral person, with a capital letter."""
    for pattern, word in NEUTRAL:
        text = pattern.sub(word, text)
    text = text.strip(" ,;:.!?")
    return text[:1].upper() + text[1:]


def of_team(text: str) -> str:
    """A statement about a project: "our repo" as "The repo", "we" as "the team"."""
    for pattern, word in OF_TEAM:
        text = pattern.sub(word, text)
    return as_sentence(text)
