"""One OpenAI-compatible endpoint: its connections, a call's time, and what its refusals mean."""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from perdure.errors import Misconfigured, ModelBusy, ModelUnavailable, PerdureError, TooLarge
from perdure.models.deadline import PunctualTransport, until
from perdure.policy import Group
from perdure.ports import Clock

OPENAI = "https://api.openai.com/v1"
_TRANSIENT = frozenset({408, 409, 425})  # besides 5xx: the same request may succeed later
_NOT_WITH_THIS_KEY = frozenset({401, 402, 403})
_LONGEST_WAIT_S = 86_400.0  # a longer pause is nobody's wish but a wrong clock's
_MOST_TOKENS = 1e12  # of one call; more is no count
_NO_KEY = "unused"  # the client library wants one; endpoints without keys ignore it
_TALKATIVE = ("openai", "httpx", "httpx2", "httpcore", "httpcore2")
"""Loggers that write whole requests and headers at DEBUG: prompts, replies and keys."""
_TOO_LONG = re.compile(r"context.?length|context.?window|too.?(long|large|many tokens)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience(Group):
    """How often and how long one call tries; always within the call's own time."""

    tries: int = 3  # requests of one call that fail before the call does
    backoff_s: float = 0.5  # before the second try; doubles each time
    connect_s: float = 5.0  # longest for one connection to come about
    connections: int = 32  # open at once to one endpoint


@dataclass(frozen=True, slots=True)
class Refused:
    """The endpoint does not take the request as it stands (400, 404, 413, 422 …)."""

    status: int
    words: str
    """What it says, in lower case. To be searched, never shown: it may quote the prompt."""

    @property
    def too_long(self) -> bool:
        """There is more text than the model can take."""
        return self.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or bool(
            _TOO_LONG.search(self.words)
        )


def now() -> datetime:
    """The system's clock."""
    return datetime.now(UTC)


def hush() -> None:
    """Let client libraries log no request: what they write at DEBUG holds words of people.

    Also where the host has them at DEBUG: whoever wants that for its own calls sets it again
    after a memory is open, and then reads prompts of ours in its log.
    """
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        if logger.getEffectiveLevel() < logging.WARNING:
            logger.setLevel(logging.WARNING)


class Endpoint:
    """Sends requests to one OpenAI-compatible endpoint. Share it between threads.

    No error raised here carries a prompt, a reply or the key; what the client library raises is
    sorted and then forgotten, because its errors hold all three.
    """

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        *,
        setting: str,
        patience: Patience | None = None,
        clock: Clock = now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Prepare the connections; nothing is sent.

        Args:
            base_url: up to and with ``/v1``; None means OpenAI's own.
            api_key: None where the endpoint wants none.
            setting: what its settings are called in errors: ``PERDURE_LLM`` names
                ``PERDURE_LLM_API_KEY`` and so on.
            patience: how often and how long a call tries.
            clock: tells how far away a ``Retry-After`` date is.
            sleep: waits for seconds.

        Raises:
            Misconfigured: the address or the key cannot be one.
        """
        hush()
        self.setting = setting
        self.patience = patience or Patience()
        self._clock = clock
        self._sleep = sleep
        base_url = base_url or OPENAI
        self.where = _where(base_url, f"{setting}_BASE_URL")
        key = api_key or _NO_KEY
        if not key.isascii() or not key.isprintable() or " " in key:
            raise Misconfigured("It holds a character that no key has.", field=f"{setting}_API_KEY")
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=key,
            max_retries=0,
            http_client=httpx2.Client(
                transport=PunctualTransport(base_url, self.patience.connections)
            ),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def end(self, timeout_s: float) -> float:
        """When a call that begins now is over, on the monotonic clock.

        Raises:
            Misconfigured: the time is zero, negative or endless.
        """
        if not 0 < timeout_s < math.inf:
            raise Misconfigured("A call needs a time above 0 seconds.", field="timeout_s")
        return time.monotonic() + timeout_s

    def post(
        self, path: str, body: Mapping[str, Any], end: float, *, tries: int | None = None
    ) -> bytes | Refused:
        """The bytes of the reply, or that the request was refused as it stands.

        Tries again after 5xx, broken connections and 429 while the time lasts; waits for a busy
        endpoint once, and only where the wait fits.

        Args:
            path: below the base address.
            body: sent as JSON in UTF-8, characters as they are.
            end: from `end`.
            tries: requests at most; None: as `Patience` says.

        Raises:
            ModelBusy: it asks us to slow down for longer than the call may take.
            ModelUnavailable: no reply in time.
            Misconfigured: it refuses the key, or it is another address.
        """
        left, waited = tries or self.patience.tries, False
        backoff = self.patience.backoff_s
        while True:
            got = self._once(path, body, end)
            if isinstance(got, bytes | Refused):
                return got
            left -= 1
            busy = isinstance(got, ModelBusy)
            if not left or not isinstance(got, ModelUnavailable) or (busy and waited):
                raise got
            pause = backoff if got.retry_after is None else got.retry_after
            if time.monotonic() + pause >= end:
                raise got
            waited = waited or busy
            backoff *= 2
            self._sleep(pause)

    def _once(
        self, path: str, body: Mapping[str, Any], end: float
    ) -> bytes | Refused | PerdureError:
        """One request. What went wrong is returned, so that it carries no trace of its cause."""
        left = end - time.monotonic()
        late = ModelUnavailable("No complete answer from {where} in time.", where=self.where)
        if left <= 0:
            return late
        connect = min(left, self.patience.connect_s)
        try:
            with until(end):
                return self._client.post(
                    path,
                    cast_to=httpx2.Response,
                    body=dict(body),
                    options={"timeout": httpx2.Timeout(left, connect=connect)},
                ).content
        except openai.APIStatusError as error:
            return self._sorted(error.status_code, error.response.headers, error.response.text)
        except openai.APITimeoutError:
            return late
        except openai.APIConnectionError:
            return ModelUnavailable("{where} cannot be reached, or hung up.", where=self.where)

    def _sorted(
        self, status: int, headers: Mapping[str, str], words: str
    ) -> Refused | PerdureError:
        """What a status other than 2xx means for the caller."""
        if status in _NOT_WITH_THIS_KEY:
            return Misconfigured(
                "{where} refuses the key (HTTP {status}).",
                field=f"{self.setting}_API_KEY",
                where=self.where,
                status=status,
            )
        if status < HTTPStatus.BAD_REQUEST or status == HTTPStatus.METHOD_NOT_ALLOWED:
            return self._elsewhere(status)
        after = retry_after(headers.get("retry-after"), self._clock())
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return ModelBusy(
                "{where} (HTTP {status}).", retry_after=after, where=self.where, status=status
            )
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _TRANSIENT:
            return ModelUnavailable(
                "{where} (HTTP {status}).", retry_after=after, where=self.where, status=status
            )
        return Refused(status, words.lower())

    def _elsewhere(self, status: int) -> Misconfigured:
        return Misconfigured(
            "{where} answers with HTTP {status}; an address ends in /v1 or the like.",
            field=f"{self.setting}_BASE_URL",
            where=self.where,
            status=status,
        )

    def refusal(self, refused: Refused, model_setting: str) -> PerdureError:
        """The error for a refusal that no other way of asking mends.

        Args:
            refused: what `post` returned.
            model_setting: the setting that named the model, for example ``PERDURE_LLM_MODEL``.
        """
        if refused.too_long:
            return TooLarge("The model takes no text of this length.")
        if refused.status == HTTPStatus.NOT_FOUND and "model" not in refused.words:
            return self._elsewhere(refused.status)
        if refused.status == HTTPStatus.NOT_FOUND:
            return Misconfigured(
                "{where} does not know the model.", field=model_setting, where=self.where
            )
        return Misconfigured(
            "{where} refuses (HTTP {status}).",
            field=model_setting,
            where=self.where,
            status=refused.status,
        )


def tokens_of(payload: Any) -> int | None:
    """The tokens that a reply says it read, in the shape of OpenAI, Jina or Cohere; None: no word.

    Args:
        payload: the whole reply of an embedding or a reranking.
    """
    for place in (("usage", "prompt_tokens"), ("usage", "total_tokens"),
                  ("meta", "tokens", "input_tokens")):  # fmt: skip
        found = payload
        for name in place:
            found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, int | float) and 0 <= found < _MOST_TOKENS:
            return int(found)
    return None


def retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds that a ``Retry-After`` header asks us to wait; None if it says nothing readable."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (when.replace(tzinfo=when.tzinfo or UTC) - now).total_seconds()
    return min(max(0.0, seconds), _LONGEST_WAIT_S) if math.isfinite(seconds) else None


def _where(base_url: str, field: str) -> str:
    """Scheme, host and port: what an error may show of an address."""
    wrong = Misconfigured("Expected an address such as http://127.0.0.1:11434/v1.", field=field)
    try:
        parts = urlsplit(base_url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise wrong
    return f"{parts.scheme}://{parts.hostname}{port}"
