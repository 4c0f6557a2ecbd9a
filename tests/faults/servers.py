"""Servers of the fault script's own, in a folder of its own, so that it may kill them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("mariadb", "postgres")
_STARTING_S = 60.0


def programs() -> Any:
    """What `make services` runs, as a module."""
    if "perdure_services" not in sys.modules:
        place = ROOT / "deploy" / "services.py"
        spec = importlib.util.spec_from_file_location("perdure_services", place)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["perdure_services"] = module
        spec.loader.exec_module(module)
    return sys.modules["perdure_services"]


def missing(database: str, *, kafka: bool) -> str | None:
    """What has to be installed first; None if it is all there."""
    services = programs()
    if database == "mariadb" and shutil.which("mariadbd") is None:
        return "mariadbd is not there; `make services` installs it"
    if (database == "postgres" or kafka) and not (services.VENV / "installed").exists():
        return "the servers are not there; `make services` installs them"
    return None


class Server:
    """One server that is killed and started again on what it left behind."""

    def __init__(self, name: str, home: Path) -> None:
        self._programs = programs()
        self._programs.HOME = home
        self._service = self._programs.SERVICES[name]
        home.chmod(0o711)  # PostgreSQL may run as somebody else
        self.start()

    @property
    def url(self) -> str:
        """Where it answers."""
        url: str = self._service.url.format(port=self._programs.port_of(self._service))
        return url

    def start(self) -> None:
        """Start it; what is left of the one that was killed may need a moment to go."""
        until = time.monotonic() + _STARTING_S
        while True:
            try:
                self._programs.start(self._service)
            except SystemExit:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)
            else:
                return

    def kill(self) -> None:
        """End it at once, and nothing else."""
        pid = self._programs.running(self._service)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """End it for good."""
        self._programs.stop(self._service)
