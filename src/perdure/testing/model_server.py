"""A scripted OpenAI-compatible server on a real socket, with everything that can go wrong."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from threading import Event, Lock
from types import TracebackType
from typing import Self, TypeAlias

from perdure.errors import PerdureError
from perdure.testing.delivery import ReplyServer, Request
from perdure.testing.fakes import word_vector
from perdure.testing.replies import (
    Fault,
    ModelReply,
    as_json,
    busy,
    failing,
    read_replies,
    refusing,
)

__all__ = ["Fault", "ModelReply", "ModelServer", "Request", "busy", "failing", "refusing"]

CHAT, EMBEDDINGS, MODELS = "/v1/chat/completions", "/v1/embeddings", "/v1/models"
RERANK = "/v1/rerank"
DIMENSION = 64  # of the embeddings it gives


Rule: TypeAlias = Callable[[Request], object]
"""Answers by what is asked: a `ModelReply`, a text, or something to be written as JSON."""


class ModelServer:
    """The server; a context manager. Answers by script, in order, then by rule.

    >>> with ModelServer(script=["Hello!"]) as server:  # doctest: +SKIP
    ...     OpenAIChat(server.base_url, None, "any", meter=Meter()).ask(question)
    ...     server.requests[0].body["messages"]
    """

    def __init__(
        self,
        script: Iterable[object] = (),
        *,
        rule: Rule | None = None,
        embeddings: Iterable[object] = (),
        embed: Callable[[str], Sequence[float]] = lambda said: word_vector(
            said, DIMENSION
        ).tolist(),
        rerank: Callable[[Request], ModelReply | str] | None = None,
        models: Sequence[str] = (),
        api_key: str | None = None,
        refuses: Collection[str] = (),
        port: int = 0,
    ) -> None:
        """Write the script and take the port; answers come from `__enter__` or `start` on.

        Args:
            script: replies to chats in order: a `ModelReply`, a text, anything to be written as
                JSON, or a rule that answers once.
            rule: answers chats once the script is over; without one they get a 400 that says so.
            embeddings: replies to embedding requests in order, for their faults; None among them,
                and what comes after them, is answered with vectors.
            embed: the vector of a text.
            rerank: answers requests for a ranking with a reply or the bytes of one as a text; None
                ranks by words, in the shape of Cohere and Jina.
            models: the models there are; others are 404. Empty: any.
            api_key: the key that must be sent; else 401. None: any or none.
            refuses: parameters and reply formats that are answered with 400, for example
                ``json_schema`` or ``temperature``; they use up no reply.
            port: on 127.0.0.1; 0 takes a free one.
        """
        self._models = models
        self._embed = embed
        self._rerank = rerank or ranking
        self._script = list(script)
        self._rule = rule
        self._embeddings = list(embeddings)
        self._api_key = api_key
        self._refuses = refuses
        self._requests: list[Request] = []
        self._lock = Lock()
        self._http = ReplyServer(port, self._answer)

    @property
    def base_url(self) -> str:
        """What a client is given."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def requests(self) -> list[Request]:
        """What was sent so far, refused or not, in order."""
        with self._lock:
            return list(self._requests)

    @property
    def chats(self) -> list[Request]:
        """The chat requests among them."""
        return [request for request in self.requests if request.path == CHAT]

    def start(self) -> Self:
        """Listen and answer, in threads of its own."""
        self._http.start()
        return self

    def close(self) -> None:
        """Stop; hanging and dripping replies end too, and no thread stays."""
        self._http.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _answer(self, request: Request) -> ModelReply | str:
        with self._lock:
            self._requests.append(request)
            refused = self._refused(request)
            if refused:
                return refused
            if request.path == MODELS:
                return _model_list(self._models or ("scripted",))
            if request.path == RERANK:
                return self._rerank(request)
            if request.path == EMBEDDINGS:
                line = self._embeddings.pop(0) if self._embeddings else None
                return _vectors(request, self._embed) if line is None else ModelReply.of(line)
            line = self._script.pop(0) if self._script else self._rule
        if line is None:
            return ModelReply(status=400, content="The script is over.")
        return ModelReply.of(line(request) if callable(line) else line)

    def _refused(self, request: Request) -> ModelReply | None:
        """What is wrong with the request itself, as a reply."""
        if request.path not in (CHAT, EMBEDDINGS, MODELS, RERANK):
            return ModelReply(status=404, content="Not found.")
        if self._api_key and request.headers.get("authorization") != f"Bearer {self._api_key}":
            return ModelReply(status=401, content="Incorrect API key provided.")
        body = request.body
        model = body.get("model")
        if self._models and model is not None and model not in self._models:
            return ModelReply(status=404, content="The model does not exist.")
        form = (body.get("response_format") or {}).get("type")
        for word in self._refuses:
            if word in body or word == form:
                where = "response_format: " if word == form else ""
                return ModelReply(status=400, content=f"{where}'{word}' is not supported.")
        return None


def _model_list(names: Sequence[str]) -> str:
    listed = [{"id": name, "object": "model", "created": 0, "owned_by": "you"} for name in names]
    return as_json({"object": "list", "data": listed})


def ranking(request: Request) -> str:
    """The documents of a request, the one that shares most words with the query first."""
    query = word_vector(str(request.body.get("query", "")), DIMENSION)
    opinions = [float(word_vector(d, DIMENSION) @ query) for d in request.body["documents"]]
    best = sorted(range(len(opinions)), key=lambda place: -opinions[place])
    results = [{"index": place, "relevance_score": opinions[place]} for place in best]
    return as_json({"model": request.body.get("model"), "results": results})


def _vectors(request: Request, embed: Callable[[str], Sequence[float]]) -> str:
    asked = request.body.get("input", [])
    texts = [asked] if isinstance(asked, str) else asked
    data = [
        {"object": "embedding", "index": place, "embedding": list(embed(said))}
        for place, said in enumerate(texts)
    ]
    tokens = sum(map(len, texts)) // 4
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    model = request.body.get("model")
    return as_json({"object": "list", "data": data, "model": model, "usage": usage})


# ── python -m perdure.testing.model_server ───────────────────────────────────────────────────────

EXAMPLES = """
examples:
  python -m perdure.testing.model_server --port 8099
      answers every chat with its last message

  python -m perdure.testing.model_server --port 8099 --replies replies.jsonl
      answers chats with the lines of the file, in order, then with their last message:
      {"content": "[]"}
      {"status": 429, "headers": {"Retry-After": "2"}}
      {"content": "cut in the mid", "finish_reason": "length"}
      {"fault": "hang"}

faults: """ + ", ".join(Fault)


def _echo(request: Request) -> str:
    messages = request.body.get("messages") or [{}]
    return str(messages[-1].get("content", ""))


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m perdure.testing.model_server",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--replies", type=Path, help="a JSON-lines file of replies to chats")
    parser.add_argument("--refuse", action="append", default=[], help="a parameter to refuse")
    chosen = parser.parse_args(arguments)
    try:
        replies = read_replies(chosen.replies) if chosen.replies else []
    except (OSError, PerdureError) as error:
        parser.error(str(error))
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with ModelServer(replies, rule=_echo, refuses=chosen.refuse, port=chosen.port) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        stop.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
