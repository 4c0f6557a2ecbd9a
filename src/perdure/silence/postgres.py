"""psycopg's connection: a server that says nothing for so long is lost.

PostgreSQL's own timeouts are kept by the server, so one that hangs keeps none of them.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any, Self

import psycopg
from psycopg import OperationalError

_LOOK_S = 0.1  # psycopg looks up from waiting this often anyway


class Listening(psycopg.Connection[Any]):
    """Its time to be silent can change while it is open, for one question or for many."""

    silent_s: float | None = None
    """Seconds after which a silent server is lost; None: never."""

    @classmethod
    def opened(cls, silent_s: float, *args: Any, **given: Any) -> Self:
        """Connect, within psycopg's ``connect_timeout``.

        Args:
            silent_s: seconds for an answer from then on.
            args: for psycopg.
            given: the same.
        """
        connection = cls.connect(*args, **given)
        connection.silent_s = silent_s
        return connection

    def wait(
        self, gen: Generator[Any, Any, Any], interval: float = _LOOK_S, *given: Any, **more: Any
    ) -> Any:
        """Wait for what a question comes to; all of psycopg's questions pass here."""
        if self.silent_s is None:
            return super().wait(gen, interval, *given, **more)
        heard = _heard(gen, self.silent_s)
        try:
            return super().wait(heard, min(interval, self.silent_s), *given, **more)
        except Silent:
            self.close()  # what it may say later is no answer to anything
            raise

    def look(self, seconds: float) -> None:
        """The server answers within so many seconds, or it is an error of psycopg."""
        before, self.silent_s = self.silent_s, seconds
        try:
            self.autocommit = True  # or this would begin a transaction
            self.execute("SELECT 1")
            self.autocommit = False
        finally:
            self.silent_s = before


class Silent(OperationalError):
    """The server says nothing any more."""

    def __init__(self) -> None:
        super().__init__("the server has fallen silent")


def _heard(gen: Generator[Any, Any, Any], most_s: float) -> Generator[Any, Any, Any]:
    """The same questions to the socket, and an end to them when it is not heard of for so long."""
    try:
        wanted = next(gen)
        until = time.monotonic() + most_s
        while True:
            ready = yield wanted
            now = time.monotonic()
            if ready:
                until = now + most_s
            elif now >= until:
                raise Silent
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value
    finally:
        gen.close()
