"""The pages as people meet them: long names, a narrow screen, a finger that presses twice."""

from __future__ import annotations

import time
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.timeout(180)

WORD = "Donaudampfschifffahrtsgesellschaftskapitaen" * 11
TOO_WIDE = """[...document.querySelectorAll("body *")].filter(one => !one.closest(".unheard")
    && !one.closest("thead") && one.getBoundingClientRect().right > innerWidth + 1)
    .map(one => one.outerHTML.slice(0, 80))"""


@pytest.mark.spec("7")
@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("user", ["W" * 255, "🦩" * 255], ids=["letters", "emoji"])
def test_nothing_long_makes_a_page_wider_than_its_screen(service, visit, user, width):
    if not service.listed(user):
        service.add(user, WORD)
        service.add(user, "记" * 500, level="project", project="P" * 128, kind="todo_hint")
    page = visit(quote(user, safe=""), admin=True, viewport={"width": width, "height": 800})
    for path in ("memory", "why", f"audit?user_id={quote(user, safe='')}", f"nothing/{WORD}"):
        page.goto(f"{service.url}/pages/{path}")
        page.evaluate("document.querySelectorAll('main details').forEach(one => one.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
        assert page.evaluate(TOO_WIDE) == [], path


@pytest.mark.spec("7")
def test_all_that_an_audit_tells_is_in_sight_on_a_phone(service, visit, faults):
    service.add("ann-on-a-phone", "Likes jasmine tea without milk", kind="preference")
    page = visit(
        "x", "audit?user_id=ann-on-a-phone", admin=True, viewport={"width": 390, "height": 844}
    )
    for words in ("Likes jasmine tea", "Preference", "In use", "Manual"):
        expect(page.locator("td", has_text=words)).to_be_in_viewport(ratio=1)
    expect(page.locator("td time")).to_be_in_viewport(ratio=1)
    assert faults(page) == []


@pytest.mark.spec("7")
def test_pressing_twice_while_the_service_is_slow_does_it_once(service, visit):
    page, sent = visit("twice"), []

    def slowly(route):
        if route.request.method == "POST":
            sent.append(route.request.url)
            time.sleep(0.5)
        route.continue_()

    page.route("**/pages/**", slowly)
    page.get_by_label("What should be remembered?").fill("Likes tea")
    page.get_by_role("button", name="Add", exact=True).dblclick()
    expect(page.locator("#rows .content")).to_have_text(["Likes tea"])
    expect(page.locator("#add .wrong")).to_have_text([""])
    page.get_by_role("button", name="Delete:").dblclick()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert len(sent) == 2
    assert "no such thing" not in page.locator("#notice").inner_text()
    assert service.listed("twice") == []
