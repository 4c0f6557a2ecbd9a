"""User tokens signed by keys that an address publishes: for us, in time, by nobody else."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from perdure.control.keys import Keys
from perdure.errors import Misconfigured, Unauthenticated, Unavailable
from perdure.serve.tokens import Tokens
from perdure.settings import Secret, Settings

OURS = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
OTHERS = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


def token(key=OURS, kid="k1", algorithm="RS256", **claims):
    until = datetime.now(UTC) + timedelta(minutes=5)
    every = {"sub": "ann", "ns": "shop", "aud": "perdure", "exp": until} | claims
    every = {name: value for name, value in every.items() if value is not None}
    return jwt.encode(every, key, algorithm, headers={"kid": kid})


@pytest.fixture
def published():
    """A server with our public key; its answer can be changed, its requests are counted."""

    class Server(ThreadingHTTPServer):
        asked = 0
        keys: Any = None

    class Handler(BaseHTTPRequestHandler):
        server: Server

        def do_GET(self):
            self.server.asked += 1
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(self.server.keys).encode())

        def log_message(self, *_):
            pass

    server = Server(("127.0.0.1", 0), Handler)
    shown = json.loads(RSAAlgorithm.to_jwk(OURS.public_key()))
    server.keys = {"keys": [shown | {"kid": "k1", "use": "sig", "alg": "RS256"}]}
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def reader(server, **more):
    where = f"http://127.0.0.1:{server.server_address[1]}/jwks.json"
    return Tokens(Settings(token_jwks_url=where, token_audience="perdure", **more))


@pytest.mark.spec("6")
def test_a_token_signed_by_a_published_key_stands_for_its_user(published):
    tokens = reader(published, token_namespace="home")
    assert tokens.read(token()).user == "ann"
    assert tokens.read(token(ns=None)).namespace == "home"
    assert tokens.read(token(sub="小林")).user == "小林"
    assert published.asked == 1


@pytest.mark.spec("6")
@pytest.mark.case("SEC-05")
def test_a_token_that_others_signed_or_that_is_for_others_is_refused(published):
    tokens = reader(published, token_secret=Secret("a secret of more than thirty-two characters"))
    public = json.dumps(published.keys["keys"][0])
    for forged in (
        token(OTHERS),
        token(kid="k2"),
        token(aud="another"),
        token(aud=None),
        token(ns=None),
        token(exp=datetime.now(UTC) - timedelta(minutes=1)),
        token(exp=None),
        token(public * 2, algorithm="HS256"),
        token(None, algorithm="none"),
    ):
        with pytest.raises(Unauthenticated):
            tokens.read(forged)
    assert published.asked <= 2  # strangers cannot make us fetch again and again


@pytest.mark.spec("6")
def test_keys_that_cannot_be_fetched_are_our_trouble_and_not_the_users(published):
    tokens = reader(published)
    published.shutdown()
    published.server_close()
    with pytest.raises(Unavailable):
        tokens.read(token())


def test_settings_that_could_not_check_a_token_stop_the_start():
    cases: list[dict[str, Any]] = [
        {"token_jwks_url": "https://id.example/jwks.json"},
        {"token_jwks_url": "http://id.example/jwks.json", "token_audience": "perdure"},
        {"token_jwks_url": "file:///jwks.json", "token_audience": "perdure"},
    ]
    for wrong in cases:
        with pytest.raises(Misconfigured) as refused:
            Tokens(Settings(**wrong))
        assert refused.value.field in ("token_jwks_url", "token_audience")


def test_a_token_is_no_key_and_asks_no_database():
    """A user's requests need no row of ours, and go on while the database is away."""
    nowhere: Any = None
    keys = Keys(database=nowhere, clock=lambda: datetime.now(UTC), wait_s=1.0)
    assert keys.find("eyJ.e30.c2ln") is None
