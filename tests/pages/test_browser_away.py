"""A service that goes away while forms are filled, and a file that keeps nothing deleted."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from perdure import Memory, Scope
from perdure.pages.app import with_pages
from perdure.serve.app import create_app
from perdure.settings import Settings, load

pytestmark = pytest.mark.timeout(180)
ME = Scope(user="me")
LOST = "Nothing you wrote is lost"


@contextmanager
def opened(listening, where, port=0, settings=None):
    """A service over a file; gives its memory and its port."""
    settings = settings or Settings(embedder="none", workers=False)
    with (
        Memory.open(where, settings=settings) as memory,
        listening(with_pages(create_app(memory, settings)), port) as taken,
    ):
        yield memory, taken


@pytest.mark.spec("7")
def test_a_form_keeps_its_text_while_the_service_is_away_and_works_when_it_is_back(
    listening, tmp_path, window
):
    file = tmp_path / "perdure.db"
    page = window()
    with opened(listening, file) as (memory, port):
        memory.items.add(ME, "Lives in Oslo")
        page.goto(f"http://127.0.0.1:{port}/pages/memory")
        page.locator("summary", has_text="Add a memory").click()
        page.get_by_label("What should be remembered?").fill("Likes tea")
        page.get_by_role("link", name="Edit:").click()
        page.get_by_label("Memory", exact=True).fill("Lives in Bergen")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#add-wrong")).to_contain_text(LOST)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("form.edit p.wrong")).to_contain_text(LOST)
    switch = page.get_by_role("switch", name="Use memory")
    switch.click()
    expect(page.locator("#switch-memory_enabled .wrong")).to_contain_text(LOST)
    expect(switch).to_be_checked()
    page.get_by_role("searchbox").fill("oslo")
    expect(page.locator("#find .wrong")).to_contain_text(LOST)
    with page.expect_event("requestfailed"):  # or the list would come anew once it is back
        page.get_by_role("searchbox").fill("")
    expect(page.get_by_label("What should be remembered?")).to_have_value("Likes tea")
    expect(page.get_by_label("Memory", exact=True)).to_have_value("Lives in Bergen")
    with opened(listening, file, port) as (memory, _):
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.locator("#rows .content")).to_contain_text(["Likes tea"])
        expect(page.locator("#add-wrong")).to_be_empty()
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#rows .content")).to_have_text(["Likes tea", "Lives in Bergen"])
        said = {item.content for item in memory.items.list(ME)}
        assert said == {"Likes tea", "Lives in Bergen"}
        assert memory.preferences.get(ME).memory_enabled


@pytest.mark.spec("7", "11")
def test_a_desktop_file_offers_no_way_back_that_it_does_not_have(listening, tmp_path, window):
    settings = load({"PERDURE_PRESET": "desktop"}).but(workers=False)
    page = window()
    file = tmp_path / "memory.json"
    with opened(listening, file, settings=settings) as (memory, port):
        for content in ("Likes tea", "Likes coffee", "Likes cocoa"):
            memory.items.add(ME, content)
        page.goto(f"http://127.0.0.1:{port}/pages/memory")
        page.get_by_role("button", name="Delete: Likes tea").click()
        expect(page.locator("#rows")).to_contain_text("Deleted. It cannot be taken back here.")
        page.get_by_label("Choose: Likes coffee").check()
        page.locator("#several").get_by_role("button", name="Delete").click()
        expect(page.locator("#notice")).to_contain_text("1 done. It cannot be taken back here.")
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)
        page.get_by_role("button", name="Dismiss").first.click()
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#rows")).to_contain_text("Likes cocoa")
        assert [item.content for item in memory.items.list(ME)] == ["Likes cocoa"]
