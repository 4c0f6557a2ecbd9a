"""The pages in this process, asked as a browser asks; searches by words, to be quick."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from starlette.testclient import TestClient

from perdure import Memory, Scope
from perdure.pages.app import with_pages
from perdure.serve.app import create_app
from perdure.settings import Settings

HOME = "http://127.0.0.1"
HTMX = {"Origin": HOME, "HX-Request": "true"}


class Pages(TestClient):
    """A browser without a screen, and the memory behind the pages."""

    memory: Memory

    def send_form(self, path, form, *, source=None, **headers):
        """Post a form as the script does."""
        about = {} if source is None else {"HX-Source": f"form#{source}"}
        return self.post(f"/pages/{path}", data=form, headers=HTMX | about | headers)

    def remember(self, content, user="me", **about):
        return self.memory.items.add(Scope(user=user), content, **about)


@pytest.fixture
def opened(tmp_path):
    """Opens pages: ``opened(api_keys=...)``."""
    with ExitStack() as stack:

        def start(*, key=None, **changes):
            settings = Settings(embedder="none", workers=False).but(**changes)
            memory = stack.enter_context(Memory.open(tmp_path / "perdure.db", settings=settings))
            cookies = {} if key is None else {"perdure_key": key}
            app = with_pages(create_app(memory, settings))
            pages = Pages(
                app, base_url=HOME, client=("127.0.0.1", 50_000), cookies=cookies,
                follow_redirects=False,
            )  # fmt: skip
            pages.memory = memory
            return stack.enter_context(pages)

        yield start


@pytest.fixture
def pages(opened):
    """The pages of this machine, without keys."""
    return opened()


@pytest.fixture
def admin(opened):
    """Makes the pages of an admin with these permissions, and without keys for apps."""

    def start(*permissions):
        pages = opened()
        _, secret = pages.memory.parts.keys.create(
            "default", "ops", "admin", list(permissions), by="test"
        )
        pages.cookies.set("perdure_key", secret)
        return pages

    return start
