"""Tells at the start that an embedder's vectors do not go with those that are stored."""

from __future__ import annotations

from perdure.errors import Misconfigured, Unavailable
from perdure.ports import Database, Embedder, VectorIndex


def check_length(database: Database, embedder: Embedder, index: VectorIndex) -> None:
    """Compare the lengths; an embedder that does not know its own is asked for one vector.

    Raises:
        Misconfigured: they differ; the error says both numbers and what to do.
        DatabaseUnavailable: the database does not answer.
    """
    try:
        with database.read() as tx:
            stored = tx.vectors.dimension(index.model)
    except Unavailable:  # then a search says it
        return
    if stored is None:
        return
    given = embedder.dimension or _asked(embedder)
    if given and given != stored:
        raise Misconfigured(
            "The embedder {model} gives {given} numbers; stored are {stored}. "
            "Make the vectors anew: perdure reindex.",
            field="PERDURE_EMBEDDING_MODEL",
            model=embedder.model,
            given=given,
            stored=stored,
        )


def _asked(embedder: Embedder) -> int:
    """Numbers a text; 0 while it does not answer, which is no reason not to start."""
    try:
        return int(embedder.embed(["-"], "search").shape[1])
    except Unavailable:
        return 0
