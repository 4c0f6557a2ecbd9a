"""Whoever reads a list page by page sees each row that stays once, whatever happens meanwhile."""

from __future__ import annotations

import re
from html import unescape

import httpx
import pytest

from perdure import Memory, Scope
from perdure.pages import mine
from perdure.pages.app import with_pages
from perdure.serve.app import PREFIX, create_app
from perdure.settings import Settings
from perdure.types import KeyRole

ANN = Scope(user="ann")
ROWS = 25


@pytest.fixture
def service(tmp_path, behind_a_socket):
    """A service with pages, and twenty-five memories of ann."""
    settings = Settings(embedder="none", rate_limit=0, workers=False)
    with Memory.open(tmp_path / "perdure.db", settings=settings) as memory:
        kept = [memory.items.add(ANN, f"Likes number {n}.").id for n in range(ROWS)]
        _, admin = memory.parts.keys.create("default", "ops", KeyRole.ADMIN)
        with behind_a_socket(with_pages(create_app(memory, settings))) as where:
            client = httpx.Client(base_url=where, trust_env=False, timeout=20)
            with client:
                client.cookies.set("perdure_user", "ann")
                yield client, memory, kept, {"Authorization": f"Bearer {admin}"}


def of_json(path, rows, size, **query):
    def read(client, after, page, headers):
        asked = query | {size: 8} | ({"after": after} if after else {})
        told = client.get(PREFIX + path, params=asked, headers=headers).raise_for_status().json()
        return [one.get("item_id", one["id"]) for one in told[rows]], told["next"]

    return read


def of_page(path, row, link):
    def read(client, after, page, headers):
        asked = {"user_id": "ann"} if path == "/pages/audit" else {}
        asked |= {"after": after} if after else {}
        asked |= {"page": page} if path == "/pages/audit" else {}
        told = client.get(path, params=asked, headers=headers).raise_for_status().text
        further = re.search(link, unescape(told))
        return list(dict.fromkeys(re.findall(row, told))), further and further[1]

    return read


LISTS = {
    "memories": (of_json("/memory/items", "items", "limit", user_id="ann"), False),
    "an admin's memories": (of_json("/admin/memory", "items", "page_size", user_id="ann"), True),
    "the audit": (of_json("/admin/audit", "entries", "limit", user_id="ann", operation="create"),
                  True),
    "My memory": (of_page("/pages/memory", r'id="act-(\w+)"', r"[?&]after=([\w-]+)"), False),
    "the page of the audit": (
        of_page("/pages/audit", r"/pages/audit/(\w+)\?", r"[?&]after=([\w-]+)"), True),
}  # fmt: skip


@pytest.mark.spec("6", "7")
@pytest.mark.parametrize(("read", "is_admin"), LISTS.values(), ids=LISTS)
def test_a_row_that_is_edited_before_its_page_comes_is_still_seen(
    service, monkeypatch, read, is_admin
):
    monkeypatch.setattr(mine, "_PAGE", 8)
    client, memory, kept, admin = service
    seen, after, page = [], None, 1
    while page == 1 or after is not None:
        rows, after = read(client, after, page, admin if is_admin else {})
        seen += rows
        for place in (0, ROWS // 2, ROWS - 1):  # of the last page, a middle one, and the first
            memory.items.edit(ANN, kept[place], content=f"Likes {place} after page {page}.")
        memory.items.add(ANN, f"Said after page {page}.")
        page += 1
    assert page > 2
    assert sorted(one for one in seen if one in kept) == sorted(kept)


@pytest.mark.spec("6", "11")
def test_so_it_is_in_a_desktop_file(tmp_path):
    with Memory.open(tmp_path / "memory.json", preset="desktop", workers=False) as memory:
        me = Scope(user="me")
        kept = [memory.items.add(me, f"Likes number {n}.").id for n in range(12)]
        seen, after, page = [], None, 0
        while page == 0 or after is not None:
            told = memory.items.list(me, limit=4, after=after)
            seen += [item.id for item in told]
            after, page = told.next, page + 1
            memory.items.edit(me, kept[0], content=f"Likes 0 after page {page}.")
            memory.items.add(me, f"Said after page {page}.")
        assert sorted(one for one in seen if one in kept) == sorted(kept)
