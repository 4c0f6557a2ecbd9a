"""Makes the pictures of the pages: a service of its own, made-up people, both languages.

python docs/pages/shots.py            # the pictures of the documents, into docs/pages
python docs/pages/shots.py FOLDER     # every page, width, theme and language, to look at
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

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
    environment = {**os.environ, "PERDURE_EMBEDDER": "none"}
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
                for name in ("memory", "why", "operations", "audit"):
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
    ask = f"?user_id={PEOPLE[tongue]}" if name == "audit" else ""
    page.goto(f"{url}/pages/{name}{ask}")
    if name == "why":
        page.locator("#query").fill(QUESTION[tongue])
        page.locator("#ask button").click()
        page.locator(".sent").wait_for()


def main() -> None:
    """Make the pictures."""
    every = len(sys.argv) > 1
    folder = Path(sys.argv[1]) if every else HERE
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, served(Path(place)) as (url, link):
        fill(url)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            shoot(browser, url, link, folder, every=every)
            browser.close()


if __name__ == "__main__":
    main()
