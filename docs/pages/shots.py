"""Makes the pictures of the pages: a service of its own, made-up people, both languages.

python docs/pages/shots.py            # the pictures of the documents, into docs/pages
python docs/pages/shots.py FOLDER     # every page, width, theme and language, to look at; also
                                      # what is empty, wrong, closed, or in a frame
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from perdure import Memory
from perdure.settings import Settings
from perdure.types import JobType, Promise

HERE = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
PEOPLE = {"en": "ann", "zh": "小林"}
SAID = {
    "en": ("I am allergic to peanuts.", "I moved to Bergen.", "I prefer short answers."),
    "zh": ("我对花生过敏。", "我搬到了上海。", "我喜欢简短的回答。"),
}
WRITTEN = {
    "en": [
        ("Answer in British English.", "constraint", None),
        ("Tests run with make test before every commit.", "constraint", "fjord-guide"),
        ("Wants to book a table for Saturday.", "todo_hint", None),
        ("Likes jasmine tea without milk.", "preference", None),
    ],
    "zh": [
        ("回答时请使用简体中文。", "constraint", None),
        ("每次提交前先运行 make test。", "constraint", "fjord-guide"),
        ("打算订周六的餐位。", "todo_hint", None),
        ("喜欢不加奶的茉莉花茶。", "preference", None),
    ],
}
QUESTION = {"en": "Which tea should I order?", "zh": "我该点什么茶？"}


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str]]:
    """A service with an empty database; gives its address, and the link of its first start."""
    environment = {
        **os.environ,
        "PERDURE_EMBEDDER": "none",
        "PERDURE_EMBED_ORIGINS": "https://app.example",
        "PERDURE_EMBED_SECRET": "only for pictures, 32 characters",
    }
    command = [Path(sys.executable).parent / "perdure", "serve", "--port", "0", "--json"]
    with subprocess.Popen(  # noqa: S603 - our own command line
        command, cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None  # noqa: S101 - it was asked for
            told = json.loads(process.stdout.readline())
            yield told["url"], told["link"]
        finally:
            process.terminate()


def fill(url: str) -> None:
    """Two people who have told and written something."""
    with httpx.Client(base_url=f"{url}/api/v1", trust_env=False, timeout=30) as api:
        for tongue, user in PEOPLE.items():
            for number, line in enumerate(SAID[tongue]):
                api.post(
                    f"/conversations/chat-{number}/turns",
                    json={
                        "user_id": user,
                        "messages": [
                            {"role": "user", "content": line},
                            {"role": "assistant", "content": "OK."},
                        ],
                    },
                ).raise_for_status()
            for content, kind, project in WRITTEN[tongue]:
                place = {"level": "project", "project": project} if project else {}
                body = {"user_id": user, "content": content, "kind": kind, **place}
                api.post("/memory/items", json=body).raise_for_status()
        time.sleep(3)


def let_die(folder: Path) -> None:
    """A job that died, as a worker would write it."""
    settings = Settings(embedder="none", workers=False)
    with Memory.open(folder / "perdure.db", settings=settings) as memory:
        at = memory.parts.clock()
        dead = Promise(type=JobType.CLEANUP, namespace="default", user="ann", key="shown",
                       payload={}, trace="t", max_retry=5)  # fmt: skip
        with memory.parts.database.begin() as tx:
            tx.jobs.promise(dead, at)
            taken = tx.jobs.claim(at, 60, [JobType.CLEANUP])
            assert taken is not None  # noqa: S101 - it was just promised
            tx.jobs.bury(taken, "model_unavailable: The model endpoint does not answer.", at)


def shoot(browser: Browser, url: str, link: str, folder: Path, *, every: bool) -> None:
    """Each page in each language; every width and theme too, where that is wanted."""
    for tongue, user in PEOPLE.items():
        for width in (1280, 390) if every else (1280,):
            for theme in ("light", "dark") if every else ("light",):
                context = browser.new_context(
                    viewport={"width": width, "height": 900},
                    color_scheme="dark" if theme == "dark" else "light",
                    locale="zh-CN" if tongue == "zh" else "en-GB",
                )
                page = context.new_page()
                page.goto(link)
                sign(page, url, user)
                for name in (*SHOWN, *LOOKED_AT) if every else SHOWN:
                    visit(page, url, name, tongue)
                    ending = f"-{width}-{theme}" if every else ""
                    page.screenshot(path=folder / f"{name}-{tongue}{ending}.png", full_page=True)
                context.close()


def sign(page: Page, url: str, user: str) -> None:
    """Look after the memories of this user."""
    page.goto(f"{url}/pages/memory")
    page.locator(".pop > summary").click()
    page.locator("#person-id").fill(user)
    page.locator("#person button").click()
    page.wait_for_url("**/pages/memory")


def visit(page: Page, url: str, name: str, tongue: str) -> None:
    """Open a page and let it show something."""
    user = PEOPLE[tongue]
    page.goto(f"{url}/pages/{(SHOWN | LOOKED_AT)[name].format(user=user)}")
    if name in DOES:
        DOES[name](page, url, tongue)


def ask(page: Page, _: str, tongue: str) -> None:
    """Why: a question."""
    page.locator("#query").fill(QUESTION[tongue])
    page.locator("#ask button").click()
    page.locator(".sent").wait_for()


def open_all(page: Page, _: str, __: str) -> None:
    """My memory: every part open, one row as a form, another one deleted, a word mistyped."""
    page.locator("#rows .acts a").nth(1).click()
    page.locator("form.edit").wait_for()
    closed = page.locator("main details:not([open]) > summary")
    while closed.count():
        closed.first.click()
    page.locator("#add-content").fill("茶" * 501)
    page.locator("#add button").click()
    page.locator("#add-wrong:not(:empty)").wait_for()
    page.locator("#erase-typed").fill("x")
    page.locator("#erase button").click()
    page.locator("#erase .wrong:not(:empty)").wait_for()
    page.locator("#rows input[name=chosen]").first.check()


def take_away(page: Page, _: str, __: str) -> None:
    """My memory: a row that is gone for the moment, and back again."""
    page.locator("#rows .acts .danger").last.click()
    page.locator("[id^=undo-]").wait_for()


def give_back(page: Page, url: str, tongue: str) -> None:
    """What was taken away for the picture before, back in its place."""
    page.goto(f"{url}/pages/memory")
    with httpx.Client(base_url=f"{url}/api/v1", trust_env=False) as api:
        asked = {"user_id": PEOPLE[tongue], "status": "deleted"}
        for item in api.get("/memory/items", params=asked).json()["items"]:
            api.post(f"/memory/items/{item['id']}/restore", json={"user_id": PEOPLE[tongue]})


def mistake(page: Page, _: str, __: str) -> None:
    """Settings: two values that cannot be meant."""
    page.locator("#capacity-active_limit").fill("many")
    page.locator("#cost-user_month").fill("-1")
    page.locator("#values button").click()
    page.locator("#wrong-cost-user_month:not(:empty)").wait_for()


def enter(page: Page, url: str, tongue: str) -> None:
    """The frame of a host, without the host."""
    with httpx.Client(base_url=f"{url}/api/v1", trust_env=False) as api:
        made = api.post(f"/users/{PEOPLE[tongue]}/page-link").json()
    page.goto(made["url"])


def be_new(page: Page, url: str, _: str) -> None:
    """My memory of somebody of whom nothing is known."""
    page.context.clear_cookies(name="perdure_user")
    page.goto(f"{url}/pages/memory")


def be_nobody(page: Page, url: str, _: str) -> None:
    """A page of admins for whoever is none."""
    page.context.clear_cookies(name="perdure_key")
    page.goto(f"{url}/pages/audit")


SHOWN: Mapping[str, str] = {
    "memory": "memory",
    "why": "why",
    "operations": "operations",
    "settings": "operations/settings",
    "audit": "audit?user_id={user}",
}
LOOKED_AT: Mapping[str, str] = {
    "memory-open": "memory",
    "memory-gone": "memory",
    "memory-back": "memory",
    "memory-unused": "memory?status=unused",
    "memory-nothing": "memory?q=zebra",
    "settings-wrong": "operations/settings",
    "audit-nobody": "audit?user_id=nobody",
    "missing": "memory/nothing",
    "frame": "memory",
    "frame-closed": "in/nothing?link=x",
    "memory-empty": "memory",
    "sign-in": "audit",
}
DOES: Mapping[str, Callable[[Page, str, str], None]] = {
    "why": ask,
    "memory-open": open_all,
    "memory-gone": take_away,
    "memory-back": give_back,
    "settings-wrong": mistake,
    "frame": enter,
    "memory-empty": be_new,
    "sign-in": be_nobody,
}


def main() -> None:
    """Make the pictures."""
    every = len(sys.argv) > 1
    folder = Path(sys.argv[1]) if every else HERE
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, served(Path(place)) as (url, link):
        fill(url)
        let_die(Path(place))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            shoot(browser, url, link, folder, every=every)
            browser.close()


if __name__ == "__main__":
    main()
