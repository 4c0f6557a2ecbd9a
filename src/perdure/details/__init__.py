"""What is wrong, in one sentence: English where it is raised, the Chinese twin found by it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from perdure.details.chinese import ZH
from perdure.details.elsewhere import ELSEWHERE
from perdure.details.places import PLACES
from perdure.details.values import OF_VALUES

_PLACE = re.compile(r"\\{(\w+)(?::,)?\\}")  # a placeholder in an escaped template
_NUMBER = "number"  # a placeholder in which nothing but a number stands
_CHINESE: Mapping[str, str] = {**ELSEWHERE, **ZH}


@dataclass(frozen=True, slots=True)
class Detail:
    """An English template, which is also the key of the Chinese one, and what stands in it."""

    template: str = ""
    values: Mapping[str, object] = field(default_factory=dict)
    """By placeholder: names, numbers, lists, other details; never what a memory says."""

    def __bool__(self) -> bool:
        return bool(self.template)

    def said(self, language: str = "en") -> str:
        """The sentence; in English where the catalogue lacks it."""
        return spoken(self.template, self.values, language, _CHINESE)


def spoken(
    template: str, values: Mapping[str, object], language: str, chinese: Mapping[str, str]
) -> str:
    """A sentence in one of our two languages, with everything in its place.

    Args:
        template: in English, with ``{placeholders}`` where there are values.
        values: by placeholder.
        language: ``zh`` and its kin, or any other for English.
        chinese: the Chinese templates by the English ones.
    """
    if is_chinese(language):
        template = chinese.get(template, template)
    if not values:
        return template
    return template.format(**{name: _shown(value, language) for name, value in values.items()})


def is_chinese(language: str) -> bool:
    """Whether a tag such as ``zh-CN`` means Chinese; every other means English."""
    return language.lower().startswith("zh")


def of_value(wrong: Mapping[str, Any]) -> Detail:
    """What is wrong with a value, from one of pydantic's errors; the value is not repeated."""
    template = OF_VALUES.get(wrong["type"], "")
    about = wrong.get("ctx", {})
    words = about.get("expected", "").replace(" or ", ", ").split(", ")
    values = {
        "known": [word.strip("'") for word in words],
        "low": about.get("ge"),
        "high": about.get("le"),
        "limit": about.get("max_length"),
    }
    return Detail(template, {n: value for n, value in values.items() if f"{{{n}}}" in template})


def translated(said: str, chinese: Mapping[str, str] = _CHINESE) -> str:
    """The Chinese of a finished English sentence; as it is, where it comes from no template.

    What stands in its places is looked for in the same way: a reason inside a sentence.
    """
    found = [
        (template, match)
        for template in chinese
        if (match := _pattern(template).fullmatch(said)) is not None
    ]
    if not found:
        return said
    template, match = max(found, key=lambda one: len(one[0]))
    parts = {name: translated(part, chinese) for name, part in match.groupdict().items()}
    return chinese[template].replace(":,}", "}").format(**parts)


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """What the sentences of a template look like."""

    def shape(found: re.Match[str]) -> str:
        return f"(?P<{found[1]}>{r'[0-9,]+' if found[1] == _NUMBER else '.+'})"

    return re.compile(_PLACE.sub(shape, re.escape(template)), re.DOTALL)


def located(place: str, language: str) -> str:
    """A field, a line or a source in the reader's language; names stay as they are."""
    return translated(place, PLACES) if is_chinese(language) else place


def foreign(said: str | None) -> Detail:
    """What the system or a driver says, without its full stop; its own words where new to us."""
    return Detail((said or "").rstrip("."))


def _shown(value: object, language: str) -> object:
    """A value as it stands in a sentence; numbers stay, for the template says how they look."""
    if isinstance(value, Detail):
        return value.said(language)
    if isinstance(value, Collection) and not isinstance(value, str | bytes):
        between = "、" if is_chinese(language) else ", "
        return between.join(str(_shown(one, language)) for one in value)
    return value if isinstance(value, int | float) else str(value)
