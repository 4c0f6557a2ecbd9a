"""Asks a chat model over any OpenAI-compatible endpoint, as that endpoint wants to be asked."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, Literal, TypeAlias, TypedDict

from perdure import text
from perdure.errors import Misconfigured, ModelUnavailable, PerdureError, ReplyUnusable
from perdure.models.endpoint import Endpoint, Patience, Refused, now
from perdure.observe import Meter
from perdure.ports import Clock, Question, Reply

ReplyForm: TypeAlias = Literal["schema", "json", "text"]
"""How the form of a reply is asked for: by JSON schema, as any JSON, or in the prompt alone."""

_FORM_WORDS = re.compile(
    r"response.?format|json.?(schema|object|mode)|structured.?output|requested parameters"
)
_SAMPLING_WORDS = re.compile(r"temperature|top_?p\b")
_LIMIT_WORDS = re.compile(r"max_(completion_)?tokens")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_NAME_LENGTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How one model of one endpoint wants to be asked; learnt from its refusals."""

    form: ReplyForm = "schema"
    sampling: bool = True
    """It takes temperature and top_p."""
    limit: Literal["max_tokens", "max_completion_tokens"] | None = "max_tokens"
    """What it calls the longest reply."""

    def without(self, words: str) -> Manner | None:
        """A manner without what a refusal complains of; None if it names nothing of ours."""
        if self.limit and _LIMIT_WORDS.search(words):
            return replace(
                self, limit="max_completion_tokens" if self.limit == "max_tokens" else None
            )
        if self.sampling and _SAMPLING_WORDS.search(words):
            return replace(self, sampling=False)
        if self.form != "text" and _FORM_WORDS.search(words):
            return replace(self, form="json" if self.form == "schema" else "text")
        return None


class OpenAIChat:
    """A `ChatModel` behind an OpenAI-compatible endpoint. Share it between threads."""

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        model: str | None,
        *,
        meter: Meter,
        supports: ReplyForm = "schema",
        patience: Patience | None = None,
        clock: Clock = now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            base_url: up to and with ``/v1``; None means OpenAI's own.
            api_key: None where the endpoint wants none.
            model: the default model.
            meter: counts ``model_calls`` and ``model_tokens``.
            supports: the best reply form to try first; simpler ones are found by themselves.
            patience: how often and how long a call tries.
            clock: tells how far away a ``Retry-After`` date is.
            sleep: waits for seconds.

        Raises:
            Misconfigured: the address, the key or the model cannot be one.
        """
        self._endpoint = Endpoint(
            base_url, api_key, setting="PERDURE_LLM", patience=patience, clock=clock, sleep=sleep
        )
        if not model or not model.strip():
            raise Misconfigured("Name a model of the endpoint.", field="PERDURE_LLM_MODEL")
        self.name = model
        self._meter = meter
        self._first = Manner(form=supports)
        self._manners: dict[str, Manner] = {}
        self._lock = Lock()

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def ask(self, question: Question, model: str | None = None) -> Reply:
        """The reply; see `ChatModel.ask`.

        Raises:
            ModelBusy: the endpoint asks us to slow down; ``retry_after`` says how long.
            ModelUnavailable: no answer within ``question.timeout_s``, or one that is no answer.
            ReplyUnusable: the model answered without a text.
            Misconfigured: the endpoint refuses the key, the model or the request.
            TooLarge: the endpoint takes no text of this length.
        """
        asked = model or self.name
        labels = {"model": asked, "purpose": question.purpose}
        try:
            reply = self._read(self._send(question, asked), question, asked)
        except PerdureError as error:
            self._meter.count("model_calls", 1, outcome=error.code, **labels)
            if isinstance(error, ReplyUnusable):
                self._paid(error, labels)
            raise
        self._meter.count("model_calls", 1, outcome="ok", **labels)
        self._paid(reply, labels)
        return reply

    def _paid(self, reply: Reply | ReplyUnusable, labels: Mapping[str, str]) -> None:
        self._meter.count("model_tokens", reply.tokens_in, direction="in", **labels)
        self._meter.count("model_tokens", reply.tokens_out, direction="out", **labels)

    def _send(self, question: Question, asked: str) -> bytes:
        """Ask in the best manner known; in a simpler one at once where that is refused."""
        end = self._endpoint.end(question.timeout_s)
        while True:
            with self._lock:
                manner = self._manners.get(asked, self._first)
            got = self._endpoint.post("/chat/completions", _body(question, asked, manner), end)
            if not isinstance(got, Refused):
                return got
            simpler = None if got.too_long else manner.without(got.words)
            if simpler is None:
                own = asked == self.name
                raise self._endpoint.refusal(
                    got, "PERDURE_LLM_MODEL" if own else "PERDURE_EXTRACTION_MODEL"
                )
            with self._lock:
                # Another thread may have learnt meanwhile; what it found is tried first.
                if self._manners.get(asked, self._first) == manner:
                    self._manners[asked] = simpler

    def _read(self, reply: bytes, question: Question, asked: str) -> Reply:
        """The reply as a value, or why it is none."""
        try:
            payload = json.loads(reply)
        except (ValueError, RecursionError):
            payload = None
        match payload:
            case {"choices": [{"message": {**message}, **choice}, *_], **rest}:
                said = _said(message.get("content"))
                cut_off = choice.get("finish_reason") == "length"
            case {"choices": [], **rest}:
                raise ReplyUnusable("The reply has no choices.").costing(
                    **_used(rest, question, "")
                )
            case _:
                raise ModelUnavailable(
                    "{where} answers with something that is no completion; "
                    "an address ends in /v1 or the like.",
                    where=self._endpoint.where,
                )
        used = _used(rest, question, said)
        if not said and not cut_off:
            if message.get("refusal") or choice.get("finish_reason") == "content_filter":
                raise ReplyUnusable("The model declined to answer.").costing(**used)
            raise ReplyUnusable("The reply has no text.").costing(**used)
        return Reply(text=said, model=asked, cut_off=cut_off, **used)


def _body(question: Question, model: str, manner: Manner) -> dict[str, Any]:
    """The request, in the endpoint's words."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [
            {name: text.clean(value) for name, value in message.items()}
            for message in question.messages
        ],
    }
    if manner.sampling:
        body |= {"temperature": question.temperature, "top_p": question.top_p}
    if manner.limit and question.max_tokens:
        body[manner.limit] = question.max_tokens
    if question.schema is not None and manner.form == "json":
        body["response_format"] = {"type": "json_object"}
    if question.schema is not None and manner.form == "schema":
        form = {
            "name": _NOT_IN_A_NAME.sub("_", question.purpose)[:_NAME_LENGTH] or "reply",
            "schema": question.schema,
            # Strict endpoints refuse open objects; a schema that closes its objects is meant so.
            "strict": question.schema.get("additionalProperties") is False,
        }
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def _said(content: object) -> str:
    """A message's text, also where it comes in parts; blank is nothing."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "".join(part for part in parts if isinstance(part, str))
    return text.clean(content) if isinstance(content, str) and content.strip() else ""


class _Used(TypedDict):
    """What a reply cost."""

    tokens_in: int
    tokens_out: int


def _used(rest: Mapping[Any, Any], question: Question, said: str) -> _Used:
    """Tokens of what was asked and said, whether that can be used or not."""
    usage = rest.get("usage")
    asking = "\n".join(m["content"] for m in question.messages)
    return {
        "tokens_in": _tokens(usage, "prompt_tokens", asking),
        "tokens_out": _tokens(usage, "completion_tokens", said),
    }


def _tokens(usage: object, name: str, said: str) -> int:
    """Tokens as the endpoint counts them, else as we estimate them."""
    counted = usage.get(name) if isinstance(usage, Mapping) else None
    return counted if isinstance(counted, int) else text.model_tokens(said)
