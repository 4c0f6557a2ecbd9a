"""Where search terms lie: for each token the texts that have it, and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Select,
    Table,
    bindparam,
    column,
    delete,
    func,
    insert,
    select,
    table,
)

from perdure.store.columns import line, owned
from perdure.store.schema import metadata, texts

_TOKEN = 80  # characters of a search term with the sign of its owner

words = Table(
    "perdure_words",  # which texts have a token; SQLite has tables of fts5 instead, see below
    MetaData(naming_convention=metadata.naming_convention),
    Column("token", line(_TOKEN), nullable=False),
    Column("text", BigInteger, nullable=False),
    Column("times", Integer, nullable=False),
    PrimaryKeyConstraint("token", "text"),
    Index("ix_perdure_words_text", "text"),
)

OWNER = (*owned(texts), texts.c.corpus == bindparam("in_corpus"))
"""The text belongs to one owner and corpus."""
_TOKENS: BindParameter[str] = bindparam("tokens", expanding=True)
_NUMBERS: BindParameter[int] = bindparam("numbers", expanding=True)


class Lists(Protocol):
    """An inverted index; texts are numbered as in `schema.texts`."""

    found: Select[Any]
    """Rows (token, ref, length, times) of an owner's texts that have one of ``tokens``."""

    def write(self, connection: Connection, tokens: Mapping[int, Sequence[str]]) -> None:
        """Replace the tokens of these texts."""
        ...

    def forget(self, connection: Connection, numbers: Sequence[int]) -> None:
        """Remove the tokens of these texts."""
        ...

    def compact(self, connection: Connection) -> None:
        """Leave nothing of what was removed."""
        ...


class Fts5:
    """SQLite keeps the lists, made by fts5 with its tokenizer for ASCII.

    Counts are read from the lists themselves (fts5vocab: one row for each place of each token),
    which was faster than reading the stored tokens again: 36 against 50 ms for 13,000 entries on
    SQLite 3.53, 56 against 945 ms on 3.40. The first revision makes both tables.
    """

    _terms = table("perdure_terms", column("rowid"), column("tokens"))
    _places = table("perdure_places", column("term"), column("doc"))
    _write = insert(_terms).prefix_with("OR REPLACE")
    _forget = delete(_terms).where(_terms.c.rowid.in_(_NUMBERS))
    _compact = insert(table("perdure_terms", column("perdure_terms"))).values(
        perdure_terms="optimize"
    )
    found: Select[Any] = (
        select(_places.c.term, texts.c.ref, texts.c.length, func.count())
        .join_from(_places, texts, texts.c.id == _places.c.doc)
        .where(_places.c.term.in_(_TOKENS), *OWNER)
        .group_by(_places.c.term, _places.c.doc)
    )

    def write(self, connection: Connection, tokens: Mapping[int, Sequence[str]]) -> None:
        """Replace the tokens of these texts."""
        rows = [{"rowid": number, "tokens": " ".join(each)} for number, each in tokens.items()]
        connection.execute(self._write, rows)

    def forget(self, connection: Connection, numbers: Sequence[int]) -> None:
        """Remove the tokens of these texts."""
        connection.execute(self._forget, {"numbers": numbers})

    def compact(self, connection: Connection) -> None:
        """Leave nothing of what was removed.

        fts5 only notes that a text is gone, and keeps its terms until lists are merged. Merging all
        of them takes about 0.4 s for 100,000 messages.
        """
        connection.execute(self._compact)


class Words:
    """A plain table, one row a token and text; its key is the list."""

    _write = insert(words)
    _forget = delete(words).where(words.c.text.in_(_NUMBERS))
    found: Select[Any] = (
        select(words.c.token, texts.c.ref, texts.c.length, words.c.times)
        .join_from(words, texts, texts.c.id == words.c.text)
        .where(words.c.token.in_(_TOKENS), *OWNER)
    )

    def write(self, connection: Connection, tokens: Mapping[int, Sequence[str]]) -> None:
        """Replace the tokens of these texts."""
        self.forget(connection, sorted(tokens))
        rows = [
            {"token": token, "text": number, "times": times}
            for number, each in tokens.items()
            for token, times in Counter(each).items()
        ]
        if rows:
            connection.execute(
                self._write, sorted(rows, key=lambda row: (row["token"], row["text"]))
            )

    def forget(self, connection: Connection, numbers: Sequence[int]) -> None:
        """Remove the tokens of these texts."""
        connection.execute(self._forget, {"numbers": numbers})

    def compact(self, connection: Connection) -> None:
        """Nothing: what is removed is no longer in the table."""
