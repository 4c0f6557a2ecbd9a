"""Tells which of two names of a place is the nearer one, by their wording alone."""

from __future__ import annotations

import regex

from perdure import text

# "kreuzberg, berlin", "the east of berlin": what stands around a name, behind it.
_BETWEEN = regex.compile(r"\s*(?:[,()（）]|\b(?:in|of)\b)\s*")
_HAN = regex.compile(r"\p{Han}")
# 南京路 is a street and not in 南京.
_NO_PART = regex.compile(r"^(?:\p{Han}|\p{Han}?[路街道巷站])$")


def coarser(one: str, other: str) -> bool:
    """Does the one name where the other is, only less precisely?

    "Berlin" of "Kreuzberg, Berlin", 北京 of 北京海淀区, 杭州 of 浙江杭州; not "Berlin" of
    "Kreuzberg": that takes a map.
    """
    one, other = text.normalise(one), text.normalise(other)
    if not _HAN.search(one):
        return _parts(one) < _parts(other)
    if other.startswith(one):
        return one != other and not _NO_PART.match(other[len(one) :])
    return other.endswith(one)


def _parts(named: str) -> frozenset[str]:
    return frozenset(part for part in _BETWEEN.split(named) if part)
