"""After a change of embedder or index the old vectors answer until the new ones are complete."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock, Thread

from perdure.errors import PerdureError
from perdure.ports import Database, Embedder, Outside, VectorIndex

_LOOK_S = 30.0  # so often it is asked whether they are complete


class OldVectors:
    """`ports.Handover`: what was there before, and whether it is still needed.

    Nobody waits for that question: it is asked beside, now and then. Once the new vectors have
    everything, those who look later find by them; the old ones are removed one look after that,
    when no other process needs them either.

    Args:
        database: tells what has which vectors.
        embedder: made the old vectors.
        index: has them.
        new: the index that is being filled.
        look_s: seconds from one look to the next.
        ticks: seconds that only pass.
    """

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        index: VectorIndex,
        new: VectorIndex,
        *,
        look_s: float = _LOOK_S,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self.embedder = embedder
        self.index = index
        self._database = database
        self._new = new
        self._look_s = look_s
        self._ticks = ticks
        self._lock = Lock()
        self._next = float("-inf")
        self._done = False

    def done(self) -> bool:
        """Can all that these find be found by the others? Never goes back to False."""
        with self._lock:
            if self._ticks() >= self._next:
                self._next = self._ticks() + self._look_s
                Thread(target=self.look, name="perdure-handover", daemon=True).start()
            return self._done

    def look(self) -> None:
        """See how far it is; what is no longer needed goes."""
        try:
            with self._database.read() as tx:
                done = not tx.vectors.lacking(self._new.model, than=self.index.model)
            if done and self._done:
                self._forget()
                self._next = float("inf")
            self._done = self._done or done
        except PerdureError:  # the next look may do better
            return

    def _forget(self) -> None:
        if isinstance(self.index, Outside):
            self.index.clear()
        self._database.run(lambda tx: tx.vectors.forget(self.index.model))
