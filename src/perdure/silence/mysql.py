"""PyMySQL's connection: a server that says nothing for so long is lost."""

from __future__ import annotations

from typing import Any, Self

from pymysql.connections import Connection


class Listening(Connection):
    """Its time to be silent can change while it is open, for one question or for many."""

    @classmethod
    def opened(cls, connect_s: float, silent_s: float, *args: Any, **given: Any) -> Self:
        """Connect; greeting and password, too, have to come in that time.

        Args:
            connect_s: seconds for that.
            silent_s: seconds for an answer from then on.
            args: for PyMySQL.
            given: the same.
        """
        connection = cls(*args, read_timeout=connect_s, write_timeout=silent_s, **given)
        connection.silent_s = silent_s
        return connection

    @property
    def silent_s(self) -> float | None:
        """Seconds after which a silent server is lost; None: never."""
        return self._read_timeout

    @silent_s.setter
    def silent_s(self, seconds: float | None) -> None:
        self._read_timeout = seconds

    def look(self, seconds: float) -> None:
        """The server answers within so many seconds, or it is an error of PyMySQL."""
        before, self.silent_s = self.silent_s, seconds
        try:
            self.ping(reconnect=False)
        finally:
            self.silent_s = before
