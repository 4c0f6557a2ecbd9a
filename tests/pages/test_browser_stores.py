"""What a person does on My memory reaches rows, words and vectors alike, in a real browser."""

from __future__ import annotations

import threading

import pytest
from playwright.sync_api import expect

from perdure import Scope
from perdure.policy import ASSISTANT
from perdure.ports import Corpus, ItemFilter
from perdure.testing.model_server import ModelServer
from perdure.types import JobState, Status, VectorStatus

TWO = Scope(user="u-two")
MEMORIES = Corpus.MEMORIES
SOON = ASSISTANT.but(
    item=ASSISTANT.item.but(vector_wait_s=0.2), jobs=ASSISTANT.jobs.but(backoff_s=0.0)
)
"""Nobody waits long for an embedder that is away, and jobs try again at once."""

pytestmark = pytest.mark.timeout(180)


class Stores:
    """Everything that holds what a person wrote, and jobs that run when told to."""

    def __init__(self, pages):
        self.memory = pages.memory

    def work(self):
        self.memory.parts.upkeep.run_once()
        for _ in range(50):
            if not self.memory.parts.worker.run_once():
                return

    def found(self, words):
        return [one.content for one in self.memory.search(TWO, words)]

    def agree(self):
        """Rows that hold, and what words and vectors there are: all of the same memories."""
        with self.memory.parts.database.read() as tx:
            rows = {i.id for i in tx.items.every(TWO, ItemFilter(statuses={Status.ACTIVE}))}
            model = self.memory.parts.embedder.model
            unfindable = tx.owners.unfindable("default", model=model, episodes=True)
            assert unfindable == []
            assert tx.fulltext.refs(TWO, MEMORIES) == tx.vectors.refs(TWO, MEMORIES) == rows
        return rows


@pytest.mark.spec("5", "7")
@pytest.mark.case("STO-01")
@pytest.mark.parametrize(
    ("locale", "edit", "box", "save", "delete"),
    [
        ("en-GB", "Edit: ", "Memory", "Save", "Delete: "),
        ("zh-CN", "编辑：", "记忆内容", "保存", "删除："),
    ],
    ids=["en", "zh"],
)
def test_an_edit_and_a_delete_on_the_page_leave_no_trace_of_the_old_anywhere(  # noqa: PLR0917 - words of a language
    opened, listening, window, locale, edit, box, save, delete
):
    """And while the vectors' side is away: the change is queued, and the old text is not found."""
    with ModelServer() as server:
        pages = opened(embedder="openai", embedding_model="words", policy=SOON,
                       embedding_base_url=server.base_url)  # fmt: skip
        stores = Stores(pages)
        age = pages.remember("Turned 36 in spring", "u-two")
        pages.remember("Keeps a diary under the bed", "u-two")
        stores.work()
        assert len(stores.agree()) == 2
        with listening(pages.app) as port:
            page = window(locale=locale)
            here = f"http://127.0.0.1:{port}"
            kept = {"name": "perdure_user", "value": "u-two", "url": here}
            page.context.add_cookies([kept])
            page.goto(f"{here}/pages/memory")

            def write(old, new):
                page.get_by_role("link", name=f"{edit}{old}").click()
                page.get_by_label(box, exact=True).fill(new)
                page.get_by_role("button", name=save, exact=True).click()
                expect(page.locator("#rows .content", has_text=new)).to_be_visible()

            write("Turned 36 in spring", "Turned 37 in spring")
            page.get_by_role("button", name=f"{delete}Keeps a diary").click()
            expect(page.locator("[id^=undo-]")).to_be_visible()
            assert stores.found("diary") == stores.found("36") == []
            assert stores.found("turned how old in spring") == ["Turned 37 in spring"]
            stores.work()
            assert stores.agree() == {age.id}

            server.close()
            write("Turned 37 in spring", "Turned 38 in spring")
            assert pages.memory.items.get(TWO, age.id).vector_status is VectorStatus.PENDING
            assert stores.found("37") == []
            assert stores.found("turned spring") == ["Turned 38 in spring"]
    with ModelServer(port=int(server.base_url.rpartition(":")[2].partition("/")[0])):
        stores.work()
        assert stores.agree() == {age.id}
        assert stores.found("38") == ["Turned 38 in spring"]
        with pages.memory.parts.database.read() as tx:
            assert list(tx.jobs.page([JobState.PENDING, JobState.DEAD])) == []
        for thread in threading.enumerate():
            if thread.name == "perdure-hand":  # it asked the one that was away
                thread.join(20)
