"""My memory in a host's frame, without a browser: one user, one link, one time, named hosts."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

import jwt
import pytest

from perdure import Scope
from perdure.settings import Secret

HOME = "https://127.0.0.1"
OURS = {"Origin": HOME}
HOST = "https://app.example"
SIGNS = "a secret of forty characters, or a few more"
ANN, BO = Scope(user="ann"), Scope(user="bo")


@pytest.fixture
def framed(opened):
    """Pages that one host may show in a frame."""
    return opened(
        home=HOME, embed_origins=(HOST, "http://localhost:3000"), embed_secret=Secret(SIGNS)
    )


def link(pages, user="ann", **query):
    made = pages.post(f"/api/v1/users/{user}/page-link", params=query)
    assert made.status_code == 201, made.text
    return made.json()["path"]


def enter(pages, user="ann"):
    """Follow a new link; where the frame lies."""
    path = link(pages, user)
    reply = pages.get(path)
    assert reply.status_code == 303, reply.text
    return urlsplit(path).path


@pytest.mark.spec("7")
def test_a_link_opens_one_users_memories_and_nobody_elses(framed):
    framed.remember("Likes tea", "ann")
    other = framed.remember("Likes coffee", "bo")
    place = enter(framed)

    shown = framed.get(f"{place}/memory").text
    assert "Likes tea" in shown
    assert "Likes coffee" not in shown
    assert framed.get(f"{place}/memory/{other.id}").status_code == 404
    done = {"do": "delete", "shown": other.updated_at.isoformat()}
    assert framed.post(f"{place}/memory/{other.id}", data=done, headers=OURS).status_code == 404
    framed.cookies.set("perdure_user", "bo")
    assert "Likes coffee" not in framed.get(f"{place}/memory").text
    assert [m.content for m in framed.memory.items.list(BO)] == ["Likes coffee"]


@pytest.mark.spec("7")
def test_in_a_frame_memories_are_added_changed_and_taken_along_and_nothing_leads_out(framed):
    place = enter(framed)
    added = {"content": "Likes tea", "kind": "preference"}
    reply = framed.post(f"{place}/memory", data=added, headers=OURS)
    assert reply.headers["location"] == f"{place}/memory"
    (item,) = framed.memory.items.list(ANN)
    edit = {"content": "Likes jasmine tea", "kind": "preference", "shown": ""}
    framed.post(f"{place}/memory/{item.id}/edit", data=edit, headers=OURS)
    assert [m.content for m in framed.memory.items.list(ANN)] == ["Likes jasmine tea"]
    assert "Likes jasmine tea" in framed.get(f"{place}/export").text
    inside = framed.get(f"{place}/memory").text
    for where in re.findall(r'(?:href|action|hx-get|hx-post)="([^"#]*)"', inside):
        assert where.startswith((f"{place}/", "/pages/static/", "?lang=")), where
    for path in ("why", "operations", "audit", "person", "key", "leave"):
        assert framed.get(f"{place}/{path}").status_code == 404
        assert framed.post(f"{place}/{path}", headers=OURS).status_code == 404


@pytest.mark.spec("7")
def test_only_named_hosts_may_show_a_frame_and_nobody_any_other_page(framed, opened):
    place = enter(framed)
    ancestors = "frame-ancestors https://app.example http://localhost:3000"
    for path in (f"{place}/memory", f"{place}/memory/nothing", f"{place}/export",
                 "/pages/in/unknown?link=x", "/pages/in/unknown/memory"):  # fmt: skip
        assert framed.get(path).headers["content-security-policy"].endswith(ancestors), path
    for path in ("memory", "why", "audit", "memory/nothing"):
        policy = framed.get(f"/pages/{path}").headers["content-security-policy"]
        assert policy.endswith("frame-ancestors 'none'")
    nobody = opened().get("/pages/in/unknown?link=x")
    assert nobody.headers["content-security-policy"].endswith("frame-ancestors 'none'")


@pytest.mark.spec("7")
def test_what_keeps_a_frame_open_is_no_third_partys_cookie(framed):
    path = link(framed)
    kept = framed.get(path).headers["set-cookie"]
    for sign in ("Partitioned", "SameSite=None", "Secure", "HttpOnly", "Max-Age=3600",
                 f"Path={urlsplit(path).path};"):  # fmt: skip
        assert sign in kept


def closed(reply, language="en"):
    said = {"en": "This page is closed", "zh": "此页面已关闭"}[language]
    return reply.status_code == 401 and said in reply.text and 'action="' not in reply.text


@pytest.mark.spec("7")
def test_a_link_opens_once_but_again_in_the_browser_that_used_it(framed):
    path = link(framed, language="zh")
    assert framed.get(path).status_code == 303
    assert framed.get(path).status_code == 303
    assert '<html lang="zh-CN">' in framed.get(f"{urlsplit(path).path}/memory").text
    framed.cookies.clear()
    assert closed(framed.get(path), "zh")
    framed.cookies.clear()
    assert closed(framed.get(path.removesuffix("&lang=zh")))


@pytest.mark.spec("7", "9")
@pytest.mark.parametrize(("language", "said"), [("en", "All of your data was erased."),
                                                ("zh", "您的所有数据已被抹除。")])  # fmt: skip
def test_an_erasure_ends_a_frame_that_is_open_and_a_new_link_opens_one(framed, language, said):
    framed.remember("Likes tea", "ann")
    place = enter(framed)
    beside = enter(framed, "bo")
    unused = link(framed)
    asking = {"Accept-Language": language}

    framed.memory.erase(ANN, by="app")

    late = framed.get(f"{place}/memory", headers=asking)
    assert closed(late, language)
    assert said in late.text
    sent = {"content": "Likes coffee", "kind": "fact"}
    about = OURS | {"HX-Request": "true", "HX-Source": "form#add"} | asking
    refused = framed.post(f"{place}/memory", data=sent, headers=about)
    assert (refused.status_code, said in refused.text) == (401, True)
    assert closed(framed.get(unused, headers=asking), language)
    assert len(framed.memory.items.list(ANN)) == 0
    assert framed.get(f"{beside}/memory").status_code == 200

    again = enter(framed)
    assert framed.get(f"{again}/memory").status_code == 200
    framed.post(f"{again}/memory", data=sent, headers=OURS)
    assert [m.content for m in framed.memory.items.list(ANN)] == ["Likes coffee"]
    framed.memory.erase(ANN, by="app")
    assert closed(framed.get(f"{again}/memory"))


@pytest.mark.spec("7", "9")
def test_a_frame_opened_while_an_erasure_is_under_way_ends_with_it(framed):
    """The process died in between; the next request to erase brings it to its end."""
    eraser = framed.memory.parts.eraser
    with framed.memory.parts.database.begin(ANN) as tx:
        eraser._begun(tx, ANN, "app")
    place = enter(framed)
    assert framed.get(f"{place}/memory").status_code == 200
    framed.memory.erase(ANN, by="app")
    assert closed(framed.get(f"{place}/memory"))


@pytest.mark.spec("7")
@pytest.mark.parametrize(
    "user",
    [
        "🦩" * 255, "林" * 255, "\x01" * 255, '"' * 255, "O'Neil \"Ann\" <a&b>", "a/b?c#d",
        "小林 ☕ ; ,",
    ],
    ids=["emoji", "Chinese", "controls", "quotes", "markup", "marks", "mixed"],
)  # fmt: skip
def test_a_frame_opens_for_whatever_a_user_is_called(opened, user):
    """A browser drops a cookie of more than 4,096 bytes, name and value together."""
    space = "🦩" * 64
    pages = opened(
        home=HOME, embed_origins=(HOST,), embed_secret=Secret(SIGNS),
        api_keys=(Secret(f"{space}=open sesame"),),
    )  # fmt: skip
    key = {"Authorization": "Bearer open sesame"}
    made = pages.post(f"/api/v1/users/{quote(user, safe='')}/page-link", headers=key)
    path = made.json()["path"]
    reply = pages.get(path)
    assert len(reply.headers["set-cookie"].partition(";")[0].encode()) <= 4_096
    place = urlsplit(path).path
    added = {"content": "Likes tea", "kind": "preference"}
    assert pages.post(f"{place}/memory", data=added, headers=OURS).status_code == 303
    assert "Likes tea" in pages.get(f"{place}/memory").text
    kept = pages.memory.items.list(Scope(namespace=space, user=user))
    assert [m.content for m in kept] == ["Likes tea"]
    gone = pages.post(f"{place}/erase", data={"typed": user}, headers=OURS)
    assert gone.status_code == 200, gone.text
    assert closed(pages.get(f"{place}/memory"))


@pytest.mark.spec("7")
def test_a_link_that_was_used_stays_used_once_its_user_is_erased(framed):
    path = link(framed)
    assert framed.get(path).status_code == 303

    framed.memory.erase(ANN, by="app")
    framed.cookies.clear()

    assert closed(framed.get(path))
    assert set(framed.memory.erasure(ANN).found.values()) == {0}


@pytest.mark.spec("7")
def test_a_link_that_expired_or_was_altered_opens_nothing(framed):
    first, second = link(framed, "ann"), link(framed, "bo")
    words = {path: path.partition("link=")[2] for path in (first, second)}
    body = jwt.decode(words[first], SIGNS, ["HS256"], audience="perdure page link")
    forged = (
        jwt.encode({**body, "sub": "bo"}, "x" * 40, "HS256"),
        jwt.encode({**body, "aud": "perdure page session"}, SIGNS, "HS256"),
        jwt.encode({**body, "sub": "bo"}, "", "none"),
        words[first][:-3], words[second], "", "é", "a.b.c",
    )  # fmt: skip
    place = urlsplit(first).path
    for one in forged:
        assert closed(framed.get(place, params={"link": one})), one
    framed.wait(minutes=6)
    assert closed(framed.get(first))
    assert not framed.cookies


@pytest.mark.spec("7")
def test_a_frame_closes_after_its_time_and_says_so_beside_the_form(framed):
    place = enter(framed)
    framed.wait(minutes=59)
    assert framed.get(f"{place}/memory").status_code == 200
    framed.wait(minutes=2)
    assert closed(framed.get(f"{place}/memory"))
    sent = {"content": "Likes tea", "kind": "fact"}
    about = OURS | {"HX-Request": "true", "HX-Source": "form#add"}
    late = framed.post(f"{place}/memory", data=sent, headers=about)
    assert (late.status_code, late.headers["hx-retarget"]) == (401, "#add .wrong")
    assert "Copy what you wrote" in late.text
    assert enter(framed) != place
    assert len(framed.memory.items.list(ANN)) == 0


@pytest.mark.spec("7")
def test_nothing_else_opens_a_frame_and_a_frame_opens_nothing_else(opened):
    pages = opened(
        home=HOME, embed_origins=(HOST,), embed_secret=Secret(SIGNS),
        api_keys=(Secret("default=open sesame"),), token_secret=Secret(SIGNS),
    )  # fmt: skip
    key = {"Authorization": "Bearer open sesame"}
    path = pages.post("/api/v1/users/ann/page-link", headers=key).json()["path"]
    place, words = urlsplit(path).path, path.partition("link=")[2]
    pages.get(path)
    (session,) = [cookie.value for cookie in pages.cookies.jar]
    pages.cookies.clear()
    pages.cookies.set("perdure_key", "open sesame")
    assert closed(pages.get(f"{place}/memory"))
    pages.cookies.clear()
    token = jwt.encode({"sub": "ann", "ns": "default", "exp": 4_000_000_000}, SIGNS, "HS256")
    pages.cookies.set("perdure_frame", token)
    assert closed(pages.get(f"{place}/memory"))
    pages.cookies.clear()
    for sent in (session, words):
        asked = pages.get("/api/v1/memory/items", headers={"Authorization": f"Bearer {sent}"})
        assert asked.status_code == 401
    pages.cookies.set("perdure_frame", session)
    assert closed(pages.get("/pages/in/another/memory"))
    assert pages.get("/pages/memory").status_code == 401


@pytest.mark.spec("7")
def test_what_another_page_sends_into_a_frame_is_refused(framed):
    place = enter(framed)
    form = {"content": "Planted", "kind": "fact"}
    for headers in ({}, {"Origin": HOST}, {"Origin": "null"},
                    {"Origin": HOME, "Sec-Fetch-Site": "cross-site"}):  # fmt: skip
        assert framed.post(f"{place}/memory", data=form, headers=headers).status_code == 403
    assert len(framed.memory.items.list(ANN)) == 0


@pytest.mark.spec("7")
def test_users_of_one_browser_have_frames_of_their_own(framed):
    framed.remember("Likes tea", "ann")
    framed.remember("Likes coffee", "bo")
    first, second = enter(framed, "ann"), enter(framed, "bo")
    assert "Likes tea" in framed.get(f"{first}/memory").text
    assert "Likes coffee" in framed.get(f"{second}/memory").text
    framed.post(f"{first}/memory", data={"content": "New", "kind": "fact"}, headers=OURS)
    assert len(framed.memory.items.list(ANN)) == 2
    assert len(framed.memory.items.list(BO)) == 1
