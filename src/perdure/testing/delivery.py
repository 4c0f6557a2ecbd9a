"""Puts a scripted reply on a real socket: whole, streamed, cut, a byte at a time, or not at all."""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, TypeAlias

from perdure.testing.replies import Fault, ModelReply, as_json, completion, events

DRIP_S = 0.02  # between two bytes of a dripping reply
POLL_S = 0.02  # how soon the listening ends


@dataclass(frozen=True, slots=True)
class Request:
    """What a client sent."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    raw: bytes
    """The body as it came."""
    at: float
    """Seconds on the monotonic clock."""
    client: tuple[str, int]
    """The other end of the connection; the same for requests that share one."""

    @property
    def body(self) -> dict[str, Any]:
        """The body as JSON; empty if it is none."""
        try:
            body = json.loads(self.raw)
        except ValueError:
            return {}
        return body if isinstance(body, dict) else {}

    @property
    def said(self) -> str:
        """All texts of the messages, one after the other."""
        return "\n".join(
            str(message.get("content", "")) for message in self.body.get("messages", ())
        )


Answer: TypeAlias = Callable[[Request], ModelReply | str]
"""What is said to a request: a reply with its faults, or JSON that is sent as it is."""


class ReplyServer(ThreadingHTTPServer):
    """Listens on 127.0.0.1 and knows its open connections, so that it can end them."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, port: int, answer: Answer) -> None:
        self.answer = answer
        self.closing = Event()
        self._open: set[socket.socket] = set()
        self._lock = Lock()
        super().__init__(("127.0.0.1", port), _Handler)
        self._thread = Thread(target=self.serve_forever, args=(POLL_S,), name="model-server")

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Note the connection, and serve it in a thread."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection, and close it."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def stop(self) -> None:
        """End everything: the listening, every open connection, every thread."""
        self.closing.set()
        if self._thread.is_alive():
            self.shutdown()
            self._thread.join()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):  # the other side may be gone already
                    connection.shutdown(socket.SHUT_RDWR)  # whoever reads from it reads its end
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up on a fault are no error."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Writes what the script says, byte for byte."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ReplyServer

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, raw, time.monotonic(), self.client_address)
        reply = self.server.answer(request)
        if isinstance(reply, str):
            self._whole(200, reply)
            return
        if reply.delay_s and self.server.closing.wait(reply.delay_s):
            return
        if reply.status != 200:  # noqa: PLR2004 - HTTP
            error = {"message": reply.content, "type": "scripted", "code": None, "param": None}
            self._whole(reply.status, as_json({"error": error}), reply.headers)
        elif reply.fault in (Fault.HANG, Fault.DRIP, Fault.DRIP_HEAD):
            self._slowly(reply.fault)
        elif request.body.get("stream"):
            parts = events(reply, request.body)
            self._stream(parts[: len(parts) // 2] if reply.fault is Fault.CUT else parts, reply)
        else:
            kind = "text/html" if reply.fault is Fault.HTML else "application/json"
            self._whole(
                200, _body(reply, request), reply.headers, kind, cut=reply.fault is Fault.CUT
            )

    def _whole(
        self,
        status: int,
        body: str,
        headers: Mapping[str, str] | None = None,
        kind: str = "application/json",
        *,
        cut: bool = False,
    ) -> None:
        data = _bytes(body)
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        self.close_connection = self.close_connection or cut

    def _stream(self, parts: Sequence[str], reply: ModelReply) -> None:
        self.send_response(200)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in parts:
            data = _bytes(part)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        if reply.fault is Fault.CUT:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _slowly(self, fault: Fault) -> None:
        """Say nothing, or a byte now and then, until the client or the server has had enough."""
        self.close_connection = True
        if fault is Fault.HANG:
            self.server.closing.wait()
            return
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        self.wfile.write(head + (b"\r\n" if fault is Fault.DRIP else b"X-Slow: "))
        while not self.server.closing.wait(DRIP_S):
            self.wfile.write(b" ")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name upstream
        """Say nothing: requests hold texts."""


def _bytes(said: str) -> bytes:
    """UTF-8; half a character stays one, as the escape that JSON has for it."""
    return said.encode("utf-8", "backslashreplace")


def _body(reply: ModelReply, request: Request) -> str:
    match reply.fault:
        case Fault.EMPTY:
            return ""
        case Fault.GARBAGE:
            return '{"choices": [{"message": \x00'
        case Fault.HTML:
            return "<!doctype html><title>Sign in</title>"
        case _:
            return as_json(completion(reply, request.body))
