"""Secrets are found in every spelling, and ordinary text with figures and code is left alone."""

from __future__ import annotations

import random
import re
import string
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.learn.basic import extract_basic
from perdure.learn.screen import Sources, screen
from perdure.learn.secret import MASK, has_secret, masked
from perdure.policy import ScreenPolicy
from perdure.text import language
from perdure.types import Candidate, Preferences, Reason

SIGNS = string.ascii_letters + string.digits


def drawn(length, signs=SIGNS, seed=7):
    return "".join(random.Random(seed).choices(signs, k=length))


SECRETS = [
    "The AWS key is AKIAIOSFODNN7EXAMPLE",
    "aws secret wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    f"use ghp_{drawn(36)}",
    f"use github_pat_{drawn(40)}",
    "Slack: xoxb-1234567890-abcdefghij",
    f"Google key AIza{drawn(35)}",
    f"sk-proj-{drawn(30)}",
    f"sk-ant-api03-{drawn(40)}",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVPmB92K27uhb",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----",
    "Connects with postgres://ann:s3cr3t@db.example/app",
    "mongodb+srv://u:pässw0rd@c.example",
    "I log in with Blue42Moon",
    "Bo uses Sky88Whale to log in",
    "我用 Blue42Moon 登录",
    "登录用的是 Xiaolin88Hu",
    "My pass\u200dword is hunter2",
    "My p\ufe00assword is hunter2",
    f"Authorization: Bearer {drawn(30)}",
    "My password is hunter2",
    "My password is hunter2-Zq81!",
    "The wifi password is swordfish.",
    "password: correct-horse-battery",
    "The password to my laptop is 'open sesame'",
    "I changed it, password set to Tr0ub4dor",
    "My PIN is 4821",
    "The API key for staging is abcd1234efgh",
    "My social security number is 078-05-1120",
    "我的密码是 abc12345",
    "密码：hunter2",
    "wifi密码是12345678",
    "密码改成了qwerty99",
    "银行卡取款码为4821",
    "My card is 4111 1111 1111 1111",
    "5555-5555-5555-4444",
    "卡号６２２２０２１２３４５６７８９４",
    "身份证号 11010519491231002X",
    "token " + drawn(40, "0123456789abcdef"),
    "use " + drawn(32),
]

ORDINARY = [
    "I always forget my password",
    "The password is too short",
    "My password is stored in a keychain.",
    "Passwords must be rotated every 90 days.",
    "Is your password strong?",
    "The password is the same everywhere",
    "Needs a passcode to enter",
    "The token is expired",
    "API keys are kept in the vault",
    "PIN is required",
    "The pin is made of gold",
    "Bo's access code project is a mess",
    "The key to happiness is sleep",
    "密码要定期更换",
    "我忘了密码",
    "密码是什么？",
    "密码强度要求是至少12位",
    "验证码是四位数字",
    "她的密码学课程是周三",
    "My phone is +47 912 34 567",
    "打电话给我 13812345678",
    "Order 2026113000012345",
    "The timestamp is 1764500000000",
    "ISBN 9780306406157",
    "Deploys to 10.0.0.0/24",
    "The budget is 90,000 and my shoe size is 44",
    "Commit 3f2a9c1d4e5f60718293a4b5c6d7e8f901234567 broke it",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "Calls getUserPreferencesFromDatabase2 a lot",
    "my-super-long-branch-name-2024-Feature-x",
    "/home/ann/Projects/2024/MyApp/src/index.ts",
    "See https://example.org/a/very/long/path/With/Capitals/2024/11/30/page",
    "Remember my usual debug line: set -x; trap 'echo fail' ERR",
    "Works at Rechtsschutzversicherungsgesellschaft Nord",
    "身份证 110105194912310021",
    "4111 1111 1111 1112",
    "I log in with Office365 at work",
    "I log in with ann42@example.org",
    "I sign in with OAuth2",
    "Users sign in with TLSv1.3",
    "我用 Office365 登录",
    "我用微信登录",
]


@pytest.mark.spec("3.3")
@pytest.mark.parametrize("said", SECRETS)
def test_a_secret_is_found_and_masked(said):
    assert has_secret(said)
    assert masked(said) == said or MASK in masked(said)


@pytest.mark.spec("3.3")
@pytest.mark.parametrize("said", ORDINARY)
def test_ordinary_text_passes(said):
    assert not has_secret(said)
    assert masked(said) == said


def test_masking_leaves_the_rest_of_the_sentence():
    said = "My password is hunter2 and the card is 4111 1111 1111 1111."

    assert masked(said) == f"My password is {MASK} and the card is {MASK}."
    assert masked("密码：hunter2。") == f"密码：{MASK}。"
    assert not has_secret(masked(said))


def test_keys_drawn_by_lot_are_found_almost_always():
    missed = sum(not has_secret(drawn(n, seed=s)) for n in (24, 32, 40) for s in range(200))

    assert missed < 600 * 0.05


@given(st.text(max_size=200))
def test_no_text_breaks_the_search(said):
    has_secret(said)
    masked(said)


# ── told in words: a set of our own, and both kinds of error ─────────────────────────────────────

HERE = Path(__file__).parent
MARK = re.compile(r"\[\[(.*?)\]\]")


def lines(name):
    told = (HERE / name).read_text("utf-8").splitlines()
    return [line for line in told if line and not line.startswith("# ")]


def chinese(line):
    return language(line) == "zh"


@pytest.mark.spec("3.3")
def test_secrets_told_in_words_are_found_whole_in_every_line():
    told = lines("secrets_told.txt")
    assert min(sum(map(chinese, told)), sum(not chinese(line) for line in told)) >= 40

    left = {
        line
        for line in told
        if any(value in masked(MARK.sub(r"\1", line)) for value in MARK.findall(line))
    }

    assert left == set()


@pytest.mark.spec("3.3")
def test_ordinary_lines_about_passwords_numbers_and_code_pass():
    ordinary = lines("secrets_not.txt")
    assert min(sum(map(chinese, ordinary)), sum(not chinese(line) for line in ordinary)) >= 60

    assert [line for line in ordinary if has_secret(line)] == []


@pytest.mark.spec("3.3")
def test_without_a_model_no_told_secret_is_kept_and_whoever_told_it_hears_so(line):
    for told in lines("secrets_told.txt"):
        said = line(MARK.sub(r"\1", told))
        extracted = extract_basic([said], said.at)
        screened = screen(extracted.candidates, Sources((said,)), Preferences(), ScreenPolicy())
        kept = " ".join(candidate.content for candidate in screened.kept)

        assert not any(value in kept for value in MARK.findall(told)), told
        assert Reason.SECRET in {refused.reason for refused in screened.refused}, told


def test_a_secret_is_known_again_in_other_words(line):
    said = line("The wifi password is fjord-Tiger-42, and I like tea.")
    reworded = [Candidate(content="Home network: fjord-Tiger-42"), Candidate(content="Likes tea")]

    screened = screen(reworded, Sources((said,)), Preferences(), ScreenPolicy())

    assert [candidate.content for candidate in screened.kept] == ["Likes tea"]
    assert [refused.reason for refused in screened.refused] == [Reason.SECRET]


@pytest.mark.parametrize(
    "part", ["<a>", "a", "password ", "password is the ", "密码是", "用 x1 这个", "token: ("]
)
def test_the_search_stays_quick_on_endless_repetition(part):
    started = time.perf_counter()
    has_secret(part * 3_000)

    assert time.perf_counter() - started < 2.0
