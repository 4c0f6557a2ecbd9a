"""Takes English statements apart, so that two of them can be compared."""

from __future__ import annotations

import regex

from perdure import text
from perdure.learn import polarity
from perdure.learn.basic import english_frames, english_words
from perdure.learn.basic.claims import SOME, Claim
from perdure.learn.basic.rules import Vocabulary
from perdure.learn.basic.subject import subject

_vocabulary = Vocabulary(english_words, english_frames)
_re = _vocabulary.any_case

# Tells that it has changed, how often or how sure, not what.
_CUE = _re(
    r"\b(now|nowadays|these days|currently|again|any ?more|any longer|already|actually|really|also"
    r"|still|just|usually|normally|generally|always|often|mostly|mainly|at the moment|lately"
    r"|recently|too|instead|please|absolutely|(every|each) (day|week|month|year))\b"
)
_NOT = _re(
    r"\b(((do|does|did|can) )?not|never|no longer|(have |has )?(stopped|quit|given up|gave up))\b"
    r"|(?<=\b(has|have|owns|own|keeps) )no(?= \w)"
)
# "does not drink coffee every day" says neither that they drink it nor that they do not.
_IN_PART = _re(
    r"\bnot\b(?!.*\b(any ?more|any longer|again)\b).*\b((every|each) (day|week|month|year)"
    r"|always|often|usually|normally|mostly|only|just|much|too (much|many|often)|necessarily)\b"
)
# "can eat shrimp again" says the contrary of "cannot eat shrimp", "started smoking" of "quit".
_ABLE = _re(r"^can (?=\w)|^(has |have )?(started|began|begun) (?=\w+ing\b)")
# "quit smoking in October 2026": when does not narrow what they do no more.
_STOPPED = _re(
    r"(?<=^(has |have )?(stopped|quit|given up|gave up)\b.*) (in|on|since) ([a-z]+ )?\d{4}(-\d\d)*$"
)
_LIKE = _re(
    r"^(would |can |is |am |are )?(much |very )?(rather )?"
    r"(like|love|enjoy|adore|hate|dislike|detest|loathe|despise|stand|bear|abide|care for|fond of"
    r"|keen on|into|crazy about|(a )?(big |huge )?(fan|lover) of|sick of|tired of|fed up with)"
    r"(s|es|d|ed|ing)?\b( to\b)?"
)
_CHOSEN = _re(r"^(prefers?|would prefer|tends? to prefer|wants?|keeps?|answers?|repl(y|ies))\b")
_HAVE = _re(r"^(has|have|owns?|keeps?)\b")
_GOT = _re(r"^(has |have )?(bought|got|gotten|adopted)\b")
_SOLD = _re(r"^(has |have )?(sold|gave away|given away|got rid of)\b")
_AVOID = _re(r"^avoids?\b")
_HAPPENED = _re(r"^(has |have )?({EVENT}|\w+ed)\b")
_SWITCHED = _re(
    r"^(has |have )?(switched|changed|migrated|moved) from (?P<left>[^,;]+?) to (?P<to>[^,;]+)$"
)
# Where what narrows a statement begins.
_AROUND = frozenset(
    """with for in on at after before during from by without under over when while if unless except
    since until near into about because every each to""".split()
)
_THAN = frozenset({"to", "over", "than"})  # "prefers tea to coffee": both are what is claimed
_A_DAY = _re(r"\b(?:a|per) (?=(day|night|week|month|year|hour|minute|meal)\b)")
_TWICE = (("once", "one time"), ("twice", "two times"))
_TOKEN = regex.compile(r"\d{4}-\d\d(?:-\d\d)?|\d+(?:[.,:]\d+)*|[^\W\d_][\w'’-]*")
_LITTLE = frozenset("a an the their his her its my our your some any much very of".split())
_NUMBERS = {word: str(n) for n, word in enumerate(
    "one two three four five six seven eight nine ten eleven twelve".split(), start=1
)}  # fmt: skip

CHOICES = tuple(
    frozenset(text.stem(word) for word in line.split())
    for line in (
        "window aisle middle", "short brief concise terse long detailed thorough verbose",
        "dark light", "metric imperial celsius fahrenheit", "formal informal casual",
        "morning afternoon evening", "hot iced cold warm", "early late",
    )
)  # fmt: skip
"""Words of which one chooses only one at a time."""


def claim(statement: str) -> Claim | None:
    """The parts of an English statement; None where it denies more than once, or only in part."""
    said = polarity.plain(statement).strip(" .!")
    if polarity.liking(said) is None and _IN_PART.search(said):
        return None
    who, said = subject(said)
    said = _spaced(_CUE.sub(" ", said))
    for word, times in _TWICE:
        said = said.replace(word, times)
    if switched := _SWITCHED.match(said):
        left = tuple(map(text.stem, _TOKEN.findall(switched["left"])))
        return Claim(who=who, core=("use", *_TOKEN.findall(switched["to"])), left=left)
    liking = polarity.liking(said)
    denials = len(_NOT.findall(said))
    chosen = _CHOSEN.match(said) is not None
    happened = any(pattern.match(said) for pattern in (_HAPPENED, _GOT, _SOLD))
    if liking == 0 or denials > 1:
        return None
    denied = denials == 1
    said = _ABLE.sub("", _spaced(_NOT.sub(" ", _STOPPED.sub("", said))))
    if liking is not None and (found := _LIKE.match(said)):
        denied, said = liking < 0, f"like {said[found.end() :]}"
    elif _SOLD.match(said):
        denied, said = not denied, _SOLD.sub("have", said)
    elif _GOT.match(said):
        said = _GOT.sub("have", said)
    elif _HAVE.match(said):
        said = _HAVE.sub("have", said)
    elif _AVOID.match(said):
        denied = not denied
    return _parts(who, said, denied=denied, chosen=chosen, happened=happened)


def _parts(who: str, said: str, *, denied: bool, chosen: bool, happened: bool) -> Claim:
    """The words of a predicate, those that narrow it apart from the others."""
    words = _TOKEN.findall(_A_DAY.sub("every ", said))
    core: list[str] = []
    around: list[list[str]] = []
    amounts: dict[str, str] = {}
    here = core
    for place, word in enumerate(words):
        after = words[place + 1] if place + 1 < len(words) else ""
        if word in _AROUND and place and not (chosen and word in _THAN):
            here = [word]
            around.append(here)
        elif word[0].isdecimal() and after.startswith("year-old"):
            here.append(word)  # of two children each has an age
        elif (
            number := _NUMBERS.get(word, word if word[0].isdecimal() else "")
        ) and "-" not in word:
            counted = text.stem(after) if after and after not in _AROUND else ""
            if counted or here is not core:
                amounts[counted or here[0]] = number
            else:
                here.append(number)
        elif word in ("a", "an") and after:
            amounts.setdefault(text.stem(after), SOME)
        elif word not in _LITTLE:
            here.append(text.stem(word))
    return Claim(
        who=who,
        core=tuple(core),
        around=frozenset(" ".join(phrase) for phrase in around),
        amounts=amounts,
        denied=denied,
        happened=happened,
        chosen=chosen,
    )


def _spaced(said: str) -> str:
    return " ".join(said.split())
