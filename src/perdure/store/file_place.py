"""Where the desktop file lies: whose turn it is to write, and how files are replaced whole."""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeAlias

from filelock import FileLock, Timeout

from perdure.details import Detail, foreign
from perdure.errors import DatabaseUnavailable

_log = logging.getLogger(__name__)

_POLL_S = 0.005  # how often a turn is asked for
_COARSE_NS = 50_000_000  # two changes within this time may leave the same time on a file
_PRIVATE = 0o600
_ASIDE = "unreadable-"  # in the name of what could not be read

Seen: TypeAlias = tuple[tuple[int, int, int] | None, ...]
"""Of each file its time, size and number; None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The files as they were read, None where there is none."""

    memory: bytes | None
    state: bytes | None
    prepared: bytes | None
    """A file that was ready to take the place of the first when its writer stopped."""
    seen: Seen

    @property
    def fresh(self) -> bool:
        """So young that a further change might not show in its time."""
        times = [one[0] for one in self.seen if one is not None]
        return bool(times) and abs(time.time_ns() - max(times)) < _COARSE_NS

    @property
    def age_s(self) -> float:
        """Seconds since a person or a program wrote the first file; endless if there is none."""
        one = self.seen[0]
        return time.time() - one[0] / 1e9 if one is not None else float("inf")


def digest(data: bytes | None) -> str:
    """What tells two contents apart; empty for a file that is not there."""
    return "" if data is None else sha256(data).hexdigest()


class Place:
    """The file, the state beside it, and the lock that all processes share."""

    def __init__(self, where: Path) -> None:
        self.memory = where.resolve()  # a link stays one; what it points to is replaced
        self.state = self.memory.with_name(f"{self.memory.stem}.state.json")
        self._lock = FileLock(
            self.memory.with_name(f"{self.memory.stem}.lock"),
            mode=_PRIVATE,
            thread_local=False,
            poll_interval=_POLL_S,
        )
        self._threads = threading.Lock()

    @property
    def writable(self) -> bool:
        """The folder is there, and takes files."""
        return os.access(self.memory.parent, os.W_OK)

    @contextmanager
    def turn(self, patience_s: float) -> Iterator[None]:
        """Be the only one of all threads and processes; makes the folder if there is none.

        Raises:
            DatabaseUnavailable: somebody else is that for too long, or the folder takes no lock.
        """
        if not self._threads.acquire(timeout=patience_s):
            raise self._unavailable(Detail("somebody else is writing"))
        try:
            try:
                self.memory.parent.mkdir(parents=True, exist_ok=True)
                held = self._lock.acquire(timeout=patience_s)
            except Timeout:
                raise self._unavailable(Detail("somebody else is writing")) from None
            except OSError as error:
                raise self._unavailable(foreign(error.strerror)) from None
            with held:
                yield
        finally:
            self._threads.release()

    def look(self) -> Seen:
        """What can be seen of the files without reading them.

        Raises:
            DatabaseUnavailable: the folder cannot be looked into.
        """
        return tuple(self._stat(file) for file in (self.memory, self.state))

    def read(self) -> Found:
        """The files as they are now.

        Raises:
            DatabaseUnavailable: one is there and cannot be read.
        """
        seen = self.look()
        memory, state, prepared = map(self._read, (self.memory, self.state, _next(self.memory)))
        return Found(memory=memory, state=state, prepared=prepared, seen=seen)

    def replace(self, memory: bytes | None, state: bytes) -> bool:
        """Put the state in its place, and then the file, if it changes.

        The first rename is the commit. If the second does not come about, since the process ends
        or another program holds the file, the state knows the old file for what it is.

        Returns:
            False if the file could not be put in its place yet.

        Raises:
            DatabaseUnavailable: nothing was changed.
        """
        try:
            if memory is not None:
                _prepare(self.memory, memory)
            _prepare(self.state, state)
            _put(self.state)
        except OSError as error:
            for file in (self.memory, self.state):
                with suppress(OSError):  # what is left is overwritten by the next attempt
                    _next(file).unlink(missing_ok=True)
            _log.warning("%s could not be saved: %s", self.memory.name, error.strerror)
            raise self._unavailable(foreign(error.strerror)) from None
        if memory is None:
            return True
        try:
            _put(self.memory)
        except OSError as error:
            _log.warning("%s is not up to date yet: %s", self.memory.name, error.strerror)
            return False
        return True

    def keep_aside(self, file: Path, data: bytes) -> None:
        """Write what could not be read under a name with the time; never over another file.

        Raises:
            DatabaseUnavailable: it could not be written.
        """
        at = datetime.now(UTC)
        aside = file.with_name(f"{file.stem}.{_ASIDE}{at:%Y%m%dT%H%M%S.%f}Z{file.suffix}")
        try:
            _write(aside, data, "xb")
        except OSError as error:
            raise self._unavailable(foreign(error.strerror)) from None
        _log.warning("%s could not be read; it is kept as %s", file.name, aside.name)

    def clear_aside(self) -> None:
        """Remove every file that was kept aside, and what an interrupted writer prepared.

        Raises:
            DatabaseUnavailable: one cannot be removed.
        """
        try:
            for file in (self.memory, self.state):
                _next(file).unlink(missing_ok=True)
                for one in self.memory.parent.iterdir():
                    if one.name.startswith(f"{file.stem}.{_ASIDE}") and one.suffix == file.suffix:
                        one.unlink(missing_ok=True)
        except OSError as error:
            raise self._unavailable(foreign(error.strerror)) from None

    # ── what each step needs ─────────────────────────────────────────────────────────────────────

    def _stat(self, file: Path) -> tuple[int, int, int] | None:
        try:
            found = file.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unavailable(foreign(error.strerror)) from None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self, file: Path) -> bytes | None:
        try:
            return file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unavailable(foreign(error.strerror)) from None

    def _unavailable(self, why: Detail) -> DatabaseUnavailable:
        return DatabaseUnavailable("{place}: {why}.", place=self.memory, why=why)


def _next(file: Path) -> Path:
    return file.with_name(f".{file.name}.new")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, _PRIVATE)


def _write(file: Path, data: bytes, mode: Literal["wb", "xb"]) -> None:
    """Write a file that nobody else may read, down to the disk."""
    with open(file, mode, opener=_private) as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


def _prepare(file: Path, data: bytes) -> None:
    """Write the contents beside the file, with its permissions."""
    new = _next(file)
    _write(new, data, "wb")
    if file.exists():
        shutil.copymode(file, new)


def _put(file: Path) -> None:
    """Give the prepared contents the file's name."""
    _next(file).replace(file)
    if os.name == "posix":  # elsewhere a folder cannot be opened
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
