"""A chat model over a real socket: what is sent, what comes back, and how it goes wrong."""

from __future__ import annotations

import logging
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from perdure.errors import (
    Misconfigured,
    ModelBusy,
    ModelUnavailable,
    PerdureError,
    ReplyUnusable,
    TooLarge,
)
from perdure.models.chat import OpenAIChat
from perdure.models.endpoint import Patience
from perdure.observe import Meter
from perdure.ports import ChatModel, Question
from perdure.testing.model_server import (
    Fault,
    ModelReply,
    ModelServer,
    busy,
    failing,
    refusing,
)

KEY = "sk-very-secret"
PROMPT = "Ann's passport number is P1234567 도예 수업"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SCHEMA = {
    "type": "object",
    "properties": {"items": {"type": "array", "description": "列出事实"}},
    "required": ["items"],
    "additionalProperties": False,
}


def question(**changes) -> Question:
    given: dict[str, Any] = {
        "purpose": "extract",
        "version": "1",
        "messages": ({"role": "system", "content": "提取"}, {"role": "user", "content": PROMPT}),
        "schema": SCHEMA,
        "timeout_s": 10.0,
        "max_tokens": 50,
    }
    return Question(**given | changes)


@contextmanager
def talking(*script, meter=None, patience=None, **server_options):
    """A chat model and the server that it talks to."""
    with ModelServer(script, **server_options) as server:
        chat = OpenAIChat(
            server.base_url,
            KEY,
            "small",
            meter=meter or Meter(),
            patience=patience or Patience(backoff_s=0.02),
            clock=lambda: NOON,
        )
        yield chat, server
        chat.close()


def failure(chat: OpenAIChat, **changes) -> PerdureError:
    with pytest.raises(PerdureError) as caught:
        chat.ask(question(**changes))
    return caught.value


# ── what is sent and what comes back ─────────────────────────────────────────────────────────────


@pytest.mark.case("LANG-07")
def test_characters_are_sent_as_they_are_never_as_escapes():
    with talking("도예") as (chat, server):
        model: ChatModel = chat
        assert model.ask(question()).text == "도예"
    raw = server.requests[0].raw
    assert all(said.encode() in raw for said in ("도예", "提取", "列出事实"))
    assert b"\\u" not in raw


@pytest.mark.spec("3.3")
def test_a_schema_and_a_low_temperature_are_sent_and_usage_is_counted_by_purpose():
    meter = Meter()
    with talking('{"items": []}', meter=meter) as (chat, server):
        reply = chat.ask(question())
    sent = server.requests[0].body
    assert (sent["temperature"], sent["top_p"], sent["max_tokens"]) == (0.0, 0.1, 50)
    assert sent["response_format"]["json_schema"] == {
        "name": "extract",
        "schema": SCHEMA,
        "strict": True,
    }
    assert (reply.text, reply.model, reply.cut_off) == ('{"items": []}', "small", False)
    labels = {"model": "small", "purpose": "extract"}
    assert meter.read("model_calls", **labels) == 1
    assert meter.read("model_tokens", direction="in", **labels) == reply.tokens_in > 0
    assert meter.read("model_tokens", direction="out", **labels) == reply.tokens_out > 0


def test_another_model_of_the_endpoint_can_be_asked_and_uncounted_tokens_are_estimated():
    with talking(ModelReply(content="好的", usage=False)) as (chat, server):
        reply = chat.ask(question(schema=None), "large")
    assert server.requests[0].body["model"] == reply.model == "large"
    assert "response_format" not in server.requests[0].body
    assert (reply.tokens_out, reply.tokens_in > 10) == (2, True)


def test_thoughts_stay_in_the_text_and_a_reply_at_its_limit_says_that_it_was_cut_off():
    thinking = "<think>她住在杭州</think>[]"
    with talking(
        thinking,
        ModelReply(content='{"items": ["A', finish_reason="length"),
        ModelReply(fault=Fault.NULL, finish_reason="length"),
    ) as (chat, _):
        assert chat.ask(question()).text == thinking
        cut = chat.ask(question())
        assert (cut.text, cut.cut_off) == ('{"items": ["A', True)
        thought_only = chat.ask(question())
        assert (thought_only.text, thought_only.cut_off) == ("", True)


def test_half_a_character_in_prompt_or_reply_does_not_break_the_call():
    with talking(ModelReply(content="tea \ud83c")) as (chat, server):
        asked = ({"role": "user", "content": "half \ud83d an emoji"},)
        assert chat.ask(question(messages=asked)).text == "tea \ufffd"
    assert server.requests[0].said == "half \ufffd an emoji"


def test_one_connection_serves_many_calls():
    with talking(*["ok"] * 5) as (chat, server):
        for _ in range(5):
            chat.ask(question())
    assert len({request.client for request in server.requests}) == 1


def test_the_proxy_of_the_environment_is_used_except_for_loopback(monkeypatch):
    with talking("direct") as (chat, server):
        monkeypatch.setenv("HTTP_PROXY", server.base_url.removesuffix("/v1"))
        far = OpenAIChat("http://models.invalid/v1", None, "small", meter=Meter())
        with pytest.raises(Misconfigured):  # the scripted server is no proxy
            far.ask(question())
        far.close()
        chat.ask(question())
    paths = [request.path for request in server.requests]
    assert paths == ["http://models.invalid/v1/chat/completions", "/v1/chat/completions"]


# ── an endpoint that wants to be asked in another way ────────────────────────────────────────────


@pytest.mark.spec("3.3")
@pytest.mark.parametrize(
    ("refuses", "form"),
    [((), "json_schema"), (("json_schema",), "json_object"), (("response_format",), None)],
)
def test_the_best_reply_form_is_found_within_one_call_and_remembered(refuses, form):
    with talking("a", "b", refuses=refuses) as (chat, server):
        assert chat.ask(question()).text == "a"
        first = len(server.requests)
        assert chat.ask(question()).text == "b"
        assert len(server.requests) == first + 1
        last = server.requests[-1].body
        assert last.get("response_format", {}).get("type") == form
        assert last["temperature"] == 0.0


@pytest.mark.parametrize("status", [404, 422])
def test_other_statuses_that_complain_of_the_reply_form_count_as_well(status):
    refused = ModelReply(status=status, content="No endpoint can handle the requested parameters.")
    with talking(refused, "ok") as (chat, server):
        assert chat.ask(question()).text == "ok"
        assert server.requests[-1].body["response_format"] == {"type": "json_object"}


def test_sampling_and_the_name_of_the_limit_are_dropped_where_they_are_refused():
    with talking("ok", refuses=("temperature", "max_tokens")) as (chat, server):
        assert chat.ask(question()).text == "ok"
    last = server.requests[-1].body
    assert not {"temperature", "top_p", "max_tokens"} & set(last)
    assert last["max_completion_tokens"] == 50
    assert last["response_format"]["type"] == "json_schema"


def test_what_one_model_refuses_is_still_asked_of_another():
    with talking(refusing("response_format"), "small", "large") as (chat, server):
        chat.ask(question())
        chat.ask(question(), "large")
    assert server.requests[-1].body["response_format"]["type"] == "json_schema"


def test_threads_that_learn_at_once_all_get_their_answer():
    with talking(rule=lambda _: "ok", refuses=("json_schema", "json_object", "temperature")) as (
        chat,
        server,
    ):
        with ThreadPoolExecutor(8) as pool:
            said = {reply.text for reply in pool.map(chat.ask, [question()] * 24)}
        assert said == {"ok"}
        before = len(server.requests)
        chat.ask(question())
        assert len(server.requests) == before + 1


# ── time ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.case("API-09")
@pytest.mark.parametrize("fault", [Fault.HANG, Fault.DRIP, Fault.DRIP_HEAD])
def test_the_timeout_bounds_the_whole_call_not_each_byte(fault):
    with talking(ModelReply(fault=fault)) as (chat, server):
        began = time.monotonic()
        assert isinstance(failure(chat, timeout_s=0.3), ModelUnavailable)
        assert 0.2 < time.monotonic() - began < 10
        assert len(server.requests) == 1


@pytest.mark.case("API-09")
@pytest.mark.parametrize("timeout", [0, -1.0, float("inf"), float("nan")])
def test_a_call_without_an_end_is_refused(timeout):
    with talking("never") as (chat, server):
        error = failure(chat, timeout_s=timeout)
        assert (type(error), error.field) == (Misconfigured, "timeout_s")
        assert server.requests == []


@pytest.mark.case("API-09")
@pytest.mark.parametrize(
    ("header", "waits"), [("0.15", 0.15), ("Mon, 30 Nov 2026 12:00:00 GMT", 0.0), (None, 0.02)]
)
def test_a_busy_endpoint_is_waited_for_once_where_the_wait_fits(header, waits):
    with talking(busy(header), "ok") as (chat, server):
        assert chat.ask(question()).text == "ok"
        first, second = server.requests
        assert waits <= second.at - first.at < waits + 5


@pytest.mark.case("API-09")
@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("20", 20.0),
        ("Mon, 30 Nov 2026 12:00:20 GMT", 20.0),
        ("Mon, 30 Nov 2026 12:00:20 -0000", 20.0),
    ],
)
def test_a_longer_wait_is_handed_to_the_caller_at_once(header, seconds):
    with talking(busy(header)) as (chat, server):
        began = time.monotonic()
        error = failure(chat)
        assert isinstance(error, ModelBusy)
        assert error.retry_after == seconds
        assert time.monotonic() - began < 10
        assert len(server.requests) == 1


@pytest.mark.parametrize("header", ["soon", "nan", "inf"])
def test_an_unreadable_wait_counts_as_none_and_a_second_refusal_ends_the_call(header):
    with talking(busy(header), busy(header), "too late") as (chat, server):
        error = failure(chat)
        assert isinstance(error, ModelBusy)
        assert error.retry_after is None
        assert len(server.requests) == 2


def test_errors_of_the_server_and_broken_connections_are_tried_again():
    meter = Meter()
    cut = ModelReply(content="x" * 200, fault=Fault.CUT)
    with talking(failing(500), cut, "ok", meter=meter) as (chat, server):
        assert chat.ask(question()).text == "ok"
        assert len(server.requests) == 3
    assert meter.read("model_calls", outcome="ok") == 1


def test_tries_end_and_the_failure_is_counted():
    meter = Meter()
    script = [ModelReply(status=503, headers={"Retry-After": "0.01"})] * 3
    with talking(*script, "too late", meter=meter) as (chat, server):
        assert type(failure(chat)) is ModelUnavailable
        assert len(server.requests) == 3
    assert meter.read("model_calls", outcome="model_unavailable") == 1
    assert meter.read("model_tokens") == 0


def test_nobody_listening_is_unavailable_and_says_where():
    with ModelServer() as server:
        address = server.base_url
    chat = OpenAIChat(address, KEY, "small", meter=Meter(), patience=Patience(backoff_s=0.01))
    error = failure(chat)
    assert type(error) is ModelUnavailable
    assert address.removesuffix("/v1") in str(error)


# ── what must be put right ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("reply", "field"),
    [
        (ModelReply(status=401, content=f"Incorrect API key {KEY}"), "PERDURE_LLM_API_KEY"),
        (ModelReply(status=403), "PERDURE_LLM_API_KEY"),
        (ModelReply(status=404, content="The model `small` was not found"), "PERDURE_LLM_MODEL"),
        (ModelReply(status=404, content="404 page not found"), "PERDURE_LLM_BASE_URL"),
        (ModelReply(status=307, headers={"Location": "/elsewhere"}), "PERDURE_LLM_BASE_URL"),
        (ModelReply(status=400, content="I do not like it"), "PERDURE_LLM_MODEL"),
    ],
)
def test_a_refusal_names_the_setting_and_is_not_tried_again(reply, field):
    with talking(reply, "too late") as (chat, server):
        error = failure(chat)
        assert (type(error), error.field) == (Misconfigured, field)
        assert len(server.requests) == 1


def test_a_model_that_one_call_asked_for_is_named_by_its_own_setting():
    with talking(models=["small"]) as (chat, _), pytest.raises(Misconfigured) as caught:
        chat.ask(question(), "large")
    assert caught.value.field == "PERDURE_EXTRACTION_MODEL"


@pytest.mark.parametrize(
    "reply",
    [
        ModelReply(status=413),
        ModelReply(status=400, content="max_tokens: maximum context length is 4096 tokens"),
    ],
)
def test_a_text_that_the_model_cannot_take_is_too_large(reply):
    with talking(reply) as (chat, server):
        assert type(failure(chat)) is TooLarge
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("address", "key", "model", "field"),
    [
        ("127.0.0.1:11434/v1", None, "m", "PERDURE_LLM_BASE_URL"),
        ("http://127.0.0.1:port/v1", None, "m", "PERDURE_LLM_BASE_URL"),
        ("http://127.0.0.1/v1", "sk-1\n", "m", "PERDURE_LLM_API_KEY"),
        ("http://127.0.0.1/v1", "密钥", "m", "PERDURE_LLM_API_KEY"),
        ("http://127.0.0.1/v1", None, " ", "PERDURE_LLM_MODEL"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_is_sent(address, key, model, field):
    with pytest.raises(Misconfigured) as caught:
        OpenAIChat(address, key, model, meter=Meter())
    assert caught.value.field == field
    assert (key or "-") not in str(caught.value)


def test_without_a_key_no_key_of_another_program_is_sent(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ModelServer(["ok"]) as server:
        chat = OpenAIChat(server.base_url, None, "small", meter=Meter())
        assert chat.ask(question()).text == "ok"
        chat.close()
    assert KEY not in str(server.requests[0].headers)


# ── answers that are none, and what errors may say ───────────────────────────────────────────────


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (ModelReply(fault=Fault.HTML), ModelUnavailable),
        (ModelReply(fault=Fault.GARBAGE), ModelUnavailable),
        (ModelReply(fault=Fault.EMPTY), ModelUnavailable),
        (ModelReply(fault=Fault.NO_CHOICES), ReplyUnusable),
        (ModelReply(fault=Fault.NULL), ReplyUnusable),
        (ModelReply(content=" \n"), ReplyUnusable),
        (ModelReply(content="", finish_reason="content_filter"), ReplyUnusable),
    ],
)
def test_an_answer_that_is_none_has_a_clear_error(reply, kind):
    with talking(reply) as (chat, _):
        error = failure(chat)
    assert type(error) is kind
    assert error.detail


ECHO = f"You said {PROMPT} with {KEY}"


@pytest.mark.spec("9")
@pytest.mark.parametrize(
    "reply",
    [
        ModelReply(status=400, content=ECHO),
        ModelReply(status=401, content=ECHO),
        ModelReply(status=404, content=ECHO),
        ModelReply(status=429, content=ECHO, headers={"Retry-After": "99"}),
        ModelReply(status=500, content=ECHO, headers={"Retry-After": "99"}),
        ModelReply(content=ECHO, fault=Fault.CUT),
        ModelReply(content=ECHO, fault=Fault.HANG),
        ModelReply(content=ECHO, fault=Fault.NO_CHOICES),
    ],
)
def test_no_error_and_no_log_carries_a_prompt_a_reply_or_the_key(reply, caplog):
    with (
        caplog.at_level(logging.DEBUG),
        talking(reply, patience=Patience(tries=1)) as (chat, _),
    ):
        error = failure(chat, timeout_s=0.3)
        logging.getLogger("test").error("failed", exc_info=error)
        seen = [repr(error), repr(chat), repr(vars(error)), caplog.text]
        seen += traceback.format_exception(error)
    assert error.__cause__ is None
    assert error.__context__ is None
    assert not any(secret in text for secret in ("P1234567", "도예", KEY) for text in seen)


@pytest.mark.spec("10")
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("fault", [Fault.NULL, Fault.NO_CHOICES])
def test_a_reply_without_a_text_says_what_it_cost(fault, told):
    """What the endpoint does not count is estimated, as of any other reply."""
    meter = Meter()
    with (
        talking(ModelReply(fault=fault, usage=told), meter=meter) as (chat, _),
        pytest.raises(ReplyUnusable) as unusable,
    ):
        chat.ask(question())
    assert unusable.value.tokens_in > 0
    assert meter.read("model_tokens", direction="in") == unusable.value.tokens_in
    assert meter.read("model_calls", outcome="reply_unusable") == 1
