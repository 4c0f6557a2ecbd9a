"""How often one caller may ask: a bucket for each, filled again as time goes by."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from perdure.errors import TooMany

_MINUTE_S = 60.0
_CALLERS = 10_000  # remembered; the one that asked longest ago is forgotten, its bucket full


class Limits:
    """Counts requests of this process. Share it between threads."""

    def __init__(self, per_minute: int, now: Callable[[], float] = time.monotonic) -> None:
        """No request yet.

        Args:
            per_minute: how many; a minute's worth may also come at once. 0: no limit.
            now: seconds.
        """
        self._most = per_minute
        self._now = now
        self._lock = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count one request.

        Raises:
            TooMany: the caller must wait; the error says how long.
        """
        if not self._most:
            return
        now = self._now()
        with self._lock:
            left, at = self._left.pop(caller, (float(self._most), now))
            left = min(self._most, left + (now - at) * self._most / _MINUTE_S)
            short = left < 1
            self._left[caller] = (left if short else left - 1, now)
            while len(self._left) > _CALLERS:
                self._left.popitem(last=False)
        if short:
            wait = (1 - left) * _MINUTE_S / self._most
            raise TooMany("{most:,} requests a minute.", retry_after=wait + 1, most=self._most)
