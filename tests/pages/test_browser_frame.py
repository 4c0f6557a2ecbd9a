"""My memory in a host's frame, in a browser that keeps no cookie of a third party."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def embedded(service, hosts, window):
    """Opens a host's page with a user's memories in it: ``embedded("ann", "localhost")``."""

    def embedded(user, host="127.0.0.1", *, link=None, foreign=False, **how):
        link = link or made(service, user)
        page = window(**how)
        page.goto(f"http://{host}:{hosts[foreign]}/?src={quote(link, safe='')}")
        return page, page.frame_locator("iframe")

    return embedded


def made(service, user, **query):
    reply = service.api.post(f"/users/{user}/page-link", params=query)
    assert reply.status_code == 201, reply.text
    return reply.json()["url"]


@pytest.mark.spec("7")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"], ids=["same-site", "another-site"])
def test_a_host_embeds_my_memory_and_it_works_as_in_its_own_window(service, embedded, host):
    user = f"framed-{host}"
    service.add(f"beside-{user}", "Likes coffee")
    page, inside = embedded(user, host)
    expect(inside.get_by_text("Nothing is remembered yet")).to_be_visible()
    inside.get_by_label("What should be remembered?").fill("Likes tea")
    inside.get_by_role("button", name="Add", exact=True).click()
    content = inside.locator("#rows > .row .content")
    expect(content).to_have_text(["Likes tea"])
    inside.get_by_role("link", name="Edit:").click()
    inside.get_by_label("Memory", exact=True).fill("Likes jasmine tea")
    inside.get_by_role("button", name="Save").click()
    expect(content).to_have_text(["Likes jasmine tea"])
    assert service.listed(user) == ["Likes jasmine tea"]

    inside.get_by_role("button", name="Delete:").click()
    inside.get_by_role("button", name="Undo").click()
    expect(content).to_have_text(["Likes jasmine tea"])
    inside.get_by_role("link", name="About you").click()
    expect(inside.get_by_role("link", name="About you")).to_have_attribute("aria-current", "true")
    inside.get_by_role("link", name="中文").click()
    expect(inside.get_by_role("heading", name="我的记忆")).to_be_visible()
    inside.get_by_role("switch", name="使用记忆").click()
    expect(inside.get_by_role("switch", name="使用记忆")).not_to_be_checked()
    with page.expect_download() as coming:
        inside.get_by_role("link", name="导出我的数据").click()
    assert "Likes jasmine tea" in coming.value.path().read_text("utf-8")
    assert "Likes coffee" not in coming.value.path().read_text("utf-8")
    assert inside.get_by_role("link", name="审计").count() == 0


@pytest.mark.spec("7")
def test_two_users_of_one_host_do_not_mix(service, embedded):
    ann, in_ann = embedded("mixed-ann")
    expect(in_ann.get_by_role("heading", name="My memory")).to_be_visible()
    ann.context.new_page().goto(made(service, "mixed-bo"))
    in_ann.get_by_label("What should be remembered?").fill("Likes tea")
    in_ann.get_by_role("button", name="Add", exact=True).click()
    expect(in_ann.locator("#rows .content")).to_have_text(["Likes tea"])
    assert (service.listed("mixed-ann"), service.listed("mixed-bo")) == (["Likes tea"], [])


@pytest.mark.spec("7")
def test_a_foreign_host_shows_nothing(service, embedded, window):
    page, inside = embedded("foreign", foreign=True)
    page.wait_for_load_state("networkidle")
    assert inside.locator("main").count() == 0
    assert any("frame-ancestors" in said for said in page.complaints)
    page.complaints.clear()


@pytest.mark.spec("7")
def test_a_link_that_was_used_or_altered_shows_a_plain_page(service, embedded, faults):
    used = made(service, "late")
    _, inside = embedded("late", link=used)
    expect(inside.locator("#add")).to_be_attached()
    page, inside = embedded("late", link=used)
    expect(inside.get_by_role("heading", name="This page is closed")).to_be_visible()
    assert faults(page.frames[1]) == []
    _, inside = embedded("late", link=made(service, "late")[:-9], locale="zh-CN")
    expect(inside.get_by_role("heading", name="此页面已关闭")).to_be_visible()
    assert inside.locator("form, .brand").count() == 0


@pytest.mark.spec("7")
def test_a_frame_can_be_heard_and_seen_in_the_dark_and_on_a_phone(service, embedded, faults):
    service.add("heard", "Likes tea")
    page, inside = embedded(
        "heard", color_scheme="dark", viewport={"width": 390, "height": 844}, locale="zh-CN"
    )
    expect(inside.locator("#rows .content")).to_have_text(["Likes tea"])
    assert faults(page.frames[1]) == []
