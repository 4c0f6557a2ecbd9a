"""The pages in a real browser, against a real service on SQLite, as a person uses them."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from playwright.sync_api import expect

HOSTILE = "**b** <script>window.pwned=1</script> [c](javascript:window.pwned=1)"
BREAKS_OUT = '"><img src=x onerror=window.pwned=1>'

pytestmark = pytest.mark.timeout(180)


def row(page, content):
    return page.locator("#rows > .row", has=page.locator(".content", has_text=content))


def seen(page, *contents):
    expect(page.locator("#rows > .row .content")).to_have_text(list(contents))


@pytest.mark.spec("7")
def test_a_memory_is_added_edited_dismissed_restored_deleted_and_taken_back(service, visit):
    page = visit("ann")
    expect(page.get_by_text("Nothing is remembered yet")).to_be_visible()
    page.get_by_label("What should be remembered?").fill("喜欢茉莉花茶 👨‍👩‍👧")
    expect(page.get_by_text("8 of 500 characters")).to_be_visible()
    page.get_by_role("button", name="Add", exact=True).click()
    seen(page, "喜欢茉莉花茶 👨‍👩‍👧")
    expect(page.get_by_text("Nothing is remembered yet")).to_be_hidden()
    expect(page.locator("#add-content")).to_have_value("")
    expect(page.locator("#add-content")).to_be_focused()

    page.get_by_role("button", name="Edit:").or_(page.get_by_role("link", name="Edit:")).click()
    expect(page.get_by_label("Memory", exact=True)).to_be_focused()
    page.get_by_label("Memory", exact=True).fill("Likes jasmine tea")
    page.get_by_role("button", name="Save").click()
    seen(page, "Likes jasmine tea")

    page.get_by_role("button", name="Do not remember this again").click()
    expect(page.get_by_text("It will not be remembered again.")).to_be_visible()
    assert service.listed("ann", "dismissed") == ["Likes jasmine tea"]
    page.get_by_role("link", name=re.compile("Not used")).click()
    seen(page, "Likes jasmine tea")
    page.get_by_role("button", name="Restore:").click()
    expect(page.get_by_text("It is in use again.")).to_be_visible()
    page.get_by_role("link", name=re.compile("In use")).click()
    seen(page, "Likes jasmine tea")

    page.get_by_role("button", name="Delete:").click()
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    assert service.listed("ann") == []
    page.get_by_role("button", name="Undo").click()
    seen(page, "Likes jasmine tea")
    assert service.listed("ann") == ["Likes jasmine tea"]


@pytest.mark.spec("7")
def test_the_way_back_is_offered_for_ten_seconds(service, visit):
    service.add("ten", "Likes tea")
    page = visit("ten")
    page.clock.install()
    page.get_by_role("button", name="Delete:").click()
    page.mouse.move(0, 0)
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    page.clock.fast_forward(9_000)
    expect(undo).to_be_visible()
    page.clock.fast_forward(3_000)
    expect(undo).to_be_hidden()
    assert service.listed("ten") == []


@pytest.mark.spec("7")
def test_a_switch_stays_over_a_reload_and_means_what_it_says(service, visit):
    page = visit("bo")
    switch = page.get_by_role("switch", name="Learn from conversations")
    expect(switch).to_be_checked()
    with page.expect_response("**/switches"):
        switch.click()
    page.reload()
    expect(switch).not_to_be_checked()
    settings = service.api.get("/memory/settings", params={"user_id": "bo"}).json()
    assert settings["auto_learn"] is False


@pytest.mark.spec("7")
def test_a_conversation_captured_over_http_appears_with_its_sentences(service, visit):
    service.say("小林", "我搬到了上海。", "搬到了上海")
    page = visit("somebody", locale="zh-CN")
    page.locator(".pop > summary").click()
    page.locator("#person-id").fill("小林")
    page.get_by_role("button", name="查看").click()
    expect(row(page, "上海")).to_be_visible()
    page.get_by_text("的对话").click()
    expect(page.get_by_text("我搬到了上海。")).to_be_visible()


@pytest.mark.spec("7")
def test_search_answers_while_somebody_types_and_several_are_chosen(service, visit):
    for what in ("tea", "coffee", "cocoa"):
        service.add("many", f"Likes {what}")
    page = visit("many")
    page.get_by_role("searchbox").press_sequentially("co")
    seen(page, "Likes cocoa", "Likes coffee")
    expect(page).to_have_url(re.compile("q=co"))
    page.get_by_label("Choose: Likes cocoa").check()
    page.get_by_label("Choose: Likes coffee").check()
    page.locator("#several").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("2 done.")).to_be_visible()
    assert service.listed("many") == ["Likes tea"]
    page.locator("#notice").get_by_role("button", name="Undo").click()
    seen(page, "Likes cocoa", "Likes coffee")
    assert len(service.listed("many")) == 3


@pytest.mark.spec("7")
def test_a_row_in_which_somebody_writes_outlives_a_search(service, visit):
    for what in ("tea", "coffee", "cocoa"):
        service.add("writer", f"Likes {what}")
    page = visit("writer")
    page.get_by_role("link", name="Edit: Likes tea").click()
    page.get_by_label("Memory", exact=True).fill("Likes green tea")
    page.get_by_role("searchbox").fill("cocoa")
    expect(page.get_by_text("Likes coffee")).to_have_count(0)
    seen(page, "Likes cocoa")
    expect(page.get_by_label("Memory", exact=True)).to_have_value("Likes green tea")
    page.get_by_role("searchbox").fill("")
    seen(page, "Likes cocoa", "Likes coffee")
    expect(page.get_by_label("Memory", exact=True)).to_have_value("Likes green tea")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Likes green tea")).to_be_visible()
    expect(page.locator("#rows > .row")).to_have_count(3)
    assert service.listed("writer") == ["Likes cocoa", "Likes coffee", "Likes green tea"]


@pytest.mark.spec("7")
def test_two_tabs_that_edit_the_same_row_lose_no_change(service, visit):
    service.add("tabs", "Lives in Oslo")
    first, second = visit("tabs"), visit("tabs")
    for page, text in ((first, "Lives in Bergen"), (second, "Lives in Tromsø")):
        page.get_by_role("link", name="Edit:").click()
        page.get_by_label("Memory", exact=True).fill(text)
    first.get_by_role("button", name="Save").click()
    seen(first, "Lives in Bergen")
    second.get_by_role("button", name="Save").click()
    expect(second.get_by_role("alert").get_by_text("Lives in Bergen")).to_be_visible()
    expect(second.get_by_label("Memory", exact=True)).to_have_value("Lives in Tromsø")
    assert service.listed("tabs") == ["Lives in Bergen"]


@pytest.mark.spec("7")
def test_all_is_cleared_only_after_it_was_typed(service, visit):
    service.add("clear", "Likes tea")
    page = visit("clear")
    page.locator("summary", has_text="Clear all memories").click()
    typed = page.get_by_label("Type “clear all” to confirm")
    typed.fill("clear")
    page.get_by_role("button", name="Clear all memories").click()
    expect(page.locator("#clear .wrong")).to_contain_text("exactly")
    assert service.listed("clear") == ["Likes tea"]
    typed.fill("clear all")
    page.get_by_role("button", name="Clear all memories").click()
    expect(page.get_by_text("Nothing is remembered yet")).to_be_visible()
    assert service.listed("clear") == []


@pytest.mark.spec("7", "9")
def test_all_data_is_erased_only_after_the_name_was_typed(service, visit):
    service.add("gone", "Likes tea")
    page = visit("gone")
    page.locator("summary", has_text="Erase my data").click()
    typed = page.get_by_label("Type “gone” to confirm")
    typed.fill("Gone")
    page.get_by_role("button", name="Erase my data").click()
    expect(page.locator("#erase .wrong")).to_contain_text("Type “gone”, exactly.")
    expect(typed).to_have_value("Gone")
    assert service.listed("gone") == ["Likes tea"]
    typed.fill("gone")
    page.get_by_role("button", name="Erase my data").click()
    expect(page.get_by_role("heading", name="Everything was erased")).to_be_focused()
    assert service.api.get("/memory/export", params={"user_id": "gone"}).text == ""
    page.get_by_role("link", name="Back to my memory").click()
    expect(page.get_by_text("Nothing is remembered yet")).to_be_visible()


@pytest.mark.spec("7", "9")
def test_the_export_comes_as_a_file_and_is_complete(service, visit):
    service.say("export", "I moved to Bergen.", "Moved to Bergen")
    lines = [{"type": "memory", "content": f"喜欢第 {number} 种茶"} for number in range(60)]
    service.take_in("export", lines)  # more than one page of the list
    page = visit("export")
    with page.expect_download() as coming:
        page.get_by_role("link", name="Export my data").click()
    assert coming.value.suggested_filename == "perdure-export.jsonl"
    lines = coming.value.path().read_text("utf-8").splitlines()
    wanted = service.api.get("/memory/export", params={"user_id": "export"}).text.splitlines()
    assert lines == wanted
    kinds = Counter(json.loads(line)["type"] for line in lines)
    assert kinds["memory"] == 61
    assert kinds["message"] == 2


@pytest.mark.spec("7")
def test_why_agrees_with_the_service(service, visit):
    for content, kind in (("Likes jasmine tea", "preference"), ("Plays chess on Sundays", "fact")):
        service.add("why", content, kind=kind)
    page = visit("why", "why")
    page.get_by_label("Message").fill("Which tea should I order?")
    page.get_by_role("button", name="Explain").click()
    body = {"user_id": "why", "query": "Which tea should I order?", "explain": True}
    told = service.api.post("/memory/context", json=body).json()
    expect(page.locator(".sent")).to_have_text(told["text"])
    said = page.locator("section", has_text="Memories in it").locator(".content")
    expect(said).to_have_text([one["content"] for one in told["kept"]])
    out = page.locator("section", has_text="Left out, and why").locator(".row")
    expect(out).to_have_count(len(told["dropped"]))
    expect(out.first).to_contain_text("does not fit this question")


@pytest.mark.spec("7", "9")
def test_the_audit_refuses_whoever_may_not_read_and_says_that_looking_is_recorded(service, visit):
    service.add("seen", "Likes tea")
    assert visit("x", "audit?user_id=seen").get_by_text("This did not work").is_visible()
    page = visit("x")
    page.goto(service.link)
    page.goto(f"{service.url}/pages/audit?user_id=seen")
    expect(page.get_by_text("is recorded")).to_be_visible()
    expect(page.get_by_role("cell", name="Likes tea")).to_be_visible()
    page.get_by_text("History", exact=True).click()
    expect(page.get_by_text("created · the user")).to_be_visible()


@pytest.mark.spec("7")
@pytest.mark.case("SEC-03")
def test_nothing_in_a_memory_runs_on_any_page(service, visit):
    user = "<img src=x onerror=window.pwned=1>"
    service.add(user, HOSTILE, level="project", project=BREAKS_OUT,
                metadata={"<svg onload=window.pwned=1>": BREAKS_OUT})  # fmt: skip
    page = visit("x", admin=True)
    page.locator(".pop > summary").click()
    page.locator("#person-id").fill(user)
    page.get_by_role("button", name="Show").click()
    expect(row(page, HOSTILE)).to_be_visible()
    page.get_by_role("link", name="Edit:").click()
    expect(page.get_by_label("Memory", exact=True)).to_have_value(HOSTILE)
    page.get_by_role("button", name="Save").click()
    expect(row(page, HOSTILE)).to_be_visible()
    for path in (f"memory?q={BREAKS_OUT}", "why", "operations", f"audit?user_id={user}"):
        page.goto(f"{service.url}/pages/{path}")
        if path == "why":
            page.get_by_label("Message").fill(HOSTILE)
            page.get_by_label("In project").fill(BREAKS_OUT)
            page.get_by_role("button", name="Explain").click()
            expect(page.locator("#answer .row").first).to_be_visible()
        assert page.evaluate("window.pwned") is None
        assert page.locator("main a[href^='javascript'], main img, main script").count() == 0


def fits(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.spec("7")
@pytest.mark.parametrize("how", [
    {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}, "locale": "zh-CN"},
], ids=["light-wide-en", "dark-phone-zh"])  # fmt: skip
def test_every_page_can_be_seen_read_aloud_and_fits(service, visit, faults, how):
    for content in ("Likes jasmine tea", "https://example.org/" + "very-long-" * 30):
        if content not in service.listed("axe"):
            service.add("axe", content)
    page = visit("axe", admin=True, **how)
    service.say("axe", "I moved to Bergen.", "Moved to Bergen")
    learnt = service.find("axe", "Moved to Bergen")["id"]
    for path in (
        f"memory/{learnt}", f"audit/{learnt}?user_id=axe", "memory", "memory?status=unused",
        "why", "operations", "operations/settings", "audit?user_id=axe", "memory/nothing",
    ):  # fmt: skip
        page.goto(f"{service.url}/pages/{path}")
        if path == "memory":
            closed = page.locator("main details:not([open]) > summary")
            while closed.count():
                closed.first.click()
            page.locator("#rows .acts a").first.click()
            page.locator("form.edit").wait_for()
        if path == "why":
            page.locator("#query").fill("jasmine tea")
            page.locator("#ask button").click()
            page.locator("#answer .row").first.wait_for()
        if path == "operations/settings":
            page.locator("#capacity-active_limit").fill("many")
            page.locator("#values button").click()
            page.locator("#wrong-capacity-active_limit").wait_for()
        assert faults(page) == [], path
        if path.endswith(f"{learnt}?user_id=axe"):
            expect(page.locator(".history > li")).to_have_count(1)
        assert fits(page), path
    page.goto(f"{service.url}/pages/memory")
    page.locator("#erase-typed").evaluate("one => one.closest('details').open = true")
    page.locator("#erase-typed").fill("axe")
    page.locator("#erase button").click()
    expect(page.locator("h1[autofocus]")).to_be_focused()
    assert faults(page) == []
    assert fits(page)
