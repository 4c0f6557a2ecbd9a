"""Commands that run Perdure: serve, worker, migrate."""

from __future__ import annotations

import gc
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated

import typer

from perdure.cli import say
from perdure.cli.given import Json, given
from perdure.details import foreign
from perdure.errors import Unavailable
from perdure.memory import Memory
from perdure.serve import DEFAULT_NAMESPACE
from perdure.types import KeyRole

_BACKLOG = 2_048  # connections that may wait to be accepted
_WORKERS = 256  # threads; more only wait for each other
_LAST_REQUESTS_S = 10  # so long running requests may take when the service ends


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(serve)
    app.command()(worker)
    app.command()(migrate)


def serve(
    context: typer.Context,
    *,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65_535)
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Threads that learn beside the service; 0 leaves that to `perdure worker`.",
            min=0,
            max=_WORKERS,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Serve memory over HTTP, and learn in the background.

    Without keys (`perdure keys create`, or `PERDURE_API_KEYS`) only this machine is served. The
    first start prints a link with an admin's key.

    Examples:
    - `perdure serve`
    - `perdure serve --workers 4`
    - `PERDURE_API_KEYS=default=KEY perdure serve --host 0.0.0.0 --port 8377`
    """
    import uvicorn  # noqa: PLC0415 - slow to import, and no other command needs it

    from perdure.pages.app import with_pages  # noqa: PLC0415 - the same
    from perdure.serve.app import create_app  # noqa: PLC0415 - the same
    from perdure.serve.auth import Callers, check_listening, loopback  # noqa: PLC0415 - the same
    from perdure.serve.frames import Frames  # noqa: PLC0415 - the same

    settings = given(context).settings()
    settings = settings.but(
        host=settings.host if host is None else host,
        port=settings.port if port is None else port,
        workers=settings.workers if workers is None else workers > 0,
        worker_threads=workers or settings.worker_threads,
    )
    say.log_from(settings.log_level)
    Frames.of(settings)
    Callers.of(settings)  # what is wrong with the keys is told before anything is made
    with Memory.open(
        given(context).database, settings=settings, workers=False, patient=True
    ) as memory:
        check_listening(settings, memory.parts.keys)
        with _listening(settings.host, settings.port) as listener:
            if settings.workers:
                memory.start()
            config = uvicorn.Config(
                with_pages(create_app(memory, settings)),
                access_log=False,
                log_config=None,
                lifespan="off",
                timeout_graceful_shutdown=_LAST_REQUESTS_S,
            )
            where = f"http://{_shown(settings.host)}:{listener.getsockname()[1]}"
            link = _first_link(memory, where) if loopback(settings.host) else None
            gc.freeze()  # what was loaded stays; no collection of garbage has to look through it
            _tell(where, link, json=json)
            with _ended_by_signals():  # uvicorn raises the signal that ended it once more
                uvicorn.Server(config).run(sockets=[listener])


def _first_link(memory: Memory, where: str) -> str | None:
    """A link with an admin's key, where there never was one; None: there was."""
    keys = memory.parts.keys
    try:
        if keys.any_of(KeyRole.ADMIN):
            return None
        _, secret = keys.create(DEFAULT_NAMESPACE, "first start", KeyRole.ADMIN, by="first start")
    except Unavailable:  # the database comes later; `perdure keys create` makes one then
        return None
    return f"{where}/?token={secret}"


def _tell(where: str, link: str | None, *, json: bool) -> None:
    if json:
        say.as_json({"url": where} if link is None else {"url": where, "link": link})
        return
    listens = say.told(
        "Perdure listens on {where} (API: {where}/docs). Ctrl-C ends it.", where=where
    )
    say.console().print(listens, soft_wrap=True)
    if link is not None:
        first = say.told(
            "First start: this link holds an admin's key, shown this once and stored only "
            "hashed:\n{link}",
            link=link,
        )
        say.console().print(first, soft_wrap=True)


def worker(
    context: typer.Context,
    *,
    once: Annotated[bool, typer.Option("--once", help="End when nothing is due.")] = False,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            help="Tell Prometheus what this worker counts, at /metrics of this port; 0 takes a "
            "free one.",
            min=0,
            max=65_535,
        ),
    ] = None,
    metrics_host: Annotated[
        str,
        typer.Option(help="Address of that port; others than this machine need a key."),
    ] = "127.0.0.1",
    json: Json = False,
) -> None:
    """Keep promises (learn, embed, tidy up) until told to stop; running jobs end first.

    Examples:
    - `perdure worker`
    - `perdure worker --once`
    - `perdure worker --metrics-port 9377`
    """
    say.log_from(given(context).settings().log_level)
    with (
        _ended_by_signals() as stop,
        given(context).open(creates=True, patient=not once) as memory,
        _telling(memory, metrics_host, metrics_port),
    ):
        if once:
            done = 0
            while not stop.is_set() and memory.parts.worker.run_once():
                done += 1
            if json:
                say.as_json({"done": done})
            else:
                say.console().print(say.told("Jobs done: {count}.", count=done))
            return
        memory.start()
        gc.freeze()  # as in `serve`
        say.note(say.told("The worker runs. Ctrl-C or SIGTERM ends it."))
        stop.wait()


@contextmanager
def _telling(memory: Memory, host: str, port: int | None) -> Iterator[None]:
    """Meanwhile whoever asks at this port is told what this process counts; None: nobody."""
    if port is None:
        yield
        return
    import uvicorn  # noqa: PLC0415 - slow to import, and few workers need it

    from perdure.serve.figures import create_figures  # noqa: PLC0415 - the same

    app = create_figures(memory)
    with _listening(host, port, field="metrics-port") as listener:
        server = uvicorn.Server(
            uvicorn.Config(app, access_log=False, log_config=None, lifespan="off")
        )
        thread = threading.Thread(target=server.run, args=([listener],), name="perdure-figures")
        thread.start()
        where = f"http://{_shown(host)}:{listener.getsockname()[1]}"
        say.note(say.told("Figures for Prometheus: {where}/metrics", where=where))
        try:
            yield
        finally:
            server.should_exit = True
            thread.join()


def migrate(context: typer.Context, *, json: Json = False) -> None:
    """Bring the database's tables up to date. Doing it twice does no harm.

    Examples:
    - `perdure migrate`
    - `perdure --database sqlite:////var/lib/perdure.db migrate`
    - `perdure --database postgresql://perdure@db.example/perdure migrate`
    """
    given(context).open(creates=True).close()
    if json:
        say.as_json({"migrated": True})
    else:
        say.console().print(say.told("The database is up to date."))


@contextmanager
def _ended_by_signals() -> Iterator[threading.Event]:
    """An event that is set when this process is told to end, instead of breaking off."""
    asked = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the shape of a handler
        asked.set()

    before = {one: signal.signal(one, ask) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield asked
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _listening(host: str, port: int, *, field: str = "port") -> socket.socket:
    """A socket that listens.

    Raises:
        Unavailable: the address is taken, or is none of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        raise Unavailable(
            "Cannot listen on {host}:{port}: {why}.",
            field=field,
            host=host,
            port=port,
            why=foreign(getattr(error, "strerror", None) or "no such address"),
        ) from None


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
