"""My memory as each preset has it: what a switch means, what may be limited, what a row says."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from perdure import Message, Scope
from perdure.policy import ASSISTANT, DESKTOP, PRESETS, TEAM
from perdure.ports import AuditFilter
from perdure.settings import Secret
from perdure.types import Permission, ReceiptState

ME = Scope(user="me")
OURS = {"Origin": "http://127.0.0.1"}
SAME = {"Origin": "https://127.0.0.1"}
ASKED = {
    "en": "Off: only what you add here or ask for in a conversation is remembered",
    "zh": "只记住您在这里添加或在对话中明确要求的内容",
}
ALONE = {
    "en": "Off: nothing is learnt from them, whatever you ask for there.",
    "zh": "关闭后，不从对话中学习，您在对话中要求记住的也不会记住。",
}
LONG = "Remember that I like jasmine tea without milk. 请记住我喜欢茉莉花茶。" * 100

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def desktop(opened, listening, window):
    """Opens My memory of a desktop in a browser: ``page, pages = desktop(may_set=True)``."""
    with ExitStack() as running:

        def start(*, may_set=True, **how):
            pages = opened(policy=DESKTOP)
            here = f"http://127.0.0.1:{running.enter_context(listening(pages.app))}"
            page = window(**how)
            if may_set:
                kept = {"name": "perdure_key", "value": setter(pages)[1], "url": here}
                page.context.add_cookies([kept])
            page.goto(f"{here}/pages/memory")
            return page, pages

        yield start


def setter(pages):
    """Who may set run-time values, and their key."""
    permissions = [Permission.SETTINGS_WRITE]
    return pages.memory.parts.keys.create("default", "ops", "admin", permissions, by="test")


@pytest.mark.spec("7", "8")
@pytest.mark.parametrize("tongue", ["en", "zh"])
@pytest.mark.parametrize("preset", PRESETS)
def test_the_switch_promises_what_happens_with_learning_off(opened, preset, tongue):
    pages = opened(policy=PRESETS[preset])
    pages.memory.preferences.set(ME, auto_learn=False)
    taken = pages.memory.capture(
        ME, "chat-1", [Message("user", LONG), Message("assistant", "Noted.")]
    )
    learns = taken.state is not ReceiptState.SKIPPED
    assert learns is PRESETS[preset].learn.explicit_when_off
    shown = pages.get(f"/pages/memory?lang={tongue}").text
    assert ((ASKED if learns else ALONE)[tongue] in shown) is True
    assert ((ALONE if learns else ASKED)[tongue] in shown) is False
    switched = pages.send_form("switches", {"name": "auto_learn", "on": "on"})
    assert (ASKED if learns else ALONE)[tongue] in switched.text


@pytest.mark.spec("3.6", "7")
@pytest.mark.parametrize(
    ("tongue", "label", "save", "saved", "wrong"),
    [
        ("en-GB", "How many memories are kept", "Save", "Saved.", "Expected 10 to 1,000."),
        ("zh-CN", "保留多少条记忆", "保存", "已保存。", "应在 10 到 1,000 之间。"),
    ],
    ids=["en", "zh"],
)
def test_a_desktop_person_sets_how_many_memories_are_kept(  # noqa: PLR0917 - words of a language
    desktop, faults, tongue, label, save, saved, wrong
):
    page, pages = desktop(locale=tongue)
    field = page.get_by_label(label, exact=True)
    expect(field).to_have_value("100")
    for typed in ("9", "1001", "many", ""):
        field.fill(typed)
        with page.expect_response("**/limit") as reply:
            page.locator("#limit").get_by_role("button", name=save).click()
        assert reply.value.status == 422
        expect(page.locator("#limit .wrong")).to_contain_text(wrong)
        expect(field).to_have_value(typed)
    assert faults(page) == []
    assert pages.memory.parts.policy_of("default").capacity.active_limit == 100
    field.fill("10")
    page.locator("#limit").get_by_role("button", name=save).click()
    expect(page.locator("#limit").get_by_role("status")).to_have_text(saved)
    expect(page.locator("#limit .wrong")).to_have_text("")
    page.reload()
    expect(field).to_have_value("10")
    for number in range(11):
        pages.remember(f"第 {number} 条")
    assert pages.memory.parts.runtime.values("default") == {"capacity.active_limit": 10}
    kept = [m.content for m in pages.memory.items.list(ME) if m.status == "active"]
    assert kept == [f"第 {number} 条" for number in range(10, 0, -1)]


@pytest.mark.spec("7", "9")
def test_whoever_may_not_set_the_limit_reads_it(desktop):
    page, pages = desktop(may_set=False)
    field = page.get_by_label("How many memories are kept")
    expect(field).to_have_value("100")
    expect(field).not_to_be_editable()
    assert page.locator("#limit button").count() == 0
    assert pages.send_form("limit", {"limit": "50"}, source="limit").status_code in (401, 403)
    assert pages.memory.parts.runtime.values("default") == {}


@pytest.mark.spec("7", "9")
def test_in_a_frame_the_limit_is_only_read(opened):
    pages = opened(home="https://127.0.0.1", policy=DESKTOP, embed_secret=Secret("s" * 40),
                   embed_origins=("https://app.example",))  # fmt: skip
    pages.cookies.set("perdure_key", setter(pages)[1])
    place = urlsplit(pages.post("/api/v1/users/ann/page-link", headers=SAME).json()["path"])
    assert pages.get(f"{place.path}?{place.query}").status_code == 303
    shown = pages.get(f"{place.path}/memory").text
    assert re.search(r'<input id="limit-number"[^>]* readonly>', shown)
    sent = pages.post(f"{place.path}/limit", data={"limit": "50"}, headers=SAME)
    assert sent.status_code == 404
    assert pages.memory.parts.runtime.values("default") == {}


@pytest.mark.spec("7", "9")
def test_who_set_the_limit_is_in_the_audit(opened):
    pages = opened(policy=DESKTOP)
    key, secret = setter(pages)
    pages.cookies.set("perdure_key", secret)
    plain = pages.post("/pages/limit", data={"limit": "1000"}, headers=OURS)
    assert plain.headers["location"] == "/pages/memory"
    found = pages.memory.parts.audit.page("default", AuditFilter(item="capacity.active_limit"))
    (entry,) = found.entries
    assert (entry.after, entry.by) == ("1000", f"key:{key.id}")


@pytest.mark.spec("7")
@pytest.mark.parametrize("policy", [ASSISTANT, TEAM], ids=["assistant", "team"])
def test_other_presets_have_no_limit_of_a_persons_own(opened, policy):
    pages = opened(policy=policy)
    _, secret = setter(pages)
    pages.cookies.set("perdure_key", secret)
    pages.remember("Likes tea")
    shown = pages.get("/pages/memory").text
    assert 'id="limit"' not in shown
    assert "Where from" not in shown
    assert pages.send_form("limit", {"limit": "50"}, source="limit").status_code == 404
    assert pages.memory.parts.runtime.values("default") == {}


@pytest.mark.spec("7", "11")
def test_a_desktop_row_says_global_or_how_its_conversation_begins(desktop):
    page, pages = desktop(may_set=False)
    pages.remember("Likes tea")
    for number, conversation in enumerate(("chat-1234567", "global", "茶馆里的闲聊与往事")):
        made = pages.remember(f"Likes {number}")
        with pages.memory.parts.database.begin(ME) as tx:
            origin = replace(made.origin, conversation=conversation)
            assert tx.items.put(replace(made, origin=origin))
    for tongue, places in (
        ("en", ["茶馆里的闲聊与往", "global", "chat-123", "global"]),
        ("zh", ["茶馆里的闲聊与往", "全局", "chat-123", "全局"]),
    ):
        page.goto(f"{page.url.partition('?')[0]}?lang={tongue}")
        name = {"en": "Where from: ", "zh": "来源："}[tongue]
        cells = page.locator("#rows .about > span", has_text=name)
        expect(cells).to_have_text([f"{name}{place}" for place in places])
