"""An inverted index over our own terms, in which each list has one owner.

Each term is written as one token that starts with a short sign of its owner, so that a list
holds one owner's texts and costs the same whatever strangers keep. The tokens are looked up as
values, never as a query language.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, select

from perdure import text
from perdure.ports import Corpus, Posting, Postings
from perdure.store.columns import whose
from perdure.store.dialects import Upsert, bunches, spoken
from perdure.store.lists import OWNER, Lists
from perdure.store.schema import texts
from perdure.store.users import SqlUsers
from perdure.types import Scope

_SIGN = 8  # characters of an owner's sign; two owners who share one only share the cost
_LONGEST = 64  # bytes of a token after the sign; longer ones are shortened to a fingerprint

_REFS = texts.c.ref.in_(bindparam("refs", expanding=True))
_TEXT = Upsert(
    texts, ("namespace", "user_id", "corpus", "ref"), lambda new: {"length": new["length"]}
)
_SIZES = select(func.count(), func.coalesce(func.sum(texts.c.length), 0)).where(*OWNER)
_ALL_REFS = select(texts.c.ref).where(*OWNER)
_NUMBERS = select(texts.c.id, texts.c.ref).where(*OWNER, _REFS)
_FORGET = delete(texts).where(texts.c.id.in_(bindparam("numbers", expanding=True)))

_UNPLAIN = re.compile("[^a-y0-9\u0080-\U0010ffff]")


class SqlFullText:
    """`ports.FullText` on one connection."""

    def __init__(self, connection: Connection, users: SqlUsers) -> None:
        self._connection = connection
        self._users = users

    @property
    def _lists(self) -> Lists:
        return spoken(self._connection).lists

    def index(self, scope: Scope, corpus: Corpus, texts: Mapping[str, Sequence[str]]) -> None:
        """Replace the terms of these refs."""
        if not texts:
            return
        owner = {"namespace": scope.namespace, "user_id": scope.user, "corpus": corpus.value}
        rows = [{**owner, "ref": ref, "length": len(terms)} for ref, terms in texts.items()]
        _TEXT.write(self._connection, rows)
        sign = _sign(scope, corpus)
        for some in bunches(texts):
            numbers = self._numbers(scope, corpus, some)
            self._lists.write(
                self._connection,
                {number: [sign + _token(t) for t in texts[ref]] for number, ref in numbers},
            )
        self._users.changed(scope, corpus)

    def postings(self, scope: Scope, corpus: Corpus, terms: Collection[str]) -> Postings:
        """Every text of the owner that contains one of the terms, ordered by ref."""
        owner = _names(scope, corpus)
        count, total = self._connection.execute(_SIZES, owner).one()
        sign = _sign(scope, corpus)
        by_token = {sign + _token(term): term for term in terms}
        lengths: dict[str, int] = {}
        counts: dict[str, dict[str, int]] = {}
        for tokens in bunches(by_token):
            found = {**owner, "tokens": tokens}
            rows = self._connection.execute(self._lists.found, found).all()
            for token, ref, length, times in rows:
                lengths[ref] = length
                counts.setdefault(ref, {})[by_token[token]] = times
        return Postings(
            texts=count,
            average_length=float(total / count) if count else 0.0,
            found=tuple(
                Posting(ref=ref, length=lengths[ref], counts=counts[ref]) for ref in sorted(counts)
            ),
        )

    def refs(self, scope: Scope, corpus: Corpus) -> set[str]:
        """What has terms, be it none at all."""
        return set(self._connection.execute(_ALL_REFS, _names(scope, corpus)).scalars())

    def compact(self) -> None:
        """Leave nothing in the index of what was removed from it, whoever's it was."""
        self._lists.compact(self._connection)

    def remove(self, scope: Scope, corpus: Corpus, refs: Collection[str]) -> None:
        """Delete."""
        gone = False
        for some in bunches(refs):
            numbers = [number for number, _ in self._numbers(scope, corpus, some)]
            if numbers:
                self._lists.forget(self._connection, numbers)
                self._connection.execute(_FORGET, {"numbers": numbers})
                gone = True
        if gone:
            self._users.changed(scope, corpus)

    def _numbers(self, scope: Scope, corpus: Corpus, refs: Sequence[str]) -> list[tuple[int, str]]:
        """The texts of these refs: number and ref of each."""
        found = {"refs": refs, **_names(scope, corpus)}
        rows = self._connection.execute(_NUMBERS, found).all()
        return [(number, ref) for number, ref in rows]


def _names(scope: Scope, corpus: Corpus) -> dict[str, Any]:
    return {**whose(scope), "in_corpus": corpus.value}


def _sign(scope: Scope, corpus: Corpus) -> str:
    """What all tokens of one owner and corpus begin with."""
    return text.fingerprint(*scope.owner, corpus)[:_SIGN]


def _token(term: str) -> str:
    """The term in signs that the tokenizer neither splits nor folds; different terms stay apart.

    ASCII letters and digits and everything beyond ASCII stand for themselves; any other sign, and
    z, becomes z and two hex digits.
    """
    plain = text.clean(term)
    token = _UNPLAIN.sub(lambda sign: f"z{ord(sign.group()):02x}", plain)
    if text.utf8_length(token) > _LONGEST:
        return f"zz{text.fingerprint(plain)[: _LONGEST // 2]}"
    return token
