"""The scripted server itself: what is scripted arrives, what is broken is really broken."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import openai
import pytest

from perdure.errors import Corrupt
from perdure.testing.model_server import Fault, ModelReply, ModelServer, busy, failing
from perdure.testing.replies import read_replies

ASKED = {"model": "m", "messages": [{"role": "user", "content": "你好，小林"}]}


def post(
    server: ModelServer, path: str = "/chat/completions", most_s: float = 20, **more
) -> httpx.Response:
    return httpx.post(server.base_url + path, json=ASKED | more, timeout=most_s)


def test_replies_come_in_order_and_then_by_rule_and_every_request_is_kept():
    with ModelServer(
        ["first", {"items": ["喜欢茶"]}, lambda request: request.said.upper()],
        rule=lambda request: f"rule: {request.body['model']}",
    ) as server:
        said = [post(server).json()["choices"][0]["message"]["content"] for _ in range(4)]
        assert said == ["first", '{"items": ["喜欢茶"]}', "你好，小林", "rule: m"]
        assert [request.body["model"] for request in server.chats] == ["m"] * 4
        assert "小林".encode() in server.requests[0].raw


def test_a_script_that_is_over_says_so_instead_of_hanging():
    with ModelServer() as server:
        got = post(server)
        assert (got.status_code, got.json()["error"]["message"]) == (400, "The script is over.")


def test_a_stream_gives_the_same_text_and_a_cut_stream_ends_in_the_middle():
    text = "小林 prefers short answers，总是用中文。"
    with ModelServer([text, ModelReply(content=text, fault=Fault.CUT)]) as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="any", max_retries=0)

        def stream():
            pieces: list[str] = []
            with client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "hi"}], stream=True
            ) as chunks:
                try:
                    pieces.extend(chunk.choices[0].delta.content or "" for chunk in chunks)
                except openai.APIError:
                    pieces.append("<broken>")
            return pieces

        assert "".join(stream()) == text
        whole, broken = "".join(stream()), "<broken>"
        assert whole.endswith(broken)
        assert text.startswith(whole.removesuffix(broken))
        client.close()


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.DRIP, Fault.DRIP_HEAD])
def test_a_slow_reply_never_comes_to_its_end(fault):
    with ModelServer([ModelReply(fault=fault)]) as server:
        host, port = server.base_url.removeprefix("http://").removesuffix("/v1").split(":")
        body = json.dumps(ASKED).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection((host, int(port)), timeout=1) as client:
            client.sendall(head.encode() + body)
            came = b""
            end = time.monotonic() + 0.3
            while (left := end - time.monotonic()) > 0:
                client.settimeout(left)
                with suppress(TimeoutError):
                    got = client.recv(64)
                    assert got, "the server hung up"
                    came += got
        assert came.endswith(b"" if fault is Fault.HANG else b"   ")
        assert bool(came) == (fault is not Fault.HANG)


def test_a_cut_reply_has_fewer_bytes_than_it_promised():
    cut = ModelReply(content="long" * 50, fault=Fault.CUT)
    with ModelServer([cut]) as server, pytest.raises(httpx.RemoteProtocolError):
        post(server)


def test_statuses_and_headers_arrive_as_written():
    with ModelServer([busy("7"), failing(503)]) as server:
        first, second = post(server), post(server)
        assert (first.status_code, first.headers["retry-after"]) == (429, "7")
        assert (second.status_code, second.json()["error"]["message"]) == (
            503,
            "Something went wrong.",
        )


def test_a_refused_parameter_uses_up_no_reply():
    with ModelServer(["yes"], refuses=["json_schema", "temperature"]) as server:
        schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}
        assert post(server, response_format=schema).status_code == 400
        assert post(server, temperature=0).status_code == 400
        assert post(server).json()["choices"][0]["message"]["content"] == "yes"


def test_keys_models_and_paths_are_checked():
    with ModelServer(models=["small"], api_key="right") as server:
        assert post(server).status_code == 401
        server._api_key = None
        assert post(server).status_code == 404
        assert post(server, "/completions").status_code == 404
        listed = httpx.get(server.base_url + "/models").json()
        assert [model["id"] for model in listed["data"]] == ["small"]


def test_the_same_text_has_the_same_vector_and_other_words_another():
    with ModelServer() as server:
        got = post(server, "/embeddings", input=["green tea", "tea green", "数据库"])
        first, turned, other = (row["embedding"] for row in got.json()["data"])
        assert first == turned
        assert first != other


def test_many_at_once_get_one_reply_each_and_no_thread_stays_behind():
    before = threading.active_count()
    hanging = ModelReply(fault=Fault.HANG)
    with ModelServer([str(n) for n in range(40)], embeddings=[hanging]) as server:
        with ThreadPoolExecutor(8) as pool:
            got = list(pool.map(lambda _: post(server), range(40)))
        said = {reply.json()["choices"][0]["message"]["content"] for reply in got}
        with pytest.raises(httpx.ReadTimeout):
            post(server, "/embeddings", most_s=1, input="x")
    assert said == {str(n) for n in range(40)}
    assert threading.active_count() == before


def test_a_replies_file_is_read_in_order_and_a_wrong_line_is_named(tmp_path):
    file = tmp_path / "replies.jsonl"
    file.write_text('{"content": "甲"}\n\n{"fault": "hang", "stage": "decide"}\n', "utf-8")
    assert [(r.content, r.fault) for r in read_replies(file)] == [("甲", None), ("", Fault.HANG)]

    file.write_text('{"content": "a"}\n{"contents": "secret"}\n', "utf-8")
    with pytest.raises(Corrupt, match=r"Line 2: contents") as caught:
        read_replies(file)
    assert "secret" not in str(caught.value)


def test_it_starts_from_the_command_line_and_ends_when_asked(tmp_path):
    file = tmp_path / "replies.jsonl"
    file.write_text('{"content": "scripted"}\n', "utf-8")
    command = [sys.executable, "-m", "perdure.testing.model_server", "--replies", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        said = [
            httpx.post(f"{address}/chat/completions", json=ASKED).json()["choices"][0]["message"]
            for _ in range(2)
        ]
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(5) == 0
    assert [message["content"] for message in said] == ["scripted", "你好，小林"]


def test_its_help_shows_how_to_start_it():
    command = [sys.executable, "-m", "perdure.testing.model_server", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "--replies replies.jsonl" in shown
    assert "drip_head" in shown
