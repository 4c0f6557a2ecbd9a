"""Links into a host's frame: who may ask for them, and which hosts can be named."""

from __future__ import annotations

import pytest

from perdure.errors import Misconfigured
from perdure.serve.frames import Frames
from perdure.settings import Secret, Settings, load

SIGNS = Secret("a secret of forty characters, or a few more")
KEYS = (Secret("shop=key-of-shop"),)


@pytest.mark.spec("7")
@pytest.mark.parametrize(
    ("written", "origin"),
    [
        ("https://app.example", "https://app.example"),
        ("HTTPS://App.Example:443", "https://app.example"),
        ("https://app.example:8443", "https://app.example:8443"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("https://app.example:65535", "https://app.example:65535"),
        ("https://app.example:00443", "https://app.example"),
        ("https://203.0.113.7:8443", "https://203.0.113.7:8443"),
        ("https://xn--fiqs8s.example", "https://xn--fiqs8s.example"),
        (f"https://{'a' * 63}.example", f"https://{'a' * 63}.example"),
    ],
)
def test_a_host_is_named_by_its_origin(written, origin):
    settings = Settings(embed_origins=(written,), embed_secret=SIGNS)
    assert Frames.of(settings).origins == (origin,)


@pytest.mark.spec("7")
@pytest.mark.parametrize(
    "written",
    [
        "*", "https://*", "https://*.example", "app.example", "http://app.example", "https:",
        "https://app.example/", "https://app.example/page", "https://a@app.example", "null",
        "https://app.example;script-src *", "https://app.example https://b.example",
        "https://app.example:port", "data:", "https://[::1]", "https://应用.example",
        "https://app.example:99999", "https://app.example:65536", "https://app.example:0",
        "https://app..example", "https://.example", "https://app.example.", "https://a_b.example",
        f"https://{'a' * 64}.example", "https://" + ".".join(["a" * 60] * 5),
        "https://203.0.113.999", "https://203.0.113", "https://1.2.3.4.5", "https://app.0x7f",
    ],
)  # fmt: skip
def test_what_is_no_origin_or_could_be_listened_to_stops_the_start(written):
    with pytest.raises(Misconfigured) as refused:
        Frames.of(Settings(embed_origins=(written,), embed_secret=SIGNS))
    assert refused.value.field == "embed_origins"


@pytest.mark.spec("7")
@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("https://app.example:99999", "A port is 1 to 65535."),
        ("https://app..example", "There can be no host of this name."),
        ("https://[::1]:8443", "Browsers let no IPv6 address show a frame; give it a name."),
    ],
)
def test_what_is_wrong_with_an_origin_is_told(written, said):
    with pytest.raises(Misconfigured) as refused:
        Frames.of(Settings(embed_origins=(written,), embed_secret=SIGNS))
    assert refused.value.detail.said() == said


@pytest.mark.spec("7")
@pytest.mark.parametrize("secret", [None, Secret("short")])
def test_origins_need_a_secret_that_nobody_guesses(secret):
    with pytest.raises(Misconfigured) as refused:
        Frames.of(Settings(embed_origins=("https://app.example",), embed_secret=secret))
    assert refused.value.field == "embed_secret"


def test_origins_and_the_secret_are_read_from_the_environment():
    settings = load({
        "PERDURE_EMBED_ORIGINS": "https://app.example, https://b.example",
        "PERDURE_EMBED_SECRET": str(SIGNS),
    })  # fmt: skip
    assert settings.embed_origins == ("https://app.example", "https://b.example")
    assert str(SIGNS) not in repr(settings)


@pytest.mark.spec("6", "7")
def test_an_app_asks_for_a_link_for_a_user_of_its_namespace(served):
    api = served(
        api_keys=KEYS, embed_origins=("https://app.example",), embed_secret=SIGNS, key="key-of-shop"
    )
    made = api.post("/users/ann/page-link")
    assert made.status_code == 201
    link = made.json()
    assert link["url"] == f"{str(api.base_url).removesuffix('/api/v1/')}{link['path']}"
    assert "ann" not in link["path"]
    for user in ("", "%20", "x" * 256):
        assert api.post(f"/users/{user}/page-link").status_code in (404, 422)


@pytest.mark.spec("7")
def test_without_a_host_there_is_no_link(api):
    refused = api.post("/users/ann/page-link")
    assert (refused.status_code, refused.json()["field"]) == (422, "embed_origins")
